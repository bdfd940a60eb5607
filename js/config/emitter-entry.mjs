// A spec as an entry of a config: what readEmitter() or readStream() makes that spec of again. Defaults are left out.

import { formatDuration } from "./emitter-values.mjs";

/** @typedef {import("./emitter-spec.mjs").EmitterSpec} EmitterSpec */

/** @param {import("./emitter-rules.mjs").Rule} rule */
const toRuleEntry = ({ cooldown, window, ...rule }) => ({
  ...rule,
  ...(cooldown !== undefined && { cooldown: formatDuration(cooldown) }),
  ...(window && { window: { lines: window.lines, time: formatDuration(window.time) } }),
});

/** @param {readonly import("./emitter-rules.mjs").Rule[]} rules */
const toFilterEntry = (rules) => (rules.length > 0 ? rules.map(toRuleEntry) : undefined);

/** Only what is there. @param {Record<string, unknown>} entry */
const omitUndefined = (entry) =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));

/** The values that need not be written. @param {EmitterSpec} spec */
const defaultValues = ({ name, kind, every, cron, idle }) => ({
  stream: name,
  includeStderr: false,
  subscribe: true,
  delivery: "important",
  managedBy: "userOwned",
  autoStart: true,
  background: false,
  missed: "skip",
  overlap: "skip",
  restart: "never",
  maxRuns: kind !== "prompt" ? undefined : idle ? 10 : (every ?? cron) === undefined ? 1 : 100,
});

/** @param {EmitterSpec} spec @returns {Record<string, unknown>} */
export function toEmitterEntry(spec) {
  const defaults = defaultValues(spec);
  const changedField = (/** @type {keyof typeof defaults} */ name) =>
    spec[name] === defaults[name] || spec[name] === undefined ? [] : [[name, spec[name]]];
  const { name, description, command, argv, prompt, url, jsonPath, cwd, env } = spec;
  const { every, idle, cron, timezone, onChange, expectEvery, rules } = spec;
  const own = {
    ...{ name, description, command, argv, prompt, url, jsonPath, cwd },
    env: Object.keys(env).length > 0 ? env : undefined,
    every: idle ? "idle" : every && formatDuration(every),
    ...{ cron, timezone, onChange },
    expectEvery: expectEvery && formatDuration(expectEvery),
    eventFilter: toFilterEntry(rules),
    ...Object.fromEntries(
      /** @type {(keyof typeof defaults)[]} */ (Object.keys(defaults)).flatMap(changedField),
    ),
  };
  const { stream, ...entry } = /** @type {Record<string, unknown>} */ (own);
  return omitUndefined({ ...entry, channel: stream });
}

/** @param {import("./emitter-spec.mjs").StreamSpec} spec @returns {Record<string, unknown>} */
export const toStreamEntry = ({ name, description, subscribe, delivery, managedBy, rules }) =>
  omitUndefined({
    ...{ name, description, subscribe },
    delivery: delivery === "important" ? undefined : delivery,
    managedBy: managedBy === "userOwned" ? undefined : managedBy,
    eventFilter: toFilterEntry(rules),
  });
