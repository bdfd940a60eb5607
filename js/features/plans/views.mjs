// A node as the model and a person see it: what it is, what it has made, and what works for it.

import { redactLines } from "../../lib/redact.mjs";
import { formatSuggestion } from "../../lib/suggestion.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { plainLines, visible } from "../../lib/visible.mjs";
import { PlanError } from "./errors.mjs";
import { describePolicy } from "./sandbox-policy.mjs";
import { PHASE_NAMES, SANDBOX_KEYS } from "./tool-schemas.mjs";

/** @typedef {import("./plan-manager.mjs").PlanManager} PlanManager */

/** What a plan says of a node. */
const CONFIG = [
  ...["prechecks", "work", "postchecks", "expectsNoChanges", "timeout", "retry", "cwd"],
  ...SANDBOX_KEYS,
];

/** @param {Record<string, any>} object @param {string[]} keys */
export const pick = (object, keys) =>
  Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));

/** Whether what it makes is a result of the plan. @param {{dependents: string[], replacedBy?: string}} node */
export const isLeaf = ({ dependents, replacedBy }) =>
  dependents.length === 0 && replacedBy === undefined;

/** What is known of a phase, in the last attempt. @param {Record<string, any>} node @param {string} phase @returns {Record<string, any>} */
const findDetail = (node, phase) =>
  node.attempts.at(-1)?.phases.find((/** @type {any} */ one) => one.phase === phase)?.detail ?? {};

/**
 * What has come together at a leaf since the plan's base; with a target only what was merged.
 * @param {PlanManager} plans @param {string} planId @param {Record<string, any>} node
 * @returns {Promise<{files: number, insertions: number, deletions: number} | undefined>} undefined: it is no leaf, or
 *   has made nothing yet
 */
async function readAggregatedChanges(plans, planId, node) {
  if (!isLeaf(/** @type {any} */ (node)) || !node.commit) return undefined;
  const { git, repository, head, facts } = await plans.openPlan(planId);
  if (head.targetBranch) {
    const { changes = NO_CHANGES, unlanded } = findDetail(node, "merge-ri");
    const waits = unlanded && plans.view({ view: "plan", planId }).unlanded;
    return waits ? NO_CHANGES : changes;
  }
  const lines = await git.linesBetween(repository, facts.baseCommit, node.commit);
  const { insertions, deletions } = lines;
  return { files: lines.files.length, insertions, deletions };
}

const NO_CHANGES = { files: 0, insertions: 0, deletions: 0 };

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
  const { worktree } = Object.assign({}, ...(node.attempts.at(-1)?.steps ?? []));
  const from = worktree?.commit;
  if (!from) return undefined;
  const made = findDetail(node, "commit").commit;
  if (made === undefined && worktree.path) {
    const work = await git.diffWorktree(repository, worktree, options).catch(() => undefined);
    if (work) return { from, to: "", ...work };
  }
  return diffSince(git, repository, from, made ?? node.commit, options);
}

/** @param {any} phase of an attempt */
function toPhaseMetrics({ phase, status, startedAt, endedAt, detail = {} }) {
  const { exitCode, usage } = detail;
  return { phase, status, ms: endedAt ? endedAt - startedAt : undefined, exitCode, usage };
}

/**
 * What the agents of an attempt have used.
 * @param {any[]} phases @returns {Record<string, any> | undefined} undefined: it had none
 */
function sumUsage(phases) {
  const all = phases.flatMap(({ detail }) => (detail?.usage ? [detail.usage] : []));
  if (all.length < 2) return all[0];
  const names = ["aiCredits", "premiumRequests", "apiMs", "sessionMs"];
  const sums = names.map((name) => [name, all.reduce((sum, one) => sum + (one[name] ?? 0), 0)]);
  return { ...Object.fromEntries(sums), models: all.flatMap(({ models = [] }) => models) };
}

/** Those in the node's worktree. @param {PlanManager} plans @param {string} planId @param {string | undefined} folder */
async function findProcesses(plans, planId, folder) {
  if (!folder) return [];
  const { git } = await plans.openPlan(planId);
  const found = (await git.processesUsing(folder)) ?? [];
  return found.filter(({ name }) => name !== "bwrap"); // that is tap's own part of it
}

const MAX_REFUSALS = 20;
const MAX_REFUSAL_TEXT = 300;

