// The user's consent to what a repository names: for each entry of a config file, as it is. An entry that tap or
// somebody else adds leaves the others allowed. Whatever cannot be read, or could have been written by somebody else,
// allows nothing.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { isOurFile, writePrivate } from "../base/host-files.mjs";
import { tapCommand } from "../base/command-line.mjs";
import { inLine, quoted, shortened, visible } from "../base/visible.mjs";
import { emitterLines } from "./emitter-lines.mjs";

export { consentFile } from "./config-file.mjs";

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
/** @typedef {import("./config.mjs").ProviderConfig} ProviderConfig */
/** @typedef {import("./config.mjs").DeclarativeConfig} DeclarativeConfig */
/**
 * @typedef {{kind: "external-process", name: string, digest: string, config: ProviderConfig}
 *   | {kind: "declarative", name: string, digest: string, config: DeclarativeConfig}
 *   | {kind: "emitter", name: string, digest: string, config: import("../base/emitter-spec.mjs").EmitterSpec}} Entry
 */

export const MAX_GRANTS = 500;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const DIGEST = /^[0-9a-f]{64}$/;
const NONE = /** @type {Store} */ ({ entries: [], files: [] });

/** @param {unknown} config @returns {string} */
const entryDigest = (config) =>
  createHash("sha256").update(JSON.stringify(config), "utf8").digest("hex");

/** The order of members does not count. @param {unknown} value @returns {unknown} */
function ordered(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, ordered(member)]));
}

/** What a config names, each with the digest that consent is for. @param {import("./config.mjs").Config} config @returns {Entry[]} */
export const entriesOf = ({ providers, declarative, emitters }) => [
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
    digest: entryDigest(ordered(given)),
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

const OF_FILE = ["path", "at"];
const OF_ENTRY = ["path", "kind", "name", "at"];

/** Everything that is allowed, oldest first. @param {string} store @returns {Store} */
export function list(store) {
  try {
    if (!isOurFile(store) || fs.statSync(store).size > MAX_FILE_BYTES) return NONE;
    const { version, allowed, files = [] } = JSON.parse(fs.readFileSync(store, "utf8"));
    const all = (/** @type {unknown} */ some, /** @type {string[]} */ fields) =>
      Array.isArray(some) && some.every((one) => isGrant(one, fields));
    // Version 1 knew files only.
    if (version === 1) return all(allowed, OF_FILE) ? { entries: [], files: allowed } : NONE;
    const good = version === 2 && all(allowed, OF_ENTRY) && all(files, OF_FILE);
    return good ? { entries: allowed, files } : NONE;
  } catch {
    return NONE;
  }
}

/** Nobody needs the lock for longer: a process that was killed has left it. */
const LOCK_MS = 2000;
const LOCK_LOOK_MS = 5;

/**
 * One process after another: a consent that is taken back beside another change would come back with it.
 * @template T
 * @param {string} store @param {() => T} change @returns {T}
 */
function alone(store, change) {
  const lock = `${store}.lock`;
  fs.mkdirSync(path.dirname(store), { recursive: true });
  for (const until = performance.now() + LOCK_MS; !isTaken(lock);) {
    if (performance.now() > until) fs.rmSync(lock, { recursive: true, force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_LOOK_MS);
  }
  try {
    return change();
  } finally {
    fs.rmSync(lock, { recursive: true, force: true });
  }
}

/** @param {string} lock @returns {boolean} whether it is ours now @throws if it cannot be made */
function isTaken(lock) {
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
const isOf =
  (file, { kind, name, digest }) =>
  (/** @type {Grant} */ grant) =>
    grant.path === file && grant.kind === kind && grant.name === name && grant.digest === digest;

/** @param {ConfigContent} content */
const isOfFile =
  ({ file, digest }) =>
  (/** @type {FileGrant} */ grant) =>
    grant.path === file && grant.digest === digest;

/** @param {string} store @param {ConfigContent} content @param {Pick<Entry, "kind" | "name" | "digest">} entry of it */
export function isAllowed(store, content, entry) {
  const { entries, files } = list(store);
  return entries.some(isOf(content.file, entry)) || files.some(isOfFile(content));
}

/**
 * @param {string} store @param {string} file the config, absolute @param {readonly Entry[]} entries that were shown
 * @throws if it cannot be written
 */
export function allow(store, file, entries, now = new Date()) {
  if (!path.isAbsolute(file)) throw new Error(`not an absolute path: ${file}`);
  if (!entries.every(({ digest }) => DIGEST.test(digest)))
    throw new Error("not a digest of an entry");
  alone(store, () => add(store, file, entries, now.toISOString()));
}

/** @param {string} store @param {string} file @param {readonly Entry[]} entries @param {string} at */
function add(store, file, entries, at) {
  const { entries: former, files } = list(store);
  const others = former.filter((grant) => !entries.some((entry) => isOf(file, entry)(grant)));
  const added = entries.map(({ kind, name, digest }) => ({ path: file, kind, name, digest, at }));
  save(store, { entries: [...others, ...added], files });
}

/**
 * Turns the consent of an older version to the whole file into consent to its entries.
 * @param {string} store @param {ConfigContent} content @param {readonly Entry[]} entries of it
 */
export function migrate(store, content, entries) {
  if (!list(store).files.some(isOfFile(content))) return;
  alone(store, () => {
    const former = list(store).files.find(isOfFile(content));
    if (!former) return;
    add(store, content.file, entries, former.at);
    const grants = list(store);
    save(store, { ...grants, files: grants.files.filter((grant) => !isOfFile(content)(grant)) });
  });
}

/**
 * Takes back the consent to every entry of a config.
 * @param {string} store @param {string} file
 * @returns {number} how many had been allowed
 */
export function revoke(store, file) {
  const isOther = (/** @type {{path: string}} */ grant) => grant.path !== file;
  const { entries: some, files: others } = list(store);
  if (some.every(isOther) && others.every(isOther)) return 0;
  return alone(store, () => {
    const { entries, files } = list(store);
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
  visible([command, ...args].map((word) => quoted(word)).join(" "));

/**
 * The other fields, a line each: none of their values can look like the command, or move it out of sight.
 * @param {ProviderConfig} provider @param {number} [most] characters of a value; default: all
 */
export function startLines({ env, cwd }, most = Infinity) {
  const variables = Object.entries(env).map(
    ([name, value]) =>
      `with ${shortened(visible(name), most)}=${shortened(visible(quoted(value)), most)}`,
  );
  return [
    ...(cwd === undefined ? [] : [`in ${shortened(visible(quoted(cwd)), most)}`]),
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
    const uses = Object.entries(match).map(([name, value]) => `${name} ${quoted(value)}`);
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
    const lines = ruleLines(config).map((line) => shortened(line, NOTICE_COMMAND));
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
    `  ${inLine(name)}: ${shortened(commandLine(config), NOTICE_COMMAND)}`,
    ...more.slice(0, NOTICE_LINES).map((line) => `    ${line}`),
    ...(left > 0 ? [`    and ${left} more variables`] : []),
  ];
}

/** @param {string[]} parts a, b and c */
const listed = (parts) =>
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
    `tap: ${visible(file)} names ${listed(parts)} that this session would start, which needs your consent:`,
    ...entries.flatMap(noticeLines),
    `Nothing of it has been started. To allow it, run in a terminal: ${allowCommand(file, env)}`,
  ].join("\n");
}
