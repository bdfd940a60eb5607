// Programs that this process started for a session: restarted by their policy, and
// ended with the session as whole process groups.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { readLimit } from "../lib/limits.mjs";
import { GOOD_RUN_MS, ProcessRun } from "./run.mjs";
import { hostEnvironment } from "../lib/node.mjs";
import { guard, release, signalGroup } from "./group.mjs";
import { OutputLog, providerLogFile } from "./log.mjs";
import { wrapInQuotes, shortenText, visible } from "../lib/visible.mjs";

/** @typedef {import("./run.mjs").End} End */
/** @typedef {import("./run.mjs").System} System */

/** @typedef {"on-failure" | "always" | "never"} RestartPolicy */
/**
 * @typedef {object} ProviderConfig
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 * @property {Record<string, string>} env
 * @property {string} [cwd] relative to the workspace and inside it
 * @property {{policy: RestartPolicy, maxRestarts?: number}} restart
 * @property {import("./entry-sandbox.mjs").EntrySandbox} [sandbox]
 */
/** @typedef {"info" | "warning" | "error"} Level */
/**
 * @typedef {object} SupervisorOptions
 * @property {string} sessionId
 * @property {string} workspace the session's folder
 * @property {number} port of the gateway
 * @property {string} logs <COPILOT_HOME>/logs/tap
 * @property {ProviderConfig[]} providers
 * @property {(provider: string) => string} onToken called before each start; returns the token of that run
 * @property {(provider: string, token: string, revoked?: boolean) => void} [onEnded] after each run: its token is
 *   no longer needed. `revoked`: before it is ended, since the user has revoked it; also for a run that is over
 * @property {(level: Level, text: string) => void} onMessage for the timeline
 * @property {(provider: string, token: string) => string} [input] the first line of each run's stdin, which stays
 *   open. Its token and its session are then not in its environment
 * @property {(run: ProcessRun) => void} [onRun] each run has pipes, which are the caller's. As with `input`, its
 *   environment has no token
 * @property {(text: string) => string} [mask] removes secrets from lines of the log
 * @property {string} [title] for messages, instead of `provider "<name>"`
 * @property {string} [logFile] instead of the file with the provider's name
 * @property {NodeJS.ProcessEnv} [env] of the host
 * @property {import("./entry-sandbox.mjs").Fallback} [fallback] for providers with a sandbox, on machines without a
 *   sandbox
 * @property {Partial<System>} [system] replaced in tests
 */
/** Whether it runs in its sandbox; undefined: it has no sandbox, or did not run. @typedef {"on" | "off" | undefined} SandboxUse */
/** @typedef {"starting" | "running" | "waiting" | "ended" | "failed" | "stopped"} State */

export const FIRST_DELAY_MS = 500;
export const MAX_DELAY_MS = 30_000;
export const DEFAULT_MAX_RESTARTS = 10;
const LATE_MS = 5_000;
/** Errors that may pass: too many processes or files, too little memory. */
const TRANSIENT_ERRORS = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOMEM"]);

/** @type {System} */
const realSystem = {
  spawn,
  signalGroup,
  guard,
  release,
  clock: {
    now: () => performance.now(),
    setTimeout: (action, ms) => setTimeout(action, ms),
    clearTimeout: (timer) => clearTimeout(timer),
  },
};

/** The delay before the nth restart in a row. @param {number} n from 1 */
export const delayBefore = (n) => Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (n - 1));

/**
 * The folder of a provider. Links must not lead out of the workspace.
 * @param {string} workspace @param {string} [cwd]
 */
function runFolder(workspace, cwd = ".") {
  const root = fs.realpathSync(workspace);
  const folder = fs.realpathSync(path.resolve(root, cwd));
  if (!isInside(folder, root)) throw new Error(`its folder "${cwd}" is outside of the workspace`);
  if (!fs.statSync(folder).isDirectory()) throw new Error(`its "cwd" is not a folder: ${folder}`);
  return folder;
}

/** @param {End} end */
function describeEnd({ error, code, signal }) {
  if (error) {
    const why = error.code === "ENOENT" ? ": its command was not found" : "";
    return `could not be started${why} (${visible(errorMessage(error))})`;
  }
  return signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
}

/** @param {number} n */
const times = (n) => (n === 1 ? "once" : `${n} times`);

