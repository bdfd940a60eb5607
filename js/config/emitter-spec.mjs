// One emitter or stream, as a tool or an entry of a config gives it: one table has its fields, their bounds and what
// the model sees of them. What is read has every default filled in.

import { isDeepStrictEqual } from "node:util";
import { globProblem } from "../lib/globs.mjs";
import { refusalReason } from "../lib/refused-variables.mjs";
import {
  CONTEXT_FIELDS,
  filterFields,
  PATTERNS,
  toFilter,
  toFilterEntry,
} from "./emitter-rules.mjs";
import { cronProblem, formatDuration, isOutside, parseJsonPath } from "./emitter-values.mjs";
import { entrySandbox } from "./sandbox.mjs";
import {
  about,
  choice,
  duration,
  either,
  flag,
  hidden,
  integer,
  isMap,
  label,
  list,
  named,
  object,
  Place,
  quoteText,
  readValue,
  refine,
  required,
  text,
  toParameters,
  usually,
} from "./schema.mjs";

/** @typedef {import("./schema.mjs").FieldProblem} FieldProblem */
/** @typedef {import("./emitter-rules.mjs").Rule} Rule */
/** @typedef {"command" | "prompt" | "http"} Kind */
/**
 * @typedef {object} Work
 * @property {Kind} kind
 * @property {string} [command] for a shell
 * @property {string[]} [argv] a program and its arguments
 * @property {string} [prompt]
 * @property {string} [url]
 * @property {string} [jsonPath] the part of the answer that is watched
 * @property {string} [cwd] in the workspace
 * @property {Record<string, string>} env
 *
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
 *
 * @typedef {object} CommonSpec
 * @property {string} name
 * @property {string} [description]
 * @property {string} stream that keeps the lines
 * @property {boolean} includeStderr
 * @property {readonly Rule[]} rules
 * @property {boolean} subscribe whether the stream's accepted lines go to the session
 * @property {"important" | "all"} delivery of these: what a rule injects, or all
 * @property {"temporary" | "persistent"} scope
 * @property {"modelOwned" | "userOwned"} managedBy
 * @property {boolean} autoStart
 * @property {boolean} background it runs without a session, too
 * @property {"project" | "user"} file whose config it is or would be in
 * @property {WatchSpec} [watch] its output has a state: it is a build or a test run
 * @property {import("./sandbox.mjs").EntrySandbox} [sandbox] of a config's entry: in which its command runs
 *
 * @typedef {object} WatchSpec
 * @property {string} [tool] the entry of js/tools that reads it; default: as the command says
 * @property {string} [red] @property {string} [green] patterns of lines that say so
 * @property {"red" | "change" | "never"} [wake] what starts a turn
 * @property {number} [hold] ms: how long a change waits for the next one
 * @property {true} [asIs] nothing is added to the command
 * @property {boolean} [notify] with a notification of the desktop
 * @property {number} [wakesPerHour] turns that it may start
 * @property {number} [before] @property {number} [after] lines around one that `red` matches
 * @property {string} [until] the first line after it that is not of that failure
 *
 * @typedef {Readonly<CommonSpec & Work & Times>} EmitterSpec
 * @typedef {object} StreamSpec a stream without an emitter
 * @property {string} name
 * @property {string} [description]
 * @property {boolean} subscribe
 * @property {"important" | "all"} delivery
 * @property {readonly Rule[]} rules
 * @property {"modelOwned" | "userOwned"} managedBy
 *
 * @typedef {{ok: false, problems: FieldProblem[]}} Rejection
 * @typedef {object} Origin
 * @property {"tool" | "config"} origin
 * @property {"project" | "user"} [file] of a config; default: the project's
 * @property {"model" | "user" | "watch"} [hand] whose call of the tool it is; "user" permits shorter times, "watch" is
 *   tap_watch
 */
/**
 * @template Spec
 * @typedef {{name: string, spec: Spec, given: unknown, notes: string[]}} Entry `given`: as it is in the file
 */
/** @typedef {Entry<EmitterSpec>} EmitterEntry */
/** @typedef {Entry<Readonly<StreamSpec>>} StreamEntry */

