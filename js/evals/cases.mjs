// A file of cases: YAML text in; cases, or problems with their lines, out.

import { isAlias, isMap as isMapNode, isSeq, LineCounter, parseDocument } from "yaml";
import { errorMessage } from "../lib/values.mjs";
import {
  anything,
  duration,
  either,
  flag,
  formatProblem,
  integer,
  isMap,
  list,
  named,
  object,
  pattern,
  readValue,
  refine,
  required,
  text,
  usually,
} from "../config/schema.mjs";
import { findPathProblem } from "./workspace-path.mjs";

/** @typedef {import("../config/schema.mjs").Path} Path */
/** @typedef {{line: number, column: number, text: string}} Problem */
/** @typedef {{tool: string, arguments?: Record<string, unknown>}} CallWanted */
/** `text` ignores case and blanks; or a pattern. @typedef {{tool?: string, text?: string, match?: RegExp}} TextWanted */
/** @typedef {{min: number, max: number}} Count */
/** @typedef {{collection: string, where: Record<string, unknown>, count: Count}} RecordWanted */
/** @typedef {{path: string, exists: boolean, match?: RegExp, sha256?: string}} FileWanted */
/** @typedef {{record?: RecordWanted, file?: FileWanted, transcript?: {match: RegExp}}} Assertion */
/**
 * A possible outcome of the case, in short.
 * @typedef {object} Example
 * @property {{tool: string, arguments?: Record<string, unknown>, result?: string, failed?: boolean}[]} [calls]
 * @property {string} [answer]
 * @property {Record<string, string>} [files]
 * @property {{collection: string, body?: Record<string, unknown>, source?: string}[]} [records]
 */
/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} prompt
 * @property {number} timeout of the CLI's run, in ms
 * @property {{files: Record<string, string>, git: boolean, commands: string[], timeout: number}} setup
 * @property {CallWanted[]} must_call
 * @property {CallWanted[]} must_not_call
 * @property {TextWanted[]} observations
 * @property {TextWanted[]} prohibited_claims
 * @property {string} [rubric]
 * @property {Assertion[]} assertions
 * @property {{pass: Example[], fail: Example[]}} examples
 */

export const MAX_BYTES = 8 * 1024 * 1024;
const MAX_CASES = 20_000;
const MAX_ALIASES = 100;
const MAX_PROBLEMS = 20;
const MAX_TEXT = 64 * 1024;
const MAX_PATTERN = 4096;
const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 3_600_000;
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._:-]{0,78}[\p{L}\p{N}])?$/u;

// ---- the fields -----------------------------------------------------------------------------------

const short = text({ most: 1024, raw: true });
const long = text({ most: MAX_TEXT, raw: true });
/** It becomes an argument of a program: at most 128 KB, together with a transcript. */
const promptText = text({ most: 8192, raw: true });
const timeout = usually(DEFAULT_TIMEOUT_MS, duration(1000, MAX_TIMEOUT_MS));
const regexp = pattern("mu", MAX_PATTERN);
const anyNames = named(anything);

/** @param {string} name */
const checkPath = (name) => findPathProblem(name) ?? "";

const caseName = refine(short, (name, place) =>
  NAME.test(name)
    ? name
    : place.expected("letters, digits, blanks and . _ : -, 80 characters at most", name),
);

const insidePath = refine(short, (name, place) => {
  const problem = checkPath(name);
  return problem === "" ? name : place.problem(problem);
});

const sha256 = refine(short, (digits, place) =>
  /^[0-9a-f]{64}$/i.test(digits)
    ? digits.toLowerCase()
    : place.expected("the 64 hexadecimal digits of a SHA-256", digits),
);

const match = object("a match", { match: regexp });
/** A value. A map with `match` as its only field is a pattern. @type {import("../config/schema.mjs").Schema<any>} */
const argument = {
  read: (value, place) =>
    isMap(value) && Object.keys(value).join() === "match" ? match.read(value, place) : value,
};

/** The tool's name alone is enough. @type {import("../config/schema.mjs").Schema<CallWanted>} */
const call = either(
  "string",
  refine(short, (tool) => ({ tool })),
  object("a call", { tool: required(short), arguments: named(argument) }),
);

const phrase = refine(short, (words) => ({ text: words }));
const caseless = required(pattern("imu", MAX_PATTERN));
const observation = object("an observation", { tool: short, match: caseless });
const claim = object("a claim", { match: caseless });

/** A number means exactly that many. @type {import("../config/schema.mjs").Schema<Count>} */
const count = either(
  "object",
  object("a range", { min: usually(0, integer(0)), max: usually(Infinity, integer(0)) }),
  refine(integer(0), (exactly) => ({ min: exactly, max: exactly })),
);

