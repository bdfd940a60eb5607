// When an emitter runs.

import { cronProblem, parseDuration, formatDuration } from "./emitter-values.mjs";
import { quoteText } from "./emitter-fields.mjs";
import { isOutside } from "./emitter-work.mjs";

/** @typedef {import("./emitter-fields.mjs").Fields} Fields */
/** @typedef {import("./emitter-work.mjs").Kind} Kind */
/**
 * @typedef {object} Times
 * @property {number} [every] ms
 * @property {string} [cron] five fields
 * @property {string} [timezone] for cron; default: that of the computer
 * @property {string[]} [onChange] globs
 * @property {true} [idle] whenever the session has nothing to do
 * @property {"skip" | "once"} missed after a sleep of the computer
 * @property {"skip" | "queue" | "kill"} overlap when a run is due while one is running
 * @property {"never" | "on-failure" | "always"} restart of a continuous command
 * @property {number} [maxRuns]
 * @property {number} [expectEvery] ms: a longer silence is an event
 * @property {boolean} continuous a command that is not expected to end
 */

export const MIN_EVERY_MS = 1000;
export const MIN_PROMPT_EVERY_MS = 10_000;
export const MAX_EVERY_MS = 30 * 86_400_000;
const MAX_RUNS = 1_000_000;
const DEFAULT_IDLE_RUNS = 10;
const DEFAULT_TIMED_RUNS = 100;
const MAX_CRON = 200;
const MAX_GLOBS = 20;
const MAX_GLOB = 300;

/**
 * @param {Fields} fields @param {Kind | undefined} kind @param {boolean} byHand
 * @returns {{every?: number, idle?: true}}
 */
function readEvery(fields, kind, byHand) {
  const given = fields.get("every");
  if (given === undefined) return {};
  if (typeof given === "string" && given.length < 40 && given.trim().toLowerCase() === "idle") {
    if (kind !== undefined && kind !== "prompt") {
      fields.problem(
        "every",
        'expected a time such as "5m": only a prompt can run when the session is idle',
      );
    }
    return { idle: true };
  }
  const least = kind === "prompt" && !byHand ? MIN_PROMPT_EVERY_MS : MIN_EVERY_MS;
  const every = typeof given === "string" ? parseDuration(given) : undefined;
  if (every !== undefined && every >= least && every <= MAX_EVERY_MS) return { every };
  const range = `from ${formatDuration(least)} to ${formatDuration(MAX_EVERY_MS)}`;
  const what = typeof given === "string" ? `, found ${quoteText(given)}` : " as a text";
  const idle = kind === "prompt" ? ' or "idle"' : "";
  fields.problem(
    "every",
    `expected a time ${range}, such as "30s", "5m", "2h" or "1d"${idle}${what}`,
  );
  return {};
}

