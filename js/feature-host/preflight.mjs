// Looks at all descriptors together before any feature is installed. The outcome does not depend on their order:
// two that claim the same name both go without it, and each is told of the other.

import { descriptorProblems, unknownCapabilities } from "./descriptor.mjs";
import { decideGrants } from "./capability-grants.mjs";

/** @typedef {import("./descriptor.mjs").Descriptor} Descriptor */
/** @typedef {import("./capability-grants.mjs").Policy} Policy */
/**
 * @typedef {{descriptor: Descriptor, origin: string}} Candidate `origin`: the file or list that names it, for people
 *
 * @typedef {object} PreflightResult
 * @property {Descriptor} descriptor with what may be installed: without the names that others claim, and without
 *   the tasks and hooks whose condition is not met
 * @property {string} origin
 * @property {import("./capability-grants.mjs").Decision} decision
 * @property {{what: string, reason: string}[]} skipped
 * @property {string[]} problems diagnostics
 */

/** @param {Candidate[]} candidates @returns {Map<string, Candidate[]>} */
function groupById(candidates) {
  /** @type {Map<string, Candidate[]>} */
  const byId = new Map();
  for (const candidate of candidates) {
    const { id } = candidate.descriptor;
    byId.set(id, [...(byId.get(id) ?? []), candidate]);
  }
  return byId;
}

/**
 * The names that several features claim.
 * @param {Candidate[]} candidates @param {(descriptor: Descriptor) => string[]} namesOf
 * @returns {Map<string, string[]>} name → ids
 */
function findConflicts(candidates, namesOf) {
  /** @type {Map<string, string[]>} */
  const claims = new Map();
  for (const { descriptor } of candidates) {
    for (const name of namesOf(descriptor)) {
      claims.set(name, [...(claims.get(name) ?? []), descriptor.id].sort());
    }
  }
  return new Map([...claims].filter(([, ids]) => ids.length > 1));
}

/** One that cannot be read has none. @param {any} descriptor @returns {any} */
function readIdentity(descriptor) {
  try {
    const { id, runtime, displayName, version } = descriptor ?? {};
    return { id, runtime, displayName, version };
  } catch {
    return {};
  }
}

/** @param {readonly Candidate[]} same of one id @returns {string} */
function describeDuplicate(same) {
  const origins = same.map(({ origin }) => origin).sort();
  return `${readIdentity(same[0].descriptor).id} is declared by ${origins.join(" and by ")}: neither is installed`;
}

/** @param {Candidate} candidate @param {string[]} problems @returns {PreflightResult} nothing of it is installed */
function rejectCandidate({ descriptor, origin }, problems) {
  const { id, runtime, displayName, version } = readIdentity(descriptor);
  return {
    descriptor: /** @type {Descriptor} */ ({
      id: typeof id === "string" ? id : "(without an id)",
      runtime: typeof runtime === "string" ? runtime : "unknown",
      displayName: String(displayName ?? ""),
      version: String(version ?? ""),
    }),
    origin,
    decision: { enabled: true, granted: [], denied: [], obstacle: problems[0] },
    skipped: [{ what: "the feature", reason: problems[0] }],
    problems,
  };
}

/**
 * @param {Candidate} candidate @param {Policy} policy
 * @param {{tools: Map<string, string[]>, commands: Map<string, string[]>}} claimed
 * @returns {PreflightResult}
 */
function checkCandidate({ descriptor, origin }, policy, claimed) {
  const decision = decideGrants(descriptor, policy);
  /** @type {PreflightResult["skipped"]} */
  const skipped = [];
  const problems = unknownCapabilities(descriptor).map(
    ({ capability, problem }) => `capability "${capability}": ${problem}`,
  );
  if (decision.enabled && decision.obstacle) {
    skipped.push({ what: "the feature", reason: decision.obstacle });
  }
  const free = (/** @type {"tools" | "commands"} */ list, /** @type {string} */ name) => {
    const ids = claimed[list].get(name);
    if (!ids) return true;
    const what = `${list === "tools" ? "tool" : "command"} ${name}`;
    const reason = `${ids.join(" and ")} both declare ${what}`;
    skipped.push({ what, reason });
    problems.push(`${reason}: neither has it`);
    return false;
  };
  const tools = (descriptor.tools ?? []).filter(({ name, requires = [] }) => {
    if (!free("tools", name)) return false;
    const missing = requires.find((one) => !decision.granted.includes(one));
    if (missing === undefined) return true;
    skipped.push({ what: `tool ${name}`, reason: `it needs ${missing}, which was not granted` });
    return false;
  });
  const commands = (descriptor.commands ?? []).filter(({ name }) => free("commands", name));
  const isMet =
    (/** @type {string} */ what) =>
    (/** @type {{name: string, when?: string}} */ { name, when }) => {
      const { met, obstacle } = (when && policy.conditions?.[when]) || { met: !when, obstacle: "" };
      if (obstacle && decision.enabled) skipped.push({ what: `${what} ${name}`, reason: obstacle });
      return met;
    };
  const tasks = (descriptor.tasks ?? []).filter(isMet("task"));
  const hooks = (descriptor.hooks ?? []).filter(isMet("hook"));
  const left = { ...descriptor, tools, commands, tasks, hooks };
  return { descriptor: left, origin, decision, skipped, problems };
}

/**
 * For descriptors that are known to be right, such as those of this program (a test holds them to the schema).
 * @param {Candidate[]} candidates @param {Policy} policy @returns {PreflightResult[]} in the order of the candidates
 */
export function preflightTrusted(candidates, policy) {
  const byId = groupById(candidates);
  const alone = candidates.filter(({ descriptor }) => byId.get(descriptor.id)?.length === 1);
  // One that is not installed takes no name.
  const enabled = alone.filter(({ descriptor }) => !decideGrants(descriptor, policy).obstacle);
  const claimed = {
    tools: findConflicts(enabled, ({ tools = [] }) => tools.map(({ name }) => name)),
    commands: findConflicts(enabled, ({ commands = [] }) => commands.map(({ name }) => name)),
  };
  return candidates.map((candidate) => {
    const same = byId.get(candidate.descriptor.id) ?? [];
    if (same.length === 1) return checkCandidate(candidate, policy, claimed);
    return rejectCandidate(candidate, [describeDuplicate(same)]);
  });
}

/** @param {Candidate[]} candidates @param {Policy} policy @returns {PreflightResult[]} in their order */
export function preflight(candidates, policy) {
  const problems = candidates.map(({ descriptor }) => descriptorProblems(descriptor));
  // One that is wrong claims its id, too.
  const twice = candidates.map((candidate) => {
    const { id } = readIdentity(candidate.descriptor);
    const same = candidates.filter(({ descriptor }) => readIdentity(descriptor).id === id);
    return typeof id === "string" && same.length > 1 ? [describeDuplicate(same)] : [];
  });
  const all = candidates.map((_, at) => [...twice[at], ...problems[at]]);
  const good = candidates.filter((_, at) => all[at].length === 0);
  const checked = new Map(preflightTrusted(good, policy).map((one, at) => [good[at], one]));
  return candidates.map(
    (candidate, at) => checked.get(candidate) ?? rejectCandidate(candidate, all[at]),
  );
}
