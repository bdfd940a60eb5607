// An entry of a config of copilot-tap-extension 1.1, with the fields that tap has for the same.

import { PATTERNS, toRules } from "./emitter-rules.mjs";
import { isMap } from "./schema.mjs";

/** @typedef {Record<string, unknown>} Members */

/** @type {Readonly<Record<string, string>>} */
const NAMES = {
  stream: "channel",
  runInterval: "every",
  ownership: "managedBy",
  classifier: "eventFilter",
  enabled: "subscribe",
};
/** Entries of a config are persistent. */
const LIFETIMES = ["lifespan", "scope"];

/** A field that is given under both names stays, and is refused. @param {Members} given @returns {Members} */
const renameFields = (given) =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => !LIFETIMES.includes(name))
      .map(([name, value]) => {
        const present = Object.hasOwn(NAMES, name) ? NAMES[name] : name;
        return [Object.hasOwn(given, present) ? name : present, value];
      }),
  );

/** @param {Members} given @returns {unknown} a list of rules; undefined: a pattern is no text */
function convertPatterns(given) {
  const patterns = PATTERNS.map((name) => given[name]);
  if (!patterns.every((one) => one === undefined || typeof one === "string")) return undefined;
  return given.rules ?? toRules(/** @type {(string | undefined)[]} */ (patterns));
}

/** @param {Members} given an emitter or a stream @returns {Members} what cannot be converted stays as it is */
export function convertEntry(given) {
  const { sessionInjector, subscription = sessionInjector, ...own } = given;
  const entry = renameFields({ ...own, ...(isMap(subscription) && subscription) });
  if (entry.delivery === "surface") entry.delivery = "important";
  const { eventFilter = entry } = entry;
  const rules = isMap(eventFilter) ? convertPatterns(eventFilter) : undefined;
  if (rules === undefined) return entry;
  for (const name of eventFilter === entry ? PATTERNS : ["eventFilter"]) delete entry[name];
  return Array.isArray(rules) && rules.length === 0 ? entry : { ...entry, eventFilter: rules };
}
