// One emitter, as the tool tap_start_emitter or an entry of a config gives it: checked, and with every default filled
// in. A mistake is refused, with what to write instead.

import { Fields, Report } from "./emitter-fields.mjs";
import { OLD_PATTERNS, rulesIn } from "./emitter-rules.mjs";
import { timesIn } from "./emitter-times.mjs";
import { workIn } from "./emitter-work.mjs";

/** @typedef {import("./emitter-fields.mjs").FieldProblem} FieldProblem */
/** @typedef {import("./emitter-rules.mjs").Rule} Rule */
/** @typedef {import("./emitter-work.mjs").Work} Work */
/** @typedef {import("./emitter-times.mjs").Times} Times */
/**
 * @typedef {object} Belonging
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
 * @typedef {Readonly<Belonging & Work & Times>} EmitterSpec
 * @typedef {object} StreamSpec a stream without an emitter
 * @property {string} name
 * @property {string} [description]
 * @property {boolean} subscribe
 * @property {"important" | "all"} delivery
 * @property {readonly Rule[]} rules
 * @property {"modelOwned" | "userOwned"} managedBy
 *
 * @typedef {{ok: false, problems: FieldProblem[]}} Refused
 */

const OF_BOTH = [
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
  ...["managedBy", "autoStart", "background", "includeStderr", "eventFilter", ...OLD_PATTERNS],
  ...["subscribe", "delivery", "scope"],
];
const OF_TOOL = [...OF_BOTH, "file", "force"];
const OLD_NAMES = ["stream", "ownership", "runInterval", "lifespan", "classifier"];
const OF_CONFIG = [...OF_BOTH, ...OLD_NAMES];
const MOST_DESCRIPTION = 500;
/** A word of former versions. */
const AS_IMPORTANT = { surface: /** @type {const} */ ("important") };

/** @template T @param {T} value data that nobody else holds @returns {T} */
function frozen(value) {
  if (typeof value === "object" && value !== null)
    Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

/** @param {Fields} fields @param {string} name */
const deliveryIn = (fields, name) =>
  fields.word(name, /** @type {const} */ (["important", "all"]), AS_IMPORTANT) ?? "important";

/** @param {Fields} fields @param {"modelOwned" | "userOwned"} usual */
const ownerIn = (fields, usual) =>
  fields.word(
    fields.oneOf(["managedBy", "ownership"]),
    /** @type {const} */ (["modelOwned", "userOwned"]),
  ) ?? usual;

/** @param {Fields} fields @param {"tool" | "config"} origin */
function scopeIn(fields, origin) {
  const name = fields.oneOf(["scope", "lifespan"]);
  const scope = fields.word(name, /** @type {const} */ (["temporary", "persistent"]));
  if (origin === "tool") return scope ?? "temporary";
  if (scope === "temporary")
    fields.problem(name, "leave it out: an emitter of a config is persistent");
  return "persistent";
}

/** @param {Fields} fields @returns {{name: string, description?: string}} */
function headIn(fields) {
  const name = fields.label("name");
  if (!fields.has("name")) fields.problem("name", 'is missing: give a name, such as "build"');
  const isEmpty = fields.get("description") === "";
  const description = isEmpty ? undefined : fields.text("description", MOST_DESCRIPTION);
  return { name: name ?? "", ...(description !== undefined && { description }) };
}

/** What is for persistent emitters only. @param {Fields} fields @param {Belonging["scope"]} scope */
function lastingIn(fields, scope) {
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

/** @param {Fields} fields @param {Report} report @param {Origin} origin @returns {Belonging} */
function belongingIn(fields, report, { origin, file = "project" }) {
  const head = headIn(fields);
  const scope = scopeIn(fields, origin);
  fields.boolean("force");
  return {
    ...head,
    stream: fields.label(fields.oneOf(["channel", "stream"])) ?? head.name,
    includeStderr: fields.boolean("includeStderr") ?? false,
    rules: rulesIn(fields, report),
    subscribe: fields.boolean("subscribe") ?? true,
    delivery: deliveryIn(fields, "delivery"),
    scope,
    managedBy: ownerIn(fields, origin === "tool" ? "modelOwned" : "userOwned"),
    autoStart: fields.boolean("autoStart") ?? true,
    file,
    ...lastingIn(fields, scope),
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
 * @returns {{ok: true, spec: EmitterSpec, notes: string[]} | Refused} `notes`: what was read but has no effect
 */
export function readEmitter(given, origin) {
  const report = new Report();
  const known = origin.origin === "tool" ? OF_TOOL : OF_CONFIG;
  const fields = Fields.of(given, report, [], "an emitter", known);
  if (!fields.isObject) return { ok: false, problems: report.problems };
  const { kind, ...work } = workIn(fields, report);
  const times = timesIn(fields, kind, origin.hand === "user");
  const belonging = belongingIn(fields, report, origin);
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
  return { ok: true, spec: frozen(spec), notes: report.notes };
}

/** The injector of a stream in the configs of former versions. @param {Fields} fields @param {Report} report */
function oldInjectorIn(fields, report) {
  const name = fields.oneOf(["sessionInjector", "subscription"]);
  if (!fields.has(name)) return undefined;
  for (const other of ["subscribe", "delivery", "managedBy", "ownership"].filter((one) =>
    fields.has(one),
  )) {
    fields.problem(other, `leave it out, or "${name}", which says the same`);
  }
  const known = ["enabled", "delivery", "managedBy", "ownership", "scope", "lifespan"];
  const injector = fields.fields(name, `"${name}"`, known);
  for (const one of ["scope", "lifespan"].filter((some) => injector.has(some))) {
    report.note(`"${one}" of an injector has no effect: a stream of a config is persistent.`);
  }
  return {
    subscribe: injector.boolean("enabled") ?? false,
    delivery: deliveryIn(injector, "delivery"),
    managedBy: ownerIn(injector, "userOwned"),
  };
}

const OF_STREAM = [
  ...["name", "description", "subscribe", "delivery", "managedBy", "ownership"],
  ...["eventFilter", "classifier", ...OLD_PATTERNS, "sessionInjector", "subscription"],
];

/**
 * @param {unknown} given an entry of `streams` in a config
 * @returns {{ok: true, spec: Readonly<StreamSpec>, notes: string[]} | Refused}
 */
export function readStream(given) {
  const report = new Report();
  const fields = Fields.of(given, report, [], "a stream", OF_STREAM);
  if (!fields.isObject) return { ok: false, problems: report.problems };
  const head = headIn(fields);
  const injector = oldInjectorIn(fields, report) ?? {
    subscribe: fields.boolean("subscribe") ?? true,
    delivery: deliveryIn(fields, "delivery"),
    managedBy: ownerIn(fields, "userOwned"),
  };
  const rules = rulesIn(fields, report);
  if (report.problems.length > 0) return { ok: false, problems: report.problems };
  const spec = { ...head, ...injector, rules };
  return { ok: true, spec: frozen(spec), notes: report.notes };
}