/** @param {unknown} value */
const toText = (value) => visible(String(value)).slice(0, MAX_REFUSAL_TEXT);

/** An import may say anything. @param {number} attempt @param {any} recorded */
function toRefusal(attempt, recorded) {
  const { at, phase, kind, target, call } = recorded ?? {};
  return {
    ...{ attempt, phase: toText(phase), at: Number(at) || 0 },
    ...{ kind: toText(kind), target: toText(target), ...(call && { call: toText(call) }) },
  };
}

/**
 * What its programs and agents tried and might not do, the last of all attempts.
 * @param {Record<string, any>} node with attempts
 */
export const listRefusals = ({ attempts }) =>
  attempts
    .flatMap((/** @type {any} */ { attempt, steps }) => {
      const { refusals } = Object.assign({}, ...steps);
      // A retry that goes on has the facts of the attempt before.
      const isOwn = refusals?.attempt === attempt && Array.isArray(refusals.last);
      return isOwn ? refusals.last.map((/** @type {any} */ one) => toRefusal(attempt, one)) : [];
    })
    .slice(-MAX_REFUSALS);

/** @param {any} [attempt] @returns {Record<string, any>} what its steps have told last */
const mergeSteps = (attempt) => Object.assign({}, ...(attempt?.steps ?? []));

/** @param {PlanManager} plans @param {string} planId @param {string} nodeId */
export async function viewNode(plans, planId, nodeId) {
  const node = plans.view({ view: "node", planId, nodeId });
  const last = node.attempts.at(-1);
  const steps = mergeSteps(last);
  const { summary } = findDetail(node, "work");
  const { attempts, commit, changes, usage, busy, edited: _, ofPlan, ...all } = node;
  const policy = describePolicy(ofPlan, node, steps.policy);
  const lastRefusals = listRefusals(node);
  const config = pick(all, CONFIG);
  const rest = Object.fromEntries(Object.entries(all).filter(([key]) => !CONFIG.includes(key)));
  // A repository that has gone is no reason to say nothing.
  const unknown = () => undefined;
  const [processes, aggregatedWorkSummary] = await Promise.all([
    findProcesses(plans, planId, steps.worktree?.path).catch(unknown),
    readAggregatedChanges(plans, planId, node).catch(unknown),
  ]);
  return {
    ...rest,
    config,
    policy: { ...policy, ...(node.sandboxed === false && { sandbox: "off" }) },
    ...(lastRefusals.length > 0 && { lastRefusals }),
    baseCommit: steps.worktree?.commit,
    completedCommit: commit,
    worktreePath: steps.worktree?.path,
    sessionId: steps.sessionId || undefined,
    scheduledAt: last?.scheduledAt,
    startedAt: last?.startedAt,
    endedAt: last?.endedAt,
    processes,
    evidence: findDetail(node, "commit").evidence,
    tested: findDetail(node, "postchecks").tested,
    workSummary: { ...changes, ...(summary && { text: summary }) },
    aggregatedWorkSummary,
    metrics: usage,
    phaseMetrics: (last?.phases ?? []).map(toPhaseMetrics),
    lastLine: plans.lastLine(planId, nodeId) || undefined,
    attempts: attempts.length,
    running: busy,
  };
}

/** What a failed node needs. @param {{phase: string, code?: string}} failed */
export function formatRetryAdvice({ phase, code }) {
  if (
    code === "UNRELATED" ||
    code === "NOT_DESCENDED" ||
    (phase === "merge-fi" && code === "MERGE_CONFLICT")
  )
    return "Do what the error says: a retry from this phase finds the same commits.";
  return "retry_copilot_node goes on from this phase; from: start does all of it again.";
}

/** @param {any} phase of an attempt */
const toPhaseView = ({ detail, ...phase }) => ({
  ...pick(phase, ["phase", "status", "startedAt", "endedAt"]),
  exitCode: detail?.exitCode,
});

