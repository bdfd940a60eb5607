// One emitter, as the tool tap_start_emitter or an entry of a config gives it: checked, and with every default filled
// in. A mistake is refused, with what to write instead.

import { Fields, FieldReport } from "./emitter-fields.mjs";
import { PATTERNS, readFilter } from "./emitter-rules.mjs";
import { readTimes } from "./emitter-times.mjs";
import { readWork } from "./emitter-work.mjs";

/** @typedef {import("./emitter-fields.mjs").FieldProblem} FieldProblem */
/** @typedef {import("./emitter-rules.mjs").Rule} Rule */
/** @typedef {import("./emitter-work.mjs").Work} Work */
/** @typedef {import("./emitter-times.mjs").Times} Times */
/**
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
 */

const COMMON_FIELDS = [
  ...[
    "name",
    "command",
    "argv",
    "prompt",
    "url",
    "jsonPath",
    "description",
    "channel",
    "cwd",
    "env",
  ],
  ...[
    "every",
    "cron",
    "timezone",
    "onChange",
    "missed",
    "overlap",
    "restart",
    "maxRuns",
    "expectEvery",
  ],
  ...["managedBy", "autoStart", "background", "includeStderr", "eventFilter"],
  ...["subscribe", "delivery", "scope"],
];
const TOOL_FIELDS = [...COMMON_FIELDS, ...PATTERNS, "file", "force"];
const MAX_DESCRIPTION = 500;

/** @template T @param {T} value data that nobody else holds @returns {T} */
function deepFreeze(value) {
  if (typeof value === "object" && value !== null)
    Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/** @param {Fields} fields */
const readDelivery = (fields) =>
  fields.word("delivery", /** @type {const} */ (["important", "all"])) ?? "important";

/** @param {Fields} fields @param {"modelOwned" | "userOwned"} usual */
const readOwner = (fields, usual) =>
  fields.word("managedBy", /** @type {const} */ (["modelOwned", "userOwned"])) ?? usual;

/** @param {Fields} fields @param {"tool" | "config"} origin */
function readScope(fields, origin) {
  const scope = fields.word("scope", /** @type {const} */ (["temporary", "persistent"]));
  if (origin === "tool") return scope ?? "temporary";
  if (scope === "temporary")
    fields.problem("scope", "leave it out: an emitter of a config is persistent");
  return "persistent";
}

/** @param {Fields} fields @returns {{name: string, description?: string}} */
function readHead(fields) {
  const name = fields.label("name");
  if (!fields.has("name")) fields.problem("name", 'is missing: give a name, such as "build"');
  const isEmpty = fields.get("description") === "";
  const description = isEmpty ? undefined : fields.text("description", MAX_DESCRIPTION);
  return { name: name ?? "", ...(description !== undefined && { description }) };
}

/** What is for persistent emitters only. @param {Fields} fields @param {CommonSpec["scope"]} scope */
function readPersistence(fields, scope) {
  const background = fields.boolean("background") ?? false;
  if (background && scope === "temporary") {
    fields.problem("background", 'leave it out, or add "scope": "persistent", which it needs');
  }
  const file = fields.word("file", /** @type {const} */ (["project", "user"]));
  if (file !== undefined && scope === "temporary") {
    fields.problem("file", 'leave it out, or add "scope": "persistent", which it is for');
  }
  return { background, ...(file && { file }) };
}

/** @param {Fields} fields @param {FieldReport} report @param {Origin} origin @returns {CommonSpec} */
function readCommon(fields, report, { origin, file = "project" }) {
  const head = readHead(fields);
  const scope = readScope(fields, origin);
  fields.boolean("force");
  return {
    ...head,
    stream: fields.label("channel") ?? head.name,
    includeStderr: fields.boolean("includeStderr") ?? false,
    rules: readFilter(fields, report),
    subscribe: fields.boolean("subscribe") ?? true,
    delivery: readDelivery(fields),
    scope,
    managedBy: readOwner(fields, origin === "tool" ? "modelOwned" : "userOwned"),
    autoStart: fields.boolean("autoStart") ?? true,
    file,
    ...readPersistence(fields, scope),
  };
}

/**
 * @typedef {object} Origin
 * @property {"tool" | "config"} origin
 * @property {"project" | "user"} [file] of a config; default: the project's
 * @property {"model" | "user"} [hand] whose call of the tool it is; "user" permits shorter times
 */

/**
 * @param {unknown} given the tool's arguments, or an entry of a config @param {Origin} origin
 * @returns {{ok: true, spec: EmitterSpec, notes: string[]} | Rejection} `notes`: what was read but has no effect
 */
export function readEmitter(given, origin) {
  const report = new FieldReport();
  const known = origin.origin === "tool" ? TOOL_FIELDS : COMMON_FIELDS;
  const fields = Fields.of(given, report, [], "an emitter", known);
  if (!fields.isObject) return { ok: false, problems: report.problems };
  const { kind, ...work } = readWork(fields, report);
  const times = readTimes(fields, kind, origin.hand === "user");
  const belonging = readCommon(fields, report, origin);
  if (kind === "prompt" && belonging.background) {
    fields.problem("background", "leave it out: a prompt needs a session");
  }
  if (kind === "prompt" && belonging.rules.length > 0) {
    report.note("A prompt emitter always injects: its filter has no effect.");
  }
  if (kind === undefined || report.problems.length > 0)
    return { ok: false, problems: report.problems };
  const rules = kind === "prompt" ? [] : belonging.rules;
  const spec = /** @type {EmitterSpec} */ ({ ...belonging, rules, kind, ...work, ...times });
  return { ok: true, spec: deepFreeze(spec), notes: report.notes };
}

const STREAM_FIELDS = ["name", "description", "subscribe", "delivery", "managedBy", "eventFilter"];

/**
 * @param {unknown} given an entry of `streams` in a config
 * @returns {{ok: true, spec: Readonly<StreamSpec>, notes: string[]} | Rejection}
 */
export function readStream(given) {
  const report = new FieldReport();
  const fields = Fields.of(given, report, [], "a stream", STREAM_FIELDS);
  if (!fields.isObject) return { ok: false, problems: report.problems };
  const spec = {
    ...readHead(fields),
    subscribe: fields.boolean("subscribe") ?? true,
    delivery: readDelivery(fields),
    managedBy: readOwner(fields, "userOwned"),
    rules: readFilter(fields, report),
  };
  if (report.problems.length > 0) return { ok: false, problems: report.problems };
  return { ok: true, spec: deepFreeze(spec), notes: report.notes };
}
