// A file of cases: YAML text in, cases or problems with their lines out.

import { isAlias, isMap as isMapNode, isSeq, LineCounter, parseDocument } from "yaml";
import { errorMessage } from "../lib/values.mjs";
import { findPathProblem } from "./workspace-path.mjs";
import * as field from "./fields.mjs";

/** @typedef {import("./fields.mjs").Path} Path */
/** @typedef {{line: number, column: number, text: string}} Problem */
/** @typedef {{tool: string, arguments?: Record<string, unknown>}} CallWanted */
/** `text` without regard to case and blanks, or a pattern. @typedef {{tool?: string, text?: string, match?: RegExp}} TextWanted */
/** @typedef {{min: number, max: number}} Count */
/** @typedef {{collection: string, where: Record<string, unknown>, count: Count}} RecordWanted */
/** @typedef {{path: string, exists: boolean, match?: RegExp, sha256?: string}} FileWanted */
/** @typedef {{record?: RecordWanted, file?: FileWanted, transcript?: {match: RegExp}}} Assertion */
/**
 * What a run of the case might have left, in few words.
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
const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 3_600_000;
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._:-]{0,78}[\p{L}\p{N}])?$/u;

// ---- the fields -----------------------------------------------------------------------------------

const short = field.text(1024);
const long = field.text(MAX_TEXT);
/** What becomes an argument of a program: together with a transcript, 128 KB at most. */
const promptText = field.text(8192);

/** @type {field.Reader<string>} */
const insidePath = (value, path, report) => {
  const name = short(value, path, report);
  const problem = name === undefined ? undefined : findPathProblem(name);
  return problem === undefined ? name : void report(path, problem);
};

/** @type {field.Reader<string>} */
const caseName = (value, path, report) => {
  const name = short(value, path, report);
  if (name === undefined || NAME.test(name)) return name;
  return void report(path, "a name has letters, digits, blanks and . _ : -, 80 characters at most");
};

/** @type {field.Reader<string>} */
const sha256 = (value, path, report) =>
  /^[0-9a-f]{64}$/i.test(String(value))
    ? String(value).toLowerCase()
    : void report(path, "expected the 64 hexadecimal digits of a SHA-256");

/** A value; a map of nothing but `match` is a pattern. @type {field.Reader<unknown>} */
const argument = (value, path, report) =>
  field.isMap(value) && Object.keys(value).join() === "match"
    ? field.map("a match", { match: field.pattern("mu") })(value, path, report)
    : value;

const callFields = field.map("a call", { tool: short, arguments: field.named(argument) }, ["tool"]);
/** A tool's name alone will do. @type {field.Reader<CallWanted>} */
const call = (value, path, report) =>
  typeof value === "string" ? { tool: value } : callFields(value, path, report);

/** @param {string} what @param {Record<string, field.Reader<any>>} more @returns {field.Reader<TextWanted>} */
const textWanted = (what, more) => {
  const reader = field.map(what, { ...more, match: field.pattern("imu") }, ["match"]);
  return (value, path, report) =>
    typeof value === "string" ? { text: value } : reader(value, path, report);
};

const range = field.map("a range", { min: field.wholeNumber(0), max: field.wholeNumber(0) });
/** A number is exactly that many. @type {field.Reader<Count>} */
const count = (value, path, report) => {
  if (!field.isMap(value)) {
    const exactly = field.wholeNumber(0)(value, path, report);
    return exactly === undefined ? undefined : { min: exactly, max: exactly };
  }
  return { min: 0, max: Infinity, ...range(value, path, report) };
};

const recordFields = field.map(
  "a record",
  { collection: short, where: field.named(field.anything), count },
  ["collection"],
);
const fileFields = field.map(
  "a file",
  { path: insidePath, exists: field.yesOrNo, match: field.pattern("mu"), sha256 },
  ["path"],
);
const assertionFields = field.map("an assertion", {
  record: (value, path, report) => ({
    where: {},
    count: { min: 1, max: Infinity },
    ...recordFields(value, path, report),
  }),
  file: (value, path, report) => ({ exists: true, ...fileFields(value, path, report) }),
  transcript: field.map("a transcript", { match: field.pattern("mu") }, ["match"]),
});
/** @type {field.Reader<Assertion>} */
const assertion = (value, path, report) => {
  const found = assertionFields(value, path, report);
  if (found && Object.keys(found).length !== 1) {
    return void report(path, "an assertion is one of record, file, transcript");
  }
  return found;
};

