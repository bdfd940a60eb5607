// The sandbox of a program that an entry of a config starts: the command of an emitter, or a provider. The entry
// becomes a policy. The project is read-only, and all other files of the user are hidden.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { makePrivateFolder } from "../lib/host-files.mjs";
import { copilotHome, isInside, programFolder } from "../lib/paths.mjs";
import { visible, wrapInQuotes } from "../lib/visible.mjs";
import { findProgram, wrapInSandbox } from "./sandbox.mjs";

/**
 * As written in the config: folders relative to the project, absolute, or starting with `~/`.
 * @typedef {{writable: string[], readFolders: string[], allowedUrls: string[], caches: string[]}} EntrySandbox
 */
/** @typedef {import("./sandbox.mjs").ProgramPolicy} ProgramPolicy */
/** @typedef {"ask" | "refuse" | "none"} Fallback of the user's config: "none" runs a program without a sandbox */
/**
 * @typedef {object} OpenSandbox
 * @property {boolean} isSandboxed false: this machine has no sandbox, and the user's config allows that
 * @property {(command: import("./sandbox.mjs").Command) => import("./sandbox.mjs").Command} wrap throws ENOENT if
 *   the program does not exist
 * @property {() => Promise<void>} close after the program has ended
 */

/** Its `code` is NO_FOLDER, NOT_ALLOWED, NO_SANDBOX or SANDBOX_BROKEN, and its message starts with the code. */
export class SandboxError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** Their files belong to the kernel. */
const KERNEL_FOLDERS = ["/proc", "/sys", "/dev"];

/** The given name, and the name without links. @param {string} folder */
function listNames(folder) {
  try {
    return [folder, fs.realpathSync(folder)];
  } catch {
    return [folder];
  }
}

/**
 * Why a sandbox must not have a folder; "" if it may. An existing folder is given without links.
 * @param {string} folder absolute @param {{home?: string, copilot?: string}} [places] copilot: COPILOT_HOME
 */
export function explainRefusedFolder(folder, places = {}) {
  const { home = os.homedir(), copilot = copilotHome() } = places;
  if (path.dirname(folder) === folder) return "it is the whole file system";
  if (listNames(home).some((name) => isInside(name, folder))) return "it has your whole home";
  if (listNames(copilot).some((name) => isInside(name, folder) || isInside(folder, name)))
    return `tap and the CLI keep their own files in ${copilot}`;
  return folder.split(path.sep).includes(".git") ? "it belongs to git" : "";
}

/** @param {string} name @param {string} home */
const expandHome = (name, home) =>
  name === "~" || name.startsWith("~/") ? path.join(home, name.slice(1)) : name;

/**
 * @param {string} field of the entry @param {string[]} names
 * @param {{folder: string, home: string, copilot: string}} places folder: of the project, without links
 * @returns {string[]} absolute, without links @throws {SandboxError} NO_FOLDER, NOT_ALLOWED
 */
function resolveFolders(field, names, places) {
  const { folder, home } = places;
  return names.map((name, at) => {
    const named = path.resolve(folder, expandHome(name, home));
    const fail = (/** @type {string} */ code, /** @type {string} */ why) => {
      return new SandboxError(code, `${field}[${at}]: ${visible(wrapInQuotes(name))} ${why}`);
    };
    const stat = fs.statSync(named, { throwIfNoEntry: false });
    if (!stat?.isDirectory()) {
      const why = stat ? "is not a folder" : "is not there";
      throw fail("NO_FOLDER", `${why}. Create it, or remove it from "sandbox".`);
    }
    const real = fs.realpathSync(named);
    // The target of a link may change after the user has allowed it.
    if (real !== named)
      throw fail("NOT_ALLOWED", `leads by a link to ${visible(real)}: name that folder.`);
    const isKernel = KERNEL_FOLDERS.some((kernel) => isInside(real, kernel));
    const why =
      explainRefusedFolder(real, places) ||
      (isInside(folder, real) && "it has the whole project") ||
      (isKernel && "its files are the kernel's");
    if (why) throw fail("NOT_ALLOWED", `cannot be allowed: ${visible(why)}.`);
    return real;
  });
}