/** @param {PlanManager} plans @param {string} planId @param {Record<string, any>} node with attempts */
export const listAttempts = (plans, planId, node) =>
  node.attempts.map((/** @type {any} */ { attempt, status, phases, steps, ...times }) => {
    const facts = Object.assign({}, ...steps);
    const failed = phases.find((/** @type {any} */ one) => one.status === "failed");
    const made = phases.find((/** @type {any} */ one) => one.phase === "commit")?.detail?.commit;
    return {
      ...{ attempt, status },
      ...pick(times, ["scheduledAt", "startedAt", "endedAt", "interruptions"]),
      phases: phases.map(toPhaseView),
      ...(failed && { error: failed.detail?.error }),
      ...(facts.sessionId && { sessionId: facts.sessionId }),
      ...(facts.policy && { policy: describePolicy({}, {}, facts.policy) }),
      ...(made && { commit: made }),
      metrics: sumUsage(phases),
      logs: `${plans.logs}/${planId}/${node.id}-${attempt}-*.log`,
    };
  });

// The logs of a node's phases: what its programs and agents print, and what tap itself has done.

const MAX_READ = 256 * 1024;
/** So much is read before a tail: a secret that begins there may end in the tail, such as a key of many lines. */
const LEAD = 16_384;

/** @param {{files: number, insertions: number, deletions: number}} changes */
const changesText = ({ files, insertions, deletions }) =>
  `${files} ${files === 1 ? "file" : "files"}, +${insertions} -${deletions}`;

/** What tap has done in a phase that runs no program. @param {Record<string, any>} detail of its end @returns {string} "": it ran one */
export function formatPhaseResult({
  baseCommit,
  worktreePath,
  commit,
  changes,
  landed,
  unlanded,
  lacking,
}) {
  if (changes?.files === 0) return landed ? "nothing was to be landed" : "nothing was changed";
  if (landed) return `landed as ${landed}: ${changesText(changes)}`;
  if (unlanded) return unlanded.message;
  if (changes) return `commit ${commit}: ${changesText(changes)}`;
  if (!baseCommit) return commit ? `commit ${commit}` : "";
  const left = lacking?.length > 0 ? `\nnot brought along: ${lacking.join(", ")}` : "";
  return `begins with ${baseCommit} in ${worktreePath}${left}`;
}

/** A line of an agent. @param {{kind: string, text: string, tool?: string}} event hostile */
export const eventText = ({ kind, tool = "", text }) =>
  kind === "tool" ? `${tool}: ${text}` : kind === "refused" ? `refused: ${text}` : text;

/** @param {string} phase as somebody has named it */
export function requirePhase(phase) {
  if (PHASE_NAMES.includes(phase)) return;
  const text = `there is no phase "${visible(phase).slice(0, 64)}": ${formatSuggestion(phase, PHASE_NAMES)}`;
  throw new PlanError("UNKNOWN_PHASE", text);
}

/** @param {Record<string, any>} node with attempts @param {number} [attempt] as somebody has named it */
export function requireAttempt({ id, attempts }, attempt) {
  if (attempt === undefined || (attempt >= 1 && attempt <= Math.max(1, attempts.length))) return;
  const there =
    attempts.length === 0
      ? "it has not begun"
      : attempts.length === 1
        ? "there is attempt 1"
        : `there are 1 to ${attempts.length}`;
  throw new PlanError("UNKNOWN_ATTEMPT", `node ${id} has no attempt ${attempt}: ${there}`);
}

/** In which attempt a phase was last carried out, at the latest in that one. @param {Record<string, any>} node @param {string} phase @param {number} attempt */
export function findAttempt(node, phase, attempt) {
  const hasPhase = (/** @type {any} */ one) =>
    one.attempt <= attempt &&
    one.phases.some(
      (/** @type {any} */ { phase: name, status }) => name === phase && status !== "skipped",
    );
  return node.attempts.findLast(hasPhase)?.attempt ?? attempt;
}

/**
 * The end of a log for the model. Secrets are removed before it is cut: the rest of one has no form of its own.
 * @param {PlanManager} plans @param {{plan: string, name: string, most: number}} asked most: characters
 */
export async function readTail(plans, { plan, name, most }) {
  const log = await plans.readLog({ plan, name, most: Math.min(most + LEAD, MAX_READ) });
  const text = redactLines(plainLines(log.text));
  if (text.length <= most) return { ...log, text };
  return { ...log, text: text.slice(-most), from: Math.max(log.from, log.next - most) };
}

/**
 * All that an attempt has printed, one phase below the other; of a phase that it skipped, what an earlier one has.
 * @param {PlanManager} plans @param {string} planId @param {Record<string, any>} node with attempts
 * @param {{attempt?: number, most: number, show?: (text: string) => string}} asked most: characters, of the end; show:
 *   before it is cut
 * @returns {Promise<{attempt: number, phases: string[], text: string}>} hostile text, unless it was shown
 */
