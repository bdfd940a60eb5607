// Starting the detached host from an extension process, and looking at what holds the port.

import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { programFolder } from "./paths.mjs";
import { afterRunning } from "./patience.mjs";

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
 * @returns {string | undefined}
 */
export function findNode(env = process.env) {
  const name = process.platform === "win32" ? "node.exe" : "node";
  const onPath = (env.PATH ?? "")
    .split(path.delimiter)
    .filter(Boolean)
    .map((folder) => path.join(folder, name));
  const self = path.basename(process.execPath) === name ? [process.execPath] : [];
  const candidates = [env.TAP_NODE, ...self, ...onPath, recordedNode()];
  return candidates.find(
    (file) => file !== undefined && path.isAbsolute(file) && isExecutable(file),
  );
}

/**
 * Starts a host that outlives this process. It elects itself, or leaves if another is faster.
 * @param {string} node @param {import("./paths.mjs").GatewayFiles} files
 */
export function startHost(node, files) {
  let stderr = /** @type {number | "ignore"} */ ("ignore");
  try {
    fs.mkdirSync(files.logs, { recursive: true, mode: 0o700 });
    stderr = fs.openSync(path.join(files.logs, "host-stderr.log"), "w", 0o600);
  } catch {
    // Without a log folder it starts all the same.
  }
  const child = spawn(node, [path.join(programFolder, "js", "host.mjs")], {
    detached: true,
    stdio: ["ignore", "ignore", stderr],
    env: hostEnvironment(process.env),
    cwd: programFolder,
    windowsHide: true,
  });
  child.on("error", () => {}); // seen as a host that does not come up
  child.unref();
  if (stderr !== "ignore") fs.closeSync(stderr);
}

/**
 * Who holds the port.
 * @typedef {"nobody" | "ours" | "other-home" | "foreign" | "silent"} PortHolder
 */

/**
 * Asks GET / of the port. A gateway needs it on both loopback addresses.
 * @param {number} port @param {string} homeHash @param {number} patienceMs
 * @returns {Promise<PortHolder>}
 */
export async function askPort(port, homeHash, patienceMs = 1000) {
  const holder = await askAddress("127.0.0.1", port, homeHash, patienceMs);
  return holder === "nobody" ? askAddress("::1", port, homeHash, patienceMs) : holder;
}

/** Nobody listens, or this machine has no such address. */
const NOBODY = ["ECONNREFUSED", "EADDRNOTAVAIL", "EAFNOSUPPORT", "ENETUNREACH", "EHOSTUNREACH"];

/**
 * @param {string} host @param {number} port @param {string} homeHash @param {number} patienceMs
 * @returns {Promise<PortHolder>}
 */
function askAddress(host, port, homeHash, patienceMs) {
  return new Promise((resolve) => {
    const request = http.get({ host, port, path: "/", agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => {
        body += piece;
        if (body.length > 4096) request.destroy();
      });
      response.on("close", () => settle(readAnswer(body, homeHash)));
    });
    // For the whole answer: one that drips in byte by byte is none.
    const neverMind = afterRunning(patienceMs, () => {
      resolve("silent");
      request.destroy();
    });
    /** @param {PortHolder} holder */
    const settle = (holder) => {
      neverMind();
      resolve(holder);
    };
    request.on("error", (/** @type {NodeJS.ErrnoException} */ error) =>
      settle(NOBODY.includes(error.code ?? "") ? "nobody" : "foreign"),
    );
  });
}

/** @param {string} body @param {string} homeHash @returns {PortHolder} */
function readAnswer(body, homeHash) {
  try {
    const answer = JSON.parse(body);
    if (answer.program !== "tap") return "foreign";
    return answer.home === homeHash ? "ours" : "other-home";
  } catch {
    return "foreign";
  }
}
