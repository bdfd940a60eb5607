// A session whose CLI loses the event that says that it is idle.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { CopilotSessionAdapter } from "../../../js/extension/copilot-session.mjs";

describe("a session that is idle", () => {
  /** What the CLI answers when it is asked. @type {() => Promise<{processing: boolean}>} */
  let answer;
  let asked = 0;
  /** @type {string[]} */
  let told;
  /** @type {(type: string) => void} */
  let says;
  /** @type {() => void} */
  let unwatch;

  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout"] });
    asked = 0;
    told = [];
    answer = async () => ({ processing: false });
    /** @type {(event: {type: string, data: object}) => void} */
    let listener = () => {};
    const session = {
      on: (/** @type {typeof listener} */ given) => {
        listener = given;
        return () => {
          listener = () => {};
        };
      },
      rpc: {
        metadata: {
          isProcessing: () => {
            asked += 1;
            return answer();
          },
        },
      },
    };
    says = (type) => listener({ type, data: {} });
    unwatch = new CopilotSessionAdapter(session).watch({
      activity: (activity, unsaid) => told.push(unsaid ? `${activity}, unsaid` : activity),
      title() {},
      mode() {},
      shutdown() {},
      any() {},
    });
  });

  afterEach(() => mock.timers.reset());

  /** @param {number} ms */
  const pass = async (ms) => {
    mock.timers.tick(ms);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };

  test("is so without session.idle, once the CLI is asked", async () => {
    says("assistant.turn_start");
    says("assistant.idle");
    await pass(200);
    assert.deepEqual(told, ["busy"]);
    await pass(100);
    assert.deepEqual(told, ["busy", "idle, unsaid"]);
    await pass(60_000);
    assert.equal(asked, 1);
  });

  test("is so after an abort, too", async () => {
    says("abort");
    await pass(250);
    assert.deepEqual(told, ["idle, unsaid"]);
  });

  test("is not asked about where an event says what it does", async () => {
    for (const type of ["session.idle", "user.message", "assistant.turn_start"]) {
      says("assistant.idle");
      says(type);
      await pass(60_000);
    }
    assert.equal(asked, 0);
  });

  test("is not so while the CLI works, and is asked ever more rarely", async () => {
    answer = async () => ({ processing: true });
    says("assistant.idle");
    await pass(250);
    await pass(400);
    assert.equal(asked, 1);
    await pass(100);
    assert.equal(asked, 2);
    for (let second = 0; second < 60; second += 1) await pass(1000);
    assert.ok(asked <= 14, `asked ${asked} times in a minute`);
    assert.deepEqual(told, []);
    answer = async () => ({ processing: false });
    for (let second = 0; second < 8; second += 1) await pass(1000);
    assert.deepEqual(told, ["idle, unsaid"]);
  });

  test("is not told of by an answer that a new turn has overtaken", async () => {
    let say = (/** @type {{processing: boolean}} */ _answer) => {};
    answer = () => new Promise((resolve) => (say = resolve));
    says("assistant.idle");
    await pass(250);
    says("assistant.turn_start");
    say({ processing: false });
    await pass(1000);
    assert.deepEqual(told, ["busy"]);
  });

  test("is asked about again where the CLI does not answer", async () => {
    answer = async () => {
      throw new Error("no such method");
    };
    says("assistant.idle");
    await pass(250);
    await pass(500);
    assert.equal(asked, 2);
    assert.deepEqual(told, []);
  });

  test("is not asked about once nobody watches", async () => {
    says("assistant.idle");
    unwatch();
    await pass(60_000);
    assert.equal(asked, 0);
  });
});