export async function readWholeLog(plans, planId, node, asked) {
  const { attempt = node.attempt ?? 1, most, show = (all) => all } = asked;
  const phases = [];
  const parts = [];
  for (const { phase } of node.attempts[attempt - 1]?.phases ?? []) {
    const name = `${node.id}-${findAttempt(node, phase, attempt)}-${phase}`;
    const { text } = await plans.readLog({
      plan: planId,
      name,
      most: Math.min(most + LEAD, MAX_READ),
    });
    if (text === "") continue;
    phases.push(phase);
    parts.push(`== ${phase}\n${text}${text.endsWith("\n") ? "" : "\n"}`);
  }
  return { attempt, phases, text: show(parts.join("")).slice(-most) };
}

// Lists in pages, each an answer within 32 KB. A cursor names the entry after which the next page begins, by what of
// that entry never changes. So what changes, begins or goes between two pages makes no other entry come twice or never.

const MAX_PAGE_BYTES = 31_000;
const PAGE = 100;
/** As JSON: 100 places of nodes, or the path of a group. */
const MAX_CURSOR = 1024;
/** Whether it is of the asker's folder, when it was made, its id. */
const PLAN_CURSOR = /^([01])\.(\d{1,15})\.([\w-]{1,80})$/;
/** Places of nodes in their plan: where to go on, and which of those behind were shown. */
const NODES_CURSOR = /^\d{1,5}(?:,\d{1,5}(?:-\d{1,5})?)*$/;

/** @typedef {[here: number, createdAt: number, planId: string]} PlanKey */
/**
 * @typedef {object} Page
 * @property {number} rest entries from the first of this page on
 * @property {(count: number) => string} cursorAfter so many of this page
 * @property {string} [name] of the list
 */

/** @param {object} value */
const countBytes = (value) => Buffer.byteLength(JSON.stringify(value));

/** @param {string} cursor @returns {never} */
function refuse(cursor) {
  const text = `cursor: "${visible(cursor).slice(0, 64)}" is not that of an answer; without it you get the first page`;
  throw new PlanError("UNKNOWN_CURSOR", text);
}

/**
 * As many as have room, at least one: the cursor goes on.
 * @param {Record<string, any>} answer @param {any[]} all @param {Page} page @returns {Record<string, any>}
 */
export function fillPage(answer, all, { rest, cursorAfter, name = "nodes" }) {
  let room = MAX_PAGE_BYTES - MAX_CURSOR - countBytes({ ...answer, [name]: [], omitted: rest });
  const shown = [];
  for (const one of all) {
    room -= countBytes(one) + 1;
    if (room < 0 && shown.length > 0) break;
    shown.push(one);
  }
  const omitted = rest - shown.length;
  const more = omitted > 0 && { omitted, cursor: cursorAfter(shown.length) };
  return { ...answer, [name]: shown, ...more };
}

// ---- plans ---------------------------------------------------------------------------------------

/** Where a plan is in a list. @param {string} cwd the asker's @param {any} plan @returns {PlanKey} */
const toPlanKey = (cwd, { planId, cwd: made, repo, createdAt = 0 }) => [
  Number(made === cwd || cwd === repo || cwd.startsWith(`${repo}/`)),
  createdAt,
  planId,
];

/** @param {PlanKey} one @param {PlanKey} other */
function compareKeys([here, createdAt, planId], [otherHere, otherCreatedAt, otherId]) {
  const byTime = otherHere - here || otherCreatedAt - createdAt;
  return byTime || Number(planId > otherId) - Number(planId < otherId);
}

/** Those of the asker's folder first, the last made first: neither ever changes. @param {any[]} plans @param {string} cwd */
export const sortPlans = (plans, cwd) =>
  plans.toSorted((one, other) => compareKeys(toPlanKey(cwd, one), toPlanKey(cwd, other)));

/** The plan that a cursor names may be deleted. @param {any[]} plans in order @param {string} cwd @param {string} [cursor] */
export function pagePlans(plans, cwd, cursor) {
  let rest = plans;
  if (cursor !== undefined) {
    const [, here, createdAt, planId] = PLAN_CURSOR.exec(cursor) ?? refuse(cursor);
    /** @type {PlanKey} */
    const last = [Number(here), Number(createdAt), planId];
    rest = plans.filter((one) => compareKeys(toPlanKey(cwd, one), last) > 0);
  }
  return fillPage({}, rest.slice(0, PAGE), {
    ...{ name: "plans", rest: rest.length },
    cursorAfter: (count) => toPlanKey(cwd, rest[count - 1]).join("."),
  });
}

