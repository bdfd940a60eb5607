// Which process is the host, and its use of the machine. Linux only (/proc).

import { readdirSync, readFileSync } from "node:fs";
import { readDescriptor } from "../../js/lib/host-files.mjs";
import { waitFor } from "../../test/support/wait.mjs";

const POLL_MS = 250;
/** The descriptors of Node.js, the listeners and the logs of a host. */
const OWN_DESCRIPTORS = 45;

/** @param {number} pid @param {string} file @returns {string} empty where it has gone */
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** @param {number} pid */
function residentMb(pid) {
  const [, kilobytes] = /VmRSS:\s*(\d+) kB/.exec(read(pid, "status")) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

export class HostWatch {
  /** Those that were elected. @type {Set<number>} */
  hosts = new Set();
  /** Those of the feature hosts. @type {Set<number>} */
  featureHosts = new Set();
  memoryMb = 0;
  mostMb = 0;
  #descriptor;
  #timer;

  /** @param {string} descriptor the file that a host is known by */
  constructor(descriptor) {
    this.#descriptor = descriptor;
    this.#timer = setInterval(() => this.#poll(), POLL_MS);
  }

  /** The host's pid, if it lives. @returns {number | undefined} */
  get host() {
    const pid = readDescriptor(this.#descriptor)?.pid;
    return pid !== undefined && this.isHost(pid) ? pid : undefined;
  }

  /** @param {number} pid */
  isHost(pid) {
    return read(pid, "cmdline").includes("js/gateway-host/main.mjs");
  }

  /** @param {number} pid */
  isFeatureHost(pid) {
    return read(pid, "cmdline").includes("js/feature-host/main.mjs");
  }

  /** The pids of the host's feature host: empty while there is no such host. @returns {number[]} */
  get features() {
    const { host } = this;
    const children = host === undefined ? "" : read(host, `task/${host}/children`);
    return children
      .split(" ")
      .map(Number)
      .filter((pid) => pid > 0 && this.isFeatureHost(pid));
  }

  /** @returns {number[]} pids, of any host's */
  get featureHostsLeft() {
    return [...this.featureHosts].filter((pid) => this.isFeatureHost(pid));
  }

  /** Whether it is a host that does not run until a signal continues it. @param {number} pid */
  isStopped(pid) {
    return this.isHost(pid) && /^State:\s*T/m.test(read(pid, "status"));
  }

  #poll() {
    const { host } = this;
    if (host === undefined) return;
    this.hosts.add(host);
    for (const pid of this.features) this.featureHosts.add(pid);
    this.memoryMb = residentMb(host) ?? this.memoryMb;
    this.mostMb = Math.max(this.mostMb, this.memoryMb);
  }

  /** @param {number} peers that are connected @returns {Promise<string[]>} the problems */
  async descriptorsWithin(peers) {
    const count = () => readdirSync(`/proc/${this.host}/fd`).length;
    const few = waitFor(() => count() <= peers + OWN_DESCRIPTORS, { timeoutMs: 15_000 });
    return few.then(
      () => [],
      (error) => [`the host has too many descriptors for ${peers} peers: ${error.message}`],
    );
  }

  close() {
    clearInterval(this.#timer);
  }
}
