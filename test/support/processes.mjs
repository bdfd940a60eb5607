// Finds processes by the COPILOT_HOME in their environment: detached ones have no other tie to the
// test that caused them. Linux only (/proc).

import { readFile, readdir } from "node:fs/promises";
import { waitFor } from "./wait.mjs";

/**
 * @typedef {{pid: number, ppid: number, cmdline: string[], env: Record<string, string>}} ProcessInfo
 */

const splitNul = (text) => text.split("\0").filter(Boolean);

function parseEnv(text) {
  return Object.fromEntries(
    splitNul(text).map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
}

/** The name in /proc/<pid>/stat may itself hold spaces and brackets, hence the last bracket. */
const statFields = (stat) => stat.slice(stat.lastIndexOf(")") + 2).split(" ");

async function inspect(pid, home) {
  try {
    const environ = await readFile(`/proc/${pid}/environ`, "utf8");
    if (!environ.includes(home)) return undefined;
    const env = parseEnv(environ);
    if (env.COPILOT_HOME !== home) return undefined;
    const [state, ppid] = statFields(await readFile(`/proc/${pid}/stat`, "utf8"));
    if (state === "Z" || state === "X") return undefined;
    return {
      pid,
      ppid: Number(ppid),
      cmdline: splitNul(await readFile(`/proc/${pid}/cmdline`, "utf8")),
      env,
    };
  } catch {
    // Gone meanwhile, or not ours to look at.
    return undefined;
  }
}

/**
 * Live processes whose environment carries exactly this COPILOT_HOME, oldest pid first.
 * @param {string} home
 * @returns {Promise<ProcessInfo[]>}
 */
export async function processesOf(home) {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.filter((pid) => pid !== process.pid).map((pid) => inspect(pid, home)),
  );
  return found.filter(Boolean).sort((a, b) => a.pid - b.pid);
}

/** Only the bootstrap itself is an extension process: its children inherit EXTENSION_PATH. */
export const isExtension = (info) =>
  info.cmdline.some((word) => word.endsWith("extension_bootstrap.mjs"));

/** @param {ProcessInfo} info */
export const isGatewayHost = (info) =>
  info.cmdline.some((word) => word.replaceAll("\\", "/").endsWith("js/gateway-host/main.mjs"));

/** @param {number} pid */
export async function isAlive(pid) {
  try {
    const [state] = statFields(await readFile(`/proc/${pid}/stat`, "utf8"));
    return state !== "Z" && state !== "X";
  } catch {
    return false;
  }
}

/** A line for error messages. @param {ProcessInfo} info */
export const describeProcess = (info) =>
  `${info.pid} (parent ${info.ppid}): ${info.cmdline.join(" ").slice(0, 160)}`;

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/**
 * Kills the processes of a home until none is left: a dying process may just have started a child.
 * @param {string} home
 */
export async function killAll(home) {
  let left = [];
  const gone = async () => {
    left = await processesOf(home);
    for (const { pid } of left) signal(pid, "SIGKILL");
    return left.length === 0;
  };
  await waitFor(gone, {
    what: () => `all processes gone, left:\n${left.map(describeProcess).join("\n")}`,
  });
}

/**
 * Kills a process of a home and its children, except a gateway host, which is meant to outlive the CLI.
 * @param {string} home
 * @param {number} root
 */
export async function killTree(home, root) {
  const all = await processesOf(home);
  const tree = new Set([root]);
  for (let before = 0; before !== tree.size;) {
    before = tree.size;
    for (const info of all) if (tree.has(info.ppid) && !isGatewayHost(info)) tree.add(info.pid);
  }
  // Only processes with this home: the pid may have been given to a stranger meanwhile.
  for (const { pid } of all) if (tree.has(pid)) signal(pid, "SIGKILL");
}
