// The user's consent to what a config starts: what each entry would run, in words, and which entries were allowed.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { isOurFile, writePrivate } from "../lib/host-files.mjs";
import { tapCommand } from "../lib/tap-command.mjs";
import { inLine, quoteWord, shortenText, visible } from "../lib/visible.mjs";
import { formatDuration } from "./emitter-values.mjs";
import { sandboxLines } from "./sandbox.mjs";

/** @typedef {import("./emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("./load.mjs").ProviderConfig} ProviderConfig */
/** @typedef {import("./load.mjs").DeclarativeConfig} DeclarativeConfig */

/** @param {EmitterSpec} spec */
function formatSchedule({ every, cron, timezone, onChange, idle, ...spec }) {
  if (idle) return "whenever the session is idle";
  if (every !== undefined) return `every ${formatDuration(every)}`;
  if (cron !== undefined)
    return `at the times of cron ${quoteWord(cron)}${timezone ? ` in ${timezone}` : ""}`;
  if (onChange) return `when files change: ${onChange.map((glob) => quoteWord(glob)).join(" ")}`;
  return spec.continuous ? `until it is stopped (restart: ${spec.restart})` : "once";
}

/** @param {EmitterSpec} spec */
function formatWork({ command, argv, prompt, url, jsonPath }) {
  if (prompt !== undefined) return `asks the model: ${prompt}`;
  if (url !== undefined)
    return `looks at ${url}${jsonPath === undefined ? "" : `, at ${jsonPath}`}`;
  return argv
    ? `runs ${argv.map((word) => quoteWord(word)).join(" ")}`
    : `runs in a shell: ${command}`;
}

/** @param {EmitterSpec} spec */
function listLimits({ kind, scope, background, maxRuns, autoStart, rules, ...spec }) {
  const inject = rules.some(({ outcome }) => outcome === "inject") || spec.delivery === "all";
  return [
    ...(maxRuns === undefined ? [] : [`at most ${maxRuns === 1 ? "once" : `${maxRuns} times`}`]),
    ...(background && scope === "persistent" ? ["also without a session"] : []),
    ...(autoStart ? [] : ["not by itself: when it is asked for"]),
    ...(kind !== "prompt" && spec.subscribe && inject ? ["its lines can go to the model"] : []),
  ];
}

/**
 * What it does, in full; then the rest, a line each.
 * @param {EmitterSpec} spec @param {number} [most] characters of a line; default: all
 * @returns {string[]}
 */
export function emitterLines(spec, most = Infinity) {
  const variables = Object.entries(spec.env).map(
    ([name, value]) => `with ${name}=${quoteWord(value)}`,
  );
  const lines = [
    formatWork(spec),
    [formatSchedule(spec), ...listLimits(spec)].join(", "),
    ...(spec.kind === "command" ? sandboxLines(spec.sandbox) : []),
    ...(spec.cwd === undefined ? [] : [`in ${quoteWord(spec.cwd)}`]),
    ...variables,
  ];
  return lines.map((line) => shortenText(visible(line), most));
}

// The user's consent to what a repository names: for each entry of a config file, as it is. An entry that tap or
// somebody else adds leaves the others allowed. Whatever cannot be read, or could have been written by somebody else,
// allows nothing.

export { consentFile } from "./file.mjs";

/**
 * @typedef {object} Grant
 * @property {string} path of the config, absolute
 * @property {string} kind of the entry
 * @property {string} name of the entry
 * @property {string} digest of the entry
 * @property {string} at when, ISO 8601
 */
/**
 * `wider`: the digest of the same entry without its sandbox, whose consent covers it, too
 * @typedef {{kind: "external-process", name: string, digest: string, wider?: string, config: ProviderConfig}
 *   | {kind: "declarative", name: string, digest: string, wider?: undefined, config: DeclarativeConfig}
 *   | {kind: "emitter", name: string, digest: string, wider?: string,
 *       config: import("./emitter-spec.mjs").EmitterSpec}
 *   | {kind: "tool", name: string, digest: string, wider?: undefined, config: Record<string, any>}} Entry
 */

