// The user's consent to what a config starts: what each entry would run, in words, and which entries were allowed.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { isOurFile, writePrivate } from "../lib/host-files.mjs";
import { tapCommand } from "../lib/tap-command.mjs";
import { inLine, quoteWord, shortenText, visible } from "../lib/visible.mjs";
import { formatDuration } from "./emitter-values.mjs";

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
 *
 * The consent of an older version: to all entries of a file with exactly that content.
 * @typedef {{path: string, digest: string, at: string}} FileGrant
 *
 * @typedef {{entries: Grant[], files: FileGrant[]}} Store
 * @typedef {{file: string, digest: string}} ConfigContent `digest` of all of it
 */
/**
 * @typedef {{kind: "external-process", name: string, digest: string, config: ProviderConfig}
 *   | {kind: "declarative", name: string, digest: string, config: DeclarativeConfig}
 *   | {kind: "emitter", name: string, digest: string, config: import("./emitter-spec.mjs").EmitterSpec}} Entry
 */

export const MAX_GRANTS = 500;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const DIGEST = /^[0-9a-f]{64}$/;
const NONE = /** @type {Store} */ ({ entries: [], files: [] });

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

/** What a config names, each with the digest that consent is for. @param {import("./load.mjs").Config} config @returns {Entry[]} */
export const listEntries = ({ providers, declarative, emitters }) => [
  ...providers.map((config) => ({
    kind: /** @type {const} */ ("external-process"),
    name: config.name,
    digest: entryDigest(config),
    config,
  })),
  ...declarative.map((config) => ({
    kind: /** @type {const} */ ("declarative"),
    name: config.name,
    digest: entryDigest(config),
    config,
  })),
  // As it is written: a default that a later version adds asks nobody again.
  ...emitters.map(({ name, given, spec }) => ({
    kind: /** @type {const} */ ("emitter"),
    name,
    digest: entryDigest(sortMembers(given)),
    config: spec,
  })),
];

/** @param {unknown} value @param {readonly string[]} fields texts that it has, besides its digest */
function isGrant(value, fields) {
  if (typeof value !== "object" || value === null) return false;
  const grant = /** @type {Record<string, unknown>} */ (value);
  const { digest } = grant;
  const texts = fields.every((field) => typeof grant[field] === "string");
  return texts && typeof digest === "string" && DIGEST.test(digest);
}

const FILE_GRANT_FIELDS = ["path", "at"];
const ENTRY_GRANT_FIELDS = ["path", "kind", "name", "at"];