/** @type {Record<string, import("../config/schema.mjs").Schema<any>>} */
const assertions = {
  record: object("a record", {
    collection: required(short),
    where: usually({}, anyNames),
    count: usually({ min: 1, max: Infinity }, count),
  }),
  file: object("a file", {
    path: required(insidePath),
    exists: usually(true, flag),
    match: regexp,
    sha256,
  }),
  transcript: object("a transcript", { match: required(regexp) }),
};
/** @type {import("../config/schema.mjs").Schema<Assertion>} */
const assertion = object("an assertion", assertions, { one: Object.keys(assertions) });

const example = object("an example", {
  calls: list(
    object("a call of an example", {
      tool: required(short),
      arguments: anyNames,
      result: long,
      failed: flag,
    }),
  ),
  answer: long,
  files: named(long),
  records: list(
    object("a record of an example", {
      collection: required(short),
      body: anyNames,
      source: short,
    }),
  ),
});
const examples = usually([], list(example));

const setup = {
  files: usually({}, named(long, { checkName: checkPath })),
  git: usually(false, flag),
  commands: usually([], list(long)),
  timeout,
};

/** @type {import("../config/schema.mjs").Schema<Case>} */
const evalCase = object("a case", {
  name: required(caseName),
  prompt: required(promptText),
  timeout,
  setup: usually(
    { files: {}, git: false, commands: [], timeout: DEFAULT_TIMEOUT_MS },
    object("a setup", setup),
  ),
  must_call: usually([], list(call)),
  must_not_call: usually([], list(call)),
  observations: usually([], list(either("string", phrase, observation))),
  prohibited_claims: usually([], list(either("string", phrase, claim))),
  rubric: promptText,
  assertions: usually([], list(assertion)),
  examples: usually({ pass: [], fail: [] }, object("examples", { pass: examples, fail: examples })),
});

/** @type {import("../config/schema.mjs").Schema<{cases: Case[]}>} */
const wholeFile = object("a file of cases", {
  cases: required(list(evalCase, { most: MAX_CASES, what: "cases" })),
});

// ---- the text -------------------------------------------------------------------------------------

/** The part of a map or list, with its position. @param {any} node @param {string | number} part */
function findPart(node, part) {
  if (isMapNode(node)) {
    const pair = node.items.find(({ key }) => String(/** @type {any} */ (key)?.value) === part);
    return { node: pair?.value, begin: /** @type {any} */ (pair?.key)?.range?.[0] };
  }
  const item = isSeq(node) ? /** @type {any} */ (node.items[Number(part)]) : undefined;
  return { node: item, begin: item?.range?.[0] };
}

/** The position of a part of the document. @param {any} document @param {Path} path @returns {number} */
function findOffset(document, path) {
  let node = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const part of path) {
    const found = findPart(isAlias(node) ? node.resolve(document) : node, part);
    node = found.node;
    offset = found.begin ?? offset;
  }
  return offset;
}

/** @param {Case[]} cases @param {(at: number, message: string) => void} report */
function checkNames(cases, report) {
  const seen = new Set();
  for (const [at, { name }] of cases.entries()) {
    if (seen.has(name)) report(at, `there is a second case "${name}"`);
    seen.add(name);
  }
}

/**
 * @param {string} source YAML text
 * @returns {{cases: Case[], problems: Problem[]}} no cases if there are problems
 */
export function readCases(source) {
  const lines = new LineCounter();
  /** @type {Problem[]} */
  const problems = [];
  const add = (/** @type {number} */ offset, /** @type {string} */ message) => {
    const { line, col } = lines.linePos(offset);
    problems.push({ line, column: col, text: message });
  };
  /** @type {Case[]} */
  let cases = [];
  try {
    const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
    for (const { pos, message } of document.errors.slice(0, MAX_PROBLEMS)) add(pos[0], message);
    if (problems.length > 0) return { cases, problems };
    const read = readValue(wholeFile, document.toJS({ maxAliasCount: MAX_ALIASES }));
    if (read.ok === false) {
      for (const problem of read.problems)
        add(findOffset(document, problem.path), formatProblem(problem));
    } else {
      ({ cases } = read.value);
      checkNames(cases, (at, message) => add(findOffset(document, ["cases", at]), message));
    }
  } catch (error) {
    const deep = error instanceof RangeError;
    add(0, deep ? "it is nested too deeply" : errorMessage(error));
  }
  return { cases: problems.length > 0 ? [] : cases, problems };
}