export const MAX_GRANTS = 500;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const DIGEST = /^[0-9a-f]{64}$/;

/** @param {unknown} config @returns {string} */
const entryDigest = (config) =>
  createHash("sha256").update(JSON.stringify(config), "utf8").digest("hex");

/** The order of members does not count. @param {unknown} value @returns {unknown} */
function sortMembers(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sortMembers);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sortMembers(member)]));
}

/** @param {any} config as its digest has it @returns {{digest: string, wider?: string}} */
function entryDigests({ sandbox, ...config }) {
  const wider = entryDigest(config);
  if (sandbox === undefined) return { digest: wider };
  return { digest: entryDigest({ ...config, sandbox }), wider };
}

/** What a config names, each with the digest that consent is for. @param {import("./load.mjs").Config} config @returns {Entry[]} */
export const listEntries = ({ providers, declarative, emitters, watch, tools }) => [
  ...providers.map((config) => ({
    kind: /** @type {const} */ ("external-process"),
    name: config.name,
    ...entryDigests(config),
    config,
  })),
  ...declarative.map((config) => ({
    kind: /** @type {const} */ ("declarative"),
    name: config.name,
    digest: entryDigest(config),
    config,
  })),
  // As it is written: a default that a later version adds asks nobody again.
  ...[...emitters, ...watch].map(({ name, given, spec }) => ({
    kind: /** @type {const} */ ("emitter"),
    name,
    ...entryDigests(sortMembers(given)),
    config: spec,
  })),
  ...tools.flatMap(({ given }) => {
    const config = /** @type {Record<string, any>} */ (given);
    if (typeof config?.tool !== "string") return [];
    const digest = entryDigest(sortMembers(config));
    return [{ kind: /** @type {const} */ ("tool"), name: config.tool, digest, config }];
  }),
];

/** @param {unknown} value */
function isGrant(value) {
  if (typeof value !== "object" || value === null) return false;
  const grant = /** @type {Record<string, unknown>} */ (value);
  const { digest } = grant;
  const texts = ["path", "kind", "name", "at"].every((field) => typeof grant[field] === "string");
  return texts && typeof digest === "string" && DIGEST.test(digest);
}

/** Everything that is allowed, oldest first. @param {string} store @returns {Grant[]} */
export function listGrants(store) {
  try {
    if (!isOurFile(store) || fs.statSync(store).size > MAX_FILE_BYTES) return [];
    const { version, allowed } = JSON.parse(fs.readFileSync(store, "utf8"));
    return version === 2 && Array.isArray(allowed) && allowed.every(isGrant) ? allowed : [];
  } catch {
    return [];
  }
}

/** Nobody needs the lock for longer: a process that was killed has left it. */
const LOCK_MS = 2000;
const LOCK_POLL_MS = 5;

/**
 * One process after another: a consent that is taken back beside another change would come back with it.
 * @template T
 * @param {string} store @param {() => T} change @returns {T}
 */
