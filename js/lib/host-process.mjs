// Starts the detached host from other processes.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { readIfThere } from "./host-files.mjs";
import { gatewayEnvironment } from "./node.mjs";
import { programFolder } from "./paths.mjs";
import { visible } from "./visible.mjs";

const MAX_REASON = 300;
/** The signals of a process that crashed on its own. */
const CRASHES = new Set(["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGTRAP"]);

/**
 * Why a host could not start.
 * @param {string} file of its stderr @param {number | null} code @param {NodeJS.Signals | null} signal
 */
function readFailureReason(file, code, signal) {
  const text = readIfThere(file) ?? "";
  const match = /^tap: (.+)$/m.exec(text) ?? /^(?:\w*Error\b.*?: )(.+)$/m.exec(text);
  const end = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
  return visible((match?.[1] ?? end).trim().slice(0, MAX_REASON));
}

/**
 * V8 enlarges its space for new objects while modules load, and an idle process never shrinks it. Each of its
 * threads has its own memory; the default is four threads.
 */
export const HOST_FLAGS = ["--max-semi-space-size=1", "--v8-pool-size=1"];

/**
 * Starts a host that outlives this process. It elects itself, or ends if a different host was faster.
 * @param {string} node @param {import("./paths.mjs").GatewayFiles} files
 * @param {(reason: string) => void} onFailed called if it could not start, or crashed
 * @param {NodeJS.ProcessEnv} env of this process
 * @returns {import("node:child_process").ChildProcess}
 */
export function startHost(node, files, onFailed = () => {}, env = process.env) {
  let stderr = /** @type {number | "ignore"} */ ("ignore");
  const errors = path.join(files.logs, "host-stderr.log");
  try {
    fs.mkdirSync(files.logs, { recursive: true, mode: 0o700 });
    stderr = fs.openSync(errors, "w", 0o600);
  } catch {
    // The gateway starts even without a log folder.
  }
  const main = path.join(programFolder, "js", "gateway-host", "main.mjs");
  const child = spawn(node, [...HOST_FLAGS, main], {
    detached: true,
    stdio: ["ignore", "ignore", stderr],
    env: gatewayEnvironment(env),
    cwd: programFolder,
    windowsHide: true,
  });
  child.on("error", (error) => onFailed(visible(error.message)));
  child.on("exit", (code, signal) => {
    const failed = signal ? CRASHES.has(signal) : code !== 0;
    if (failed) onFailed(readFailureReason(errors, code, signal));
  });
  child.unref();
  if (stderr !== "ignore") fs.closeSync(stderr);
  return child;
}
