// Claims held against records, by rules that docs/goals.md lists. No model judges: the same claim and the same records
// give the same verdict. Where a claim is not plain enough for the rules, it is unsupported.

import { collapseSpaces } from "./facts.mjs";

/** @typedef {import("./facts.mjs").Fact} Fact */
/** @typedef {"supported" | "contradicted" | "unsupported"} Verdict */
/** @typedef {{verdict: Verdict, reason: string, records: number[]}} Judgement */
/** @typedef {"good" | "bad" | "ran" | "not run" | "allowed" | "denied"} Assertion */

const SPLIT = /(?:[.;:!?]\s+|\n+|,?\s+(?:and|but|while|then|so)\s+|,\s+)/i;
const PRONOUN = /^(?:it|they|this|that|which|both)\b/i;
const HEDGE = /\b(?:should|would|will|might|may|could|probably|likely|expect\w*|hope\w*)\b/i;
/** Up to two words may stand between the negation and the word. */
const NOT = /\b(?:no|not|never|without|zero|0|cannot|\w+n['’]t)(?:\s+[\w'’]+){0,2}\s*$/i;
const MAX_LOOKBEHIND = 60;
/** @type {[RegExp, Assertion, Assertion][]} each with what it says, and what its negation says */
const WORDS = [
  [/\b(?:den(?:y|ies|ied)|blocked|refused)\b/gi, "denied", "allowed"],
  [/\ballow(?:s|ed)\b/gi, "allowed", "denied"],
  [
    /\b(?:fail(?:s|ed|ing|ures?)?|errors?|broken?|crash(?:es|ed)?|red|timed out)\b/gi,
    "bad",
    "good",
  ],
  [
    /\b(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|success(?:ful|fully)?|green|works?|worked|clean|ok|complete[ds]?|finish(?:es|ed)|built|deployed|done)\b/gi,
    "good",
    "bad",
  ],
  [/\b(?:ran|runs?|called|calls|executed?|used|started|invoked)\b/gi, "ran", "not run"],
];
/** "run" says little where there is more. @type {Assertion[]} */
const WEAK = ["ran"];
/** Stands where a name or a command was. */
const MARK = "\u0001";

/** What may be named without backquotes: not one plain word. @param {string} name */
const isDistinctive = (name) => /[\s_-]/.test(name) && name.length >= 4 && !name.includes(MARK);

/** The latest fact for each name and command. @param {Fact[]} facts newest first */
export function indexFacts(facts) {
  const named = { work: new Map(), gates: new Map() };
  for (const fact of facts) {
    const map = fact.kind === "gate" ? named.gates : named.work;
    for (const name of [...fact.names, ...fact.commands]) {
      if (name !== "" && !map.has(name)) map.set(name, fact);
    }
  }
  const all = new Set([...named.work.keys(), ...named.gates.keys()]);
  const telling = [...all].filter(isDistinctive).sort((a, b) => b.length - a.length);
  return { ...named, telling };
}

/** @typedef {ReturnType<typeof indexFacts>} Index */

