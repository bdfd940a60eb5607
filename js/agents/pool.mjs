// Agents as workers: the user's own Copilot CLI, headless. Each CLI and SDK has a server for all its jobs, from
// the first job until a few seconds after the last. A job has instructions as input; its output is events and a result.

import { errorMessage } from "../lib/values.mjs";
import { findConfigProblem, createEnvironment } from "./environment.mjs";
import { findJobProblem, formatCommandLine, toOutcome } from "./job.mjs";
import { findPackageFolder, queryModels, Server, withTimeout } from "./server.mjs";
import { endOrphans, ownerName } from "./orphans.mjs";
import { createUnstartedResult } from "./job-run.mjs";
import { deleteSession, runInSession } from "./session-job.mjs";

/** @typedef {import("./job.mjs").Job} Job */
/** @typedef {import("./job.mjs").Result} Result */
/** The CLI's program and its SDK, of the same version. @typedef {{cli: string, sdk: string}} Cli */
/** @typedef {{users: number, starting?: Promise<Server>, timer?: NodeJS.Timeout, models?: {at: number, value: import("../lib/models.mjs").Models}}} ServerEntry */

export const LINGER_MS = 5000;
const MODELS_MS = 3_600_000;
const REQUEST_MS = 20_000;

export class AgentPool {
  /** @type {Map<string, ServerEntry>} */
  #entries = new Map();
  /** Sessions with a running job. @type {Set<string>} */
  #busy = new Set();
  /** @type {import("./environment.mjs").WorkersConfig} */
  #config = {};
  /** For the present config. @type {{home: string, ownHome: boolean} & import("./environment.mjs").AgentEnvironment & {config: import("./environment.mjs").WorkersConfig}} */
  #environment;
  #options;
  #closed = false;
  #lingerMs;
  #orphansEnded;

  /**
   * @param {object} options
   * @param {string} options.home COPILOT_HOME of the user
   * @param {import("./environment.mjs").WorkersConfig} [options.config]
   * @param {NodeJS.ProcessEnv} [options.env] the source of the workers' variables
   * @param {number} [options.lingerMs]
   * @throws {TypeError} for an invalid config
   */
  constructor({ home, config = {}, env = process.env, lingerMs = LINGER_MS }) {
    this.#options = { home, env };
    this.#environment = this.#createEnvironment(config);
    this.#config = config;
    this.#lingerMs = lingerMs;
    this.#orphansEnded = endOrphans();
  }

