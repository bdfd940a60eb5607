// A program or a tool of `work` that was ended in the middle of what it did: nothing runs on top of its half. What it
// had done is kept aside. Then the work begins again in a new worktree. Agents are left out: they know what they did.

import { sleep } from "../../base/patience.mjs";
import { PhaseFailed } from "./phase-ends.mjs";
import { prepared } from "./preparing.mjs";

/** Longer than from SIGTERM to SIGKILL. */
const MOST_LOOKS = 60;
const LOOK_MS = 100;

/** @typedef {import("./node-run.mjs").NodeRun} NodeRun */
/** @typedef {{attempt: number, interruptions: number}} Afresh in which attempt it has begun again, after how many of these */

/** @param {any} attempt @returns {number} how often its work was interrupted */
const interruptionsOf = (attempt) =>
  attempt.phases.find((/** @type {any} */ { phase }) => phase === "work")?.interruptions ?? 0;

/**
 * Whether the last run of the work was cut off, in this attempt or in those that it goes on from.
 * @param {NodeRun} run
 */
export function wasCutOff(run) {
  const { node, effect } = run;
  if (node.work.type === "agent") return false;
  if (run.fact("cutOff")) return true;
  /** @type {Afresh | undefined} */
  const afresh = run.fact("afresh");
  const goesOn = effect.from !== "merge-fi" && effect.before;
  return [effect.current, ...(goesOn ? [effect.before] : [])].some((one) => {
    if (!afresh || afresh.attempt < one.attempt) return interruptionsOf(one) > 0;
    return afresh.attempt === one.attempt && interruptionsOf(one) > afresh.interruptions;
  });
}

/** What it had started may take a moment to end, and still write. @param {NodeRun} run */
async function hasLetGo({ git, worktree, signal }) {
  for (let left = MOST_LOOKS; left > 0; --left) {
    const holders = (await git.holdersOf(worktree.path)) ?? [];
    if (holders.length === 0 || signal.aborted) return;
    await sleep(LOOK_MS);
  }
}

/** Where that cannot be, the worktree stays as it is. @param {NodeRun} run */
async function setAside(run) {
  const { git, plan, signal, worktree } = run;
  const record = { ...worktree, known: [worktree.commit] };
  const why = "its work was interrupted";
  const { removed, ...rest } = await git.removeWorktree(plan.worktrees, record, { signal, why });
  if (!removed) {
    const text = `The work was interrupted, and what it had done cannot be kept aside. ${rest.message} Then retry the node: the work begins again.`;
    throw new PhaseFailed(rest.code ?? "FAILED", text);
  }
  const { kept, omitted = [] } = rest;
  const where = kept ? `; what it had done is in ${kept.ref} (${kept.commit})` : "";
  const without = omitted.length > 0 ? `, without ${omitted.join(", ")}` : "";
  run.log(`tap: the work was interrupted, and begins again${where}${without}`);
}

/** Until it has come to its end, each run and each retry begins with it. @param {NodeRun} run @param {() => Promise<unknown>} check runs the prechecks */
export async function beginAfresh(run, check) {
  const { attempt, effect } = run;
  await run.step({ cutOff: true });
  await hasLetGo(run);
  await setAside(run);
  const { lacking } = await prepared(run, { base: run.base() });
  if (lacking.length > 0) run.log(`tap: not brought: ${lacking.join(", ")}`);
  await check();
  const afresh = { attempt, interruptions: interruptionsOf(effect.current) };
  await run.step({ cutOff: false, afresh });
}
