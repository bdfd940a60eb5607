// The process that holds the gateway's port on the loopback addresses. The same port on a different address of this
// machine does not conflict.

import { runProgram } from "../process/run.mjs";

/** @typedef {{pid: number, name: string}} Holder */
/** @typedef {{address: string, holders: Holder[]}} Listener */

const LIST_MS = 2000;
/** Addresses that serve localhost. The first match counts, as for the system and `probePort`. */
const ADDRESSES = ["127.0.0.1", "0.0.0.0", "::", "::1"];

/** @param {string} text address and port, as ss and lsof write them */
const readAddress = (text) =>
  text
    .replace(/:\d+$/, "")
    .replace(/^\[(?:::ffff:(?=\d+\.))?(.*)\]$/i, "$1")
    .replace(/^\*$/, "0.0.0.0");

/** @param {string} text output of ss @returns {Listener[]} */
export const parseSs = (text) =>
  text.split("\n").flatMap((line) => {
    const [, local = "", users = ""] = /^\S+ +\d+ +\d+ +(\S+) +\S+(.*)$/.exec(line) ?? [];
    const holders = [...users.matchAll(/\("((?:[^"\\]|\\.)*)",pid=(\d+)/g)];
    if (local === "") return [];
    const found = holders.map(([, name, pid]) => ({ pid: Number(pid), name }));
    return [{ address: readAddress(local), holders: found }];
  });

/** @param {string} text output of lsof -Fpcn: p and c once a process, n for each of its sockets @returns {Listener[]} */
export function parseLsof(text) {
  /** @type {Listener[]} */
  const listeners = [];
  let holder = { pid: 0, name: "" };
  for (const line of text.split("\n")) {
    const rest = line.slice(1);
    if (line[0] === "p") holder = { pid: Number(rest), name: "" };
    if (line[0] === "c") holder.name = rest;
    if (line[0] === "n") listeners.push({ address: readAddress(rest), holders: [holder] });
  }
  return listeners;
}

/**
 * Chooses the process in the gateway's place: the gateway itself if it listens at all.
 * @param {Listener[]} listeners @param {number} [gateway] its pid, as its descriptor names it
 * @returns {Holder | undefined} undefined: no process, or not visible to this user
 */
export function chooseHolder(listeners, gateway) {
  const near = listeners.filter(({ address }) => ADDRESSES.includes(address));
  const own = near.flatMap(({ holders }) => holders).find(({ pid }) => pid === gateway);
  const taken = ADDRESSES.find((each) => near.some(({ address }) => address === each));
  const all = near.filter(({ address }) => address === taken).flatMap(({ holders }) => holders);
  if (own) return own;
  // Pid 1 may only have opened the socket for a service; a child may hold it until it runs its program.
  const others = all.filter(({ pid }) => pid !== 1).sort((a, b) => a.pid - b.pid);
  return others[0] ?? all[0];
}

/**
 * @param {number} port @param {number} [gateway] its pid, as its descriptor names it
 * @returns {Promise<Holder | undefined>} as far as this user can see it
 */
export async function findHolder(port, gateway) {
  if (process.platform === "win32") return undefined;
  const isLinux = process.platform === "linux";
  const { stdout } = isLinux
    ? await runProgram("ss", ["-H", "-l", "-t", "-n", "-p", `sport = :${port}`], { ms: LIST_MS })
    : await runProgram("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpcn"], { ms: LIST_MS });
  return chooseHolder(isLinux ? parseSs(stdout) : parseLsof(stdout), gateway);
}
