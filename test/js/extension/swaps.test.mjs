// When a session's tools are given to the CLI once more.

import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";
import { SessionRunner } from "../../../js/extension/session-runner.mjs";
import { deferred, waitFor } from "../../support/wait.mjs";

/** What the SDK's session is to us, with the tools of each swap. */
function played() {
  /** @type {(event: {type: string, data: object}) => void} */
  let onEvent = () => {};
  const swaps = /** @type {string[][]} */ ([]);
  const lists = /** @type {string[]} */ ([]);
  const cli = { swaps, lists, answers: Promise.resolve() };
  const sendRequest = async (/** @type {string} */ _method, /** @type {any} */ { tools }) => {
    lists.push(JSON.stringify(tools));
    swaps.push(tools.map((/** @type {{name: string}} */ { name }) => name));
    await cli.answers;
  };
  const session = {
    sessionId: "s",
    connection: { sendRequest },
    registerTools() {},
    log: async () => {},
    on: (/** @type {typeof onEvent} */ listener) => {
      onEvent = listener;
      return () => {};
    },
    rpc: {
      tools: { getBuiltinDescriptors: async () => ({ tools: [] }) },
      metadata: { isProcessing: async () => ({ processing: false }) },
      mode: { get: async () => "interactive" },
    },
  };
  const says = (/** @type {string} */ type) => onEvent({ type, data: {} });
  return Object.assign(cli, { session, says });
}

const hammer = { name: "hammer", description: "", parameters: {} };

describe("a swap of tools", () => {
  /** @type {ReturnType<typeof played>} */
  let cli;
  /** @type {{type: string, revision?: number}[]} */
  let sent;
  /** @type {() => Promise<void>} */
  let change;

  beforeEach(() => {
    cli = played();
    sent = [];
    const link = {
      send: (/** @type {any} */ message) => sent.push(message),
      call() {},
      cancel() {},
    };
    const options = { id: "s", cwd: "/", sync: "auto", log() {} };
    const runner = new SessionRunner(/** @type {any} */ (link), /** @type {any} */ (options));
    runner.adopt(cli.session);
    change = async () => {
      const set = [{ provider: "shop", digest: "d", definitions: [hammer] }];
      runner.receive({ type: "tools", revision: 1, reload: false, set, drop: [] });
      await waitFor(() => sent.some(({ type }) => type === "synced"));
    };
  });

  test("that the beginning of a turn may have lost is sent once more, and answered once", async () => {
    await change();
    cli.says("user.message");
    cli.says("assistant.turn_start");
    await waitFor(() => cli.swaps.length === 2);
    assert.deepEqual(cli.swaps[0], cli.swaps[1]);
    assert.notEqual(cli.lists[0], cli.lists[1], "the CLI would skip an equal one");
    assert.ok(cli.swaps[1].includes("hammer"));
    cli.says("assistant.turn_start");
    await new Promise(setImmediate);
    assert.equal(cli.swaps.length, 2);
    assert.equal(sent.filter(({ type }) => type === "synced").length, 1);
  });

  test("that is not answered yet is, however long ago it was sent", async () => {
    const answer = /** @type {ReturnType<typeof deferred<void>>} */ (deferred());
    cli.answers = answer.promise;
    const changed = change();
    await waitFor(() => cli.swaps.length === 1);
    const now = performance.now() + 20_000;
    const clock = mock.method(performance, "now", () => now);
    cli.says("user.message");
    cli.says("assistant.turn_start");
    clock.mock.restore();
    answer.resolve();
    await changed;
    await waitFor(() => cli.swaps.length === 2);
  });

  test("that came in the middle of a turn is not", async () => {
    cli.says("user.message");
    cli.says("assistant.turn_start");
    await change();
    cli.says("assistant.turn_start");
    await new Promise(setImmediate);
    assert.equal(cli.swaps.length, 1);
  });

  test("that was answered long before a turn is not", async (t) => {
    await change();
    const now = performance.now() + 6000;
    const clock = mock.method(performance, "now", () => now);
    t.after(() => clock.mock.restore());
    cli.says("user.message");
    cli.says("assistant.turn_start");
    await new Promise(setImmediate);
    assert.equal(cli.swaps.length, 1);
  });
});
