// Finds the Node.js for tap's programs, and their environment.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { isNodeNewEnough } from "./node-version.mjs";
import { isExecutable, listOnPath, programFolder } from "./paths.mjs";
import { telemetryVariables } from "./telemetry.mjs";

/** Long enough for a version manager in place of Node.js. */
const VERSION_MS = 3000;

/** The host inherits only the variables that it needs: no session identity, no secrets. */
const INHERITED =
  /^(PATH|HOME|USERPROFILE|SystemRoot|COPILOT_HOME|TAP_.*|XDG_.*|TMPDIR|TEMP|TMP|LANG)$/i;

/** @param {NodeJS.ProcessEnv} env */
export function hostEnvironment(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED.test(name)));
}

/** The environment of the gateway host, which passes the variables of OpenTelemetry to no program. @param {NodeJS.ProcessEnv} env */
export const gatewayEnvironment = (env) => ({
  ...hostEnvironment(env),
  ...telemetryVariables(env),
});

/** @returns {string | undefined} */
function readRecordedNode() {
  try {
    return JSON.parse(fs.readFileSync(path.join(programFolder, "build", "node-path.json"), "utf8"))
      .node;
  } catch {
    return undefined;
  }
}

/** The output of programs, by path and time of change. @type {Map<string, string>} */
const versions = new Map();

/** @param {string} file of a Node @returns {string} "" if it prints no version */
export function readNodeVersion(file) {
  if (file === process.execPath && process.release.name === "node") return process.versions.node;
  const key = `${file} ${fs.statSync(file).mtimeMs}`;
  let version = versions.get(key);
  if (version === undefined) {
    const { stdout } = spawnSync(file, ["--version"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: VERSION_MS,
      killSignal: "SIGKILL",
      windowsHide: true,
    });
    version = /^v(\d+\.\d+\.\d+)/.exec(stdout ?? "")?.[1] ?? "";
    versions.set(key, version);
  }
  return version;
}

/** @param {string} file */
function isNewEnough(file) {
  const version = readNodeVersion(file);
  return isNodeNewEnough(version);
}

/**
 * All Node.js programs, in the order in which they are tried: TAP_NODE, this process (unless it is the CLI's own
 * binary, which is not Node.js), those on PATH, and the Node.js that installed tap.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} running this process's program; "" to search as a different process would
 * @returns {string[]}
 */
export function listNodes(env = process.env, running = process.execPath) {
  const name = process.platform === "win32" ? "node.exe" : "node";
  const self = path.basename(running) === name ? [running] : [];
  const all = [env.TAP_NODE, ...self, ...listOnPath(name, env.PATH), readRecordedNode()];
  return all.flatMap((file) =>
    file !== undefined && path.isAbsolute(file) && isExecutable(file) ? [file] : [],
  );
}

/**
 * The Node.js for the host: the first that is new enough.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} running as above
 * @returns {string | undefined}
 */
export function findNode(env = process.env, running = process.execPath) {
  return listNodes(env, running).find(isNewEnough);
}