// ---- nodes and groups: a plan never loses any ----------------------------------------------------

/** @param {number} from @param {number[]} shown places, ascending @returns {string} such as "12,15-20,33" */
function formatCursor(from, shown) {
  let next = from;
  /** @type {number[][]} */
  const ranges = [];
  for (const place of shown) {
    const last = ranges.at(-1);
    if (place === next) next += 1;
    else if (last && last[1] + 1 === place) last[1] = place;
    else if (place > next) ranges.push([place, place]);
  }
  const texts = ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return [next, ...texts].join(",");
}

/** @param {string} cursor @param {number} total nodes of the plan @returns {{from: number, shown: number[]}} */
function parseCursor(cursor, total) {
  if (cursor.length > MAX_CURSOR || !NODES_CURSOR.test(cursor)) refuse(cursor);
  const [from, ...ranges] = cursor.split(",");
  /** @type {number[]} */
  const shown = [];
  for (const range of ranges) {
    const [first, last = first] = range.split("-").map(Number);
    const isNext = first > (shown.at(-1) ?? Number(from)) && last >= first && last < total;
    if (!isNext || shown.length + last - first >= PAGE) refuse(cursor);
    for (let place = first; place <= last; place += 1) shown.push(place);
  }
  if (Number(from) >= total) refuse(cursor);
  return { from: Number(from), shown };
}

/**
 * All nodes of a plan: on the first page those first that failed or run; then the others, as the plan has them.
 * @param {PlanManager} plans @param {Record<string, any>} answer
 * @param {{planId: string, total: number, cursor?: string}} asked total: nodes of the plan
 */
export function pageAllNodes(plans, answer, { planId, total, cursor }) {
  if (cursor === undefined) {
    const { nodes, places, rest } = plans.view({ view: "nodes", planId, most: PAGE });
    const sortPlaces = (/** @type {number} */ count) =>
      places.slice(0, count).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
    return fillPage(answer, nodes, {
      rest,
      cursorAfter: (count) => formatCursor(0, sortPlaces(count)),
    });
  }
  const { from, shown } = parseCursor(cursor, total);
  const asked = { view: "nodes", planId, inOrder: true, from, most: PAGE + shown.length };
  const page = plans.view(asked);
  const isNew = (/** @type {any} */ _, /** @type {number} */ at) =>
    !shown.includes(page.places[at]);
  const places = page.places.filter(isNew);
  const placesFrom = (/** @type {number} */ next) => shown.filter((place) => place >= next);
  return fillPage(answer, page.nodes.filter(isNew).slice(0, PAGE), {
    rest: page.rest - shown.length,
    cursorAfter: (count) => formatCursor(places[count - 1] + 1, placesFrom(places[count - 1])),
  });
}

/**
 * Some nodes of a plan, as it has them.
 * @param {PlanManager} plans @param {string} planId @param {{cursor?: string, status?: string, group?: string, phase?: string}} asked
 */
export function pageNodes(plans, planId, { cursor = "0", ...filter }) {
  const { total } = plans.view({ view: "plan", planId });
  const { from, shown } = parseCursor(cursor, total);
  if (shown.length > 0) refuse(cursor);
  const asked = { view: "nodes", planId, inOrder: true, from, most: PAGE, ...filter };
  const page = plans.view(asked);
  return fillPage({ planId, total: page.total }, page.nodes, {
    rest: page.rest,
    cursorAfter: (count) => String(page.places[count - 1] + 1),
  });
}

/** Those that the asker names, whose list is the order. @template T @param {Record<string, any>} answer @param {string[]} ids @param {(id: string) => T} viewOf @param {string} [cursor] */
export function pageNamedNodes(answer, ids, viewOf, cursor = "0") {
  const from = /^\d{1,9}$/.test(cursor) ? Number(cursor) : refuse(cursor);
  if (from > 0 && from >= ids.length) refuse(cursor);
  return fillPage(answer, ids.slice(from, from + PAGE).map(viewOf), {
    rest: ids.length - from,
    cursorAfter: (count) => String(from + count),
  });
}