/** @param {string} zone */
function isZone(zone) {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

const CRON = /^[0-9A-Za-z*,/#+-]+(?: [0-9A-Za-z*,/#+-]+){4}$/;
const FIVE_FIELDS =
  'expected five fields (minute, hour, day, month, weekday), such as "30 9 * * 1-5"';

/** @param {string} cron that CRON does not fit */
function describeCronFields(cron) {
  const count = cron === "" ? 0 : cron.split(" ").length;
  if (count === 5) return "one of them has a character that no field has";
  return `it has ${count} ${count === 1 ? "field" : "fields"}`;
}

/** @param {Fields} fields @returns {{cron?: string, timezone?: string}} */
function readCron(fields) {
  const timezone = fields.text("timezone", 64, "a time zone");
  const isGood = timezone !== undefined && isZone(timezone);
  if (timezone !== undefined && !isGood) {
    fields.problem(
      "timezone",
      `expected a time zone such as "Europe/Berlin", found ${quoteText(timezone)}`,
    );
  }
  if (timezone !== undefined && !fields.has("cron")) {
    fields.problem("timezone", 'leave it out: it is for an emitter with "cron"');
  }
  const text = fields.text("cron", MAX_CRON, "five fields");
  const cron = text?.trim().replace(/\s+/g, " ");
  if (cron !== undefined) {
    const problem = CRON.test(cron)
      ? cronProblem(cron, isGood ? timezone : undefined)
      : describeCronFields(cron);
    if (problem !== "")
      fields.problem("cron", `${FIVE_FIELDS}, found ${quoteText(cron)}: ${problem}`);
  }
  return { ...(cron !== undefined && { cron }), ...(timezone !== undefined && { timezone }) };
}

/** @param {Fields} fields @param {Kind | undefined} kind @returns {string[] | undefined} */
function readGlobs(fields, kind) {
  if (!fields.has("onChange")) return undefined;
  if (kind === "prompt" || kind === "http") {
    fields.problem("onChange", "leave it out: it is for an emitter with a command");
  }
  const single =
    typeof fields.get("onChange") === "string" && fields.text("onChange", MAX_GLOB, "a glob");
  const globs = single ? [single] : fields.texts("onChange", MAX_GLOBS, MAX_GLOB);
  const bad = globs?.find((glob) => glob.trim() === "" || isOutside(glob.replace(/^!/, "")));
  if (bad === undefined) return globs;
  fields.problem(
    "onChange",
    `expected globs inside the workspace, such as "src/**/*.ts", found ${quoteText(bad)}`,
  );
  return undefined;
}

/**
 * What does not go together with what the emitter does and when: whether, the field, and what to write.
 * @param {Kind} kind @param {Times} times @returns {[boolean, string, string][]}
 */
function conflicts(kind, { every, cron, onChange, idle, missed, overlap, ...times }) {
  const timed = every !== undefined || cron !== undefined;
  const isPrompt = kind === "prompt";
  const again = timed || onChange !== undefined;
  const once = isPrompt && !timed && !idle;
  return [
    [
      kind === "http" && !timed,
      "every",
      'is missing: how often to look at the "url", such as "5m"',
    ],
    [missed === "once" && !timed, "missed", 'leave it out, or add "every" or "cron"'],
    [overlap !== "skip" && isPrompt, "overlap", "leave it out: a prompt never runs twice at once"],
    [
      overlap !== "skip" && !isPrompt && !again,
      "overlap",
      'leave it out, or add "every", "cron" or "onChange"',
    ],
    [once && times.maxRuns !== 1, "maxRuns", 'leave it out, or add "every": this prompt runs once'],
    [
      times.restart !== "never" && !times.continuous,
      "restart",
      "leave it out: it is for a command that runs until it is stopped",
    ],
    [
      times.expectEvery !== undefined && isPrompt,
      "expectEvery",
      "leave it out: it is for an emitter with lines of its own",
    ],
  ];
}

/** @param {Kind | undefined} kind @param {{every?: number, cron?: string, idle?: true}} times */
function usualRuns(kind, { every, cron, idle }) {
  if (kind !== "prompt") return undefined;
  if (idle) return DEFAULT_IDLE_RUNS;
  return every !== undefined || cron !== undefined ? DEFAULT_TIMED_RUNS : 1;
}

/**
 * @param {Fields} fields @param {Kind | undefined} kind @param {boolean} byHand the user has typed it
 * @returns {Times}
 */
export function readTimes(fields, kind, byHand) {
  const given = ["every", "cron", "onChange"].filter((name) => fields.has(name));
  for (const name of given.slice(1)) {
    fields.problem(name, `leave it out, or "${given[0]}": an emitter has one of them`);
  }
  const rhythm = { ...readEvery(fields, kind, byHand), ...readCron(fields) };
  const onChange = readGlobs(fields, kind);
  const maxRuns = fields.count("maxRuns", MAX_RUNS) ?? usualRuns(kind, rhythm);
  const expectEvery = fields.duration("expectEvery", MIN_EVERY_MS, MAX_EVERY_MS);
  const times = {
    ...rhythm,
    ...(onChange && { onChange }),
    missed: fields.word("missed", /** @type {const} */ (["skip", "once"])) ?? "skip",
    overlap: fields.word("overlap", /** @type {const} */ (["skip", "queue", "kill"])) ?? "skip",
    restart:
      fields.word("restart", /** @type {const} */ (["never", "on-failure", "always"])) ?? "never",
    ...(maxRuns !== undefined && { maxRuns }),
    ...(expectEvery !== undefined && { expectEvery }),
    continuous: kind === "command" && given.length === 0 && maxRuns !== 1,
  };
  if (kind === undefined) return times;
  for (const [applies, name, text] of conflicts(kind, times)) {
    if (applies) fields.problem(name, text);
  }
  return times;
}