/** Everything that is allowed, oldest first. @param {string} store @returns {Store} */
export function listGrants(store) {
  try {
    if (!isOurFile(store) || fs.statSync(store).size > MAX_FILE_BYTES) return NONE;
    const { version, allowed, files = [] } = JSON.parse(fs.readFileSync(store, "utf8"));
    const all = (/** @type {unknown} */ some, /** @type {string[]} */ fields) =>
      Array.isArray(some) && some.every((one) => isGrant(one, fields));
    // Version 1 knew files only.
    if (version === 1)
      return all(allowed, FILE_GRANT_FIELDS) ? { entries: [], files: allowed } : NONE;
    const good = version === 2 && all(allowed, ENTRY_GRANT_FIELDS) && all(files, FILE_GRANT_FIELDS);
    return good ? { entries: allowed, files } : NONE;
  } catch {
    return NONE;
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

/** @param {string} store @param {Store} grants */
function save(store, { entries, files }) {
  const content = {
    version: 2,
    allowed: entries.slice(-MAX_GRANTS),
    ...(files.length > 0 && { files: files.slice(-MAX_GRANTS) }),
  };
  writePrivate(store, `${JSON.stringify(content, null, 2)}\n`);
}

/** @param {string} file @param {Pick<Entry, "kind" | "name" | "digest">} entry */
const isGrantFor =
  (file, { kind, name, digest }) =>
  (/** @type {Grant} */ grant) =>
    grant.path === file && grant.kind === kind && grant.name === name && grant.digest === digest;

/** @param {ConfigContent} content */
const isFileGrantFor =
  ({ file, digest }) =>
  (/** @type {FileGrant} */ grant) =>
    grant.path === file && grant.digest === digest;

/** @param {string} store @param {ConfigContent} content @param {Pick<Entry, "kind" | "name" | "digest">} entry of it */
export function isAllowed(store, content, entry) {
  const { entries, files } = listGrants(store);
  return entries.some(isGrantFor(content.file, entry)) || files.some(isFileGrantFor(content));
}

/**
 * @param {string} store @param {string} file the config, absolute @param {readonly Entry[]} entries that were shown
 * @throws if it cannot be written
 */
export function allow(store, file, entries, now = new Date()) {
  if (!path.isAbsolute(file)) throw new Error(`not an absolute path: ${file}`);
  if (!entries.every(({ digest }) => DIGEST.test(digest)))
    throw new Error("not a digest of an entry");
  withLock(store, () => add(store, file, entries, now.toISOString()));
}

/** @param {string} store @param {string} file @param {readonly Entry[]} entries @param {string} at */
function add(store, file, entries, at) {
  const { entries: former, files } = listGrants(store);
  const others = former.filter((grant) => !entries.some((entry) => isGrantFor(file, entry)(grant)));
  const added = entries.map(({ kind, name, digest }) => ({ path: file, kind, name, digest, at }));
  save(store, { entries: [...others, ...added], files });
}

/**
 * Turns the consent of an older version to the whole file into consent to its entries.
 * @param {string} store @param {ConfigContent} content @param {readonly Entry[]} entries of it
 */
export function migrate(store, content, entries) {
  if (!listGrants(store).files.some(isFileGrantFor(content))) return;
  withLock(store, () => {
    const former = listGrants(store).files.find(isFileGrantFor(content));
    if (!former) return;
    add(store, content.file, entries, former.at);
    const grants = listGrants(store);
    save(store, {
      ...grants,
      files: grants.files.filter((grant) => !isFileGrantFor(content)(grant)),
    });
  });
}

/**
 * Takes back the consent to every entry of a config.
 * @param {string} store @param {string} file
 * @returns {number} how many had been allowed
 */
export function revoke(store, file) {
  const isOther = (/** @type {{path: string}} */ grant) => grant.path !== file;
  const { entries: some, files: others } = listGrants(store);
  if (some.every(isOther) && others.every(isOther)) return 0;
  return withLock(store, () => {
    const { entries, files } = listGrants(store);
    const left = { entries: entries.filter(isOther), files: files.filter(isOther) };
    const revoked = entries.length + files.length - left.entries.length - left.files.length;
    if (revoked > 0) save(store, left);
    return revoked;
  });
}

/** Of each provider in the timeline: the whole is shown by `copilot-tap allow`. */
const NOTICE_COMMAND = 200;
const NOTICE_VALUE = 60;
const NOTICE_LINES = 4;

// ---- what the user is told -------------------------------------------------------------------------

/** @param {ProviderConfig} provider @returns {string} one line: command and arguments */
export const commandLine = ({ command, args }) =>
  visible([command, ...args].map((word) => quoteWord(word)).join(" "));

/**
 * The other fields, a line each: none of their values can look like the command, or move it out of sight.
 * @param {ProviderConfig} provider @param {number} [most] characters of a value; default: all
 */
export function startLines({ env, cwd }, most = Infinity) {
  const variables = Object.entries(env).map(
    ([name, value]) =>
      `with ${shortenText(visible(name), most)}=${shortenText(visible(quoteWord(value)), most)}`,
  );
  return [
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
    const uses = Object.entries(match).map(([name, value]) => `${name} ${quoteWord(value)}`);
    return visible(`denies ${uses.join(", ")}: ${reason}`);
  }),
  ...(context === undefined ? [] : [visible(`tells the model: ${context}`)]),
];

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
  ];
  return [
    `tap: ${visible(file)} names ${joinWithAnd(parts)} that this session would start, which needs your consent:`,
    ...entries.flatMap(noticeLines),
    `Nothing of it has been started. To allow it, run in a terminal: ${allowCommand(file, env)}`,
  ].join("\n");
}
