// Checks all descriptors together before any feature is installed. The outcome does not depend on their order:
// if two claim the same name, neither gets it, and each report names the other.

import { unknownCapabilities } from "./descriptor.mjs";
import { decideGrants } from "./capability-grants.mjs";

/** @typedef {import("./descriptor.mjs").Descriptor} Descriptor */
/** @typedef {import("./capability-grants.mjs").Policy} Policy */
/**
 * @typedef {{descriptor: Descriptor, origin: string}} Candidate `origin`: the file or list that names it, for people
 *
 * @typedef {object} PreflightResult
 * @property {Descriptor} descriptor with the parts that may be installed: without names that others claim, and without
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

/** A result without installed parts. @param {Candidate} candidate @param {Candidate[]} same with the same id @returns {PreflightResult} */
function rejectDuplicate({ descriptor, origin }, same) {
  const { id, runtime, displayName, version } = descriptor;
  const origins = same.map((duplicate) => duplicate.origin).sort();
  const obstacle = `${id} is declared by ${origins.join(" and by ")}: neither is installed`;
  return {
    descriptor: { id, runtime, displayName, version },
    origin,
    decision: { enabled: true, granted: [], denied: [], obstacle },
    skipped: [{ what: "the feature", reason: obstacle }],
    problems: [obstacle],
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
    const label = `${list === "tools" ? "tool" : "command"} ${name}`;
    const reason = `${ids.join(" and ")} both declare ${label}`;
    skipped.push({ what: label, reason });
    problems.push(`${reason}: neither has it`);
    return false;
  };
  const tools = (descriptor.tools ?? []).filter(({ name, requires = [] }) => {
    if (!free("tools", name)) return false;
    const missing = requires.find((capability) => !decision.granted.includes(capability));
    if (missing === undefined) return true;
    skipped.push({ what: `tool ${name}`, reason: `it needs ${missing}, which was not granted` });
    return false;
  });
  const commands = (descriptor.commands ?? []).filter(({ name }) => free("commands", name));
  const isMet =
    (/** @type {string} */ kind) =>
    (/** @type {{name: string, when?: string}} */ { name, when }) => {
      const { met, obstacle } = (when && policy.conditions?.[when]) || { met: !when, obstacle: "" };
      if (obstacle && decision.enabled) skipped.push({ what: `${kind} ${name}`, reason: obstacle });
      return met;
    };
  const tasks = (descriptor.tasks ?? []).filter(isMet("task"));
  const hooks = (descriptor.hooks ?? []).filter(isMet("hook"));
  const left = { ...descriptor, tools, commands, tasks, hooks };
  return { descriptor: left, origin, decision, skipped, problems };
}

/** @param {Candidate[]} candidates @param {Policy} policy @returns {PreflightResult[]} in their order */
export function preflight(candidates, policy) {
  const byId = groupById(candidates);
  const alone = candidates.filter(({ descriptor }) => byId.get(descriptor.id)?.length === 1);
  // A feature that is not installed claims no names.
  const enabled = alone.filter(({ descriptor }) => !decideGrants(descriptor, policy).obstacle);
  const claimed = {
    tools: findConflicts(enabled, ({ tools = [] }) => tools.map(({ name }) => name)),
    commands: findConflicts(enabled, ({ commands = [] }) => commands.map(({ name }) => name)),
  };
  return candidates.map((candidate) => {
    const same = byId.get(candidate.descriptor.id) ?? [];
    return same.length === 1
      ? checkCandidate(candidate, policy, claimed)
      : rejectDuplicate(candidate, same);
  });
}
