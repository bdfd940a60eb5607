// The calls that wait: each settles once, whatever the order, and however many there are.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PendingCalls } from "../../../js/link/pending-calls.mjs";

const port = /** @type {any} */ ({ call() {} });

test("many calls settle in any order, each once and with its own outcome", () => {
  const calls = new PendingCalls();
  const waiting = [];
  const outcomes = new Map();
  let seed = 7;
  const random = (/** @type {number} */ below) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (let step = 0; step < 20_000; ++step) {
    // As many as there ever are: up, and down again.
    const most = 1 + Math.floor(300 * Math.abs(Math.sin(step / 3000)));
    if (waiting.length < most && random(3) > 0) {
      const id = calls.call(port, "tool", {}, undefined, (outcome) => {
        assert.ok(!outcomes.has(id), `${id} twice`);
        outcomes.set(id, outcome);
      });
      assert.ok(!waiting.includes(id) && !outcomes.has(id), `${id} was used before`);
      waiting.push(id);
    } else if (waiting.length > 0) {
      const [id] = waiting.splice(random(waiting.length), 1);
      calls.settle([id, `of ${id}`]);
      assert.equal(outcomes.get(id), `of ${id}`);
      calls.settle([id, "again", id + 1_000_000, "nobody's"]);
    }
  }
  for (const id of waiting) assert.ok(!outcomes.has(id));
});

test("one that waits for long is in nobody's way", async () => {
  const calls = new PendingCalls();
  const slow = calls.startCall(port, "slow", {});
  for (let i = 0; i < 1000; ++i) {
    const { id, result } = calls.startCall(port, "quick", {});
    assert.notEqual(id, slow.id);
    calls.settle([id, String(i)]);
    assert.equal(await result, String(i));
  }
  calls.settle([slow.id, "done"]);
  assert.equal(await slow.result, "done");
});

test("arguments that are no JSON reject, and nothing waits", async () => {
  const calls = new PendingCalls();
  await assert.rejects(calls.startCall(port, "tool", { big: 1n }).result, TypeError);
  await assert.rejects(calls.startCall(port, "tool", () => {}).result, TypeError);
});
