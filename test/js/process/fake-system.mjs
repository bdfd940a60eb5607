// A world for the supervisor without processes and without waiting: time passes when a test says so.

import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";

export class FakeClock {
  #now = 0;
  /** @type {{at: number, action: () => void}[]} */
  #timers = [];

  now = () => this.#now;
  setTimeout = (action, ms) => {
    const timer = { at: this.#now + ms, action };
    this.#timers.push(timer);
    return timer;
  };
  clearTimeout = (timer) => {
    this.#timers = this.#timers.filter((other) => other !== timer);
  };

  /** Lets everything that is due within this time happen, in its order. */
  async advance(ms) {
    const end = this.#now + ms;
    await settled();
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.clearTimeout(next);
      this.#now = next.at;
      next.action();
      await settled();
    }
    this.#now = end;
  }
}

/** Promises and streams that wait for nothing have gone on. */
export async function settled() {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

class FakeChild extends EventEmitter {
  stdout = new PassThrough();
  stderr = new PassThrough();

  constructor(pid) {
    super();
    this.pid = pid;
  }
}

export class FakeSystem {
  clock = new FakeClock();
  /** Every start, in order. @type {{command: string, args: string[], options: any, child: FakeChild, at: number}[]} */
  starts = [];
  /** Every signal but 0: "pid signal". @type {string[]} */
  signals = [];
  /** Groups of which something is left. @type {Set<number>} */
  groups = new Set();
  /** What a start fails with. @type {string | undefined} */
  failure;
  /** Killing has no effect. */
  immortal = false;

  spawn = (command, args, options) => {
    const child = new FakeChild(this.failure ? undefined : 1000 + this.starts.length);
    this.starts.push({ command, args, options, child, at: this.clock.now() });
    if (this.failure) {
      const error = Object.assign(new Error(`spawn ${command} ${this.failure}`), {
        code: this.failure,
      });
      setImmediate(() => child.emit("error", error));
    } else {
      this.groups.add(child.pid);
    }
    return child;
  };

  signalGroup = (pid, signal) => {
    if (signal !== 0) this.signals.push(`${pid} ${signal}`);
    if (signal === "SIGKILL" && !this.immortal) this.groups.delete(pid);
    return this.groups.has(pid);
  };

  /** Those that would end with the host. @type {Set<number>} */
  guarded = new Set();
  guard = (pid) => this.guarded.add(pid);
  release = (pid) => this.guarded.delete(pid);

  get last() {
    return this.starts[this.starts.length - 1];
  }

  /** The last process ends; with `left`, something that it started goes on. */
  async exit(code, signal = null, { stderr = "", left = false } = {}) {
    const { child } = this.last;
    if (!left) this.groups.delete(child.pid);
    child.stderr.end(stderr);
    child.stdout.end();
    await settled();
    child.emit("exit", code, signal);
    child.emit("close", code, signal);
    await settled();
  }
}
