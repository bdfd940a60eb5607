// Agents as workers: the user's own Copilot CLI, headless. One server for each CLI and SDK serves all its jobs, from
// the first job until a few seconds after the last. A job goes in; events and a result come out.

import { messageOf } from "../base/errors.mjs";
import { commandLineOf } from "./command-line.mjs";
import { configProblem, placeOf } from "./environment.mjs";
import { CODES, jobProblem, unsuccessful } from "./job.mjs";
import { askModels } from "./models.mjs";
import { endOrphans, ownerName } from "./orphans.mjs";
import { runPrompt } from "./prompt-job.mjs";
import { notBegun } from "./run.mjs";
import { Server, within } from "./server.mjs";
import { forgotten, runInSession } from "./session-job.mjs";

/** @typedef {import("./job.mjs").Job} Job */
/** @typedef {import("./job.mjs").Result} Result */
/** The CLI's program and its SDK; of one version. @typedef {{cli: string, sdk: string}} Cli */
/** @typedef {{users: number, starting?: Promise<Server>, timer?: NodeJS.Timeout, models?: {at: number, value: import("../base/models.mjs").Models}}} Pool */

export const LINGER_MS = 5000;
const MODELS_MS = 3_600_000;
const ASK_MS = 20_000;

export class Workers {
  /** @type {Map<string, Pool>} */
  #pools = new Map();
  /** Sessions that a job has. @type {Set<string>} */
  #busy = new Set();
  /** @type {import("./environment.mjs").WorkersConfig} */
  #config = {};
  /** Of what the config says now. @type {{home: string, ownHome: boolean} & import("./environment.mjs").Place & {config: import("./environment.mjs").WorkersConfig}} */
  #place;
  #options;
  #closed = false;
  #lingerMs;
  #swept;

  /**
   * @param {object} options
   * @param {string} options.home COPILOT_HOME of the user
   * @param {import("./environment.mjs").WorkersConfig} [options.config]
   * @param {NodeJS.ProcessEnv} [options.env] from which workers get what they need
   * @param {number} [options.lingerMs]
   * @throws {TypeError} for a config that cannot be
   */
  constructor({ home, config = {}, env = process.env, lingerMs = LINGER_MS }) {
    this.#options = { home, env };
    this.#place = this.#placeOf(config);
    this.#config = config;
    this.#lingerMs = lingerMs;
    this.#swept = endOrphans();
  }

