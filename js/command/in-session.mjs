// The command's views for a session of the CLI, as text of its timeline.

import { execFile } from "node:child_process";
import path from "node:path";
import { findNode } from "../base/node.mjs";
import { programFolder } from "../base/paths.mjs";
import { Output } from "./output.mjs";
import { showStatus } from "./commands/status.mjs";

/** What is left of 80 columns beside the timeline's own margin. */
const COLUMNS = 74;

/**
 * What a command would print, without colours.
 * @param {(output: Output) => Promise<unknown>} work
 * @returns {Promise<string>}
 */
async function printed(work) {
  let text = "";
  const out = /** @type {any} */ ({
    isTTY: true,
    columns: COLUMNS,
    write: (/** @type {string} */ part) => (text += part),
  });
  await work(new Output({}, { out, err: out, env: { NO_COLOR: "1" } }));
  return text.trimEnd();
}

/** @param {import("../base/paths.mjs").GatewayFiles} files */
export const statusText = (files) => printed((output) => showStatus(output, files));

/** The doctor bounds what it waits for itself. */
const DOCTOR_MS = 20_000;

/**
 * In a process of its own: it looks at much, and this one has calls to pass on. It is told which session
 * asks in the variable that commands of the agent have.
 * @param {string} [tool] that is missing
 * @param {NodeJS.ProcessEnv} [env] of an extension process
 * @returns {Promise<string>}
 */
export function doctorText(tool, env = process.env) {
  const node = findNode(env);
  if (!node) {
    return Promise.resolve("tap: the doctor needs Node.js: install it, or let TAP_NODE name it");
  }
  const cli = path.join(programFolder, "js", "command", "cli.mjs");
  const args = [cli, "doctor", "--columns", String(COLUMNS), ...(tool ? [tool] : [])];
  const own = env.SESSION_ID ? { COPILOT_AGENT_SESSION_ID: env.SESSION_ID } : {};
  return new Promise((resolve) => {
    const options = { timeout: DOCTOR_MS, env: { ...env, ...own } };
    execFile(node, args, { ...options, encoding: "utf8" }, (error, out, err) =>
      resolve(out.trim() || err.trim() || `tap: the doctor did not come: ${error?.message}`),
    );
  });
}
