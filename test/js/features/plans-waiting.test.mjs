// Who waits for a plan to change.

import assert from "node:assert/strict";
import { test } from "node:test";
import { asked } from "../../../js/features/orchestrator/asked.mjs";
import { untilChanged } from "../../../js/features/orchestrator/waiting.mjs";

/** Plans of which nothing changes before it is said. */
function quiet() {
  const waiting = new Set();
  const changed = (/** @type {AbortSignal} */ until) =>
    new Promise((resolve) => {
      const done = () => {
        waiting.delete(done);
        resolve(undefined);
      };
      until.addEventListener("abort", done);
      waiting.add(done);
    });
  return { changed, waiting, changes: 1, require: async (/** @type {string} */ id) => id };
}

test("a wait ends with a change, in time, or with the one who waits", async () => {
  const plans = quiet();
  const left = new AbortController();
  await untilChanged(plans, 1);
  const changed = untilChanged(plans, 600_000, left.signal);
  for (const done of plans.waiting) done();
  await changed;
  const gone = untilChanged(plans, 600_000, left.signal);
  left.abort();
  await gone;
  await untilChanged(plans, 600_000, left.signal);
  assert.equal(plans.waiting.size, 0);
});

test("a look that a command has asked for ends when the command does, and looks no more", async () => {
  const plans = /** @type {any} */ (quiet());
  plans.view = () => assert.fail("nobody sees it");
  const left = new AbortController();
  const question = JSON.stringify({ do: "follow", planId: "p", seen: 1, waitMs: 10_000 });
  const answer = asked(plans, question, /** @type {any} */ ({ id: "", cwd: "/" }), left.signal);
  setImmediate(() => left.abort());
  await assert.rejects(answer, { name: "AbortError" });
});
