// Pages of plans: each plan comes once, whatever changes, begins or goes between two of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PlanManager } from "../../../js/features/plans/plan-manager.mjs";
import { callToolForModel } from "../../../js/features/plans/tools.mjs";

const CWD = "/home/a/repo";
const ASKER = { id: "s1", cwd: CWD };
const COUNT = 250;

/** Plans that have ended, with an engine that has only those in memory that are looked at. @param {{planId: string}[]} known */
async function plansOf(known) {
  /** @type {string[]} */
  const live = [];
  const engine = {
    input: async () => "",
    state: () => ({ plans: live, live: live.length, workers: 0, agents: 0 }),
    view: (/** @type {string} */ json) => {
      const { planId } = JSON.parse(json);
      const { about = {} } = /** @type {any} */ (known.find((one) => one.planId === planId));
      const { cwd, repo, ...rest } = about;
      return JSON.stringify({ planId, ...rest, facts: { cwd, repo } });
    },
    describe: async () => {},
    remove: async () => {},
  };
  const services = {
    settings: { plans: async () => ({}) },
    plans: { open: () => ({ plans: engine, known, folder: "" }), removeLogs: async () => {} },
  };
  const context = { services, diagnostics: { add: () => {} } };
  const plans = new PlanManager(/** @type {any} */ (context), /** @type {any} */ ({}));
  plans.leftovers.scanForOrphans = () => {};
  await plans.start();
  /** It changes now. @param {string} planId */
  const change = (planId) => {
    live.push(planId);
    return plans.lifecycle.describe(planId);
  };
  return { plans, change };
}

/** @param {number} n @param {object} [more] */
const planOf = (n, more = {}) => ({
  ...{ planId: `p${String(n).padStart(8, "a")}`, ended: true, changedAt: 1_000_000 + n },
  about: {
    name: `plan ${n}`,
    status: "succeeded",
    total: 1,
    cwd: CWD,
    createdAt: 5000 + n,
    ...more,
  },
});
const KNOWN = Array.from({ length: COUNT }, (_, n) => planOf(n));
/** Others' come last, whenever they were made. */
const OTHERS = [900, 901].map((n) => planOf(n, { cwd: "/elsewhere", repo: "/elsewhere" }));

/**
 * All pages. @param {PlanManager} plans @param {(page: any, at: number) => unknown} between is called after each but the last
 * @returns {Promise<any[]>}
 */
async function pagesOf(plans, between) {
  const pages = [];
  for (let cursor; ;) {
    const page = /** @type {any} */ (
      await callToolForModel(plans, "list_copilot_plans", { ...(cursor && { cursor }) }, ASKER)
    );
    pages.push(page);
    ({ cursor } = page);
    if (cursor === undefined) return pages;
    await between(page, pages.length);
  }
}

/** @param {any[]} pages @returns {string[]} */
const idsOf = (pages) =>
  pages.flatMap(({ plans }) => plans.map((/** @type {any} */ one) => one.planId));

test("a plan that changes between two pages is neither skipped nor repeated", async () => {
  const { plans, change } = await plansOf([...KNOWN, ...OTHERS]);
  const wanted = plans.list(CWD).map(({ planId }) => planId);
  const pages = await pagesOf(plans, async (page, at) => {
    assert.equal(page.omitted, COUNT + OTHERS.length - at * 100);
    await change(page.plans[3].planId); // it was shown
    await change(wanted[at * 100 + 5]); // it was not
  });
  assert.deepEqual(idsOf(pages), wanted);
  assert.deepEqual(wanted.slice(-2), OTHERS.map(({ planId }) => planId).toReversed());
});

test("plans that begin or are deleted between two pages move no other one", async () => {
  const { plans } = await plansOf(structuredClone(KNOWN));
  const wanted = plans.list(CWD).map(({ planId }) => planId);
  /** @type {string[]} */
  const deleted = [];
  const pages = await pagesOf(plans, async (page, at) => {
    // The one that the cursor names, too.
    const gone = [page.plans[0].planId, page.plans.at(-1).planId, wanted[at * 100 + 7]];
    for (const planId of gone) await plans.forget(planId);
    deleted.push(gone[2]);
  });
  assert.deepEqual(
    idsOf(pages),
    wanted.filter((planId) => !deleted.includes(planId)),
  );
});

test("plans that were made in the same millisecond come once each", async () => {
  const { plans } = await plansOf(
    KNOWN.map((one) => ({ ...one, about: { ...one.about, createdAt: 7 } })),
  );
  const ids = idsOf(await pagesOf(plans, () => {}));
  assert.deepEqual([ids.length, new Set(ids).size], [COUNT, COUNT]);
});

test("a cursor that no answer had is refused", async () => {
  const { plans } = await plansOf(KNOWN);
  const huge = `1.${"9".repeat(400)}.p1`;
  for (const cursor of ["", "100", "zz\u001b[2J", "1.5.", "2.5.p1", "1.-5.p1", "1.5.p1.x", huge]) {
    const asked = () => callToolForModel(plans, "list_copilot_plans", { cursor }, ASKER);
    await assert.rejects(asked, (/** @type {any} */ { code, message }) => {
      assert.equal(code, "INVALID_ARGUMENTS");
      assert.match(message, /UNKNOWN_CURSOR: cursor: "[^"]*" is not that of an answer; without it/);
      // eslint-disable-next-line no-control-regex -- this is what must not be there
      assert.doesNotMatch(message, /\u001b/);
      return true;
    });
  }
});
