// What follows from the end of a plan, where somebody begins the plan again meanwhile.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ends } from "../../../js/features/orchestrator/plan-ends.mjs";
import { deferred } from "../../support/wait.mjs";

/** A plan that ended at 5 and has not closed. Its hold is released once `released` is resolved. */
function makeEnded() {
  const seen = {
    planId: "p",
    name: "p",
    facts: {},
    endedAt: /** @type {number | undefined} */ (5),
  };
  const released = deferred();
  /** @type {string[]} */
  const done = [];
  const holds = {
    set: async () => void done.push("hold"),
    release: async () => {
      await released.promise;
      done.push("release");
    },
  };
  const engine = {
    state: () => ({ plans: ["p"] }),
    describe: async (/** @type {string} */ _id, /** @type {boolean} */ isEnded) =>
      void done.push(isEnded ? "ended" : "goes on"),
  };
  const known = new Map([["p", { ended: false, changedAt: 0, about: {} }]]);
  const plans = /** @type {any} */ ({ engine, view: () => seen });
  const ends = new Ends(plans, known, holds, () => {});
  return { ends, seen, known, done, released };
}

test("a plan that begins again while its end is recorded goes on, and holds the gateway", async () => {
  const { ends, seen, known, done, released } = makeEnded();
  const closing = ends.close("p", 5);
  const beginning = ends.mayBegin("p", async () => {
    seen.endedAt = undefined;
    return "";
  });
  released.resolve();
  assert.deepEqual(await Promise.all([closing, beginning]), [true, ""]);
  assert.equal(known.get("p")?.ended, false);
  assert.deepEqual(done, ["release", "ended", "hold", "goes on"]);
});

test("a plan that has begun again, or has ended once more, is not closed by what followed from its former end", async () => {
  for (const endedAt of [undefined, 7]) {
    const { ends, seen, known, done, released } = makeEnded();
    released.resolve();
    seen.endedAt = endedAt;
    assert.equal(await ends.close("p", 5), false);
    assert.deepEqual([known.get("p")?.ended, done], [false, []]);
  }
});
