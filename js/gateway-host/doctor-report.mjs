// `copilot-tap doctor` for a session's timeline. It runs in a process of its own: it looks at much, and the host
// has calls to pass on.

import { execFile } from "node:child_process";
import path from "node:path";
import { findNode } from "../lib/node.mjs";
import { programFolder } from "../lib/paths.mjs";
import { TIMELINE_COLUMNS } from "../views/output.mjs";

/** The doctor bounds what it waits for itself. */
const DOCTOR_MS = 20_000;

/**
 * @param {{id: string, cwd: string}} session the doctor learns of it by the variable that commands of the agent have
 * @param {string} [tool] that is missing
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<string>}
 */
export function readDoctorReport({ id, cwd }, tool, env = process.env) {
  const node = findNode(env);
  if (!node) {
    return Promise.resolve(
      "tap: the doctor needs Node.js: install it, or set TAP_NODE to its path",
    );
  }
  const cli = path.join(programFolder, "js", "cli", "cli.mjs");
  const args = [cli, "doctor", "--columns", String(TIMELINE_COLUMNS), ...(tool ? [tool] : [])];
  return new Promise((resolve) => {
    const options = { cwd, timeout: DOCTOR_MS, env: { ...env, COPILOT_AGENT_SESSION_ID: id } };
    execFile(node, args, { ...options, encoding: "utf8" }, (error, out, err) =>
      resolve(out.trim() || err.trim() || `tap: cannot run copilot-tap doctor: ${error?.message}`),
    );
  });
}
