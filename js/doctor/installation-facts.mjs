// The installed parts: the home, Node.js, tap, the CLI and its settings. Facts only; the checks judge them.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "jsonc-parser";
import { findCopilotProgram } from "../process/copilot-cli.mjs";
import { RELEASES } from "../lib/release-use.mjs";
import { listNodes, findNode, readNodeVersion } from "../lib/node.mjs";
import { MIN_NODE } from "../lib/node-version.mjs";
import { programFolder } from "../lib/paths.mjs";
import { releaseNamedBy } from "../install/extension-folder.mjs";
import { runProgram } from "../process/run.mjs";
import { readHead, readJson, listNames, readTail } from "./bounded-io.mjs";

/** For a program that prints its version. The first start of a CLI unpacks it. */
const VERSION_MS = 5000;
const ADDON_MS = 3000;
const SETTINGS_BYTES = 1024 * 1024;
/** Number of the CLI's logs to read, the newest first. */
const MAX_LOGS = 60;
const HEAD_BYTES = 4 * 1024;
const LOG_BYTES = 64 * 1024;

/** @param {string} file @returns {fs.Stats | undefined} */
const statFile = (file) => {
  try {
    return fs.statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/** @param {unknown} error */
const errorCode = (error) => /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error);

/**
 * Why a folder, or its nearest existing parent, is not writable. Does not write a file as a test;
 * Windows reports no permissions here.
 * @param {string} folder @returns {{folder: string, error: string} | undefined}
 */
function writeTrouble(folder) {
  let nearest = folder;
  while (!statFile(nearest) && path.dirname(nearest) !== nearest) nearest = path.dirname(nearest);
  if (!statFile(nearest)?.isDirectory()) return { folder: nearest, error: "ENOTDIR" };
  try {
    fs.accessSync(nearest, fs.constants.W_OK | fs.constants.X_OK);
    const { bavail, files, ffree } = fs.statfsSync(nearest);
    const isFull = bavail === 0 || (files > 0 && ffree === 0); // no files: it does not count them
    return isFull ? { folder: nearest, error: "ENOSPC" } : undefined;
  } catch (error) {
    return { folder: nearest, error: errorCode(error) };
  }
}

/** @param {{home: string, folder: string, logs: string}} files */
export function homeFacts({ home, folder, logs }) {
  const stat = statFile(home);
  if (!stat?.isDirectory()) return { state: stat ? "no-folder" : "missing", home };
  return { state: "there", home, folder: writeTrouble(folder), logs: writeTrouble(logs) };
}

/** @param {string} wanted TAP_NODE, which is not used */
function explainUnusableNode(wanted) {
  if (!listNodes({ TAP_NODE: wanted }, "").includes(wanted))
    return `TAP_NODE is "${wanted}", which is not the absolute path of a program`;
  const version = readNodeVersion(wanted);
  if (version === "") return `TAP_NODE is "${wanted}", which does not print its version in time`;
  return `TAP_NODE is "${wanted}", which is Node.js ${version}; the gateway needs ${MIN_NODE} or later`;
}

/** The Node that a session would run the gateway on. @param {NodeJS.ProcessEnv} env */
export async function nodeFacts(env) {
  // If no Node.js is new enough, report the first.
  const file = findNode(env, "") ?? listNodes(env, "")[0];
  const wanted = env.TAP_NODE || undefined;
  const passedOver =
    wanted !== undefined && wanted !== file ? explainUnusableNode(wanted) : undefined;
  const answer = file ? await runProgram(file, ["--version"], { env, ms: VERSION_MS }) : undefined;
  const match = /^v(\d+\.\d+\.\d+)/.exec(answer?.stdout ?? "");
  return { file, passedOver, version: match?.[1] };
}

// ---- tap ---------------------------------------------------------------------------------------------

/** The folder that the CLI takes project extensions from. @param {string} cwd */
function projectRoot(cwd) {
  for (let folder = cwd; ; folder = path.dirname(folder)) {
    if (fs.existsSync(path.join(folder, ".git"))) return folder;
    if (path.dirname(folder) === folder) return cwd;
  }
}

/** An installed tap. @typedef {{folder: string, program: string, version: string, project: boolean}} Copy */

/** @param {string} folder of extensions @param {boolean} project @returns {Copy[]} */
function findCopies(folder, project) {
  return listNames(folder).flatMap((name) => {
    const entry = path.join(folder, name, "extension.mjs");
    if (!statFile(entry)?.isFile()) return [];
    const released = releaseNamedBy(readTail(entry, SETTINGS_BYTES));
    const program =
      released === undefined
        ? path.dirname(fs.realpathSync(entry))
        : path.join(fs.realpathSync(path.join(folder, name)), RELEASES, released);
    const manifest = readJson(path.join(program, "package.json"));
    if (manifest?.name !== "copilot-tap") return [];
    return [
      { folder: path.join(folder, name), program, version: String(manifest.version), project },
    ];
  });
}

/** Where a symbolic link leads. @param {string} file */
function readLink(file) {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}

/** @param {string} home @param {string} cwd */
export function extensionFacts(home, cwd) {
  const usual = path.join(home, "extensions", "tap");
  const copies = [
    ...findCopies(path.join(home, "extensions"), false),
    ...findCopies(path.join(projectRoot(cwd), ".github", "extensions"), true),
  ];
  const target = readLink(usual);
  const state = statFile(usual) ? "incomplete" : target !== undefined ? "dangling" : "missing";
  return { usual, copies, state, target };
}

/**
 * Whether the addon of a tap loads in a Node, in a process of its own: it may crash.
 * @param {string} program folder of that tap @param {string} node @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{program: string, missing: boolean, late: boolean, why: string} | undefined>}
 */
async function addonTrouble(program, node, env) {
  // The same way in which that tap loads it.
  const script = "await import(process.argv[1]); console.log('loads')";
  const loader = pathToFileURL(path.join(program, "js", "lib", "addon.mjs")).href;
  const args = ["--input-type=module", "-e", script, loader];
  const { stdout, stderr, why: ended } = await runProgram(node, args, { env, ms: ADDON_MS });
  const [out, late] = [stdout + stderr, ended === "late"];
  if (/^loads$/m.test(out)) return undefined;
  const reason = /^\s*\[cause\]: \w*Error: (.*)$/m.exec(out) ?? /^\w*Error: (.*)$/m.exec(out);
  const why =
    reason?.[1] ?? (late ? `it has not returned after ${ADDON_MS / 1000} s` : "it crashes");
  const missing = /No native build was found/.test(out);
  return { program, missing, late: late && !reason, why };
}

/** @param {Copy[]} copies @param {string | undefined} node @param {NodeJS.ProcessEnv} env */
export async function addonFacts(copies, node, env) {
  const programs = new Set([...copies.map(({ program }) => program), programFolder]);
  const found = [...programs].map((program) =>
    addonTrouble(program, node ?? process.execPath, env),
  );
  const troubles = (await Promise.all(found)).filter((trouble) => trouble !== undefined);
  return troubles.find(({ late }) => !late) ?? troubles[0];
}

// ---- the CLI -----------------------------------------------------------------------------------------

/** @param {NodeJS.ProcessEnv} env */
export async function cliFacts(env) {
  const file = findCopilotProgram(env);
  // A .cmd needs a shell, so it is not run.
  const asked = file !== undefined && !file.endsWith(".cmd");
  if (!asked) return { file, version: undefined, asked, late: false, message: "" };
  const quiet = { ...env, COPILOT_AUTO_UPDATE: "false", COPILOT_OFFLINE: "true" };
  const answer = await runProgram(file, ["--version"], { env: quiet, ms: VERSION_MS });
  const { code, stdout, stderr, why, error } = answer;
  const out = stdout + stderr;
  const version = code === 0 ? /\d+\.\d+\.\d+/.exec(out)?.[0] : undefined;
  const message = error?.message ?? (out.trim().split("\n").at(-1) || `it ended with ${code}`);
  return { file, version, asked, late: why === "late", message };
}

/** The setting in <COPILOT_HOME>/settings.json that decides whether extensions are loaded. @param {string} home */
export function settingsFacts(home) {
  const file = path.join(home, "settings.json");
  if (!statFile(file)) return { file, state: "absent" };
  /** @type {import("jsonc-parser").ParseError[]} */
  const errors = [];
  const value = parse(readTail(file, SETTINGS_BYTES), errors, { allowTrailingComma: true });
  if (errors.length > 0 || typeof value !== "object" || value === null) {
    return { file, state: "unreadable" };
  }
  const { mode, disabledExtensions } = value.extensions ?? {};
  return {
    file,
    state: "read",
    experimental: /** @type {unknown} */ (value.experimental),
    off: mode === "disabled",
    disabled: Array.isArray(disabledExtensions) ? disabledExtensions.map(String) : [],
  };
}

/**
 * The CLI's log of its last start of tap: each start has a separate log, with the extension's stderr.
 * @param {string} home @param {Copy[]} copies
 */
export function startFacts(home, copies) {
  const logs = path.join(home, "logs");
  const names = listNames(logs).filter((name) => /^process-\d+-\d+\.log$/.test(name));
  const entries = copies.map(({ folder }) => path.join(folder, "extension.mjs"));
  const everLinked = fs.existsSync(path.join(logs, "tap", "extension.log"));
  for (const name of names.reverse().slice(0, MAX_LOGS)) {
    const head = readHead(path.join(logs, name), HEAD_BYTES);
    const module = /^=== launch pid=\d+ module=(.*) ===$/m.exec(head)?.[1];
    if (module === undefined || !entries.includes(module)) continue;
    const text = readTail(path.join(logs, name), LOG_BYTES);
    const trouble = [...text.matchAll(/^tap: (.*)$/gm)].at(-1)?.[1];
    return { everLinked, log: path.join(logs, name), trouble };
  }
  return { everLinked };
}