  /** @param {import("./environment.mjs").WorkersConfig} config */
  #placeOf(config) {
    const problem = configProblem(config);
    if (problem) throw new TypeError(problem);
    const { home, env } = this.#options;
    return { ...placeOf(config, home, env, ownerName()), config };
  }

  /**
   * For jobs from now on. Those that run, and their servers, go on as they began.
   * @param {import("./environment.mjs").WorkersConfig} config @throws {TypeError} for one that cannot be
   */
  configure(config) {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return;
    this.#place = this.#placeOf(config);
    this.#config = config;
  }

  /**
   * Runs a job to its end. Never rejects.
   * @param {Cli} cli @param {Job} job @param {(event: import("./job.mjs").WorkerEvent) => void} [onEvent]
   * @param {{isolated?: boolean}} [how] `isolated`: by `copilot -p`, in a process of its own
   * @returns {Promise<Result>}
   */
  async run(cli, job, onEvent = () => {}, { isolated = false } = {}) {
    const problem = this.#closed ? "the workers have ended" : jobProblem(job);
    if (problem) return notBegun(job, unsuccessful("INVALID", problem));
    if (this.#busy.has(job.sessionId)) {
      return notBegun(job, unsuccessful("INVALID", `session ${job.sessionId} has a job already`));
    }
    this.#busy.add(job.sessionId);
    try {
      await this.#swept;
      if (!isolated) return await this.#inSession(cli, job, onEvent);
      const result = await runPrompt(job, cli.cli, this.#place, onEvent);
      return await this.#tidied(cli, job, result);
    } catch (error) {
      return notBegun(job, unsuccessful("START", messageOf(error)));
    } finally {
      this.#busy.delete(job.sessionId);
    }
  }

  /** @param {Cli} cli @param {Job} job @param {(event: import("./job.mjs").WorkerEvent) => void} onEvent */
  #inSession(cli, job, onEvent) {
    const place = this.#place;
    return this.#with(cli, (server) => runInSession(job, server, place, onEvent));
  }

  /** Sessions of `copilot -p` stay; a server deletes them. @param {Cli} cli @param {Job} job @param {Result} result @returns {Promise<Result>} */
  async #tidied(cli, job, result) {
    const code = result.error?.code;
    const began = result.turns > 0;
    if (job.keepSession || !began || (code && CODES[code] !== "failed" && code !== "ABORTED")) {
      return result;
    }
    const [gone] = await this.#forget(cli, [job.sessionId]).catch(() => []);
    return { ...result, session: gone ? "deleted" : "kept" };
  }

  /** @template T @param {Cli} cli @param {(server: Server) => Promise<T>} use @returns {Promise<T>} */
  async #with(cli, use) {
    const pool = this.#poolOf(cli);
    pool.users += 1;
    clearTimeout(pool.timer);
    try {
      return await use(await this.#serverOf(cli, pool));
    } finally {
      pool.users -= 1;
      if (pool.users === 0) this.#linger(pool);
    }
  }

  /** @param {Cli} cli @returns {Pool} */
  #poolOf({ cli, sdk }) {
    const key = JSON.stringify([cli, sdk, this.#config]);
    const pool = this.#pools.get(key) ?? { users: 0 };
    this.#pools.set(key, pool);
    return pool;
  }

  /** The one that runs, or a new one. @param {Cli} cli @param {Pool} pool @returns {Promise<Server>} */
  #serverOf(cli, pool) {
    if (this.#closed) return Promise.reject(new Error("the workers have ended"));
    if (pool.starting) return pool.starting;
    const starting = Server.start({ ...cli, place: this.#place });
    pool.starting = starting;
    const over = () => {
      if (pool.starting === starting) delete pool.starting;
    };
    starting.then((server) => server.ended.then(over), over);
    return starting;
  }

  /** @param {Pool} pool */
  #linger(pool) {
    pool.timer = setTimeout(() => void this.#end(pool), this.#lingerMs);
    pool.timer.unref();
  }

  /** @param {Pool} pool */
  async #end(pool) {
    const { starting } = pool;
    delete pool.starting;
    const server = await starting?.catch(() => undefined);
    await server?.stop();
  }

  /** Servers that run. @returns {Promise<number[]>} their pids */
  async servers() {
    const all = [...this.#pools.values()].flatMap(({ starting }) => starting ?? []);
    const started = await Promise.allSettled(all);
    return started.flatMap((one) => (one.status === "fulfilled" ? one.value.pid : []));
  }

  /**
   * What the CLI can say about models, for an hour.
   * @param {Cli} cli @returns {Promise<import("../base/models.mjs").Models>}
   */
  async models(cli) {
    const pool = this.#poolOf(cli);
    const now = performance.now();
    if (pool.models && now - pool.models.at < MODELS_MS) return pool.models.value;
    if (this.#config.provider) return { source: "none", models: [] };
    const value = await this.#with(cli, ({ client }) =>
      within(askModels(client), ASK_MS, "the list of models"),
    );
    if (value.source !== "none") pool.models = { at: now, value };
    return value;
  }

  /**
   * Deletes sessions that were kept, and that no job has now.
   * @param {Cli} cli @param {string[]} sessionIds @returns {Promise<boolean[]>} which are gone
   */
  forget(cli, sessionIds) {
    return this.#forget(
      cli,
      sessionIds.filter((id) => !this.#busy.has(id)),
    );
  }

  /** @param {Cli} cli @param {string[]} sessionIds */
  #forget(cli, sessionIds) {
    return this.#with(cli, (server) => Promise.all(sessionIds.map((id) => forgotten(server, id))));
  }

  /** By which the user can do a job by hand. @param {Job} job @param {string} [cli] */
  commandLine(job, cli) {
    const { provider, model } = this.#config;
    return commandLineOf(job, {
      cli,
      ...(this.#place.ownHome && { home: this.#place.home }),
      model: job.model ?? model ?? provider?.model,
      baseUrl: provider?.baseUrl,
    });
  }

  /** Ends all servers; jobs that run are interrupted. @returns {Promise<void>} once nothing is left */
  async close() {
    this.#closed = true;
    await Promise.all(
      [...this.#pools.values()].map((pool) => {
        clearTimeout(pool.timer);
        return this.#end(pool);
      }),
    );
  }
}
