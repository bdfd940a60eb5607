// Which process has a port, where the gateway would have it: on the loopback addresses. A program that
// has the same port on another address of this machine is in nobody's way.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { runProgram } from "../process/run.mjs";

/** @typedef {{pid: number, name: string}} Holder */
/** @typedef {{address: string, pids: number[]}} Listener */

const LSOF_MS = 2000;
/** Where a process answers for localhost. Of several the first counts, as for the system and `askPort`. */
const ADDRESSES = ["127.0.0.1", "0.0.0.0", "::", "::1"];

/** A table of /proc has each 32 bits of an address as this machine's memory has them. @param {string} hex */
function parseAddress(hex) {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => {
    const four = Buffer.from(word, "hex");
    return [...(os.endianness() === "LE" ? four.reverse() : four)];
  });
  const last = bytes.slice(-4);
  const zero = (/** @type {number[]} */ some) => some.every((byte) => byte === 0);
  const mapped =
    bytes.length === 16 && zero(bytes.slice(0, 10)) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (bytes.length === 4 || mapped) return last.join(".");
  if (!zero(bytes.slice(0, 12))) return "another";
  return zero(last) ? "::" : last.join(".") === "0.0.0.1" ? "::1" : "another";
}

/**
 * The sockets that listen on a port.
 * @param {string} table as /proc/net/tcp and tcp6 have it @param {number} port
 * @returns {{address: string, inode: string}[]}
 */
export function parseListeners(table, port) {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return table.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
    const [hex, at] = local.split(":");
    return state === "0A" && at === wanted ? [{ address: parseAddress(hex), inode }] : [];
  });
}

/** The sockets of a process, as far as this user can see them. @param {string} pid @returns {Set<string>} */
function listSockets(pid) {
  const folder = `/proc/${pid}/fd`;
  const found = new Set();
  try {
    for (const fd of fs.readdirSync(folder)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(path.join(folder, fd)))?.[1];
      if (inode !== undefined) found.add(inode);
    }
  } catch {
    // of somebody else, or gone
  }
  return found;
}

/** @param {string} file */
function readLink(file) {
  try {
    return fs.readlinkSync(file);
  } catch {
    return ""; // closed meanwhile
  }
}

/** @param {string} file */
function readText(file) {
  try {
    return fs.readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}

/** @param {number} port @returns {Listener[]} */
function listenersOnLinux(port) {
  const found = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) =>
    parseListeners(readText(file), port),
  );
  if (found.length === 0) return [];
  const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const processes = pids.map((pid) => ({ pid: Number(pid), sockets: listSockets(pid) }));
  return found.map(({ address, inode }) => ({
    address,
    pids: processes.filter(({ sockets }) => sockets.has(inode)).map(({ pid }) => pid),
  }));
}

/**
 * @param {string} text what lsof -Fpcn has printed: p and c once for a process, n for each socket of it
 * @returns {{listeners: Listener[], names: Map<number, string>}}
 */
export function parseLsof(text) {
  /** @type {Listener[]} */
  const listeners = [];
  const names = new Map();
  let pid = 0;
  for (const line of text.split("\n")) {
    const rest = line.slice(1);
    if (line[0] === "p") pid = Number(rest);
    if (line[0] === "c") names.set(pid, rest);
    if (line[0] !== "n") continue;
    const name = rest.replace(/:\d+$/, "").replace(/^\[(?:::ffff:(?=\d+\.))?(.*)\]$/i, "$1");
    listeners.push({ address: name === "*" ? "0.0.0.0" : name, pids: [pid] });
  }
  return { listeners, names };
}

/**
 * Of those that listen the one that is in the gateway's place: the gateway itself if it listens at all.
 * @param {Listener[]} listeners @param {number} [gateway] its pid, as its descriptor names it
 * @returns {number | undefined} undefined: nobody, or none that this user can see
 */
export function chooseHolder(listeners, gateway) {
  const near = listeners.filter(({ address }) => ADDRESSES.includes(address));
  if (gateway !== undefined && near.some(({ pids }) => pids.includes(gateway))) return gateway;
  const taken = ADDRESSES.find((each) => near.some(({ address }) => address === each));
  const pids = near.filter(({ address }) => address === taken).flatMap((listener) => listener.pids);
  return pids.find((pid) => pid !== 1) ?? pids[0]; // 1 may only have opened the socket for another
}

/**
 * @param {number} port @param {number} [gateway] its pid, as its descriptor names it
 * @returns {Promise<Holder | undefined>} as far as this user can see it
 */
export async function findHolder(port, gateway) {
  if (process.platform === "win32") return undefined;
  if (process.platform === "linux") {
    const pid = chooseHolder(listenersOnLinux(port), gateway);
    return pid === undefined ? undefined : { pid, name: readText(`/proc/${pid}/comm`) };
  }
  const args = ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpcn"];
  const { stdout } = await runProgram("lsof", args, { ms: LSOF_MS });
  const { listeners, names } = parseLsof(stdout);
  const pid = chooseHolder(listeners, gateway);
  return pid === undefined ? undefined : { pid, name: names.get(pid) ?? "" };
}
