// The processes of a run, each started again when it has ended, and the state of each.

import { fork } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const folder = path.dirname(fileURLToPath(import.meta.url));
const RESTART_MS = 200;
/** The CLI gives an extension so long to end, when it reloads it. */
const RELOAD_MS = 5000;

/** A child that speaks over IPC, and its successors. */
export class Member {
  #stopping = false;
  /** The child that does not run at the moment. @type {import("node:child_process").ChildProcess | undefined} */
  #stopped;

  /**
   * @param {string} program @param {string} name @param {NodeJS.ProcessEnv} env
   * @param {import("./ledger.mjs").Ledger} ledger @param {string} [cwd]
   */
  constructor(program, name, env, ledger, cwd) {
    this.program = program;
    this.cwd = cwd;
    this.name = name;
    this.env = env;
    this.ledger = ledger;
    this.start();
  }

  start() {
    const child = fork(path.join(folder, this.program), [this.name], {
      cwd: this.cwd,
      env: this.env,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.child = child;
    this.alive = true;
    child.on("message", (message) => this.receive(message));
    child.on("error", () => {}); // it has gone while an order was sent
    this.exited = new Promise((resolve) => {
      child.once("exit", () => {
        this.alive = false;
        // Its last words are heard before its channel ends.
        const over = () => resolve(this.gone());
        if (child.connected) child.once("disconnect", over);
        else over();
      });
    });
  }

  /** @param {any} _message */
  receive(_message) {}

  gone() {
    if (!this.#stopping) setTimeout(() => this.#stopping || this.start(), RESTART_MS);
  }

  /** @returns {boolean} whether there is a process to hear it */
  send(order) {
    if (!this.alive || !this.child.connected) return false;
    this.child.send(order, () => {});
    return true;
  }

  kill() {
    this.child.kill("SIGKILL");
  }

  /** @param {number} ms */
  stop(ms) {
    const { child } = this;
    if (this.#stopped === child) return;
    this.#stopped = child;
    child.kill("SIGSTOP");
    setTimeout(() => {
      if (this.#stopped === child) this.#stopped = undefined;
      child.kill("SIGCONT");
    }, ms);
  }

  /** No process follows this child. */
  last() {
    this.#stopping = true;
  }

  async end() {
    this.last();
    if (!this.alive) return;
    this.child.kill("SIGCONT");
    this.send({ do: "end" });
    await this.exited;
  }
}

export class SessionMember extends Member {
  /** For how long its processes did not run, at most. */
  lateMs = 0;
  /** Questions that are in no ledger, by a number below zero. @type {Map<number, (outcome: any) => void>} */
  #asked = new Map();
  #lastAsked = 0;

  /** @param {string} name @param {NodeJS.ProcessEnv} env @param {import("./ledger.mjs").Ledger} ledger @param {string} cwd */
  constructor(name, env, ledger, cwd) {
    super("session.mjs", name, { ...env, SESSION_ID: name }, ledger, cwd);
  }

  /** In the end, when the faults are over. @param {string} tool @param {object} args @returns {Promise<any>} */
  ask(tool, args) {
    return new Promise((resolve) => {
      const id = --this.#lastAsked;
      this.#asked.set(id, resolve);
      if (!this.send({ do: "call", id, tool, args })) resolve({ absent: true });
    });
  }

  /** @override */
  receive({ settled, outcome, heardAt, lateMs, busyMs }) {
    if (settled < 0) this.#asked.get(settled)?.(outcome);
    else if (settled) this.ledger.settle(settled, outcome, heardAt);
    if (lateMs) this.lateMs = Math.max(this.lateMs, lateMs);
    if (busyMs) this.ledger.problems.push(`${this.name} was busy for ${Math.round(busyMs)} ms`);
  }

  /** @override */
  gone() {
    this.ledger.lose(this);
    super.gone();
  }

  /** The CLI's way to have an extension read its tools again: it ends, and a new process joins. */
  reload() {
    const { child } = this;
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), RELOAD_MS);
  }

  /** @param {string} name of a provider @param {string} mode @returns {number | undefined} its id */
  call(name, mode) {
    if (!this.alive) return undefined;
    const id = this.ledger.open({ kind: "call", owner: this, name, mode });
    this.send({ do: "call", id, tool: `do_${name}`, args: { mode, say: `say ${id}` } });
    return id;
  }

  /** Asks for the newest records, through the feature host. */
  query() {
    if (!this.alive) return;
    const id = this.ledger.open({ kind: "query", owner: this, name: "tap", mode: "records" });
    const args = { collection: "tool_call", limit: 3 };
    this.send({ do: "call", id, tool: "tap_query_records", args });
  }

  /** @param {(number: number) => object} planOf by its number */
  plan(planOf) {
    if (!this.alive) return;
    const id = this.ledger.open({ kind: "plan", owner: this, name: "tap", mode: "plan" });
    this.send({ do: "call", id, tool: "create_copilot_plan", args: planOf(id) });
  }

  /** A use of a tool that gates judge. @param {string} mode their answer */
  check(mode) {
    if (!this.alive) return;
    const id = this.ledger.open({ kind: "check", owner: this, name: "bash", mode });
    this.send({ do: "check", id, command: `push ${mode} ${id}` });
  }
}

export class ProviderMember extends Member {
  /** @param {string} name @param {NodeJS.ProcessEnv} env @param {import("./ledger.mjs").Ledger} ledger */
  constructor(name, env, ledger) {
    super("provider.mjs", name, env, ledger);
  }

  /** @override */
  receive({ gate, pushed, problem }) {
    if (gate) this.ledger.gateAsked(gate);
    if (pushed) this.ledger.pushes += pushed;
    if (problem) this.ledger.problems.push(`${this.name}: ${problem}`);
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