/** Whether it stands there as a whole. @param {string} text @param {string} name @returns {number} where; -1: it does not */
function findName(text, name) {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text.slice(0, at);
    const after = text.slice(at + name.length);
    if (/(?:^|[\s"'(])$/.test(before) && /^(?:$|[\s"')]|[.,;:!?](?:\s|$))(?!\s*-)/.test(after)) {
      return at;
    }
  }
  return -1;
}

/**
 * The claim in parts. Texts in backquotes are names, and are not split.
 * @param {string} claim @param {Index} index
 */
function splitClaim(claim, index) {
  /** @type {string[]} */
  const names = [];
  const mark = (/** @type {string} */ name) =>
    `${MARK}${names.push(collapseSpaces(name)) - 1}${MARK}`;
  let text = collapseSpaces(claim.replaceAll(MARK, " ")).replace(/`([^`]+)`/g, (_all, name) =>
    mark(name),
  );
  for (const name of index.telling) {
    for (let at = findName(text, name); at >= 0; at = findName(text, name)) {
      text = `${text.slice(0, at)}${mark(name)}${text.slice(at + name.length)}`;
    }
  }
  const marks = new RegExp(`${MARK}(\\d+)${MARK}`, "g");
  return text
    .split(SPLIT)
    .map((part) => part.replace(/[.;:!?]$/, "").trim())
    .filter((part) => part !== "")
    .map((part) => ({
      names: [...part.matchAll(marks)].map(([, n]) => names[Number(n)]),
      words: part.replace(marks, " … "),
    }));
}

/** @param {string} words @returns {Assertion[]} each once */
function findAssertions(words) {
  /** @type {Set<Assertion>} */
  const sayings = new Set();
  for (const [pattern, says, negated] of WORDS) {
    for (const { index } of words.matchAll(pattern)) {
      const before = words.slice(Math.max(0, index - MAX_LOOKBEHIND), index);
      sayings.add(NOT.test(before) ? negated : says);
    }
  }
  if (sayings.size > 1) for (const weak of WEAK) sayings.delete(weak);
  return [...sayings];
}

/** @param {string} reason @param {number[]} [records] @returns {Judgement} */
const unsupported = (reason, records = []) => ({ verdict: "unsupported", reason, records });

/** @param {Fact} fact @param {Assertion} saying @returns {boolean} whether the record says the same */
function agrees(fact, saying) {
  if (saying === "ran") return true;
  if (saying === "not run") return false;
  return fact.good === (saying === "good" || saying === "allowed");
}

/** @param {Fact} fact @param {string} name @param {Assertion} saying @returns {string | undefined} why the record does not show it */
function findDoubt(fact, name, saying) {
  if (fact.shell?.failed) return "the tool has failed: it may not have run";
  if (saying !== "good" && saying !== "bad") return undefined;
  const isUnknown = fact.good && fact.exitCode === undefined && fact.commands.includes(name);
  return isUnknown ? "it does not say how the command ended" : fact.stale;
}

/** @param {string} name @param {Assertion} saying @param {string} words @param {Index} index @returns {Judgement} */
function judgeName(name, saying, words, index) {
  const ofGates = saying === "allowed" || saying === "denied";
  const fact = (ofGates ? index.gates : index.work).get(name);
  if (!fact) return unsupported(`no record of ${name}`);
  const records = [fact.record];
  const reason = `record ${fact.record}: ${fact.said}`;
  const doubt = findDoubt(fact, name, saying);
  if (doubt) return unsupported(`${reason}; ${doubt}`, records);
  if (!agrees(fact, saying)) return { verdict: "contradicted", reason, records };
  const numbers = words.match(/\b\d+(?:\.\d+)?\b/g) ?? [];
  const known = new Set(`${fact.text} ${fact.exitCode ?? ""}`.match(/\b\d+(?:\.\d+)?\b/g));
  const missing = numbers.find((number) => !known.has(number));
  if (missing === undefined) return { verdict: "supported", reason, records };
  return unsupported(`${reason}; it does not have the number ${missing}`, records);
}

/** @param {{names: string[], words: string}} part @param {Index} index @returns {Judgement[]} */
function judgePart({ names, words }, index) {
  if (HEDGE.test(words)) return [unsupported("it says what may be, not what was")];
  const sayings = findAssertions(words);
  if (names.length === 0) return [unsupported("it names no tool, command, gate or emitter")];
  if (sayings.length === 0) return [unsupported("it says nothing that a record shows")];
  if (sayings.length > 1) return [unsupported("it says several things: make it several claims")];
  return names.map((name) => judgeName(name, sayings[0], words, index));
}

/**
 * A part without a verb of its own says what the next part says ("a and b passed"); one that begins with a pronoun
 * is about the names of the part before.
 * @param {{names: string[], words: string}[]} parts
 */
function completeParts(parts) {
  /** @type {{names: string[], words: string}[]} */
  const whole = [];
  for (const part of [...parts].reverse()) {
    const next = whole.at(-1);
    const isBare = part.names.length > 0 && findAssertions(part.words).length === 0;
    whole.push(isBare && next ? { ...part, words: next.words } : part);
  }
  whole.reverse();
  return whole.map((part, at) =>
    at > 0 && part.names.length === 0 && PRONOUN.test(part.words)
      ? { ...part, names: whole[at - 1].names }
      : part,
  );
}

/** @param {string} claim @param {Index} index @returns {Judgement} */
export function judgeClaim(claim, index) {
  const judged = completeParts(splitClaim(claim, index)).flatMap((part) => judgePart(part, index));
  if (judged.length === 0) return unsupported("it has no words");
  const records = [...new Set(judged.flatMap((one) => one.records))];
  const worst =
    judged.find(({ verdict }) => verdict === "contradicted") ??
    judged.find(({ verdict }) => verdict === "unsupported");
  if (worst) return { ...worst, records: worst.records };
  const reason = [...new Set(judged.map((one) => one.reason))].join("; ");
  return { verdict: "supported", reason, records };
}

/** With small letters and single blanks. @param {string} text */
const foldCase = (text) => collapseSpaces(text).toLowerCase();

/** @param {string} text @param {string[]} prohibited @returns {string[]} those that the text has */
export const findProhibited = (text, prohibited) =>
  prohibited.filter((one) => foldCase(text).includes(foldCase(one)));