/** What it does, by the field that says it. @type {Readonly<Record<string, Kind>>} */
const KINDS = { command: "command", argv: "command", prompt: "prompt", url: "http" };
const RHYTHMS = ["every", "cron", "onChange"];
const MIN_EVERY_MS = 1000;
const MIN_PROMPT_EVERY_MS = 10_000;
const MAX_EVERY_MS = 30 * 86_400_000;
const MAX_WORK = 8000;
const MAX_PATH = 1000;
const MAX_ENTRIES = 50;
/** They would be properties of every object, where names become keys. */
const RESERVED = ["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty"];
const CRON = /^[0-9A-Za-z*,/#+-]+(?: [0-9A-Za-z*,/#+-]+){4}$/;
/** A name of a variable that could not pass for another word of what the user is shown. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** What tap itself gives to what it starts. */
const TAP_VARIABLES = ["TAP_PROVIDER_TOKEN", "TAP_SESSION_ID", "TAP_GATEWAY_PORT"];

const words = (/** @type {readonly string[]} */ all) => choice(all, { anyCase: true });

const name = refine(label, (given, place) => {
  if (RESERVED.includes(given) || /^tap-/i.test(given))
    return place.problem(`expected another name: ${quoteText(given)} is reserved`);
  if (!given.includes("@")) return given;
  return place.problem('expected a name without "@", which stands before the name of a provider');
});

const argv = refine(
  list(text({ most: MAX_WORK, blank: true }), { most: 200, least: 1, what: "arguments" }),
  (all, place) => {
    const length = all.reduce((sum, word) => sum + word.length, 0);
    if (length > 2 * MAX_WORK)
      return place.problem(`expected at most ${2 * MAX_WORK} characters in all, found ${length}`);
    return all[0]?.trim() === "" ? place.expected("a program as the first of the list", "") : all;
  },
);

const address = refine(text({ most: 2000, what: "an address" }), (given, place) => {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:")
    return place.expected("an address that begins with https:// or http://", given);
  if (url.username === "" && url.password === "") return url.href;
  return place.problem("leave out the user and the password: an address is shown and recorded");
});

const jsonPath = refine(text({ most: MAX_PATH, what: "a path" }), (given, place) =>
  parseJsonPath(given) === undefined
    ? place.expected('a path such as "$.runs[0].status"', given)
    : given.trim(),
);

/** @param {number} [most] characters */
export const createFolder = (most) =>
  refine(text({ most, what: "a folder" }), (given, place) =>
    isOutside(given)
      ? place.expected('a folder inside the workspace, such as "tools"', given)
      : given,
  );

/** @param {string} variable @returns {string} why a program does not get it; "": it does */
export function checkVariable(variable) {
  if (!VARIABLE.test(variable)) {
    const rule = "letters, digits and _, not a digit first";
    return `expected the name of a variable (${rule}), found ${quoteText(variable)}`;
  }
  const isTaken = TAP_VARIABLES.includes(variable.toUpperCase());
  return isTaken ? `leave it out: ${quoteText(variable)} is set by tap itself` : "";
}

/** @param {string} variable */
function checkCommandVariable(variable) {
  const problem = checkVariable(variable === "__proto__" ? "" : variable);
  const why = refusalReason(variable);
  if (problem !== "" || why === "") return problem;
  return `leave it out: ${quoteText(variable)} says ${why}, more than the command does. Write it in the command`;
}

const interval = duration(MIN_EVERY_MS, MAX_EVERY_MS);
/** @type {import("./schema.mjs").Schema<number | "idle">} */
const every = {
  json: interval.json,
  read: (value, place) =>
    typeof value === "string" && value.trim().toLowerCase() === "idle"
      ? "idle"
      : interval.read(value, place),
};

const cron = refine(text({ most: 200, what: "five fields" }), (given, place) => {
  const pattern = given.trim().replace(/\s+/g, " ");
  const count = pattern === "" ? 0 : pattern.split(" ").length;
  const number = `it has ${count} ${count === 1 ? "field" : "fields"}`;
  const shape = count === 5 ? "one of them has a character that no field has" : number;
  const problem = CRON.test(pattern) ? cronProblem(pattern) : shape;
  if (problem === "") return pattern;
  const wanted = 'five fields (minute, hour, day, month, weekday), such as "30 9 * * 1-5"';
  return place.problem(`expected ${wanted}, found ${quoteText(pattern)}: ${problem}`);
});

const timezone = refine(text({ most: 64, what: "a time zone" }), (zone, place) => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return zone;
  } catch {
    return place.expected('a time zone such as "Europe/Berlin"', zone);
  }
});

