// The user's consent to start what a repository names: once for each content of each config file.
// Whatever cannot be read, or could have been written by somebody else, allows nothing.

import fs from "node:fs";
import path from "node:path";
import { isOurFile, writePrivate } from "../base/host-files.mjs";
import { tapCommand } from "../base/command-line.mjs";
import { inLine, quoted, shortened, visible } from "../base/visible.mjs";

/**
 * @typedef {object} Grant
 * @property {string} path of the config, absolute
 * @property {string} digest of its content (digestOf in config.mjs)
 * @property {string} at when, ISO 8601
 */
/** @typedef {import("./config.mjs").ProviderConfig} ProviderConfig */

export const MAX_GRANTS = 500;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const DIGEST = /^[0-9a-f]{64}$/;

/** Where it is kept. @param {{folder: string}} files of gatewayFiles() */
export const consentFile = ({ folder }) => path.join(folder, "consent.json");

/** @param {unknown} value @returns {value is Grant} */
function isGrant(value) {
  if (typeof value !== "object" || value === null) return false;
  const grant = /** @type {Record<string, unknown>} */ (value);
  return (
    typeof grant.path === "string" &&
    typeof grant.digest === "string" &&
    DIGEST.test(grant.digest) &&
    typeof grant.at === "string"
  );
}

/** Everything that is allowed, oldest first. @param {string} store @returns {Grant[]} */
export function list(store) {
  try {
    if (!isOurFile(store) || fs.statSync(store).size > MAX_FILE_BYTES) return [];
    const { version, allowed } = JSON.parse(fs.readFileSync(store, "utf8"));
    const good = version === 1 && Array.isArray(allowed) && allowed.every(isGrant);
    return good ? allowed : [];
  } catch {
    return [];
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

/** @param {string} store @param {Grant[]} grants */
function save(store, grants) {
  const allowed = grants.slice(-MAX_GRANTS);
  writePrivate(store, `${JSON.stringify({ version: 1, allowed }, null, 2)}\n`);
}

/** @param {string} store @param {string} file the config, absolute @param {string} digest */
export function isAllowed(store, file, digest) {
  return list(store).some((grant) => grant.path === file && grant.digest === digest);
}

/**
 * @param {string} store @param {string} file @param {string} digest of the content that was shown
 * @throws if it cannot be written
 */
export function allow(store, file, digest, now = new Date()) {
  if (!path.isAbsolute(file)) throw new Error(`not an absolute path: ${file}`);
  if (!DIGEST.test(digest)) throw new Error("not a digest of a config");
  alone(store, () => {
    const others = list(store).filter((grant) => grant.path !== file || grant.digest !== digest);
    save(store, [...others, { path: file, digest, at: now.toISOString() }]);
  });
}

/**
 * Takes back the consent to every content of a config.
 * @param {string} store @param {string} file
 * @returns {number} how many contents had been allowed
 */
export function revoke(store, file) {
  if (!list(store).some((grant) => grant.path === file)) return 0;
  return alone(store, () => {
    const before = list(store);
    const after = before.filter((grant) => grant.path !== file);
    if (after.length < before.length) save(store, after);
    return before.length - after.length;
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
 * @param {ProviderConfig} provider @param {number} most characters of a line
 */
export function startLines({ env, cwd }, most) {
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
 * For the timeline, while a config is not allowed: what it would run, and how to allow it.
 * @param {string} file @param {ProviderConfig[]} providers
 */
export function consentNotice(file, providers, env = process.env) {
  const count = providers.length === 1 ? "a provider" : `${providers.length} providers`;
  const lines = providers.flatMap((provider) => {
    const more = startLines(provider, NOTICE_VALUE);
    const left = more.length - NOTICE_LINES;
    return [
      `  ${inLine(provider.name)}: ${shortened(commandLine(provider), NOTICE_COMMAND)}`,
      ...more.slice(0, NOTICE_LINES).map((line) => `    ${line}`),
      ...(left > 0 ? [`    and ${left} more variables`] : []),
    ];
  });
  return [
    `tap: ${visible(file)} names ${count} that this session would start, which needs your consent:`,
    ...lines,
    `Nothing has been started. To allow it, run in a terminal: ${allowCommand(file, env)}`,
  ].join("\n");
}
