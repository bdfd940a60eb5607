// The services of this process for plans: their journal, programs with output to a file, and agents.

import crypto from "node:crypto";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { addon } from "../lib/addon.mjs";
import { makePrivateFolder } from "../lib/host-files.mjs";
import { visible } from "../lib/visible.mjs";
import { runProgram } from "../process/run.mjs";
import { findProgram } from "../process/sandbox.mjs";
import { SleepInhibitor } from "./sleep-inhibitor.mjs";
import { plansFilePath } from "./feature-folder.mjs";
import { programEnvironment } from "./programs.mjs";

const POLL_MS = 250;
/** Per log. A program that writes more is ended. */
export const MAX_LOG_BYTES = 64 * 1024 * 1024;
const MAX_READ_BYTES = 256 * 1024;
const NAME = /^[a-zA-Z0-9_-]{1,80}$/;

/**
 * @typedef {object} LoggedProgram
 * @property {string} command
 * @property {string[]} args
 * @property {string} cwd absolute
 * @property {Record<string, string>} env in addition to PATH and the like
 * @property {string} [traceparent]
 * @property {string} plan of the log @property {string} name of the log
 * @property {number} timeoutMs
 * @property {AbortSignal} signal ends it
 * @property {import("../process/sandbox.mjs").Policy} [sandbox] absent: no sandbox
 * @property {(host: string) => void} [onRefused] called once for each refused host
 *
 * @typedef {{code: number | null, signal: string | null, why: "" | "timeout" | "log" | "stopped"}} LoggedEnd
 */

/** @type {Record<string, LoggedEnd["why"]>} */
const WHYS = { "": "", late: "timeout", cancelled: "stopped" };

/**
 * The engine with this machine's clock and memory.
 * @param {import("../lib/addon.js").Plans} plans
 */
const createEngine = (plans) => ({
  /** For commands without a shell. */
  shell: process.platform === "win32" ? "cmd" : "sh",
  input: (/** @type {string} */ json) => plans.input(json, Date.now(), os.freemem()),
  load: (/** @type {string} */ id) => plans.load(id, Date.now(), os.freemem()),
  unload: (/** @type {string} */ id) => plans.unload(id),
  view: (/** @type {string} */ json) => plans.view(json),
  entries: (/** @type {string} */ id) => plans.entries(id),
  state: () => plans.state(),
  remove: (/** @type {string} */ id) => plans.remove(id),
  describe: (/** @type {Parameters<typeof plans.describe>} */ ...given) => plans.describe(...given),
});
/** @typedef {ReturnType<typeof createEngine>} Engine */

/** @param {unknown} name */
function checkName(name) {
  if (typeof name === "string" && NAME.test(name)) return name;
  throw new RangeError("expected a name of letters, digits, _ and -");
}

/**
 * Opens the connections to hosts of a program in a sandbox. Refusals are written to its log.
 * @param {string[] | "*"} hosts @param {fs.FileHandle} log @param {(host: string) => void} [onRefusedHost]
 */
async function openHosts(hosts, log, onRefusedHost = () => {}) {
  if (hosts === "*" || hosts.length === 0) return undefined;
  const { openWays } = await import("../process/host-proxy.mjs");
  const onRefused = (/** @type {string} */ host) => {
    void log.write(`tap: refused: ${visible(host)}\n`).catch(() => {});
    onRefusedHost(host);
  };
  return openWays(hosts, { onRefused });
}

export class PlanServices {
  #home;
  #env;
  #folder;
  /** @type {import("../lib/addon.js").Plans | undefined} */
  #plans;
  /** @type {import("../agents/pool.mjs").AgentPool | undefined} */
  #workers;
  /** @type {Set<Promise<unknown>>} */
  #running = new Set();
  #closing = new AbortController();
  /** @type {SleepInhibitor | undefined} */
  #sleepInhibitor;
  #closed = false;

  /** @param {string} home <COPILOT_HOME> @param {NodeJS.ProcessEnv} env of this process */
  constructor(home, env) {
    this.#home = home;
    this.#env = env;
    this.#folder = path.join(home, "tap", "plans");
  }

