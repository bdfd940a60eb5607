// Paths on this machine. Only the search for a program reads the disk.

import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseWholeNumber } from "./values.mjs";

/** The folder of this program. */
export const programFolder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** @type {string} */
export const version = JSON.parse(
  fs.readFileSync(path.join(programFolder, "package.json"), "utf8"),
).version;

const DEFAULT_PORT = 9400;
/** The longest path of a Unix socket on the strictest system, with the final NUL. */
export const MAX_SOCKET_PATH = 104;

/** @param {string} text */
function shortHash(text) {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** @param {NodeJS.ProcessEnv} env */
export function copilotHome(env = process.env) {
  return path.resolve(env.COPILOT_HOME || path.join(os.homedir(), ".copilot"));
}

/**
 * TAP_GATEWAY_PORT, or 9400. An invalid value is an error, since with a different port
 * no provider would find the gateway.
 * @param {NodeJS.ProcessEnv} env
 */
export function gatewayPort(env = process.env) {
  const text = env.TAP_GATEWAY_PORT;
  if (!text) return DEFAULT_PORT;
  const port = parseWholeNumber(text, 1, 65535);
  if (port !== undefined) return port;
  throw new Error(`TAP_GATEWAY_PORT is "${text.slice(0, 32)}", which is not a port (1 to 65535)`);
}

/**
 * The socket or pipe that sessions link to.
 * @param {string} folder @param {string} home @param {number} port @param {NodeJS.ProcessEnv} env
 */
function linkPath(folder, home, port, env) {
  const name = `tap-${shortHash(home)}-${port}`;
  if (process.platform === "win32") return `\\\\.\\pipe\\${name}`;
  const near = path.join(folder, ".run", `link-${port}`);
  if (Buffer.byteLength(near) < MAX_SOCKET_PATH) return near;
  // Directly below the temp folder, where users cannot replace each other's files.
  const base = env.XDG_RUNTIME_DIR || os.tmpdir();
  return path.join(base, `${name}-${os.userInfo().uid}`, "link");
}

/**
 * All files of a gateway.
 * @param {NodeJS.ProcessEnv} env
 */
export function gatewayFiles(env = process.env) {
  const home = copilotHome(env);
  const port = gatewayPort(env);
  const folder = path.join(home, "extensions", "tap");
  const link = linkPath(folder, home, port, env);
  return {
    home,
    homeHash: shortHash(home),
    port,
    folder,
    /** The file with the token of providers. */
    token: path.join(folder, ".provider-token"),
    /** How sessions find the gateway: port, pid, link and its secret. */
    descriptor: path.join(folder, `.gateway-${port}.json`),
    link,
    /** Holds the link's socket; for this user only. Null if the link is not a file. */
    linkFolder: process.platform === "win32" ? null : path.dirname(link),
    logs: path.join(home, "logs", "tap"),
    /** The durable store, which outlives the gateway. */
    records: path.join(home, "tap", "records.sqlite"),
  };
}

/** @typedef {ReturnType<typeof gatewayFiles>} GatewayFiles */

/** @param {string} file @param {string} folder both absolute, without links @returns {boolean} whether it is that folder, or below it */
export function isInside(file, folder) {
  const way = path.relative(folder, file);
  return way.split(path.sep)[0] !== ".." && !path.isAbsolute(way);
}

/** @param {string} file */
export function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * @param {string} name of a program @param {string} [search] a PATH
 * @param {string} [cwd] base of relative folders in it; absent: these are skipped, as a repository may contain
 *   such a program
 * @returns {string[]} all programs of that name
 */
export function listOnPath(name, search = "", cwd) {
  const folders = search.split(path.delimiter);
  const all = cwd === undefined ? folders : folders.map((folder) => path.resolve(cwd, folder));
  return all
    .filter(path.isAbsolute)
    .map((folder) => path.join(folder, name))
    .filter(isExecutable);
}

/** @param {Parameters<typeof listOnPath>} search @returns {string | undefined} the program that a shell would start */
export const findOnPath = (...search) => listOnPath(...search)[0];
