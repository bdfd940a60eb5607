// How tap reads a tool's output: the entries in js/tools/*.yaml and those of a config. Patterns have the syntax of
// JavaScript with the flag `u`, which native/base/line_pattern.h runs.

import fs from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import {
  choice,
  flag,
  integer,
  list,
  named,
  object,
  readValue,
  refine,
  required,
  text,
  usually,
} from "../config/schema.mjs";
import { refusalReason } from "../lib/refused-variables.mjs";
import { errorMessage } from "../lib/values.mjs";
import { visible } from "../lib/visible.mjs";

/** @typedef {{file: string, field: string, reason: string}} EntryProblem file: where the entry is; field: failure[0].at */
/**
 * A kind of failure. `at` begins its block. `more` matches the lines that belong to it, `until` the first that does
 * not; with neither the block is a single line.
 * @typedef {object} FailureRule
 * @property {string} at
 * @property {string} [more]
 * @property {string} [until]
 * @property {number} [before] lines before it that belong to it
 * @property {number} most lines that are shown
 * @property {string} [start] the first line that is shown
 * @property {string} [omit] lines that are not shown
 * @property {string} [prefer] lines that are shown where there are too many
 * @property {string} [where] a later line with its place
 * @property {1} [what] the next line is the message
 * @property {1} [name] the next line continues the name
 * @property {string} [skip] a block with such a line repeats others
 * @property {true} [needsMore] a block of a single line is not a failure
 * @property {true} [last] only where no other failure was found
 */
/**
 * @typedef {{green?: number[], red?: number[], none?: number[], crash?: number[]}} ExitCodes
 * @typedef {object} Entry every text is a pattern, except where a name says otherwise
 * @property {string} tool
 * @property {string} [argv] @property {string} [first] @property {string} [runsOn]
 * @property {{args?: string[], env?: Record<string, string>, watch?: Record<string, string>}} [better]
 * @property {{stdin?: "open", tty?: string}} [needs]
 * @property {string} [begin] @property {string} [end] @property {"green"} [endMeans] @property {"green"} [quietMeans]
 * @property {string} [ready] @property {string} [touched] @property {boolean} [clearBegins]
 * @property {FailureRule[]} failure
 * @property {string} [file] @property {string} [ran]
 * @property {string} [red] @property {string} [green] @property {string} [none] @property {string} [warning]
 * @property {ExitCodes} [exit]
 * @property {string} [drop] @property {string} [omit] @property {string} [not]
 * @property {string[]} [uses] names of tools
 * @property {string} [prefix] @property {"auto"} [inner] @property {string} [exitLine]
 */
/**
 * The part of an entry that recognition needs; the rest is read later.
 * @typedef {object} Tool
 * @property {string} tool
 * @property {RegExp} [argv]
 * @property {RegExp} [first]
 * @property {() => Entry} read
 */

export const MAX_OWN_ENTRIES = 100;
const MAX_PATTERN_BYTES = 1024; // native/base/pattern.h
const MAX_FAILURE_RULES = 24;
const MAX_BLOCK_LINES = 24;
const MAX_ITEMS = 32;
const MAX_WORD = 128;

/** @param {string} source @param {string[]} groups that it may have, also as file2, and with "!" that it needs */
function findPatternProblem(source, groups) {
  if (Buffer.byteLength(source) > MAX_PATTERN_BYTES)
    return `expected a pattern of at most ${MAX_PATTERN_BYTES} bytes`;
  let names;
  try {
    // An empty alternative matches any text, so its result has the names of all groups.
    names = Object.keys(new RegExp(`${source}|`, "u").exec("")?.groups ?? {});
    new RegExp(source, "u");
  } catch (error) {
    return errorMessage(error);
  }
  const known = groups.map((one) => one.replace("!", ""));
  const unknown = names.find((name) => !known.includes(name.replace(/\d$/, "")));
  if (unknown !== undefined) {
    const expected = known.join(" or ") || "no field here";
    return `unknown group "${unknown}": expected ${expected}`;
  }
  const missing = groups.find((one) => one.endsWith("!") && !names.includes(one.slice(0, -1)));
  return missing === undefined ? "" : `the group "${missing.slice(0, -1)}" is missing`;
}

/** @param {...string} groups */
const pattern = (...groups) =>
  refine(text({ most: MAX_PATTERN_BYTES, what: "a pattern" }), (given, place) => {
    const problem = findPatternProblem(given, groups);
    return problem === "" ? given : place.problem(problem);
  });

const isSet = refine(flag, (isOn) => isOn || undefined);
const word = text({ most: MAX_WORD, what: "a word" });
/** It may stand in a command line as it is. */
const option = refine(word, (given, place) =>
  /^-[\w@%+=:,./ -]*$/.test(given)
    ? given
    : place.problem('expected an option, such as "--pretty"'),
);
const place = ["file", "line", "col", "code", "name", "what"];

