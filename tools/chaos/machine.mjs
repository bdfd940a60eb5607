// Faults of the machine: a full disk, no descriptors left, a wall clock that jumps.
// Linux only.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** Of it the record store leaves a quarter to the others. */
const DISK = "64m";
const here = path.dirname(fileURLToPath(import.meta.url));

/** @param {string} command @param {string[]} args */
const run = (command, args) => execFileSync(command, args, { stdio: ["ignore", "pipe", "pipe"] });

/** The soft limit of a process, and how it is put back. @param {number} pid @param {string} resource @param {string} value */
function limit(pid, resource, value) {
  try {
    run("prlimit", ["--pid", String(pid), `--${resource}=${value}:`]);
  } catch {
    // It has gone meanwhile.
  }
}

export class Machine {
  /** A file system of its own, where that may be mounted. */
  #mounted = false;
  #filler;
  #clock;

  /** @param {string} home @param {string} tools a folder outside of it */
  constructor(home, tools) {
    this.home = home;
    this.tools = tools;
    this.#filler = path.join(home, "filler");
    this.#clock = path.join(tools, "clock");
  }

  /** @returns {boolean} false: not here, or not for this user */
  #mount() {
    try {
      run("mount", ["-t", "tmpfs", "-o", `size=${DISK},mode=700`, "tap-chaos", this.home]);
      return true;
    } catch {
      return false;
    }
  }

  /** The space that fillDisk fills. */
  get disk() {
    return this.#mounted ? "the home's own file system" : "the host's limit of writing";
  }

  /** @returns {NodeJS.ProcessEnv} the environment of its processes */
  start() {
    this.#mounted = this.#mount();
    const library = path.join(this.tools, "clock.so");
    run("cc", ["-shared", "-fPIC", "-O1", "-o", library, path.join(here, "clock.c")]);
    fs.writeFileSync(this.#clock, Buffer.alloc(8));
    // A host is given a short environment: its Node brings the clock along.
    const node = path.join(this.tools, "node");
    const env = { LD_PRELOAD: library, TAP_CHAOS_CLOCK: this.#clock };
    const set = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
    const busy = fileURLToPath(new URL("./busy.mjs", import.meta.url));
    const program = `'${process.execPath}' --import '${busy}'`;
    fs.writeFileSync(node, `#!/bin/sh\n${set.join(" ")} exec ${program} "$@"\n`, { mode: 0o700 });
    return { ...env, TAP_NODE: node };
  }

  /** @param {number} seconds that the wall clock is ahead from now on */
  setClock(seconds) {
    const offset = Buffer.alloc(8);
    offset.writeBigInt64LE(BigInt(seconds));
    const file = fs.openSync(this.#clock, "r+");
    fs.writeSync(file, offset);
    fs.closeSync(file);
  }

  /** Until the disk is full; by the limit of a host's files, where the disk is shared. @param {number | undefined} host */
  fillDisk(host) {
    if (!this.#mounted) return void (host && limit(host, "fsize", "0"));
    const file = fs.openSync(this.#filler, "a");
    try {
      for (const size of [1 << 16, 1 << 10, 1]) {
        try {
          const bytes = Buffer.alloc(size);
          for (;;) fs.writeSync(file, bytes);
        } catch (error) {
          if (error.code !== "ENOSPC") throw error;
        }
      }
    } finally {
      fs.closeSync(file);
    }
  }

  /** @param {number | undefined} host */
  freeDisk(host) {
    if (!this.#mounted) return void (host && limit(host, "fsize", "unlimited"));
    fs.rmSync(this.#filler, { force: true });
  }

  /** It can open no further file. @param {number} host */
  exhaustDescriptors(host) {
    try {
      limit(host, "nofile", String(fs.readdirSync(`/proc/${host}/fd`).length));
    } catch {
      // It has gone meanwhile.
    }
  }

  /** @param {number} host */
  restoreDescriptors(host) {
    limit(host, "nofile", "1024");
  }

  dispose() {
    if (this.#mounted) run("umount", ["--lazy", this.home]);
    this.#mounted = false;
  }
}
