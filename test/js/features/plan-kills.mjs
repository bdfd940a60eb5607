// Hosts that are killed at writes of a plan's journal: each such run ends as one that is left alone.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contained, runWithFaults } from "./plan-faults.mjs";

/** @typedef {import("../../support/fixtures/plans/faulty-plans.mjs").Order} Order */
/** @typedef {{name: string, orders: readonly Order[]}} Disturbance */

/** @param {Order["when"]} when @param {Order["at"]} at @param {Order["whom"]} [whom] @returns {Order} */
export const kill = (when, at, whom = "feature-host") => ({ when, at, whom });

/** @param {readonly Disturbance[]} disturbances @param {Parameters<typeof runWithFaults>[2]} [nodes] of the plan */
export function testKills(disturbances, nodes) {
  describe("a plan whose hosts are killed at a write of its journal", { concurrency: 2 }, () => {
    const undisturbed = contained((t) => runWithFaults(t, [], nodes));

    for (const { name, orders } of disturbances) {
      test(`ends as one that is left alone: ${name}`, async (t) => {
        const { result, problems, kills } = await runWithFaults(t, orders, nodes);
        const were = kills.map(({ when, what }) => `${when} ${what}`);
        assert.equal(kills.length, orders.length, `killed ${were}`);
        assert.deepEqual(problems, [], `killed ${were}`);
        assert.deepEqual(result, (await undisturbed).result);
      });
    }
  });
}
