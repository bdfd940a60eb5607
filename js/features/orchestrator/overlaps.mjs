// Conflicts are known early: the commit of a node is merged with those of the others, without a checkout.

import { inLine } from "../../base/visible.mjs";

const MOST_FILES = 20;

/** @param {import("./plans.mjs").Plans} plans @param {Record<string, any>} effect */
export async function probe(plans, { planId, of, others: committed }) {
  // Nodes that changed nothing have the commit that they began with.
  const others = committed.filter((/** @type {any} */ { commit }) => commit !== of.commit);
  if (others.length === 0) return;
  const { git, repository } = await plans.openPlan(planId);
  const pairs = others.map((/** @type {any} */ other) => [of.commit, other.commit]);
  const probes = await git.probeAll(repository, pairs);
  for (const [index, { conflicts }] of probes.entries()) {
    if (!conflicts) continue;
    const files = conflicts.slice(0, MOST_FILES);
    const detail = { node: of.node, other: others[index].node, files };
    await plans.tell({ input: "overlap", planId, nodeId: of.node, detail });
    const text = `${inLine(of.node)} and ${inLine(detail.other)} change the same: ${files.join(", ")}`;
    plans.news.show(plans.view({ view: "plan", planId }), text);
  }
}
