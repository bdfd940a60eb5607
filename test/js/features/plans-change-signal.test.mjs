// Who waits for a plan to change.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { handleRequest } from "../../../js/features/plans/cli-requests.mjs";
import { ChangeSignal } from "../../../js/features/plans/plan-manager.mjs";

test("a wait ends with a change, in time, or with the one who waits, and leaves nothing", async () => {
  const waiting = new ChangeSignal();
  const left = new AbortController();
  await waiting.wait(1);
  const changed = Promise.all([waiting.wait(600_000, left.signal), waiting.wait(600_000)]);
  assert.equal(waiting.size, 2);
  waiting.wake();
  await changed;
  assert.equal(getEventListeners(left.signal, "abort").length, 0);
  const gone = waiting.wait(600_000, left.signal);
  left.abort();
  await gone;
  await waiting.wait(600_000, left.signal);
  assert.equal(waiting.size, 0);
});

test("a look that a command has asked for ends when the command does, and looks no more", async () => {
  const plans = /** @type {any} */ ({
    ...{ changeSignal: new ChangeSignal(), changes: 1 },
    require: async (/** @type {string} */ id) => id,
    view: () => assert.fail("nobody sees it"),
  });
  const left = new AbortController();
  const question = JSON.stringify({ do: "follow", planId: "p", seen: 1, waitMs: 10_000 });
  const answer = handleRequest(
    plans,
    question,
    /** @type {any} */ ({ id: "", cwd: "/" }),
    left.signal,
  );
  setImmediate(() => left.abort());
  await assert.rejects(answer, { name: "AbortError" });
});
