// A node as the model and a person see it: what it is, what it has made, and what works for it.

/** @typedef {import("./plans.mjs").Plans} Plans */

/** What a plan says of a node. */
const CONFIG = ["prechecks", "work", "postchecks", "expectsNoChanges", "timeout", "retry"];

/** @param {Record<string, any>} object @param {string[]} keys */
export const picked = (object, keys) =>
  Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));

/** What is known of a phase, in the last attempt. @param {Record<string, any>} node @param {string} phase @returns {Record<string, any>} */
const detailOf = (node, phase) =>
  node.attempts.at(-1)?.phases.find((/** @type {any} */ one) => one.phase === phase)?.detail ?? {};

/**
 * What has come together at a leaf since the plan's base; with a target only what was merged.
 * @param {Plans} plans @param {string} planId @param {Record<string, any>} node
 * @returns {Promise<{files: number, insertions: number, deletions: number} | undefined>} undefined: it is no leaf, or
 *   has made nothing yet
 */
async function aggregatedOf(plans, planId, node) {
  if (node.dependents.length > 0 || !node.commit) return undefined;
  const { git, repository, head, facts } = await plans.openPlan(planId);
  if (head.targetBranch) {
    const { changes = NOTHING, unlanded } = detailOf(node, "merge-ri");
    const waits = unlanded && plans.view({ view: "plan", planId }).unlanded;
    return waits ? NOTHING : changes;
  }
  const lines = await git.linesBetween(repository, facts.baseCommit, node.commit);
  const { insertions, deletions } = lines;
  return { files: lines.files.length, insertions, deletions };
}

const NOTHING = { files: 0, insertions: 0, deletions: 0 };

/** @typedef {{from: string, to: string, text: string, cut: boolean}} Diff to: a commit; "": a worktree; text: hostile */

/**
 * @param {any} git @param {any} repository @param {string} from a commit @param {string} [to]
 * @param {{mostBytes: number}} [options]
 * @returns {Promise<Diff | undefined>} undefined: nothing was committed
 */
export async function diffSince(git, repository, from, to, options) {
  if (!to) return undefined;
  return { from, to, ...(await git.diffBetween(repository, from, to, options)) };
}

/**
 * What a node has changed: what it has committed, and before that what is in its worktree.
 * @param {any} git @param {any} repository @param {Record<string, any>} node with attempts
 * @param {{mostBytes: number}} options
 * @returns {Promise<Diff | undefined>} undefined: it has not begun
 */
export async function diffSoFar(git, repository, node, options) {
  const { worktree, shows } = Object.assign({}, ...(node.attempts.at(-1)?.steps ?? []));
  const from = worktree?.commit;
  if (!from) return undefined;
  // What is shown to the checks is not the node's alone.
  const made = detailOf(node, "commit").commit ?? (shows ? node.commit : undefined);
  if (made === undefined && worktree.path) {
    const work = await git.diffOfWork(repository, worktree, options).catch(() => undefined);
    if (work) return { from, to: "", ...work };
  }
  return diffSince(git, repository, from, made ?? node.commit, options);
}

/** @param {any} phase of an attempt */
function phaseMetrics({ phase, status, startedAt, endedAt, detail = {} }) {
  const { exitCode, usage } = detail;
  return { phase, status, ms: endedAt ? endedAt - startedAt : undefined, exitCode, usage };
}

/**
 * What the agents of an attempt have used.
 * @param {any[]} phases @returns {Record<string, any> | undefined} undefined: it had none
 */
function usageOf(phases) {
  const all = phases.flatMap(({ detail }) => (detail?.usage ? [detail.usage] : []));
  if (all.length < 2) return all[0];
  const names = ["aiCredits", "premiumRequests", "apiMs", "sessionMs"];
  const sums = names.map((name) => [name, all.reduce((sum, one) => sum + (one[name] ?? 0), 0)]);
  return { ...Object.fromEntries(sums), models: all.flatMap(({ models = [] }) => models) };
}

/** Those in the node's worktree. @param {Plans} plans @param {string} planId @param {string | undefined} folder */
async function processesOf(plans, planId, folder) {
  if (!folder) return [];
  const { git } = await plans.openPlan(planId);
  return (await git.holdersOf(folder)) ?? [];
}

/** @param {Plans} plans @param {string} planId @param {string} nodeId */
export async function nodeView(plans, planId, nodeId) {
  const node = plans.view({ view: "node", planId, nodeId });
  const last = node.attempts.at(-1);
  const steps = Object.assign({}, ...(last?.steps ?? []));
  const { summary } = detailOf(node, "work");
  const { attempts, commit, changes, usage, busy, ...all } = node;
  const config = picked(all, CONFIG);
  const rest = Object.fromEntries(Object.entries(all).filter(([key]) => !CONFIG.includes(key)));
  // A repository that has gone is no reason to say nothing.
  const unknown = () => undefined;
  const [processes, aggregatedWorkSummary] = await Promise.all([
    processesOf(plans, planId, steps.worktree?.path).catch(unknown),
    aggregatedOf(plans, planId, node).catch(unknown),
  ]);
  return {
    ...rest,
    config,
    baseCommit: steps.worktree?.commit,
    completedCommit: commit,
    worktreePath: steps.worktree?.path,
    sessionId: steps.sessionId,
    scheduledAt: last?.scheduledAt,
    startedAt: last?.startedAt,
    endedAt: last?.endedAt,
    processes,
    evidence: detailOf(node, "commit").evidence,
    tested: detailOf(node, "postchecks").tested,
    workSummary: { ...changes, ...(summary && { text: summary }) },
    aggregatedWorkSummary,
    metrics: usage,
    phaseMetrics: (last?.phases ?? []).map(phaseMetrics),
    lastLine: plans.lineOf(planId, nodeId) || undefined,
    attempts: attempts.length,
    running: busy,
  };
}

/** What a failed node needs. @param {{phase: string, code?: string}} failed */
export function nextOf({ phase, code }) {
  if (code === "UNRELATED" || (phase === "merge-fi" && code === "MERGE_CONFLICT"))
    return "Do what the error says: a retry from this phase finds the same commits.";
  return "retry_copilot_node goes on from this phase; from: start does all of it again.";
}

/** @param {any} phase of an attempt */
const phaseOf = ({ detail, ...phase }) => ({
  ...picked(phase, ["phase", "status", "startedAt", "endedAt"]),
  exitCode: detail?.exitCode,
});

/** @param {Plans} plans @param {string} planId @param {Record<string, any>} node with attempts */
export const attemptsOf = (plans, planId, node) =>
  node.attempts.map((/** @type {any} */ { attempt, status, phases, steps, ...times }) => {
    const facts = Object.assign({}, ...steps);
    const failed = phases.find((/** @type {any} */ one) => one.status === "failed");
    const made = phases.find((/** @type {any} */ one) => one.phase === "commit")?.detail?.commit;
    return {
      ...{ attempt, status },
      ...picked(times, ["scheduledAt", "startedAt", "endedAt", "interruptions"]),
      phases: phases.map(phaseOf),
      ...(failed && { error: failed.detail?.error }),
      ...(facts.sessionId && { sessionId: facts.sessionId }),
      ...(made && { commit: made }),
      metrics: usageOf(phases),
      logs: `${plans.logs}/${planId}/${node.id}-${attempt}-*.log`,
    };
  });
