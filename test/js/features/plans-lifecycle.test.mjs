// What follows from the end of a plan, where somebody begins the plan again meanwhile, or its host was killed.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { PlanLifecycle } from "../../../js/features/plans/plan-manager.mjs";
import { WorktreeLifecycle } from "../../../js/features/plans/worktree-lifecycle.mjs";
import * as git from "../../../js/git/index.mjs";
import { deferred } from "../../support/wait.mjs";
import { git as run, makeRepository, NONCE } from "../git/rig.mjs";

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
  const ends = new PlanLifecycle(plans, known, holds, () => {});
  return { ends, seen, known, done, released };
}

test("a plan that begins again while its end is recorded goes on, and holds the gateway", async () => {
  const { ends, seen, known, done, released } = makeEnded();
  const closing = ends.close("p", 5);
  const beginning = ends.withReopenedPlan("p", async () => {
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

/** The node `one` has succeeded in its first attempt, in a worktree that is there. */
async function makeSucceeded(t) {
  const { root, repository, worktrees, wanted } = await makeRepository(t);
  const first = await worktrees.add(wanted("one", 1));
  const pool = new git.WorktreePool(worktrees, { most: 2 });
  const plan = {
    ...{ id: "p", git, repository, worktrees, pool, head: {}, facts: { nonce: NONCE } },
    settleResult: async () => {},
    forgetSessions: async () => {},
    releaseWorktree: (/** @type {any} */ worktree) => pool.release(worktree),
  };
  const attempts = [{ attempt: 1, status: "succeeded", steps: [{ worktree: first }] }];
  const last = () => /** @type {{attempt: number, status: string}} */ (attempts.at(-1));
  const views = {
    graph: () => ({ nodes: [{ id: "one", ...last() }] }),
    node: () => ({ ...last(), attempts }),
  };
  const opened = deferred();
  const plans = /** @type {any} */ ({
    openPlan: () => opened.promise.then(() => plan),
    view: (/** @type {{view: "graph" | "node"}} */ asked) => views[asked.view](),
    completeClose: async () => {},
  });
  /** @type {string[]} */
  const notes = [];
  const cleaning = new WorktreeLifecycle(plans, (text) => notes.push(text));
  const left = () => fs.readdirSync(path.join(root, ".worktrees"));
  const again = (/** @type {any} */ worktree) =>
    attempts.push({ attempt: 2, status: "running", steps: [{ worktree }] });
  const second = () => worktrees.add(wanted("one", 2));
  return { root, first, second, again, cleaning, opened, left, notes };
}

/** @type {Record<string, (made: Awaited<ReturnType<typeof makeSucceeded>>) => void>} */
const KILLS = {
  "before anything of it was removed": () => {},
  "when its folder had been put aside": (made) => putAside(made),
  "when git had forgotten it, and its folder was not deleted yet": (made) => {
    putAside(made);
    run(made.root, "worktree", "remove", "--force", "--force", made.first.path);
  },
};

/** @param {Awaited<ReturnType<typeof makeSucceeded>>} made */
function putAside({ first: { path: place, nonce } }) {
  const aside = `.removed-${nonce}-${path.basename(place)}`;
  fs.renameSync(place, path.join(path.dirname(place), aside));
}

for (const [when, kill] of Object.entries(KILLS)) {
  test(`a worktree of a node that lands again is removed after a host that was killed ${when}`, async (t) => {
    const made = await makeSucceeded(t);
    const { first, again, cleaning, opened, left, notes, root } = made;
    kill(made);
    again(first); // its second attempt begins with what is recorded of the first
    opened.resolve();
    await cleaning.resume("p");
    await cleaning.close("p", 5);
    assert.deepEqual([left(), notes], [[], []]);
    assert.equal(run(root, "worktree", "list").split("\n").length, 1);
  });
}

test("the worktree of an attempt that has begun since is not given back with that of the one before", async (t) => {
  const { second, again, cleaning, opened, left, notes } = await makeSucceeded(t);
  const former = cleaning.close("p", 5); // it goes on, so that the next one waits for its turn
  const cleaned = cleaning.cleanUp({ planId: "p", node: "one" });
  again(await second());
  opened.resolve();
  await Promise.all([former, cleaned]);
  await cleaning.close("p", 5);
  assert.deepEqual([left(), notes], [["p-one-2"], []]);
});
