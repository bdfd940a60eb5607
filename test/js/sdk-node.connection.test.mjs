// copilot-tap/provider and what becomes of its connection: waiting, coming back, following sessions,
// pairing, leaving.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { startTap, TestTap } from "../../js/testing.mjs";
import { provider } from "../../sdk/node/provider.mjs";
import { root } from "../commands.mjs";
import { waitFor, withTimeout } from "../support/wait.mjs";
import { temporaryFolder } from "./temporary.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** A gateway with a session. @param {TestContext} t @param {object} [options] */
async function start(t, options) {
  const kit = await startTap(options);
  t.after(() => kit.stop());
  return kit;
}

/** With a tool `who` that says its name. @param {TestContext} t @param {TestTap} kit */
function make(t, kit, name, options = {}) {
  const tap = provider(name, { ...kit.where, ...options });
  t.after(() => tap.close());
  const said = [];
  tap.on("status", (text) => said.push(text));
  tap.tool(`who_${name}`, { description: "Says its name" }, () => name);
  return { tap, said };
}

/** @param {import("../../sdk/node/types.js").Provider} tap */
const nextBound = (tap) => new Promise((resolve) => tap.on("bound", resolve));

describe("a provider", () => {
  test(
    "waits for a gateway, and for a session",
    async (t) => {
      const kit = new TestTap({});
      t.after(() => kit.stop());
      await kit.startGateway();
      const { port } = kit;
      await kit.killGateway();
      const { tap, said } = make(t, kit, "early");
      const connected = tap.connect();
      await waitFor(() => /waiting for a session of the Copilot CLI/.test(said[0]));
      const file = path.join(kit.home, "extensions", "tap", ".provider-token");
      writeFileSync(file, "ptk-of-a-gateway-that-is-gone");
      await waitFor(() => /waiting for a gateway/.test(said.at(-1)), {
        what: () => said.join("\n"),
      });
      await kit.startGateway();
      assert.notEqual(kit.port, port, "free ports are not reused at once");
    },
    { skip: true },
  );

  test("comes back after kill -9 of the gateway, to a new one", async (t) => {
    const kit = await start(t);
    const { tap, said } = make(t, kit, "loyal");
    let aborted;
    tap.tool("hang", { description: "" }, (_args, { signal }) => {
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve((aborted = signal.reason)));
      });
    });
    const lost = new Promise((resolve) => tap.on("unbound", resolve));
    await tap.connect();
    await kit.tool("hang");
    const call = kit.call("hang");
    await waitFor(() => kit.session.tools.has("hang"));
    await kit.call("who_loyal");
    const back = nextBound(tap);
    await kit.restartGateway();
    await assert.rejects(call, { code: "DISCONNECTED" });
    assert.equal((await lost).code, "DISCONNECTED");
    assert.equal(aborted.code, "DISCONNECTED");
    await back;
    await kit.tool("who_loyal");
    assert.equal(await kit.call("who_loyal"), "loyal");
    assert.ok(
      said.some((text) => text.startsWith("connection lost")),
      said.join("\n"),
    );
    assert.equal(said.at(-1), "bound to test");
  });
});