/** Sorted by their paths. @param {PlanManager} plans @param {string} planId @param {string} [cursor] */
export function pageGroups(plans, planId, cursor) {
  const { groups, ...answer } = plans.view({ view: "groups", planId });
  const last = groups.findIndex((/** @type {any} */ { group }) => group === cursor);
  if (cursor !== undefined && last < 0) refuse(cursor);
  const rest = groups.slice(last + 1);
  return fillPage(answer, rest.slice(0, PAGE), {
    ...{ name: "groups", rest: rest.length },
    cursorAfter: (count) => rest[count - 1].group,
  });
}

// An answer for the model is JSON that is whole and has room in a result: what is too long in it is cut, and said.

const MAX_RESULT_BYTES = 31_000;
const FIRST_LIMIT = 8192;
const LAST_LIMIT = 16;
/** Of a list as many elements have room as of a text eight times as many characters. */
const CHARACTERS = 8;

/** @typedef {Record<string, number>} Cut what was left out, characters or elements, by path */

/**
 * @param {any} value of JSON @param {number} limit characters @param {Cut} cut is added to @param {string} [at]
 * @returns {any}
 */
function shorten(value, limit, cut, at = "") {
  if (typeof value === "string") {
    if (value.length <= limit) return value;
    cut[at] = value.length - limit;
    return value.slice(0, limit);
  }
  if (typeof value !== "object" || value === null) return value;
  const inner = (/** @type {any} */ one, /** @type {string | number} */ key) =>
    shorten(one, limit, cut, at === "" ? String(key) : `${at}.${key}`);
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inner(one, key)]));
  }
  const most = Math.ceil(limit / CHARACTERS);
  if (value.length > most) cut[at] = value.length - most;
  return value.slice(0, most).map(inner);
}

/** @param {any} answer @returns {any} the same where it has room; else with `cut`: what was left out, by path */
export function truncateResult(answer) {
  const fits = (/** @type {any} */ one) =>
    Buffer.byteLength(JSON.stringify(one)) <= MAX_RESULT_BYTES;
  if (answer === undefined || fits(answer)) return answer;
  for (let limit = FIRST_LIMIT; limit >= LAST_LIMIT; limit /= 2) {
    /** @type {Cut} */
    const cut = {};
    const some = { ...shorten(answer, limit, cut), cut };
    if (fits(some)) return some;
  }
  throw new RangeError("the answer has no room in a result: ask for less");
}

// How plans stand, for the doctor: what waits and why, what lies in worktrees, and where agents find the CLI.

const MAX_REPOSITORIES = 10;

/** @param {Record<string, any>} seen view of a plan @returns {string} why nothing of it goes on; "": it does, or it is over */
function findWaitReason({ pausedFor, waitsUntil, unlanded, counts }) {
  if (unlanded) return "landing";
  if (pausedFor === "budget") return "budget";
  if (pausedFor) return "pause";
  const goesOn = counts.running || counts.scheduled || counts.ready;
  return waitsUntil && !goesOn ? "limit" : "";
}

/** @param {import("./plan-manager.mjs").PlanManager} plans */
function listWaiting(plans) {
  return plans.engine.state().plans.flatMap((/** @type {string} */ planId) => {
    const seen = plans.view({ view: "plan", planId });
    const why = findWaitReason(seen);
    const { name, waitsUntil } = seen;
    return why ? [{ planId, name, why, ...(waitsUntil && { waitsUntil }) }] : [];
  });
}

/** @param {import("./plan-manager.mjs").PlanManager} plans */
export async function readHealth(plans) {
  const all = plans.list("");
  const repos = [...new Set(all.map(({ repo }) => repo))].filter((one) => typeof one === "string");
  const repositories = [];
  for (const repo of repos.slice(0, MAX_REPOSITORIES)) {
    const use = await plans.leftovers
      .use(repo)
      .catch((error) => ({ trouble: errorMessage(error), worktrees: 0, bytes: 0, orphans: 0 }));
    repositories.push({ repo, ...use });
  }
  const { cli } = await plans.preflight.findPrograms({ id: "", cwd: "" });
  return {
    ...{ plans: all.length, trouble: plans.trouble, waiting: listWaiting(plans), repositories },
    ...(cli && { cli }),
  };
}
