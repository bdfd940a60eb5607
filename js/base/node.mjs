// Which Node programs of ours run on, and in which environment.

import fs from "node:fs";
import path from "node:path";
import { programFolder } from "./paths.mjs";

/** What the host needs, rather than what it must not have: no session identity, no secrets. */
const PASSED =
  /^(PATH|HOME|USERPROFILE|SystemRoot|COPILOT_HOME|TAP_.*|XDG_.*|TMPDIR|TEMP|TMP|LANG)$/i;

/** @param {NodeJS.ProcessEnv} env */
export function hostEnvironment(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)));
}

/** @param {string} file */
function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** @returns {string | undefined} */
function recordedNode() {
  try {
    return JSON.parse(fs.readFileSync(path.join(programFolder, "build", "node-path.json"), "utf8"))
      .node;
  } catch {
    return undefined;
  }
}

/**
 * A Node to run the host on: TAP_NODE, this process if it is one (the CLI's own binary is not), the
 * first on PATH, or the one that installed us.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} running this process's program; none, to see what another would find
 * @returns {string | undefined}
 */
export function findNode(env = process.env, running = process.execPath) {
  const name = process.platform === "win32" ? "node.exe" : "node";
  const onPath = (env.PATH ?? "")
    .split(path.delimiter)
    .filter(Boolean)
    .map((folder) => path.join(folder, name));
  const self = path.basename(running) === name ? [running] : [];
  const candidates = [env.TAP_NODE, ...self, ...onPath, recordedNode()];
  return candidates.find(
    (file) => file !== undefined && path.isAbsolute(file) && isExecutable(file),
  );
}
