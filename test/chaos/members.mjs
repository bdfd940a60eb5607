// The processes of a run, each started again when it was killed, and what is known of them.

import { fork } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const folder = path.dirname(fileURLToPath(import.meta.url));
const RESTART_MS = 200;

/** A child that speaks over IPC, and its successors. */
export class Member {
  #stopping = false;
  /** When it was stopped, and for how long in all before. */
  #stoppedAt = 0;
  stoppedMs = 0;
  lives = 0;

  /** @param {string} program @param {string} name @param {NodeJS.ProcessEnv} env */
  constructor(program, name, env) {
    this.program = program;
    this.name = name;
    this.env = env;
    this.start();
  }

  start() {
    this.lives += 1;
    this.stoppedMs = 0;
    const child = fork(path.join(folder, this.program), [this.name], {
      env: this.env,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.child = child;
    child.on("message", (message) => this.hears(message));
    child.on("error", () => {}); // it has gone while it was told something
    this.exited = new Promise((resolve) => {
      child.once("exit", () => {
        if (this.child === child) this.gone();
        resolve(undefined);
      });
    });
  }

  /** @param {any} _message */
  hears(_message) {}

  gone() {
    if (!this.#stopping) setTimeout(() => this.#stopping || this.start(), RESTART_MS);
  }

  tell(order) {
    if (this.child.connected) this.child.send(order, () => {});
  }

  kill() {
    this.child.kill("SIGKILL");
  }

  /** @param {number} ms */
  stop(ms) {
    if (this.#stoppedAt) return;
    const { child } = this;
    this.#stoppedAt = performance.now();
    child.kill("SIGSTOP");
    setTimeout(() => {
      this.stoppedMs += performance.now() - this.#stoppedAt;
      this.#stoppedAt = 0;
      child.kill("SIGCONT");
    }, ms);
  }

  async end() {
    this.#stopping = true;
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGCONT");
    this.tell({ do: "end" });
    setTimeout(() => this.child.connected && this.child.disconnect(), 1000).unref();
    await this.exited;
  }
}

export class SessionMember extends Member {
  up = false;
  /** @type {string[]} */
  tools = [];

  /** @param {string} name @param {NodeJS.ProcessEnv} env @param {import("./ledger.mjs").Ledger} ledger */
  constructor(name, env, ledger) {
    super("session.mjs", name, env);
    this.ledger = ledger;
  }

  /** @override */
  hears(message) {
    if (message.settled) this.ledger.settle(message.settled, message.outcome, this.stoppedMs);
    if (message.tools) this.tools = message.tools;
    if (message.up !== undefined) this.up = message.up;
    if (message.late) this.ledger.latestMs = Math.max(this.ledger.latestMs, message.late);
  }

  /** @override */
  gone() {
    this.ledger.lose(this);
    this.up = false;
    this.tools = [];
    super.gone();
  }

  /** @param {string} name of a provider @param {string} mode @param {number} timeoutMs */
  call(name, mode, timeoutMs) {
    if (!this.child.connected) return;
    const id = this.ledger.open({ owner: this, name, mode });
    const args = { mode, say: `say ${id}` };
    this.tell({ do: "call", id, tool: `do_${name}`, args, timeoutMs });
  }
}

/** @param {number} pid @param {NodeJS.Signals} signal */
export function signalTo(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has gone meanwhile.
  }
}
