// The gateway as seen from outside: the process that holds the port, the gateway's files, its own report, and
// whether a provider can connect. Facts only; the checks judge them.

import fs from "node:fs";
import path from "node:path";
import WebSocket from "ws";
import { findFreePort } from "../lib/free-port.mjs";
import { isAlive } from "../lib/process-liveness.mjs";
import { errorMessage } from "../lib/values.mjs";
import { isOurFile, readDescriptor } from "../lib/host-files.mjs";
import { requestHostParts } from "../lib/inspection.mjs";
import { probePort } from "../lib/port-probe.mjs";
import { readJson, listNames, readTail, withTimeout } from "./bounded-io.mjs";
import { findHolder } from "./port-holder.mjs";

/** @typedef {import("../lib/paths.mjs").GatewayFiles} GatewayFiles */
/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../lib/inspection.mjs").HostParts} HostParts */

const INSPECT_MS = 3500;
/** For the report of parts: the inspection counts even if the host does not answer this request. */
const PARTS_MS = 1000;
const AUTH_MS = 2000;
const LOG_BYTES = 256 * 1024;

// ---- its files ---------------------------------------------------------------------------------------

/** @param {string} file @returns {fs.Stats | undefined} */
function statLink(file) {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** @param {string} file */
function descriptorFacts(file) {
  const stat = statLink(file);
  if (!stat) return /** @type {const} */ ({ state: "missing" });
  if (!stat.isFile() || !isOurFile(file)) return /** @type {const} */ ({ state: "unsafe" });
  const value = readDescriptor(file);
  if (value) {
    const { pid, version, link } = value;
    const there = process.platform === "win32" || statLink(link) !== undefined;
    const shown = { pid, version, link, alive: isAlive(pid), linked: there };
    return { state: /** @type {const} */ ("good"), ...shown };
  }
  const link = readJson(file)?.link;
  if (typeof link === "string" && statLink(path.dirname(link))) {
    return { state: /** @type {const} */ ("unsafe-link"), link };
  }
  return /** @type {const} */ ({ state: "unreadable" });
}

/** Gateways of this home on other ports. @param {GatewayFiles} files */
function listOtherGateways({ folder, port }) {
  return listNames(folder)
    .filter((name) => /^\.gateway-\d+\.json$/.test(name))
    .flatMap((name) => readDescriptor(path.join(folder, name)) ?? [])
    .filter((other) => other.port !== port && isAlive(other.pid))
    .map((other) => ({ port: other.port, pid: other.pid }));
}

/** @param {string} file */
function tokenFacts(file) {
  const stat = statLink(file);
  if (!stat) return { state: "missing", value: "" };
  if (!stat.isFile()) return { state: stat.isSymbolicLink() ? "link" : "no-file", value: "" };
  const value = readTail(file, 1024).trim();
  const open = process.platform !== "win32" && (stat.mode & 0o077) !== 0;
  const state = value === "" ? "empty" : open ? "open" : "good";
  return { state, value, mode: (stat.mode & 0o777).toString(8) };
}

// ---- its report --------------------------------------------------------------------------------------

/** @typedef {{inspection?: Inspection, parts?: HostParts, trouble: string}} InspectionResult */

/**
 * @param {GatewayFiles} files
 * @returns {Promise<InspectionResult>}
 */
async function inspect(files) {
  try {
    const { openControl } = await import("../link/control.mjs");
    const control = await openControl(files);
    try {
      const inspection = await control.inspect();
      return {
        inspection,
        parts: await withTimeout(requestHostParts(control), PARTS_MS, undefined),
        trouble: "",
      };
    } finally {
      control.close();
    }
  } catch (error) {
    return { trouble: errorMessage(error) };
  }
}

/**
 * Connects as a provider does, and disconnects.
 * @param {number} port @param {string} token
 * @returns {Promise<{accepted: boolean, code: string, message: string}>}
 */
function authenticate(port, token) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { handshakeTimeout: AUTH_MS });
    const settle = (/** @type {boolean} */ accepted, code = "", message = "") => {
      clearTimeout(timer);
      resolve({ accepted, code, message });
      socket.terminate();
    };
    const timer = setTimeout(() => settle(false, "", "it does not answer"), AUTH_MS);
    socket.on("open", () => socket.send(JSON.stringify({ type: "auth", token })));
    socket.on("error", (error) => settle(false, "", error.message));
    socket.on("close", (code, reason) => settle(false, "", `${code} ${reason}`.trim()));
    socket.on("message", (data) => {
      const { type, code, message } = readMessage(String(data));
      if (type === "sessions") settle(true);
      if (type === "error") settle(false, String(code), String(message));
    });
  });
}

/** @param {string} text @returns {any} */
function readMessage(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** @typedef {{at: number, what: string, provider: string, code: string, message: string}} Refusal */

const REFUSED =
  /^(\S+) warning refused (\S+|a message) of (?:"(.*?)"|a provider): ([A-Z_]+) (.*)$/gm;

/** Connections that the gateway has refused since it started, the oldest first. @param {string} logs @param {number} since @returns {Refusal[]} */
function refusals(logs, since) {
  const text = readTail(path.join(logs, "host.log"), LOG_BYTES);
  return [...text.matchAll(REFUSED)]
    .map(([, at, what, provider = "", code, message]) => ({
      ...{ at: Date.parse(at), what, provider, code, message },
    }))
    .filter(({ at }) => at >= since);
}

/** A free port, if a different program holds the gateway's. @param {string} asked */
const portInstead = async (asked) =>
  asked === "foreign" || asked === "silent" ? findFreePort().catch(() => undefined) : undefined;

/**
 * @param {GatewayFiles} files @param {NodeJS.ProcessEnv} env
 */
export async function gatewayFacts(files, env) {
  const descriptor = descriptorFacts(files.descriptor);
  const unanswered = { trouble: `no answer within ${INSPECT_MS / 1000} s` };
  const [asked, holder, { inspection, parts, trouble }] = await Promise.all([
    probePort(files.port, files.homeHash),
    findHolder(files.port, descriptor.state === "good" ? descriptor.pid : undefined),
    descriptor.state === "good"
      ? withTimeout(inspect(files), INSPECT_MS, /** @type {InspectionResult} */ (unanswered))
      : /** @type {InspectionResult} */ ({ trouble: "" }),
  ]);
  // A gateway with too many connections does not answer on its port, but on the link.
  const proven =
    descriptor.state === "good" && inspection && (holder?.pid ?? descriptor.pid) === descriptor.pid;
  const state = proven ? /** @type {const} */ ("ours") : asked;
  const port = { asked: state, holder, free: await portInstead(state) };
  const token = tokenFacts(files.token);
  const given = env.TAP_PROVIDER_TOKEN || undefined;
  const serves = port.asked === "ours" && inspection !== undefined;
  const [auth, givenAuth] = await Promise.all([
    serves && token.value !== "" ? authenticate(files.port, token.value) : undefined,
    serves && given !== undefined ? authenticate(files.port, given) : undefined,
  ]);
  const { value: _, ...shown } = token; // the token must not be printed
  return {
    port,
    descriptor,
    others: listOtherGateways(files),
    inspection,
    parts,
    trouble,
    token: shown,
    auth,
    givenAuth,
    refusals: inspection ? refusals(files.logs, inspection.startedAt) : [],
  };
}
