// Looks at all descriptors together before any feature is installed. The outcome does not depend on their order:
// two that claim the same name both go without it, and each is told of the other.

import { descriptorProblems, unknownCapabilities } from "./descriptor.mjs";
import { decide } from "./policy.mjs";

/** @typedef {import("./descriptor.mjs").Descriptor} Descriptor */
/** @typedef {import("./policy.mjs").Policy} Policy */
/**
 * @typedef {{descriptor: Descriptor, origin: string}} Candidate `origin`: the file or list that names it, for people
 *
 * @typedef {object} Checked
 * @property {Descriptor} descriptor with what may be installed: without the names that others claim, and without
 *   the tasks and hooks whose condition is not met
 * @property {string} origin
 * @property {import("./policy.mjs").Decision} decision
 * @property {{what: string, reason: string}[]} skipped
 * @property {string[]} problems diagnostics
 */

/** @param {Candidate[]} candidates @returns {Map<string, Candidate[]>} */
function groupedById(candidates) {
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
function claimedTwice(candidates, namesOf) {
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
function fieldsOf(descriptor) {
  try {
    const { id, runtime, displayName, version } = descriptor ?? {};
    return { id, runtime, displayName, version };
  } catch {
    return {};
  }
}

/** @param {readonly Candidate[]} same of one id @returns {string} */
function declaredTwice(same) {
  const origins = same.map(({ origin }) => origin).sort();
  return `${fieldsOf(same[0].descriptor).id} is declared by ${origins.join(" and by ")}: neither is installed`;
}

/** @param {Candidate} candidate @param {string[]} problems @returns {Checked} nothing of it is installed */
function refused({ descriptor, origin }, problems) {
  const { id, runtime, displayName, version } = fieldsOf(descriptor);
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
 * @returns {Checked}
 */
function check({ descriptor, origin }, policy, claimed) {
  const decision = decide(descriptor, policy);
  /** @type {Checked["skipped"]} */
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
 * @param {Candidate[]} candidates @param {Policy} policy @returns {Checked[]} in the order of the candidates
 */
export function preflightKnown(candidates, policy) {
  const byId = groupedById(candidates);
  const alone = candidates.filter(({ descriptor }) => byId.get(descriptor.id)?.length === 1);
  // One that is not installed takes no name.
  const enabled = alone.filter(({ descriptor }) => !decide(descriptor, policy).obstacle);
  const claimed = {
    tools: claimedTwice(enabled, ({ tools = [] }) => tools.map(({ name }) => name)),
    commands: claimedTwice(enabled, ({ commands = [] }) => commands.map(({ name }) => name)),
  };
  return candidates.map((candidate) => {
    const same = byId.get(candidate.descriptor.id) ?? [];
    if (same.length === 1) return check(candidate, policy, claimed);
    return refused(candidate, [declaredTwice(same)]);
  });
}

/** @param {Candidate[]} candidates @param {Policy} policy @returns {Promise<Checked[]>} in their order */
export async function preflight(candidates, policy) {
  const problems = await Promise.all(
    candidates.map(({ descriptor }) => descriptorProblems(descriptor)),
  );
  // One that is wrong claims its id, too.
  const twice = candidates.map((candidate) => {
    const { id } = fieldsOf(candidate.descriptor);
    const same = candidates.filter(({ descriptor }) => fieldsOf(descriptor).id === id);
    return typeof id === "string" && same.length > 1 ? [declaredTwice(same)] : [];
  });
  const all = candidates.map((_, at) => [...twice[at], ...problems[at]]);
  const good = candidates.filter((_, at) => all[at].length === 0);
  const checked = new Map(preflightKnown(good, policy).map((one, at) => [good[at], one]));
  return candidates.map((candidate, at) => checked.get(candidate) ?? refused(candidate, all[at]));
}