  /** @param {import("./environment.mjs").WorkersConfig} config */
  #createEnvironment(config) {
    const problem = findConfigProblem(config);
    if (problem) throw new TypeError(problem);
    const { home, env } = this.#options;
    return { ...createEnvironment(config, home, env, ownerName()), config };
  }

  /**
   * Applies to new jobs. Running jobs and their servers keep the former config.
   * @param {import("./environment.mjs").WorkersConfig} config @throws {TypeError} for an invalid config
   */
  configure(config) {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return;
    this.#environment = this.#createEnvironment(config);
    this.#config = config;
  }

  /**
   * Runs a job to its end. Never rejects.
   * @param {Cli} cli @param {Job} job @param {(event: import("./job.mjs").WorkerEvent) => void} [onEvent]
   * @returns {Promise<Result>}
   */
  async run(cli, job, onEvent = () => {}) {
    const problem = this.#closed ? "the workers have ended" : findJobProblem(job);
    if (problem) return createUnstartedResult(job, toOutcome("INVALID", problem));
    if (this.#busy.has(job.sessionId)) {
      return createUnstartedResult(
        job,
        toOutcome("INVALID", `session ${job.sessionId} has a job already`),
      );
    }
    this.#busy.add(job.sessionId);
    try {
      await this.#orphansEnded;
      return await this.#inSession(cli, job, onEvent);
    } catch (error) {
      return createUnstartedResult(job, toOutcome("START", errorMessage(error)));
    } finally {
      this.#busy.delete(job.sessionId);
    }
  }

  /** @param {Cli} cli @param {Job} job @param {(event: import("./job.mjs").WorkerEvent) => void} onEvent */
  #inSession(cli, job, onEvent) {
    const place = this.#environment;
    const packageFolder = findPackageFolder(cli.sdk);
    return this.#withServer(cli, (server) =>
      runInSession(job, server, place, packageFolder, onEvent),
    );
  }

  /** @template T @param {Cli} cli @param {(server: Server) => Promise<T>} use @returns {Promise<T>} */
  async #withServer(cli, use) {
    const pool = this.#getEntry(cli);
    pool.users += 1;
    clearTimeout(pool.timer);
    try {
      return await use(await this.#getServer(cli, pool));
    } finally {
      pool.users -= 1;
      if (pool.users === 0) this.#linger(pool);
    }
  }

  /** @param {Cli} cli @returns {ServerEntry} */
  #getEntry({ cli, sdk }) {
    const key = JSON.stringify([cli, sdk, this.#config]);
    const pool = this.#entries.get(key) ?? { users: 0 };
    this.#entries.set(key, pool);
    return pool;
  }

  /** The running server, or a new server. @param {Cli} cli @param {ServerEntry} pool @returns {Promise<Server>} */
  #getServer(cli, pool) {
    if (this.#closed) return Promise.reject(new Error("the workers have ended"));
    if (pool.starting) return pool.starting;
    const starting = Server.start({ ...cli, place: this.#environment });
    pool.starting = starting;
    const over = () => {
      if (pool.starting === starting) delete pool.starting;
    };
    starting.then((server) => server.ended.then(over), over);
    return starting;
  }

  /** @param {ServerEntry} pool */
  #linger(pool) {
    pool.timer = setTimeout(() => void this.#end(pool), this.#lingerMs);
    pool.timer.unref();
  }

  /** @param {ServerEntry} pool */
  async #end(pool) {
    const { starting } = pool;
    delete pool.starting;
    const server = await starting?.catch(() => undefined);
    await server?.stop();
  }

  /** @returns {Promise<number[]>} pids of running servers */
  async listServerPids() {
    const all = [...this.#entries.values()].flatMap(({ starting }) => starting ?? []);
    const started = await Promise.allSettled(all);
    return started.flatMap((result) => (result.status === "fulfilled" ? result.value.pid : []));
  }

  /**
   * The CLI's models, cached for an hour.
   * @param {Cli} cli @returns {Promise<import("../lib/models.mjs").Models>}
   */
  async models(cli) {
    const pool = this.#getEntry(cli);
    const now = performance.now();
    if (pool.models && now - pool.models.at < MODELS_MS) return pool.models.value;
    if (this.#config.provider) return { source: "none", models: [] };
    const value = await this.#withServer(cli, ({ client }) =>
      withTimeout(queryModels(client), REQUEST_MS, "the list of models"),
    );
    if (value.source !== "none") pool.models = { at: now, value };
    return value;
  }

  /**
   * Deletes sessions that were kept and have no running job.
   * @param {Cli} cli @param {string[]} sessionIds @returns {Promise<boolean[]>} whether each is deleted
   */
  deleteSessions(cli, sessionIds) {
    return this.#deleteSessions(
      cli,
      sessionIds.filter((id) => !this.#busy.has(id)),
    );
  }

  /** @param {Cli} cli @param {string[]} sessionIds */
  #deleteSessions(cli, sessionIds) {
    return this.#withServer(cli, (server) =>
      Promise.all(sessionIds.map((id) => deleteSession(server, id))),
    );
  }

  /** The shell command that opens a job's session. @param {Pick<Job, "sessionId" | "cwd" | "model">} job @param {string} [cli] */
  formatCommandLine(job, cli) {
    const { provider, model } = this.#config;
    return formatCommandLine(job, {
      cli,
      ...(this.#environment.ownHome && { home: this.#environment.home }),
      model: job.model ?? model ?? provider?.model,
      baseUrl: provider?.baseUrl,
    });
  }

  /** Ends all servers and interrupts running jobs. Resolves when all processes have ended. @returns {Promise<void>} */
  async close() {
    this.#closed = true;
    await Promise.all(
      [...this.#entries.values()].map((pool) => {
        clearTimeout(pool.timer);
        return this.#end(pool);
      }),
    );
  }
}