class SupervisedProvider {
  /** @type {State} */
  state = "starting";
  restarts = 0;
  /** @type {SandboxUse} */
  sandbox;
  #config;
  #options;
  #system;
  #log;
  /** @type {ProcessRun | undefined} */
  #run;
  /** @type {any} */
  #timer;
  #stopping = false;
  /**
   * The tokens of the present run, and of ended runs whose rules the gateway may still hold: `ended` is their end.
   * @type {{token: string, ended?: number}[]}
   */
  #tokens = [];
  /** Resolves when the end of the present run was handled. */
  #settled = Promise.resolve();

  /** @param {ProviderConfig} config @param {SupervisorOptions} options @param {System} system */
  constructor(config, options, system) {
    this.#config = config;
    this.#options = options;
    this.#system = system;
    const file = options.logFile ?? providerLogFile(options.logs, config.name);
    this.#log = OutputLog.open(file, options.mask);
  }

  get name() {
    return this.#config.name;
  }

  get pid() {
    return this.state === "running" ? this.#run?.pid : undefined;
  }

  start() {
    if (this.#stopping) return;
    if (!this.#config.sandbox) return this.#launch();
    this.#settled = this.#openSandbox(this.#config.sandbox).then(
      (opened) => this.#launch(opened),
      (error) => this.#failToStart(error),
    );
  }

  /** @param {import("./entry-sandbox.mjs").EntrySandbox} sandbox */
  async #openSandbox(sandbox) {
    const { workspace, port, env = process.env, fallback } = this.#options;
    const { openEntrySandbox } = await import("./entry-sandbox.mjs");
    const cwd = runFolder(workspace, this.#config.cwd);
    const onRefused = (/** @type {string} */ host) =>
      this.#log.note("tap", `refused: ${visible(host)}`);
    const where = { folder: workspace, cwd, user: env, provider: { name: this.name, port } };
    return openEntrySandbox(sandbox, { ...where, fallback, onRefused });
  }

  /** @param {unknown} error */
  #failToStart(error) {
    this.#giveUp(`cannot be started: ${visible(errorMessage(error))}`);
  }

  /** @param {import("./entry-sandbox.mjs").OpenSandbox} [opened] */
  #launch(opened) {
    if (this.#stopping) return opened?.close();
    let token;
    try {
      const cwd = runFolder(this.#options.workspace, this.#config.cwd);
      token = this.#options.onToken(this.name);
      const { command, args } = this.#config;
      const env = this.#environment(token);
      const input = this.#options.input?.(this.name, token);
      const started = opened?.wrap({ command, args, env }) ?? { command, args, env };
      const hasPipes = this.#options.onRun !== undefined;
      this.#run = new ProcessRun({ ...started, cwd, input, hasPipes }, this.#system, this.#log);
    } catch (error) {
      if (token !== undefined) this.#options.onEnded?.(this.name, token);
      this.#failToStart(error);
      return opened?.close();
    }
    this.state = "running";
    this.sandbox = opened ? (opened.isSandboxed ? "on" : "off") : undefined;
    this.#tokens.push({ token });
    const how = this.sandbox === "off" ? ", not sandboxed" : "";
    this.#log.note("tap", `started, pid ${this.#run.pid ?? "unknown"}${how}`);
    this.#settled = this.#watch(this.#run, token, this.#system.clock.now(), opened);
    this.#handOver(this.#run);
  }

  /** @param {ProcessRun} run */
  #handOver(run) {
    if (run.pid !== undefined) this.#options.onRun?.(run);
  }