const failureRule = object(
  "a failure",
  {
    at: required(pattern(...place)),
    more: pattern(),
    until: pattern(),
    before: integer(1, MAX_BLOCK_LINES),
    most: usually(4, integer(1, MAX_BLOCK_LINES)),
    start: pattern(),
    omit: pattern(),
    prefer: pattern(),
    where: pattern(...place),
    what: integer(1, 1),
    name: integer(1, 1),
    skip: pattern(),
    needsMore: isSet,
    last: isSet,
  },
  { most: ["more", "until"] },
);

const codes = list(integer(0, 255), { most: MAX_ITEMS, what: "exit codes" });

/** @type {import("../config/schema.mjs").Schema<Entry>} */
const entrySchema = object("an entry", {
  tool: required(
    refine(word, (given, at) =>
      /^[\w.-]+$/.test(given)
        ? given
        : at.problem('expected letters, digits, "." and "-", such as "my-build"'),
    ),
  ),
  argv: pattern(),
  first: pattern(),
  runsOn: pattern(),
  better: object('"better"', {
    args: list(option, { most: MAX_ITEMS, what: "options" }),
    env: named(text({ most: MAX_WORD, what: "a value", blank: true }), {
      most: MAX_ITEMS,
      what: "variables",
      checkName: (name) => {
        if (!/^[A-Z_][A-Z0-9_]*$/.test(name)) return "expected the name of a variable";
        const why = refusalReason(name);
        return why === "" ? "" : `leave it out: it says ${why}, more than the command does`;
      },
    }),
    watch: named(option, { most: MAX_ITEMS, what: "options" }),
  }),
  needs: object('"needs"', { stdin: choice(["open"]), tty: pattern() }),
  begin: pattern(),
  end: pattern(),
  endMeans: choice(["green"]),
  quietMeans: choice(["green"]),
  ready: pattern(),
  touched: pattern("file!"),
  clearBegins: flag,
  failure: usually([], list(failureRule, { most: MAX_FAILURE_RULES, what: "failures" })),
  file: pattern("file!"),
  ran: pattern("file", "name"),
  red: pattern("count", "who"),
  green: pattern("count", "who"),
  none: pattern("count", "who"),
  warning: pattern("count"),
  exit: object('"exit"', { green: codes, red: codes, none: codes, crash: codes }),
  drop: pattern(),
  omit: pattern(),
  not: pattern(),
  uses: list(word, { most: MAX_ITEMS, what: "entries" }),
  prefix: pattern("who!"),
  inner: choice(["auto"]),
  exitLine: pattern("code", "who"),
});

/** @template T @param {T} value @returns {T} */
function freeze(value) {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(freeze);
  return Object.freeze(value);
}

/**
 * @param {unknown} given @param {string} [file] where it is, for problems
 * @returns {{ok: true, entry: Entry} | {ok: false, problems: EntryProblem[]}}
 */
export function readEntry(given, file = "") {
  const read = readValue(entrySchema, given);
  if (read.ok === true) return { ok: true, entry: freeze(read.value) };
  const problems = read.problems.map(({ field, text: reason }) => ({ file, field, reason }));
  return { ok: false, problems };
}

/** @param {string} source @param {string} file where it is, for problems */
export function parseEntry(source, file) {
  try {
    const { parse } = /** @type {typeof import("yaml")} */ (createRequire(import.meta.url)("yaml"));
    return readEntry(parse(source, { maxAliasCount: 0, logLevel: "error" }), file);
  } catch (error) {
    const [reason] = errorMessage(error).split("\n");
    return { ok: /** @type {const} */ (false), problems: [{ file, field: "", reason }] };
  }
}

const FOLDER = fileURLToPath(new URL("../tools/", import.meta.url));
/** Asked last: it knows no tool, only words. */
const GENERAL = "general";

/** A pattern of ours is on the line of its name, in single quotes. @param {string} source @param {string} name */
function findPattern(source, name) {
  const quoted = new RegExp(`^${name}: '((?:[^'\\n]|'')*)'`, "mu").exec(source);
  return quoted ? new RegExp(quoted[1].replaceAll("''", "'"), "u") : undefined;
}

/** @param {string} tool @returns {Tool} */
function readShipped(tool) {
  const file = `${FOLDER}${tool}.yaml`;
  const source = fs.readFileSync(file, "utf8");
  /** @type {Entry | undefined} */
  let entry;
  const read = () => {
    if (entry) return entry;
    const parsed = parseEntry(source, file);
    if (parsed.ok === true) return (entry = parsed.entry);
    const [{ field, reason }] = parsed.problems;
    throw new Error(`${file} is damaged; install copilot-tap again (${field}: ${reason})`);
  };
  return Object.freeze({
    tool,
    argv: findPattern(source, "argv"),
    first: findPattern(source, "first"),
    read,
  });
}

/** @type {readonly Tool[] | undefined} */
let shipped;
/** @type {{tools: readonly Tool[], problems: EntryProblem[]} | undefined} */
let withoutOwn;

/** Parsing them all takes about 100 ms, so each is parsed when it is needed. */
function readAllShipped() {
  const names = fs
    .readdirSync(FOLDER)
    .flatMap((name) => (name.endsWith(".yaml") ? [name.slice(0, -".yaml".length)] : []))
    .sort((a, b) => Number(a === GENERAL) - Number(b === GENERAL) || (a < b ? -1 : 1));
  return (shipped ??= Object.freeze(names.map(readShipped)));
}

