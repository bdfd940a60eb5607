// How a command is watched: which entry reads its output, its further options, and the matcher for its lines.

import fs from "node:fs";
import path from "node:path";
import { inLine } from "../lib/visible.mjs";
import { improve, recognize, runsForever } from "./commands.mjs";
import { loadEntries, toInnerTools, toMatcher, toParallel } from "./entries.mjs";

/**
 * @typedef {object} Plan
 * @property {string} tool the name of the entry
 * @property {string} [command] @property {string[]} [argv] the command that runs
 * @property {Record<string, string>} env @property {string[]} changed the options that the entry adds, for people
 * @property {boolean} runsOn the command is known not to end by itself
 * @property {boolean} keepsUnseen a cycle runs only changed files, so a failure stays until its file or test has passed
 * @property {string} matcher JSON, for the addon's LineSource
 * @property {string} [tools] JSON: those that the program may run, each with a state of its own
 * @property {{match: string, outcome: "drop"}[]} rules for its lines
 *
 * @typedef {object} PlanOptions
 * @property {string} folder where it runs
 * @property {string} [tool] the entry to take @property {string} [red] @property {string} [green] patterns
 * @property {number} [before] @property {number} [after] @property {string} [until] lines around a match of `red`
 * @property {boolean} [asIs] without further options
 * @property {boolean} [isTimed] it runs again and again, so each run is a cycle
 * @property {import("./commands.mjs").ReadScript} [readScript]
 * @property {import("./entries.mjs").OwnTool[]} [own] entries of configs
 */

/** The entry for unknown commands. */
export const GENERAL = "general";
const MAX_CONTEXT_LINES = 24;
/** Blank lines are dropped without a rule, which would cost on each line. */
const BLANK = "^\\s*$";

/** @param {string | readonly string[]} command */
const asGiven = (command) => ({ command, env: {}, changed: [] });

/** @param {import("./entries.mjs").Entry} entry @returns {Plan["rules"]} */
const listRules = ({ drop }) =>
  drop === undefined || drop === BLANK ? [] : [{ match: drop, outcome: "drop" }];

/** Its cycles need not have all failures. @param {import("./entries.mjs").Entry} entry */
const runsChangedOnly = ({ ran, touched }) => (ran ?? touched) !== undefined;

/**
 * @param {string | readonly string[]} given the command @param {PlanOptions} options
 * @returns {Plan} @throws {RangeError} where no entry has the name
 */
export function plan(given, options) {
  const { folder, tool, asIs, isTimed, readScript, own } = options;
  const { tools } = loadEntries({ own });
  const found = recognize(given, tools, readScript);
  const entry = tool || !found ? findEntry(tools, tool || GENERAL) : found.entry;
  const isOwn = found?.entry === entry;
  const { command, env, changed } = isOwn ? improve(given, found, { asIs }) : asGiven(given);
  // Whether an unknown command ends is not known either: its lines count, and its exit code.
  const isKnown = entry.tool !== GENERAL;
  const goesOn = !isKnown || (found !== undefined && runsForever(entry, found.words));
  const runsOn = goesOn && !isTimed;
  const how = { runsOn, root: `${folder}/`, exitDecides: !isKnown };
  const read = createMatcher(entry, tools, options, (isOwn && found.parallel) || []);
  return {
    ...{ tool: read.name, env, changed, runsOn: runsOn && isKnown },
    ...(typeof command === "string" ? { command } : { argv: [...command] }),
    keepsUnseen: runsOn && runsChangedOnly(entry),
    matcher: JSON.stringify({ ...read.matcher, ...how }),
    ...read.inner,
    rules: listRules(entry),
  };
}

/**
 * A red line with the lines around it is a failure.
 * @param {string} red @param {string | undefined} green @param {Pick<PlanOptions, "before" | "after" | "until">} context
 * @returns {import("./entries.mjs").FailureRule[]}
 */
function listRedFailures(red, green, { before, after, until }) {
  if ((before ?? after ?? until) === undefined) return [];
  const ends = [until, green, red].flatMap((one) => (one ? [`(?:${one})`] : []));
  const hasMore = (after ?? until) !== undefined;
  const most = (before ?? 0) + (after ?? (until ? MAX_CONTEXT_LINES : 0));
  return [
    {
      at: /\(\?<what>/.test(red) ? red : `^(?<what>.*(?:${red}).*)`,
      most: Math.min(most, MAX_CONTEXT_LINES),
      ...(before && { before }),
      ...(hasMore && { until: ends.join("|") }),
    },
  ];
}

/**
 * @param {import("./entries.mjs").Entry} entry @param {readonly import("./entries.mjs").Tool[]} tools
 * @param {PlanOptions} options @param {import("./entries.mjs").Entry[]} parallel tools that the command runs
 */
function createMatcher(entry, tools, { red, green, ...context }, parallel) {
  const own = Object.fromEntries(Object.entries({ red, green }).filter(([, pattern]) => pattern));
  if (parallel.length > 0) {
    const name = parallel.map((one) => one.tool).join(", ");
    return { name, matcher: { ...toParallel(parallel, tools), ...own }, inner: {} };
  }
  const matcher = { ...toMatcher(entry, tools), ...own };
  if (red) matcher.failure = [...listRedFailures(red, green, context), ...matcher.failure];
  const isUnknown = entry.tool === GENERAL && Object.keys(own).length === 0;
  const mayHaveParts = entry.prefix !== undefined || isUnknown;
  return {
    name: entry.tool,
    matcher,
    inner: mayHaveParts ? { tools: toInnerTools(tools, entry) } : {},
  };
}

/** @typedef {import("../config/emitter-spec.mjs").EmitterSpec} EmitterSpec */

/**
 * The emitter of a config with the command that will really run, for those who decide whether it may.
 * @param {EmitterSpec} spec @param {string} folder of the config @param {import("./entries.mjs").OwnTool[]} own
 * @returns {EmitterSpec}
 */
export function toPlanned(spec, folder, own) {
  if (!spec.watch) return spec;
  const place = path.join(folder, spec.cwd ?? "");
  const readScript = (/** @type {string} */ name, other = "") => {
    try {
      const { scripts } = JSON.parse(
        fs.readFileSync(path.join(place, other, "package.json"), "utf8"),
      );
      return Object.hasOwn(scripts, name) ? String(scripts[name]) : undefined;
    } catch {
      return undefined;
    }
  };
  try {
    const options = { ...spec.watch, folder: place, own, readScript };
    const { command, argv, env } = plan(spec.argv ?? spec.command ?? "", options);
    return { ...spec, command, argv, env: { ...env, ...spec.env } };
  } catch {
    return spec; // its tool is not known: it will not start
  }
}

/** @param {readonly import("./entries.mjs").Tool[]} tools @param {string} name */
function findEntry(tools, name) {
  const found = tools.find(({ tool }) => tool === name);
  if (found) return found.read();
  throw new RangeError(`no entry is called ${inLine(name)}; copilot-tap watch tools lists them`);
}
