// Which Node programs of ours run on, and in which environment.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { isNodeNewEnough } from "./node-version.mjs";
import { isExecutable, listOnPath, programFolder } from "./paths.mjs";
import { telemetryVariables } from "./telemetry.mjs";

/** For `node --version`: a version manager may stand in for it. */
const VERSION_MS = 3000;

/** The host inherits only the variables that it needs: no session identity, no secrets. */
const INHERITED =
  /^(PATH|HOME|USERPROFILE|SystemRoot|COPILOT_HOME|TAP_.*|XDG_.*|TMPDIR|TEMP|TMP|LANG)$/i;

/** @param {NodeJS.ProcessEnv} env */
export function hostEnvironment(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED.test(name)));
}

/** That of the gateway host, which passes the variables of OpenTelemetry to no program. @param {NodeJS.ProcessEnv} env */
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

/** @param {string} file of a Node @returns {string} "" where it does not say its version */
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
 * Every Node that there is, in the order in which they are tried: TAP_NODE, this process if it is one
 * (the CLI's own binary is not), those on PATH, and the one that installed us.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} running this process's program; none, to see what another would find
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
 * The Node to run the host on: the first that is new enough.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} running as above
 * @returns {string | undefined}
 */
export function findNode(env = process.env, running = process.execPath) {
  return listNodes(env, running).find(isNewEnough);
}