/** @param {string | undefined} source */
const compile = (source) => (source === undefined ? undefined : new RegExp(source, "u"));

/** An entry of a config. @typedef {{file: string, given?: unknown, reason?: string}} OwnTool `reason`: its file could not be read */
/**
 * Those of a config come first, and replace ours of the same name. A wrong entry is left out.
 * @param {{own?: OwnTool[]}} [from]
 * @returns {{tools: readonly Tool[], problems: EntryProblem[]}}
 */
export function loadEntries({ own = [] } = {}) {
  if (own.length === 0 && withoutOwn) return withoutOwn;
  /** @type {EntryProblem[]} */
  const problems = [];
  /** @type {Map<string, Tool>} */
  const tools = new Map();
  for (const { file, given, reason } of own.slice(0, MAX_OWN_ENTRIES)) {
    if (reason !== undefined) {
      problems.push({ file, field: "", reason });
      continue;
    }
    const read = readEntry(given, file);
    if (read.ok === false) {
      problems.push(...read.problems);
      continue;
    }
    const { entry } = read;
    const { tool } = entry;
    if (tools.has(tool))
      problems.push({ file, field: "tool", reason: `"${tool}" is the name of an entry before it` });
    else {
      const { argv, first } = entry;
      tools.set(tool, { tool, argv: compile(argv), first: compile(first), read: () => entry });
    }
  }
  for (const { file } of own.slice(MAX_OWN_ENTRIES, MAX_OWN_ENTRIES + 1))
    problems.push({ file, field: "", reason: `expected at most ${MAX_OWN_ENTRIES} entries` });
  for (const tool of readAllShipped()) if (!tools.has(tool.tool)) tools.set(tool.tool, tool);
  const loaded = { tools: [...tools.values()], problems };
  if (own.length === 0) withoutOwn = loaded;
  return loaded;
}

/** @param {EntryProblem} problem */
export const formatEntryProblem = ({ file, field, reason }) =>
  [visible(file), field, reason].filter(Boolean).join(": ");

/** Fields that only JavaScript reads. */
const NOT_FOR_MATCHER = ["argv", "first", "runsOn", "better", "needs", "uses", "inner"];
/** Of the entries below, too: any of them may match. */
const COMBINED = /** @type {const} */ (["drop", "omit", "warning"]);

/**
 * An entry with those that it uses, and those that they use.
 * @param {Entry} entry @param {readonly Tool[]} tools @param {Set<Entry>} [seen] @returns {Entry[]}
 */
function collectUsed(entry, tools, seen = new Set()) {
  if (seen.has(entry)) return [];
  seen.add(entry);
  const used = (entry.uses ?? []).flatMap((name) => tools.find(({ tool }) => tool === name) ?? []);
  return [entry, ...used.flatMap((tool) => collectUsed(tool.read(), tools, seen))];
}

/** @type {WeakMap<readonly Tool[], string>} */
const innerTools = new WeakMap();

/** @param {Entry} entry @param {readonly Tool[]} tools */
const toInnerTool = (entry, tools) => ({
  tool: entry.tool,
  ...(entry.first !== undefined && { first: entry.first }),
  matcher: JSON.stringify(toMatcher(entry, tools)),
});

/**
 * The tools that a program may run, for the matcher: each is recognized by `first`; an entry without it reads the
 * other parts.
 * @param {readonly Tool[]} tools @param {Entry} entry of the program @returns {string} JSON
 */
export function toInnerTools(tools, entry) {
  if (entry.prefix !== undefined && entry.inner !== "auto") {
    const matcher = JSON.stringify({ ...toMatcher(entry, tools), prefix: undefined });
    return JSON.stringify([{ tool: entry.tool, matcher }]);
  }
  const known = innerTools.get(tools);
  if (known !== undefined) return known;
  const all = tools
    .filter(({ tool, first }) => first !== undefined || tool === GENERAL)
    .map((one) => one.read())
    .filter(({ prefix }) => prefix === undefined);
  const json = JSON.stringify(all.map((one) => toInnerTool(one, tools)));
  innerTools.set(tools, json);
  return json;
}

/** For a command that names several tools, as `tsc -w & vite`. @param {readonly Entry[]} all @param {readonly Tool[]} tools */
export const toParallel = (all, tools) => ({
  inner: all.map((entry) => ({ ...toInnerTool(entry, tools), given: true })),
});

/** For the matcher (native/lines/cycles.h). @param {Entry} entry @param {readonly Tool[]} tools */
export function toMatcher(entry, tools) {
  const all = collectUsed(entry, tools);
  const own = Object.entries(entry).filter(([name]) => !NOT_FOR_MATCHER.includes(name));
  const combined = COMBINED.flatMap((name) => {
    const sources = all.flatMap((one) => one[name] ?? []);
    if (sources.length === 0) return [];
    const source = sources.length === 1 ? sources[0] : sources.map((one) => `(?:${one})`).join("|");
    return [[name, source]];
  });
  return {
    ...Object.fromEntries([...own, ...combined]),
    failure: all.flatMap(({ failure }) => failure),
  };
}