  /** @param {Omit<import("../lib/addon.js").PlansOptions, "file"> & {onSleep: (why: string) => void}} handlers */
  open({ onSleep, ...handlers }) {
    this.#sleepInhibitor ??= new SleepInhibitor(onSleep, this.#env);
    makePrivateFolder(path.join(this.#home, "tap"));
    makePrivateFolder(this.#folder);
    this.#plans?.close();
    const file = plansFilePath(this.#home);
    this.#plans = new addon.Plans({ ...handlers, file });
    const known = JSON.parse(this.#plans.open());
    return { plans: createEngine(this.#plans), known, folder: this.#folder };
  }

  /** Keeps the machine awake. @param {string} holder @param {boolean} on */
  keepAwake(holder, on) {
    if (this.#closed) return;
    if (on) this.#sleepInhibitor?.hold(holder);
    else this.#sleepInhibitor?.release(holder);
  }

  /** @param {string} plan @param {string} name */
  #logFile(plan, name) {
    return path.join(this.#folder, checkName(plan), `${checkName(name)}.log`);
  }

  /**
   * Runs a program whose output is appended to a log.
   * @param {LoggedProgram} program @returns {Promise<LoggedEnd>} rejects if it cannot be started
   */
  async run(program) {
    const { command, args, cwd, timeoutMs, signal, plan, name, sandbox } = program;
    if (this.#closed) throw new Error("the feature has ended");
    makePrivateFolder(path.join(this.#folder, checkName(plan)));
    const log = await fs.open(this.#logFile(plan, name), "a", 0o600);
    /** @type {Awaited<ReturnType<typeof openHosts>>} */
    let opened;
    try {
      signal.throwIfAborted();
      const env = programEnvironment(program, this.#env);
      if (sandbox) findProgram(command, cwd, env.PATH); // fails as a start without a sandbox would
      opened = sandbox && (await openHosts(sandbox.hosts, log, program.onRefused));
      const inside = { sandbox, ways: opened?.ways };
      return await this.#waitForEnd(log, signal, (end) =>
        runProgram(command, args, {
          ...{ cwd, env, ms: timeoutMs, signal: end, isGuarded: true },
          ...{ stdout: log.fd, stderr: log.fd, ...inside },
        }),
      );
    } finally {
      await opened?.close();
      await log.close();
    }
  }

  /**
   * @param {fs.FileHandle} log @param {AbortSignal} signal
   * @param {(end: AbortSignal) => Promise<import("../process/run.mjs").ProgramEnd>} run
   * @returns {Promise<LoggedEnd>}
   */
  async #waitForEnd(log, signal, run) {
    const full = new AbortController();
    const isFull = async () => {
      const { size } = await log.stat().catch(() => ({ size: 0 }));
      return size > MAX_LOG_BYTES;
    };
    const looks = setInterval(async () => {
      if (await isFull()) full.abort();
    }, POLL_MS);
    const running = run(AbortSignal.any([signal, full.signal, this.#closing.signal]));
    this.#running.add(running);
    const {
      code,
      signal: ended,
      why,
      error,
    } = await running.finally(() => {
      clearInterval(looks);
      this.#running.delete(running);
    });
    if (error) throw error;
    if (!(await isFull())) return { code, signal: ended, why: WHYS[why] };
    await log.truncate(MAX_LOG_BYTES).catch(() => {});
    return { code, signal: ended, why: why === "" || full.signal.aborted ? "log" : WHYS[why] };
  }

  /** Whether programs can have a sandbox on this machine. */
  async probeSandbox() {
    const { probeSandbox } = await import("../process/sandbox-probe.mjs");
    return probeSandbox({ env: this.#env });
  }

  /**
   * A part of a log: from a byte on, or its end.
   * @param {{plan: string, name: string, from?: number, most?: number, whole?: "growing" | "ended"}} asked `whole`:
   *   only whole lines; the last line of a growing log is left for later
   * @returns {Promise<{text: string, from: number, next: number, size: number}>} hostile text
   */
  async readLog({ plan, name, from, most = MAX_READ_BYTES, whole }) {
    const length = Math.min(Math.max(1, most), MAX_READ_BYTES);
    const log = await fs.open(this.#logFile(plan, name), "r").catch(() => undefined);
    if (!log) return { text: "", from: 0, next: 0, size: 0 };
    try {
      const { size } = await log.stat();
      const start = from ?? Math.max(0, size - length);
      const { buffer, bytesRead } = await log.read(Buffer.alloc(length), 0, length, start);
      const isLast = whole === "ended" && start + bytesRead >= size;
      const lines = whole && !isLast ? buffer.subarray(0, bytesRead).lastIndexOf("\n") + 1 : 0;
      // A line that fills the whole buffer is not complete; a shorter line may still grow.
      const used = lines || (whole && !isLast && bytesRead < length ? 0 : bytesRead);
      const text = buffer.subarray(0, used).toString("utf8");
      return { text, from: start, next: start + used, size };
    } finally {
      await log.close();
    }
  }

  /** Appends a text of tap to a log. @param {{plan: string, name: string, text: string}} asked */
  async writeLog({ plan, name, text }) {
    makePrivateFolder(path.join(this.#folder, checkName(plan)));
    const file = this.#logFile(plan, name);
    await fs.appendFile(file, text.slice(0, MAX_LOG_BYTES), { mode: 0o600 });
  }

  /**
   * Digests of a program's output and of its environment, so that a later check can detect changes. W3C trace context
   * is left out.
   * @param {{plan: string, name: string, env?: Record<string, string>}} asked
   * @returns {Promise<{log: string, environment: string}>} SHA-256, in hex digits
   */
  async digests({ plan, name, env }) {
    const log = crypto.createHash("sha256");
    const file = await fs.open(this.#logFile(plan, name), "r").catch(() => undefined);
    if (file) for await (const bytes of file.createReadStream()) log.update(bytes);
    const seen = Object.entries(programEnvironment({ env }, this.#env)).sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
    const variables = crypto.createHash("sha256").update(JSON.stringify(seen));
    return { log: log.digest("hex"), environment: variables.digest("hex") };
  }

  /** @param {string} plan */
  async removeLogs(plan) {
    await fs.rm(path.join(this.#folder, checkName(plan)), { recursive: true, force: true });
  }

  /**
   * @param {() => Promise<import("../agents/environment.mjs").WorkersConfig | undefined>} readConfig of the user
   * @returns {Promise<import("../agents/pool.mjs").AgentPool>} created at the first use; each use reads the present
   *   config, or uses the last config if it cannot be read
   */
  async workers(readConfig) {
    const { AgentPool } = await import("../agents/pool.mjs");
    const config = await readConfig().catch((error) => {
      if (!this.#workers) throw error;
      return undefined;
    });
    if (this.#closed) throw new Error("the feature has ended");
    this.#workers ??= new AgentPool({ home: this.#home, config, env: this.#env });
    if (config) this.#workers.configure(config);
    return this.#workers;
  }

  /** @returns {Promise<void>} when all of its programs have ended */
  async end() {
    this.#closed = true;
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    await Promise.all([this.#sleepInhibitor?.end(), this.#workers?.close()]);
    this.#plans?.close();
  }
}