/**
 * @param {EntrySandbox} sandbox
 * @param {{folder: string, cwd: string, user: NodeJS.ProcessEnv}} where folder: of the project; cwd: in it, without
 *   links
 * @returns {ProgramPolicy} @throws {SandboxError} NO_FOLDER, NOT_ALLOWED
 */
export function resolveEntryPolicy(sandbox, { folder: given, cwd, user }) {
  const folder = fs.realpathSync(given);
  const places = { folder, home: user.HOME ?? os.homedir(), copilot: copilotHome(user) };
  const writable = resolveFolders("writable", sandbox.writable, places);
  const readable = resolveFolders("readFolders", sandbox.readFolders, places);
  const gitFolders = writable
    .map((place) => path.join(place, ".git"))
    .filter((place) => fs.existsSync(place));
  const hosts = sandbox.allowedUrls.map((host) => host.toLowerCase());
  return {
    cwd,
    writable,
    readable: [folder, ...readable, ...gitFolders].filter((place) => !writable.includes(place)),
    named: [...writable, ...readable],
    caches: sandbox.caches,
    hosts: hosts.includes("*") ? "*" : hosts,
    sandbox: "on",
  };
}

/** The SDKs with their dependencies, which a provider may import from there. */
const SDK = ["sdk", "node_modules", "package.json"].map((name) => path.join(programFolder, name));
/** The gateway encodes other names for its `persistDir`. */
const PLAIN_NAME = /^[a-zA-Z0-9_-][a-zA-Z0-9._-]*$/;

/**
 * Adds the folders of a provider.
 * @param {ProgramPolicy} policy @param {string} name @param {NodeJS.ProcessEnv} user @returns {ProgramPolicy}
 */
function addProviderFolders(policy, name, user) {
  const readable = [...policy.readable, ...SDK.filter((file) => fs.existsSync(file))];
  if (!PLAIN_NAME.test(name)) return { ...policy, readable };
  const own = path.join(copilotHome(user), "providers", name);
  makePrivateFolder(own);
  return { ...policy, readable, writable: [...policy.writable, fs.realpathSync(own)] };
}

/**
 * Prepares the sandbox for a run of a program.
 * @param {EntrySandbox} sandbox
 * @param {object} options
 * @param {string} options.folder of the project @param {string} options.cwd in it, without links
 * @param {NodeJS.ProcessEnv} options.user the environment of this process
 * @param {string} [options.search] PATH, if it is not this process's
 * @param {Fallback} [options.fallback]
 * @param {{name: string, port: number}} [options.provider] port: of the gateway, which it reaches at the same port
 * @param {(host: string) => void} options.onRefused
 * @returns {Promise<OpenSandbox>} @throws {SandboxError}
 */
export async function openEntrySandbox(sandbox, options) {
  const { fallback = "ask", user, search = user.PATH, provider, onRefused } = options;
  const resolved = resolveEntryPolicy(sandbox, options);
  const { probeSandbox } = await import("./sandbox-probe.mjs");
  const found = await probeSandbox({ env: user });
  if (found.state !== "ok") {
    const { code, message, advice, command: line = "" } = found;
    if (fallback !== "none")
      throw new SandboxError(code, `${message}. ${advice} ${line}`.trimEnd());
    return { isSandboxed: false, wrap: (given) => given, close: async () => {} };
  }
  const policy = provider ? addProviderFolders(resolved, provider.name, user) : resolved;
  const { openWays } = await import("./host-proxy.mjs");
  const opened = await openWays(policy.hosts, { onRefused, port: provider?.port });
  return {
    isSandboxed: true,
    wrap: (command) => {
      findProgram(command.command, options.cwd, command.env.PATH);
      return wrapInSandbox(policy, command, {
        ways: opened?.ways,
        user: { ...user, PATH: search },
      });
    },
    close: async () => opened?.close(),
  };
}