const example = field.map("an example", {
  calls: field.list(
    field.map(
      "a call of an example",
      {
        tool: short,
        arguments: field.named(field.anything),
        result: long,
        failed: field.yesOrNo,
      },
      ["tool"],
    ),
  ),
  answer: long,
  files: field.named(long),
  records: field.list(
    field.map(
      "a record of an example",
      { collection: short, body: field.named(field.anything), source: short },
      ["collection"],
    ),
  ),
});

const caseFields = field.map(
  "a case",
  {
    name: caseName,
    prompt: promptText,
    timeout: field.duration(MAX_TIMEOUT_MS),
    setup: field.map("a setup", {
      files: (value, path, report) => {
        const files = field.named(long)(value, path, report) ?? {};
        for (const name of Object.keys(files)) insidePath(name, [...path, name], report);
        return files;
      },
      git: field.yesOrNo,
      commands: field.list(long),
      timeout: field.duration(MAX_TIMEOUT_MS),
    }),
    must_call: field.list(call),
    must_not_call: field.list(call),
    observations: field.list(textWanted("an observation", { tool: short })),
    prohibited_claims: field.list(textWanted("a claim", {})),
    rubric: promptText,
    assertions: field.list(assertion),
    examples: field.map("examples", { pass: field.list(example), fail: field.list(example) }),
  },
  ["name", "prompt"],
);

/** @type {field.Reader<Case>} */
const evalCase = (value, path, report) => {
  const found = caseFields(value, path, report);
  if (found === undefined) return undefined;
  const none = { must_call: [], must_not_call: [], observations: [], prohibited_claims: [] };
  const setup = { files: {}, git: false, commands: [], timeout: DEFAULT_TIMEOUT_MS };
  return {
    ...none,
    timeout: DEFAULT_TIMEOUT_MS,
    assertions: [],
    ...found,
    setup: { ...setup, ...found.setup },
    examples: { pass: [], fail: [], ...found.examples },
  };
};

const wholeFile = field.map("a file of cases", { cases: field.list(evalCase) }, ["cases"]);

// ---- the text -------------------------------------------------------------------------------------

/** The part of a map or list, and where it begins. @param {any} node @param {string | number} part */
function findPart(node, part) {
  if (isMapNode(node)) {
    const pair = node.items.find(({ key }) => String(/** @type {any} */ (key)?.value) === part);
    return { node: pair?.value, begin: /** @type {any} */ (pair?.key)?.range?.[0] };
  }
  const item = isSeq(node) ? /** @type {any} */ (node.items[Number(part)]) : undefined;
  return { node: item, begin: item?.range?.[0] };
}

/** Where that part of the document begins. @param {any} document @param {Path} path @returns {number} */
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

/** @param {Case[]} cases @param {(at: number, text: string) => void} report */
function checkNames(cases, report) {
  const seen = new Set();
  for (const [at, { name }] of cases.entries()) {
    if (seen.has(name)) report(at, `there is a second case "${name}"`);
    seen.add(name);
  }
}

/**
 * @param {string} source YAML text
 * @returns {{cases: Case[], problems: Problem[]}} no cases where there are problems
 */
export function readCases(source) {
  const lines = new LineCounter();
  /** @type {Problem[]} */
  const problems = [];
  const add = (/** @type {number} */ offset, /** @type {string} */ message) => {
    if (problems.length >= MAX_PROBLEMS) return;
    const { line, col } = lines.linePos(offset);
    problems.push({ line, column: col, text: message });
  };
  /** @type {Case[]} */
  let cases = [];
  try {
    const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
    for (const { pos, message } of document.errors) add(pos[0], message);
    if (problems.length > 0) return { cases, problems };
    const value = document.toJS({ maxAliasCount: MAX_ALIASES });
    const report = (/** @type {Path} */ path, /** @type {string} */ message) =>
      add(findOffset(document, path), message);
    cases = wholeFile(value, [], report)?.cases ?? [];
    if (problems.length === 0) checkNames(cases, (at, message) => report(["cases", at], message));
    if (cases.length > MAX_CASES) report(["cases"], `at most ${MAX_CASES} cases`);
  } catch (error) {
    const deep = error instanceof RangeError;
    add(0, deep ? "it is nested too deeply" : errorMessage(error));
  }
  return { cases: problems.length > 0 ? [] : cases, problems };
}
