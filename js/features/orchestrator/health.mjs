// How plans stand, for the doctor: what waits and why, what lies in worktrees, and where agents find the CLI.

import { messageOf } from "../../base/errors.mjs";

const MOST_REPOSITORIES = 10;

/** @param {Record<string, any>} seen view of a plan @returns {string} why nothing of it goes on; "": it does, or it is over */
function waitsFor({ pausedFor, waitsUntil, unlanded, counts }) {
  if (unlanded) return "landing";
  if (pausedFor === "budget") return "budget";
  if (pausedFor) return "pause";
  const goesOn = counts.running || counts.scheduled || counts.ready;
  return waitsUntil && !goesOn ? "limit" : "";
}

/** @param {import("./plans.mjs").Plans} plans */
function waiting(plans) {
  return plans.engine.state().plans.flatMap((/** @type {string} */ planId) => {
    const seen = plans.view({ view: "plan", planId });
    const why = waitsFor(seen);
    const { name, waitsUntil } = seen;
    return why ? [{ planId, name, why, ...(waitsUntil && { waitsUntil }) }] : [];
  });
}

/** @param {import("./plans.mjs").Plans} plans */
export async function health(plans) {
  const all = plans.list("");
  const repos = [...new Set(all.map(({ repo }) => repo))].filter((one) => typeof one === "string");
  const repositories = [];
  for (const repo of repos.slice(0, MOST_REPOSITORIES)) {
    const use = await plans.leftovers
      .use(repo)
      .catch((error) => ({ trouble: messageOf(error), worktrees: 0, bytes: 0, orphans: 0 }));
    repositories.push({ repo, ...use });
  }
  const { cli } = await plans.making.programsOf({ id: "", cwd: "" });
  return {
    ...{ plans: all.length, trouble: plans.trouble, waiting: waiting(plans), repositories },
    ...(cli && { cli }),
  };
}