function withLock(store, change) {
  const lock = `${store}.lock`;
  fs.mkdirSync(path.dirname(store), { recursive: true });
  for (const until = performance.now() + LOCK_MS; !tryLock(lock);) {
    if (performance.now() > until) fs.rmSync(lock, { recursive: true, force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS);
  }
  try {
    return change();
  } finally {
    fs.rmSync(lock, { recursive: true, force: true });
  }
}

/** @param {string} lock @returns {boolean} whether it is ours now @throws if it cannot be made */
function tryLock(lock) {
  try {
    fs.mkdirSync(lock);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw error;
  }
}

/** @param {string} store @param {Grant[]} grants */
function save(store, grants) {
  const content = { version: 2, allowed: grants.slice(-MAX_GRANTS) };
  writePrivate(store, `${JSON.stringify(content, null, 2)}\n`);
}

/** @param {string} file @param {Pick<Entry, "kind" | "name" | "digest">} entry */
const isGrantFor =
  (file, { kind, name, digest }) =>
  (/** @type {Grant} */ grant) =>
    grant.path === file && grant.kind === kind && grant.name === name && grant.digest === digest;

/** @param {string} store @param {string} file the config, absolute @param {Pick<Entry, "kind" | "name" | "digest" | "wider">} entry of it */
export function isAllowed(store, file, entry) {
  const { digest, wider = digest } = entry;
  const digests = [...new Set([digest, wider])];
  const grants = listGrants(store);
  return digests.some((one) => grants.some(isGrantFor(file, { ...entry, digest: one })));
}

/**
 * @param {string} store @param {string} file the config, absolute @param {readonly Entry[]} entries that were shown
 * @throws if it cannot be written
 */
export function allow(store, file, entries, now = new Date()) {
  if (!path.isAbsolute(file)) throw new Error(`not an absolute path: ${file}`);
  if (!entries.every(({ digest }) => DIGEST.test(digest)))
    throw new Error("not a digest of an entry");
  const at = now.toISOString();
  withLock(store, () => {
    const others = listGrants(store).filter(
      (grant) => !entries.some((entry) => isGrantFor(file, entry)(grant)),
    );
    const added = entries.map(({ kind, name, digest }) => ({ path: file, kind, name, digest, at }));
    save(store, [...others, ...added]);
  });
}

/**
 * Takes back the consent to every entry of a config.
 * @param {string} store @param {string} file
 * @returns {number} how many had been allowed
 */
export function revoke(store, file) {
  const isOther = (/** @type {{path: string}} */ grant) => grant.path !== file;
  if (listGrants(store).every(isOther)) return 0;
  return withLock(store, () => {
    const grants = listGrants(store);
    const left = grants.filter(isOther);
    save(store, left);
    return grants.length - left.length;
  });
}

/** Of each provider in the timeline: the whole is shown by `copilot-tap allow`. */
const NOTICE_COMMAND = 200;
const NOTICE_VALUE = 60;
const NOTICE_LINES = 4;
/** What a sandbox opens has no room in that of a value. */
const MIN_SANDBOX_LINE = 200;

// ---- what the user is told -------------------------------------------------------------------------

/** @param {ProviderConfig} provider @returns {string} one line: command and arguments */
export const commandLine = ({ command, args }) =>
  visible([command, ...args].map((word) => quoteWord(word)).join(" "));

/**
 * The other fields, a line each: none of their values can look like the command, or move it out of sight.
 * @param {ProviderConfig} provider @param {number} [most] characters of a value; default: all
 */
export function startLines({ env, cwd, sandbox }, most = Infinity) {
  const variables = Object.entries(env).map(
    ([name, value]) =>
      `with ${shortenText(visible(name), most)}=${shortenText(visible(quoteWord(value)), most)}`,
  );
  return [
    ...sandboxLines(sandbox).map((line) => shortenText(line, Math.max(most, MIN_SANDBOX_LINE))),
    ...(cwd === undefined ? [] : [`in ${shortenText(visible(quoteWord(cwd)), most)}`]),
    ...variables,
  ];
}

/** The command that allows a config. @param {string} file @param {NodeJS.ProcessEnv} env */
export const allowCommand = (file, env = process.env) => tapCommand(["allow", file], env);

/**
 * A declarative entry in full: what it denies, and what it tells the model.
 * @param {DeclarativeConfig} config @returns {string[]}
 */
export const ruleLines = ({ deny, context }) => [
  ...deny.map(({ match, reason }) => {
    const uses = Object.entries(match).map(([name, value]) =>
      typeof value === "string"
        ? `${name} ${quoteWord(value)}`
        : `${name} ${quoteWord(value.path)} ${quoteWord(value.pattern)}`,
    );
    return visible(`denies ${uses.join(", ")}: ${reason}`);
  }),
  ...(context === undefined ? [] : [visible(`tells the model: ${context}`)]),
];

/** What an entry of a tool does to commands, in full. @param {Record<string, any>} config @returns {string[]} */
export function toolLines({ argv, first, better = {} }) {
  const { args = [], env = {}, watch = {} } = better;
  const list = (/** @type {unknown} */ of) => visible(JSON.stringify(of));
  const added = [
    ...(isFilled(args) ? [`adds the options ${list(args)}`] : []),
    ...(isFilled(env) ? [`sets the variables ${list(env)}`] : []),
    ...(isFilled(watch) ? [`replaces options: ${list(watch)}`] : []),
  ];
  const commands =
    argv === undefined ? `output with ${list(first)}` : `commands like ${list(argv)}`;
  return [`reads ${commands}`, ...added];
}

const isFilled = (/** @type {object} */ value) => Object.keys(value ?? {}).length > 0;

/** The entries of a notice, a few lines each. @param {Entry} entry @returns {string[]} */
function noticeLines({ kind, name, config }) {
  if (kind === "emitter") {
    const [first, ...lines] = emitterLines(config, NOTICE_COMMAND);
    const left = lines.length - NOTICE_LINES;
    return [
      `  ${inLine(name)}: ${first}`,
      ...lines.slice(0, NOTICE_LINES).map((line) => `    ${line}`),
      ...(left > 0 ? [`    and ${left} more lines`] : []),
    ];
  }
  if (kind === "declarative") {
    const lines = ruleLines(config).map((line) => shortenText(line, NOTICE_COMMAND));
    const left = lines.length - NOTICE_LINES;
    return [
      `  ${inLine(name)}: rules and context, no program`,
      ...lines.slice(0, NOTICE_LINES).map((line) => `    ${line}`),
      ...(left > 0 ? [`    and ${left} more rules`] : []),
    ];
  }
  if (kind === "tool") {
    const lines = toolLines(config).map((line) => shortenText(line, NOTICE_COMMAND));
    return [`  ${inLine(name)}: a tool's output`, ...lines.map((line) => `    ${line}`)];
  }
  const more = startLines(config, NOTICE_VALUE);
  const left = more.length - NOTICE_LINES;
  return [
    `  ${inLine(name)}: ${shortenText(commandLine(config), NOTICE_COMMAND)}`,
    ...more.slice(0, NOTICE_LINES).map((line) => `    ${line}`),
    ...(left > 0 ? [`    and ${left} more variables`] : []),
  ];
}

/** @param {string[]} parts a, b and c */
const joinWithAnd = (parts) =>
  [parts.slice(0, -1).join(", "), parts.at(-1)].filter(Boolean).join(" and ");

/**
 * For the timeline, while entries of a config are not allowed: what they would do, and how to allow it.
 * @param {string} file @param {readonly Entry[]} entries
 */
export function consentNotice(file, entries, env = process.env) {
  const some = (
    /** @type {Entry["kind"]} */ wanted,
    /** @type {string} */ one,
    /** @type {string} */ many,
  ) => {
    const count = entries.filter(({ kind }) => kind === wanted).length;
    return count === 0 ? [] : [count === 1 ? one : `${count} ${many}`];
  };
  const parts = [
    ...some("external-process", "a provider", "providers"),
    ...some("declarative", "a set of rules", "sets of rules"),
    ...some("emitter", "an emitter", "emitters"),
    ...some("tool", "an entry of a tool", "entries of tools"),
  ];
  return [
    `tap: ${visible(file)} names ${joinWithAnd(parts)} that this session would start, which needs your consent:`,
    ...entries.flatMap(noticeLines),
    `Nothing of it has been started. To allow it, run in a terminal: ${allowCommand(file, env)}`,
  ].join("\n");
}