const glob = refine(text({ most: 300, blank: true }), (given, place) => {
  if (given.trim() === "" || isOutside(given.replace(/^!/, "")))
    return place.expected('a glob inside the workspace, such as "src/**/*.ts"', given);
  const problem = globProblem(given);
  return problem === "" ? given : place.problem(`found ${quoteText(given)}: ${problem}`);
});

const globs = refine(
  either(
    "string",
    refine(glob, (one) => [one]),
    list(glob, { most: 20, least: 1, what: "globs" }),
  ),
  (all, place) =>
    all.length > 0 && all.every((one) => one.startsWith("!"))
      ? place.problem("give a glob without !, too")
      : all,
);

/** An empty description is left out. */
const description = refine(text({ most: 500, blank: true }), (given) => given || undefined);

/** Of streams, too. */
const INJECTOR = {
  subscribe: about("Default: true.", usually(true, flag)),
  delivery: usually("important", {
    ...words(["important", "all"]),
    json: { type: "string", description: "important: only what a rule injects; or all." },
  }),
};

const EMITTER_FIELDS = {
  name: required(name),
  command: about(
    "Shell command. Or argv, prompt or url.",
    text({ most: MAX_WORK, what: "a command" }),
  ),
  argv: about("Without a shell.", argv),
  prompt: about("Asked of you; always injected.", text({ most: MAX_WORK, what: "a prompt" })),
  url: about("Its changes are lines.", address),
  jsonPath: about("What of url's JSON to watch, as $.runs[0].status.", jsonPath),
  description,
  channel: about("Stream. Default: name.", name),
  cwd: createFolder(MAX_PATH),
  env: usually(
    {},
    named(text({ most: MAX_WORK, blank: true }), {
      most: 50,
      what: "variables",
      checkName: checkCommandVariable,
    }),
  ),
  every: about(
    "30s, 5m, 2h, 1d; for prompts also idle. Without every, cron and onChange a command runs until stopped, a prompt once.",
    every,
  ),
  cron: about("Five fields.", cron),
  timezone,
  onChange: about("Globs of files.", globs),
  missed: usually("skip", words(["skip", "once"])),
  overlap: usually("skip", words(["skip", "queue", "kill"])),
  restart: usually("never", words(["never", "on-failure", "always"])),
  maxRuns: about("1: a command runs once.", integer(1, 1_000_000)),
  expectEvery: about("A longer silence is an event.", interval),
  eventFilter: filterFields.eventFilter,
  includeStderr: usually(false, flag),
  ...INJECTOR,
  scope: about(
    "persistent: kept in a config.",
    usually("persistent", words(["temporary", "persistent"])),
  ),
  background: about("Also without a session.", usually(false, flag)),
  autoStart: usually(true, flag),
  managedBy: usually("userOwned", words(["modelOwned", "userOwned"])),
};

const MAX_HOLD_MS = 600_000;
const MAX_WAKES_PER_HOUR = 60;

const WATCH_FIELDS = {
  tool: text({ most: 100, what: "the name of a tool" }),
  red: filterFields.includePattern,
  green: filterFields.includePattern,
  wake: words(["red", "change", "never"]),
  hold: duration(0, MAX_HOLD_MS),
  asIs: refine(flag, (isOn) => isOn || undefined),
  notify: refine(flag, (isOn) => isOn || undefined),
  wakesPerHour: integer(1, MAX_WAKES_PER_HOUR),
  ...CONTEXT_FIELDS,
};

export const WATCH_FIELD_NAMES = Object.keys(WATCH_FIELDS);

/** The state of a build or a test run. */
const watch = object('"watch"', WATCH_FIELDS);

/** `sandbox` is of a config: an emitter of the model runs as the model's own commands do. */
const CONFIG_FIELDS = { ...EMITTER_FIELDS, watch: hidden(watch), sandbox: entrySandbox };

