// `copilot-tap doctor` for a session's timeline. It runs in a separate process, since it reads a lot, and the host
// has to forward calls.

import path from "node:path";
import { findNode } from "../lib/node.mjs";
import { programFolder } from "../lib/paths.mjs";
import { runProgram } from "../process/run.mjs";
import { TIMELINE_COLUMNS } from "../views/output.mjs";

/** A limit above the doctor's own. */
const DOCTOR_MS = 20_000;
const MAX_REPORT_BYTES = 1024 * 1024;

/**
 * @param {{id: string, cwd: string}} session passed to the doctor by the variable of the agent's commands
 * @param {string} [tool] the missing tool
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<string>}
 */
export async function readDoctorReport({ id, cwd }, tool, env = process.env) {
  const node = findNode(env);
  if (!node) return "tap: the doctor needs Node.js: install it, or set TAP_NODE to its path";
  const cli = path.join(programFolder, "js", "cli", "cli.mjs");
  const args = [cli, "doctor", "--columns", String(TIMELINE_COLUMNS), ...(tool ? [tool] : [])];
  const own = { ...env, COPILOT_AGENT_SESSION_ID: id };
  const { stdout, stderr, error, why } = await runProgram(node, args, {
    ...{ cwd, env: own, ms: DOCTOR_MS, maxBytes: MAX_REPORT_BYTES },
  });
  const trouble = error?.message ?? (why === "late" ? "it does not end" : "it has no output");
  return stdout.trim() || stderr.trim() || `tap: cannot run copilot-tap doctor: ${trouble}`;
}