  /** @param {string} token @returns {NodeJS.ProcessEnv} */
  #environment(token) {
    const env = { ...hostEnvironment(this.#options.env ?? process.env), ...this.#config.env };
    if (this.#options.input || this.#options.onRun) return env;
    return {
      ...env,
      TAP_PROVIDER_TOKEN: token,
      TAP_SESSION_ID: this.#options.sessionId,
      TAP_GATEWAY_PORT: String(this.#options.port),
    };
  }

  /**
   * @param {ProcessRun} run @param {string} token @param {number} since
   * @param {import("./entry-sandbox.mjs").OpenSandbox} [opened]
   */
  async #watch(run, token, since, opened) {
    const end = await run.ended;
    await opened?.close();
    this.#retireToken(token);
    this.#options.onEnded?.(this.name, token);
    this.#log.note("tap", describeEnd(end));
    if (this.#stopping) return;
    if (this.#system.clock.now() - since >= GOOD_RUN_MS) this.restarts = 0;
    this.#afterEnd(end);
  }

  /** Rules are held for reconnect-ms, and the gateway learns of an end a little later. @param {string} token */
  #retireToken(token) {
    const now = this.#system.clock.now();
    const held = readLimit("reconnect-ms", this.#options.env) + LATE_MS;
    this.#tokens = this.#tokens
      .map((run) => (run.token === token ? { token, ended: now } : run))
      .filter(({ ended }) => ended === undefined || now - ended <= held);
  }

  /** @param {End} end */
  #afterEnd(end) {
    const { policy, maxRestarts = DEFAULT_MAX_RESTARTS } = this.#config.restart;
    const well = !end.error && end.code === 0;
    const how = describeEnd(end) + this.#formatLastLine(end);
    if (end.error && !TRANSIENT_ERRORS.has(end.error.code ?? "")) return this.#giveUp(how);
    if (well && policy !== "always") {
      this.state = "ended";
      return this.#report("info", `${how} and is not restarted`);
    }
    if (policy === "never") return this.#giveUp(`${how}; its restart policy is "never"`);
    if (this.restarts >= maxRestarts) return this.#giveUp(this.#afterRestarts(how));
    this.#restartLater(how);
  }

  /** @param {string} how */
  #afterRestarts(how) {
    return this.restarts === 0 ? how : `${how}; it was restarted ${times(this.restarts)} in a row`;
  }

  /** @param {string} how */
  #restartLater(how) {
    this.restarts += 1;
    const delay = delayBefore(this.restarts);
    // Only the first in a row; the log has the others.
    if (this.restarts === 1)
      this.#report("warning", `${how}; it is restarted in ${delay / 1000} s`);
    this.#log.note("tap", `restart ${this.restarts} in ${delay / 1000} s: ${how}`);
    this.state = "waiting";
    this.#timer = this.#system.clock.setTimeout(() => this.start(), delay);
  }

  /** @param {End} end */
  #formatLastLine({ lastLine }) {
    return lastLine === "" ? "" : `, saying "${visible(shortenText(lastLine.trim(), 200))}"`;
  }

  /** @param {string} why */
  #giveUp(why) {
    this.state = "failed";
    this.#log.note("tap", `given up: ${why}`);
    this.#report("error", `${why}. It is not started again; its log: ${visible(this.#log.file)}`);
  }

  /** @param {Level} level @param {string} text */
  #report(level, text) {
    const { onMessage, title = `provider ${wrapInQuotes(visible(this.name))}` } = this.#options;
    onMessage(level, `tap: ${title} ${text}`);
  }

  /** Writes a line to its stdin; dropped while it does not run. @param {string} line */
  writeLine(line) {
    if (this.state === "running") this.#run?.writeLine(line);
  }

  /** @param {boolean} revoked */
  async stop(revoked) {
    this.#stopping = true;
    this.#system.clock.clearTimeout(this.#timer);
    if (revoked)
      this.#tokens.forEach(({ token }) => this.#options.onEnded?.(this.name, token, true));
    await this.#run?.terminate();
    await this.#settled;
    this.state = "stopped";
    await this.#log.close();
  }
}

export class Supervisor {
  #providers;
  /** @type {Promise<void> | undefined} */
  #stopped;
  #started = false;

  /** @param {SupervisorOptions} options */
  constructor(options) {
    const system = { ...realSystem, ...options.system };
    this.#providers = options.providers.map(
      (config) => new SupervisedProvider(config, options, system),
    );
  }

  /** Starts all providers. Errors are shown in the timeline; it does not throw. */
  start() {
    if (this.#started || this.#stopped) return;
    this.#started = true;
    for (const provider of this.#providers) provider.start();
  }

  /** @returns {{name: string, state: State, pid: number | undefined, restarts: number, sandbox?: SandboxUse}[]} */
  status() {
    return this.#providers.map(({ name, state, pid, restarts, sandbox }) => ({
      ...{ name, state, pid, restarts },
      ...(sandbox && { sandbox }),
    }));
  }

  /** Writes a line to the stdin of each running provider, if the options have `input`. @param {string} line */
  writeLine(line) {
    for (const provider of this.#providers) provider.writeLine(line);
  }

  /**
   * Sends SIGTERM, after 3 s SIGKILL, to whole groups.
   * @param {{revoked?: boolean}} [how] `revoked`: the user has revoked them
   * @returns {Promise<void>} when no process of them is left
   */
  stop({ revoked = false } = {}) {
    this.#stopped ??= Promise.all(this.#providers.map((provider) => provider.stop(revoked))).then(
      () => {},
    );
    return this.#stopped;
  }
}