/** An entry of `watch` in a config: an emitter with a state, whose name is its key. */
const { name: _name, watch: _watch, ...OTHER_FIELDS } = CONFIG_FIELDS;
const WATCH_ENTRY_FIELDS = {
  ...OTHER_FIELDS,
  includeStderr: usually(true, flag),
  ...WATCH_FIELDS,
};

const TOOL_FIELDS = {
  ...EMITTER_FIELDS,
  watch: CONFIG_FIELDS.watch,
  ...filterFields,
  scope: usually("temporary", CONFIG_FIELDS.scope),
  managedBy: usually("modelOwned", CONFIG_FIELDS.managedBy),
  file: words(["project", "user"]),
  force: about("Changes what the user owns; asks him.", flag),
};

const STREAM_FIELDS = {
  name: CONFIG_FIELDS.name,
  description,
  ...INJECTOR,
  managedBy: CONFIG_FIELDS.managedBy,
  eventFilter: filterFields.eventFilter,
};

/** @template T @param {T} value the caller's own @returns {T} */
function deepFreeze(value) {
  if (typeof value === "object" && value !== null)
    Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/** @param {{kind?: Kind, every?: number, cron?: string, idle?: boolean}} spec */
function countUsualRuns({ kind, every: period, cron: times, idle }) {
  if (kind !== "prompt") return undefined;
  return idle ? 10 : period !== undefined || times !== undefined ? 100 : 1;
}

/** @typedef {EmitterSpec & {has: (field: string) => boolean, origin: Origin, isTimed: boolean}} Facts */
/** What does not go together: the field, what to write, and whether. @type {[string, string, (spec: Facts) => boolean][]} */
const CONFLICTS = [
  [
    "jsonPath",
    'leave it out: it is for an emitter with "url"',
    ({ kind, has }) => has("jsonPath") && kind !== "http",
  ],
  [
    "timezone",
    'leave it out: it is for an emitter with "cron"',
    ({ has }) => has("timezone") && !has("cron"),
  ],
  [
    "onChange",
    "leave it out: it is for an emitter with a command",
    ({ kind, has }) => has("onChange") && kind !== "command",
  ],
  [
    "every",
    'expected a time such as "5m": only a prompt can run when the session is idle',
    ({ kind, idle = false }) => idle && kind !== "prompt",
  ],
  [
    "every",
    `expected a time from ${formatDuration(MIN_PROMPT_EVERY_MS)} on: a prompt costs a turn`,
    ({ kind, every: period = Infinity, origin: { hand } }) =>
      kind === "prompt" && hand !== "user" && period < MIN_PROMPT_EVERY_MS,
  ],
  [
    "every",
    'is missing: how often to look at the "url", such as "5m"',
    ({ kind, isTimed }) => kind === "http" && !isTimed,
  ],
  [
    "watch",
    "leave it out: it is for an emitter with a command",
    ({ kind, has }) => has("watch") && kind !== "command",
  ],
  [
    "watch",
    "leave it out: the tool tap_watch is for it",
    ({ has, origin: { origin, hand } }) =>
      has("watch") && origin === "tool" && hand !== "user" && hand !== "watch",
  ],
  [
    "missed",
    'leave it out, or add "every" or "cron"',
    ({ missed, isTimed }) => missed === "once" && !isTimed,
  ],
  [
    "overlap",
    "leave it out: a prompt never runs twice at once",
    ({ kind, overlap }) => overlap !== "skip" && kind === "prompt",
  ],
  [
    "overlap",
    'leave it out, or add "every", "cron" or "onChange"',
    ({ kind, overlap, isTimed, has }) =>
      overlap !== "skip" && kind !== "prompt" && !isTimed && !has("onChange"),
  ],
  [
    "maxRuns",
    'leave it out, or add "every": this prompt runs once',
    ({ kind, isTimed, idle, maxRuns }) => kind === "prompt" && !isTimed && !idle && maxRuns !== 1,
  ],
  [
    "restart",
    "leave it out: it is for a command that runs until it is stopped",
    ({ restart, continuous }) => restart !== "never" && !continuous,
  ],
  [
    "expectEvery",
    "leave it out: it is for an emitter with lines of its own",
    ({ kind, has }) => has("expectEvery") && kind === "prompt",
  ],
  [
    "scope",
    "leave it out: an emitter of a config is persistent",
    ({ scope, origin }) => scope === "temporary" && origin.origin === "config",
  ],
  [
    "background",
    'leave it out, or add "scope": "persistent", which it needs',
    ({ background, scope }) => background && scope === "temporary",
  ],
  [
    "background",
    "leave it out: a prompt needs a session",
    ({ background, kind }) => background && kind === "prompt",
  ],
  [
    "file",
    'leave it out, or add "scope": "persistent", which it is for',
    ({ scope, has }) => has("file") && scope === "temporary",
  ],
];

/** @param {EmitterSpec} spec @param {Place} place @param {(field: string) => boolean} has @param {Origin} origin */
function checkTogether(spec, place, has, origin) {
  const isTimed = (has("every") && !spec.idle) || has("cron");
  for (const [field, problem, applies] of CONFLICTS)
    if (applies({ ...spec, has, origin, isTimed })) place.at(field).problem(problem);
  if (spec.kind === "command") return;
  for (const field of ["cwd", "env", "includeStderr", "sandbox"].filter(has))
    place.note(`"${field}" has no effect: it is for an emitter with a command.`);
}

/** @param {any} read @param {Place} place @param {Record<string, any>} given @param {Origin} origin @returns {any} */
function toSpec(read, place, given, origin) {
  const has = (/** @type {string} */ field) => given[field] !== undefined;
  const sources = Object.keys(KINDS).filter(has);
  if (sources.length !== 1) return undefined;
  const kind = KINDS[sources[0]];
  const { channel, every: period, eventFilter: _rules, force: _force, ...own } = read;
  for (const pattern of PATTERNS) delete own[pattern];
  if (period !== undefined)
    Object.assign(own, period === "idle" ? { idle: true } : { every: period });
  own.maxRuns ??= countUsualRuns({ kind, ...own });
  if (own.maxRuns === undefined) delete own.maxRuns;
  const rules = toFilter(read, place, given);
  const spec = {
    file: origin.file ?? "project",
    ...own,
    ...{ kind, stream: channel ?? own.name, rules: kind === "prompt" ? [] : rules },
    continuous: kind === "command" && !RHYTHMS.some(has) && own.maxRuns !== 1,
  };
  checkTogether(spec, place, has, origin);
  if (kind === "prompt" && rules.length > 0)
    place.note("A prompt emitter always injects: its filter has no effect.");
  return deepFreeze(spec);
}

/** @param {Origin} origin @returns {import("./schema.mjs").Schema<EmitterSpec>} */
const createEmitterSchema = (origin) =>
  object("an emitter", origin.origin === "tool" ? TOOL_FIELDS : CONFIG_FIELDS, {
    one: Object.keys(KINDS),
    most: RHYTHMS,
    finish: (read, place, given) => toSpec(read, place, given, origin),
  });

/** @param {string} key its name @param {Origin} origin @returns {import("./schema.mjs").Schema<EmitterSpec>} */
const createWatchSchema = (key, origin) =>
  object("a watcher", WATCH_ENTRY_FIELDS, {
    one: ["command", "argv"],
    most: RHYTHMS,
    finish(read, place, given) {
      const isOwn = (/** @type {string} */ field) => Object.hasOwn(WATCH_FIELDS, field);
      const split = Object.entries(read);
      const watched = Object.fromEntries(split.filter(([field]) => isOwn(field)));
      const others = Object.fromEntries(split.filter(([field]) => !isOwn(field)));
      return toSpec({ name: key, ...others, watch: watched }, place, given, origin);
    },
  });

/** @type {import("./schema.mjs").Schema<Readonly<StreamSpec>>} */
const streamSchema = object("a stream", STREAM_FIELDS, {
  finish: ({ eventFilter: rules = [], ...read }) => deepFreeze({ ...read, rules }),
});

/** Of tap_start_emitter. */
export const emitterParameters = toParameters(TOOL_FIELDS);

/** @template T @param {import("./schema.mjs").Schema<T>} schema @param {unknown} given @returns {{ok: true, spec: T, notes: string[]} | Rejection} */
function readSpec(schema, given) {
  const read = readValue(schema, given);
  if (read.ok === false) return read;
  return { ok: true, spec: read.value, notes: read.notes };
}

/**
 * @param {unknown} given the tool's arguments, or an entry of a config @param {Origin} origin
 * `notes` of the answer: what was read but has no effect
 */
export const readEmitter = (given, origin) => readSpec(createEmitterSchema(origin), given);

/** @param {unknown} given an entry of `streams` in a config */
export const readStream = (given) => readSpec(streamSchema, given);

/**
 * @template {{name: string}} T @param {import("./schema.mjs").Schema<T>} schema @param {string} what
 * @returns {import("./schema.mjs").Schema<Entry<T>[]>} a list in a config
 */
const createEntries = (schema, what) =>
  list(
    {
      read(given, place) {
        const report = { problems: place.report.problems, notes: [] };
        const spec = schema.read(given, new Place(place.path, report));
        return spec && { name: spec.name, spec, given, notes: report.notes };
      },
    },
    { most: MAX_ENTRIES, what },
  );

export const streamEntries = createEntries(streamSchema, "streams");

/** @param {"user" | "project"} file @returns {import("./schema.mjs").Schema<EmitterEntry[]>} an object in a config */
export const createWatchEntries = (file) => ({
  read(given, place) {
    const names = Object.keys(isMap(given) ? given : {});
    if (!isMap(given)) return place.expected("an object", given);
    if (names.length > MAX_ENTRIES)
      return place.problem(`expected at most ${MAX_ENTRIES} watchers, found ${names.length}`);
    return names.flatMap((key) => {
      const here = place.at(key);
      const known = name.read(key, here);
      const report = { problems: place.report.problems, notes: [] };
      const schema = createWatchSchema(key, { origin: "config", file });
      const spec = known && schema.read(given[key], new Place(here.path, report));
      return spec ? [{ name: key, spec, given: given[key], notes: report.notes }] : [];
    });
  },
});

/** @param {"user" | "project"} file */
export const createEmitterEntries = (file) =>
  createEntries(createEmitterSchema({ origin: "config", file }), "emitters");

/**
 * An emitter that says nothing about its injector has that of its stream.
 * @param {EmitterEntry} entry @param {StreamEntry[]} all @returns {EmitterEntry}
 */
export function withInjector(entry, all) {
  const { spec } = entry;
  const given = /** @type {Record<string, unknown>} */ (entry.given);
  const stream = all.find((one) => one.name === spec.stream)?.spec;
  const isOwn = given.subscribe !== undefined || given.delivery !== undefined;
  if (!stream || isOwn || spec.kind === "prompt") return entry;
  return { ...entry, spec: { ...spec, subscribe: stream.subscribe, delivery: stream.delivery } };
}

// A spec as an entry of a config: what is read as that spec again. What a field usually has is left out.

/** @param {Record<string, import("./schema.mjs").Schema<any>>} fields @param {Record<string, unknown>} values */
const toEntry = (fields, values) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, { usual }]) =>
      isDeepStrictEqual(values[field], usual) ? [] : [[field, values[field]]],
    ),
  );

/** @param {EmitterSpec} spec @returns {Record<string, unknown>} */
export const toEmitterEntry = (spec) =>
  toEntry(CONFIG_FIELDS, {
    ...spec,
    every: spec.idle ? "idle" : spec.every && formatDuration(spec.every),
    expectEvery: spec.expectEvery && formatDuration(spec.expectEvery),
    eventFilter: toFilterEntry(spec.rules),
    channel: spec.stream === spec.name ? undefined : spec.stream,
    maxRuns: spec.maxRuns === countUsualRuns(spec) ? undefined : spec.maxRuns,
    scope: "persistent",
  });

/** @param {StreamSpec} spec @returns {Record<string, unknown>} it always says whether it is subscribed */
export const toStreamEntry = (spec) =>
  toEntry(
    { ...STREAM_FIELDS, subscribe: flag },
    { ...spec, eventFilter: toFilterEntry(spec.rules) },
  );
