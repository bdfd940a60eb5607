// How a command is watched: which entry reads its output, its further options, and the matcher for its lines.

import { inLine } from "../lib/visible.mjs";
import { improve, recognize, runsForever } from "./commands.mjs";
import { loadEntries, toMatcher } from "./entries.mjs";

/**
 * @typedef {object} Plan
 * @property {string} tool the name of the entry
 * @property {string} [command] @property {string[]} [argv] the command that runs
 * @property {Record<string, string>} env @property {string[]} changed the options that the entry adds, for people
 * @property {boolean} runsOn the command is known not to end by itself
 * @property {boolean} keepsUnseen a cycle runs only changed files, so a failure stays until its file or test has passed
 * @property {string} matcher JSON, for the addon's LineSource
 * @property {{match: string, outcome: "drop"}[]} rules for its lines
 *
 * @typedef {object} PlanOptions
 * @property {string} folder where it runs
 * @property {string} [tool] the entry to take @property {string} [red] @property {string} [green] patterns
 * @property {boolean} [asIs] without further options
 * @property {boolean} [isTimed] it runs again and again, so each run is a cycle
 * @property {import("./commands.mjs").ReadScript} [readScript]
 */

/** The entry for unknown commands. */
export const GENERAL = "general";

/**
 * @param {string | readonly string[]} given the command @param {PlanOptions} options
 * @returns {Plan} @throws {RangeError} where no entry has the name
 */
export function plan(given, options) {
  const { folder, tool = "", red, green, asIs, isTimed = false, readScript } = options;
  const { tools } = loadEntries();
  const found = recognize(given, tools, readScript);
  const entry = tool === "" ? (found?.entry ?? findEntry(tools, GENERAL)) : findEntry(tools, tool);
  const isOwn = found?.entry === entry;
  const better = isOwn ? improve(given, found, { asIs }) : { command: given, env: {}, changed: [] };
  // Whether an unknown command ends is not known either: its lines count, and its exit code.
  const isKnown = entry.tool !== GENERAL;
  const goesOn = !isKnown || (found !== undefined && runsForever(entry, found.words));
  const runsOn = goesOn && !isTimed;
  const own = Object.entries({ red, green }).filter(([, pattern]) => pattern);
  const matcher = { ...toMatcher(entry, tools), ...Object.fromEntries(own) };
  const how = { runsOn, root: `${folder}/`, exitDecides: !isKnown };
  const { command, env, changed } = better;
  return {
    ...{ tool: entry.tool, env, changed, runsOn: runsOn && isKnown },
    ...(typeof command === "string" ? { command } : { argv: [...command] }),
    keepsUnseen: runsOn && entry.ran !== undefined,
    matcher: JSON.stringify({ ...matcher, ...how }),
    rules: entry.drop ? [{ match: entry.drop, outcome: "drop" }] : [],
  };
}

/** @param {readonly import("./entries.mjs").Tool[]} tools @param {string} name */
function findEntry(tools, name) {
  const found = tools.find(({ tool }) => tool === name);
  if (found) return found.read();
  throw new RangeError(`no entry is called ${inLine(name)}; copilot-tap watch tools lists them`);
}
