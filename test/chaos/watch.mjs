// Which process is the host, and what it takes of the machine. Linux only (/proc).

import { readdirSync, readFileSync } from "node:fs";
import { isGatewayHost, processesOf } from "../support/processes.mjs";
import { waitFor } from "../support/wait.mjs";

const LOOK_MS = 250;
/** What Node.js, the listeners and the logs of a host hold open. */
const OWN_DESCRIPTORS = 45;

export class HostWatch {
  /** The host's pid, as far as it is known. @type {number | undefined} */
  host;
  hosts = new Set();
  memoryMb = 0;
  mostMb = 0;
  #timer;
  #looking = false;

  /** @param {string} home */
  constructor(home) {
    this.home = home;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  isOurs(pid) {
    return this.hosts.has(pid);
  }

  async #look() {
    if (this.#looking) return;
    this.#looking = true;
    const hosts = (await processesOf(this.home)).filter(isGatewayHost);
    this.host = hosts[0]?.pid;
    for (const { pid } of hosts) {
      this.hosts.add(pid);
      this.memoryMb = residentMb(pid) ?? this.memoryMb;
      this.mostMb = Math.max(this.mostMb, this.memoryMb);
    }
    this.#looking = false;
  }

  /** @param {number} peers that are connected @returns {Promise<string[]>} what is wrong */
  async descriptorsWithin(peers) {
    const count = () => readdirSync(`/proc/${this.host}/fd`).length;
    const few = waitFor(() => count() <= peers + OWN_DESCRIPTORS, { timeoutMs: 15_000 });
    return few.then(
      () => [],
      () => [`the host has ${count()} descriptors for ${peers} peers`],
    );
  }

  close() {
    clearInterval(this.#timer);
  }
}

/** @param {number} pid */
function residentMb(pid) {
  try {
    const [, kilobytes] = /VmRSS:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(kilobytes) / 1024;
  } catch {
    return undefined; // it has gone meanwhile
  }
}
