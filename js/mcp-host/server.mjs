// An MCP server of the user's config: its connection, its restarts, and its tools as those of the provider
// `mcp:<name>`. It declares tools alone: no rules, gates, contexts, sections, and no pushes.

import path from "node:path";
import { resolveSecrets, readSecrets } from "../config/mcp.mjs";
import { openFeatureFolder } from "../feature-host/feature-folder.mjs";
import { errorMessage } from "../lib/values.mjs";
import { delayBefore } from "../process/supervisor.mjs";
import { OutputLog } from "../process/log.mjs";
import { checks } from "../../sdk/node/arguments.mjs";
import { toCheckable } from "../../sdk/node/dialect.mjs";
import { ToolError } from "../../sdk/node/errors.mjs";
import { LinkTransport } from "../../sdk/node/link.mjs";
import { provider } from "../../sdk/node/provider.mjs";
import { connectHttp, ServerRefused } from "./client.mjs";
import { connectRun, createServerProcess, listTools } from "./connection.mjs";
import { isLostSession, isUnsent, readCallResult, toCallError } from "./content.mjs";

/** @typedef {import("../config/mcp.mjs").McpServerConfig} McpServerConfig */
/** @typedef {import("./client.mjs").McpClient} McpClient */
/** @typedef {import("./tools.mjs").ListedTool} ListedTool */
/**
 * @typedef {"idle" | "starting" | "ready" | "restarting" | "failed" | "disabled"} State
 * @typedef {object} ServerReport
 * @property {string} name @property {State} state @property {string} reason @property {"stdio" | "http"} transport
 * @property {number[]} pids @property {string} protocol @property {{name: string, version: string}} server
 * @property {string} instructions @property {Omit<ListedTool, "parameters">[]} tools
 * @property {number} restarts @property {{at: string, code: string, text: string} | null} lastError
 *
 * @typedef {object} Host the process of a server
 * @property {string} link @property {string} token @property {string} home
 * @property {NodeJS.ProcessEnv} env
 * @property {<T>(work: () => Promise<T>) => Promise<T>} limitStarts a few servers start at a time
 * @property {() => void} onChange its report has changed
 * @property {(level: "info" | "warning" | "error", text: string) => void} onNote for the timeline
 */

const STAY_MS = 6000;
const MAX_FAILED_STARTS = 10;
const MAX_CALLS = 64;
const LIST_MS = 250;
const SLOW_LIST_MS = 5000;
const MAX_CHANGES = 20;
const MINUTE_MS = 60_000;
/** For a new list to be in force before the answer of the call that has changed it. */
const IN_FORCE_MS = 2000;
const MAX_INSTRUCTIONS = 4000;
/** A server's pattern may take for ever on an argument, so that the server alone checks it. */
const HAS_PATTERN = /"pattern(Properties)?":/;

/** @param {Promise<unknown>} done @param {number} ms */
function waitAtMost(done, ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void done
      .catch(() => {})
      .then(() => {
        clearTimeout(timer);
        resolve(undefined);
      });
  });
}

/** @param {Record<string, any>} schema @returns {(args: any) => string[]} problems; without any if the schema cannot be compiled */
function createCheck(schema) {
  /** @type {((args: any) => string[]) | undefined} */
  let check;
  return (args) => {
    if (HAS_PATTERN.test(JSON.stringify(schema))) return [];
    try {
      check ??= checks(toCheckable(schema));
      return check(args);
    } catch {
      return [];
    }
  };
}

export class McpServer {
  #config;
  #host;
  #log;
  #provider;
  #folder;
  /** @type {State} */
  #state = "idle";
  #reason = "";
  /** @type {McpClient | undefined} */
  #client;
  /** @type {ReturnType<typeof createServerProcess> | undefined} */
  #process;
  #mask = (/** @type {string} */ text) => text;
  /** The server's list. @type {ListedTool[]} */
  #listed = [];
  /** The tools of sessions, as declared, by name. @type {Map<string, string>} */
  #offered = new Map();
  /** Names that a session has refused, with its reason. @type {Map<string, string>} */
  #conflicts = new Map();
  #about = { server: { name: "", version: "" }, protocol: "", instructions: "" };
  /** @type {ServerReport["lastError"]} */
  #lastError = null;
  #failedStarts = 0;
  #restarts = 0;
  #isConnected = false;
  #isStopped = false;
  /** @type {NodeJS.Timeout | undefined} */
  #leave;
  /** @type {NodeJS.Timeout | undefined} */
  #retry;
  /** Settles once it is ready, or has failed. @type {{promise: Promise<void>, settle: () => void}} */
  #turn = { promise: Promise.resolve(), settle: () => {} };
  /** @type {Promise<void>} */
  #refresh = Promise.resolve();
  #isRefreshDue = false;
  /** Announced lists that are not in force yet. */
  #pendingLists = 0;
  /** @type {number[]} */
  #changes = [];

  /** @param {McpServerConfig} config @param {Host} host */
  constructor(config, host) {
    this.#config = config;
    this.#host = host;
    this.#log = OutputLog.open(this.#logFile, (text) => this.#mask(text));
    this.#folder = openFeatureFolder(host.home, `mcp-${config.name}`);
    this.#provider = this.#createProvider();
  }

  #createProvider() {
    const { link, token } = this.#host;
    const created = provider(`mcp:${this.#config.name}`, {
      session: "all",
      concurrency: MAX_CALLS,
      transport: new LinkTransport({ link, token }),
    });
    created.on("error", (error) => void this.#log.note("tap", error.message));
    return created;
  }

  get #logFile() {
    return path.join(this.#host.home, "logs", "tap", "mcp", `${this.#config.name}.log`);
  }

  get config() {
    return this.#config;
  }

  /** @returns {ServerReport} */
  report() {
    const { name, url } = this.#config;
    const [{ pid, restarts } = { pid: undefined, restarts: 0 }] = this.#process?.status() ?? [];
    const tools = this.#listed.map(({ parameters: _parameters, ...tool }) => {
      const conflict = this.#conflicts.get(tool.name);
      return conflict === undefined ? tool : { ...tool, why: conflict };
    });
    return {
      ...{ name, state: this.#state, reason: this.#reason, tools },
      transport: url === undefined ? "stdio" : "http",
      pids: pid === undefined ? [] : [pid],
      ...this.#about,
      restarts: Math.max(restarts, this.#restarts),
      lastError: this.#lastError,
    };
  }

  // ---- its life ------------------------------------------------------------------------------------

  start() {
    try {
      const resolved = resolveSecrets(this.#config, readSecrets(this.#host.home));
      this.#mask = resolved.mask;
      this.#setState("starting");
      if (this.#config.url === undefined) this.#startProcess(resolved);
      else void this.#connectUrl(resolved.headers);
    } catch (error) {
      this.#fail(this.#mask(errorMessage(error)), "SECRET_MISSING");
    }
  }

  /** @param {import("./connection.mjs").Resolved} resolved */
  #startProcess(resolved) {
    this.#process = createServerProcess(this.#config, {
      ...{ resolved, logFile: this.#logFile, env: this.#host.env },
      onRun: (run) => void this.#connectRun(run),
      onEnded: () => this.#onLost("the server has ended"),
      onMessage: (level, text) => this.#onProcessMessage(level, text),
    });
    void this.#host.limitStarts(async () => {
      if (this.#isStopped) return;
      this.#process?.start();
      await this.#turn.promise;
    });
  }

  /** @param {"info" | "warning" | "error"} level @param {string} text */
  #onProcessMessage(level, text) {
    const said = this.#mask(text.replace(/^tap: MCP server "[^"]*" /, ""));
    if (level === "warning") return this.#noteError("ENDED", said);
    this.#fail(said, "ENDED"); // it is not started again
  }

  /** @param {import("../process/run.mjs").ProcessRun} run */
  async #connectRun(run) {
    const log = { onText: (/** @type {string} */ line) => void this.#log.note("out", line) };
    const onBroken = (/** @type {string} */ why) => {
      this.#noteError("BROKEN", why);
      run.kill();
    };
    try {
      await this.#adopt(() => connectRun(run, log, { ...this.#connectOptions(), onBroken }));
    } catch (error) {
      this.#onFailedStart(error);
      run.kill();
    }
  }

  /** @returns {import("./client.mjs").ConnectOptions} */
  #connectOptions() {
    return {
      timeoutMs: this.#config.startTimeout,
      onListChanged: () => this.#onListChanged(),
      onError: (error) => void this.#log.note("tap", error.message),
    };
  }

  /** @param {Record<string, string>} headers */
  async #connectUrl(headers) {
    const { url = "" } = this.#config;
    try {
      await this.#host.limitStarts(() =>
        this.#adopt(() => connectHttp(url, headers, this.#connectOptions())),
      );
    } catch (error) {
      this.#onFailedStart(error);
      if (this.#isStopped || this.#state === "failed") return;
      this.#restarts += 1;
      this.#retry = setTimeout(
        () => void this.#connectUrl(headers),
        delayBefore(this.#failedStarts),
      );
    }
  }

  /** @param {() => Promise<McpClient>} connect @returns {Promise<void>} once its tools are offered */
  async #adopt(connect) {
    const { startTimeout } = this.#config;
    const late = AbortSignal.timeout(startTimeout);
    const isLate = new Promise((_, reject) => {
      const why = `it was not ready within ${startTimeout / 1000} s`;
      late.addEventListener("abort", () => reject(new Error(why)), { once: true });
    });
    const connected = connect().then(async (client) => {
      if (this.#isStopped || late.aborted) return client.close();
      this.#about = { ...client.about };
      this.#about.instructions = client.about.instructions.slice(0, MAX_INSTRUCTIONS);
      const tools = await listTools(this.#config, client);
      this.#client = client;
      await this.#offer(tools);
    });
    await Promise.race([connected, isLate]);
    if (this.#isStopped) return;
    this.#failedStarts = 0;
    clearTimeout(this.#leave);
    this.#setState("ready");
    this.#turn.settle();
    const count = this.#offered.size;
    this.#note("info", `is ready with ${count} ${count === 1 ? "tool" : "tools"}`);
  }

  /** @param {unknown} error */
  #onFailedStart(error) {
    const why = this.#mask(errorMessage(error));
    this.#noteError("NOT_READY", why);
    this.#failedStarts += 1;
    this.#onLost(why);
    if (!(error instanceof ServerRefused) && this.#failedStarts <= MAX_FAILED_STARTS) return;
    void this.#process?.stop();
    this.#fail(why, "NOT_READY");
  }

  /** The connection is gone: its tools stay for a moment, since it may come back. @param {string} why */
  #onLost(why) {
    const former = this.#client;
    this.#client = undefined;
    void former?.close();
    if (this.#isStopped || this.#state === "failed") return;
    if (this.#state === "ready") this.#leaveLater();
    this.#setState("restarting", why);
  }

  #leaveLater() {
    clearTimeout(this.#leave);
    this.#leave = setTimeout(() => void this.#offer([]), STAY_MS);
    this.#leave.unref();
  }

  /** It stays ended until the user restarts it. @param {string} why @param {string} code */
  #fail(why, code) {
    if (this.#isStopped || this.#state === "failed") return;
    this.#noteError(code, why);
    this.#leaveLater();
    this.#setState("failed", why);
    this.#turn.settle();
    const { name } = this.#config;
    this.#note("error", `${why}. When it is repaired: copilot-tap mcp restart ${name}`);
  }

  /** @param {string} code @param {string} text */
  #noteError(code, text) {
    this.#lastError = { at: new Date().toISOString(), code, text };
    void this.#log.note("tap", text);
    this.#host.onChange();
  }

  /** @param {"info" | "warning" | "error"} level @param {string} text */
  #note(level, text) {
    this.#host.onNote(level, `tap: MCP server "${this.#config.name}" ${text}`);
  }

  /** @param {State} state @param {string} [reason] */
  #setState(state, reason = "") {
    this.#state = state;
    this.#reason = reason;
    if (state !== "ready" && state !== "failed") this.#beginTurn();
    this.#host.onChange();
  }

  #beginTurn() {
    this.#turn.settle();
    let settle = () => {};
    const promise = new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      settle = () => resolve();
    });
    this.#turn = { promise, settle };
  }

  /** @param {string} reason @returns {Promise<void>} once its processes have ended */
  async stop(reason) {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#leave);
    this.#turn.settle();
    const left = this.#provider.close(reason);
    await this.#client?.close();
    await Promise.all([left, this.#process?.stop()]);
    await this.#log.close();
  }

  // ---- its tools -----------------------------------------------------------------------------------

  /** A list that was announced is read soon, and less often from a server that changes it all the time. */
  #onListChanged() {
    if (this.#isRefreshDue) return;
    this.#isRefreshDue = true;
    this.#pendingLists += 1;
    const now = Date.now();
    this.#changes = [...this.#changes.filter((at) => now - at < MINUTE_MS), now];
    if (this.#changes.length === MAX_CHANGES)
      this.#note("warning", `changes its tools all the time: read every ${SLOW_LIST_MS / 1000} s`);
    const wait = this.#changes.length < 2 ? 0 : LIST_MS;
    const pause = this.#changes.length >= MAX_CHANGES ? SLOW_LIST_MS : wait;
    this.#refresh = this.#refresh
      .then(() => new Promise((resolve) => setTimeout(resolve, pause)))
      .then(async () => {
        this.#isRefreshDue = false;
        const client = this.#client;
        if (client) await this.#offer(await listTools(this.#config, client));
      })
      .catch((error) => this.#noteError("LIST", this.#mask(errorMessage(error))))
      .finally(() => (this.#pendingLists -= 1));
  }

  /** @param {ListedTool[]} listed @returns {Promise<void>} once sessions have them, where they have the provider */
  async #offer(listed) {
    if (listed.length > 0 || this.#client) this.#listed = listed;
    const wanted = listed.filter(
      ({ why, name }) => why === undefined && !this.#conflicts.has(name),
    );
    const names = new Set(wanted.map(({ name }) => name));
    const inForce = this.#isConnected;
    /** @type {Promise<void>[]} */
    const changes = [];
    for (const name of [...this.#offered.keys()].filter((one) => !names.has(one))) {
      this.#offered.delete(name);
      changes.push(this.#provider.removeTool(name, { inForce }));
    }
    for (const tool of wanted) {
      const shape = JSON.stringify([tool.original, tool.description, tool.parameters]);
      if (this.#offered.get(tool.name) === shape) continue;
      this.#offered.set(tool.name, shape);
      changes.push(this.#declare(tool, inForce));
    }
    this.#host.onChange();
    if (changes.length === 0) return;
    if (!this.#isConnected && wanted.length > 0) this.#bind();
    const outcomes = await Promise.allSettled(changes);
    const refused = outcomes.find(({ status }) => status === "rejected");
    if (refused) await this.#leaveOut(/** @type {PromiseRejectedResult} */ (refused).reason);
  }

  /** @param {ListedTool} tool @param {boolean} inForce */
  #declare({ name, original, description, parameters }, inForce) {
    const check = createCheck(parameters);
    // With a `~standard` of its own, the SDK passes the schema as it is, without checks.
    const standard = {
      version: /** @type {const} */ (1),
      vendor: "mcp",
      validate: (/** @type {unknown} */ value) => ({ value }),
      jsonSchema: { input: () => parameters },
    };
    const options = {
      description,
      parameters: /** @type {any} */ ({ "~standard": standard }),
      timeout: this.#config.timeout,
      inForce,
    };
    return this.#provider.tool(name, options, (args, call) => {
      const problems = check(args);
      if (problems.length > 0)
        throw new ToolError("INVALID_ARGUMENTS", `${name} ${problems.join("; ")}`);
      return this.#call(name, original, args, call);
    });
  }

  #bind() {
    this.#isConnected = true;
    this.#provider.connect().catch((error) => {
      if (this.#isStopped) return;
      this.#isConnected = false;
      this.#provider = this.#createProvider(); // a refused provider does not connect again
      void this.#leaveOut(error);
    });
  }

  /** A name that is taken in a session costs that tool alone: the other tools are offered without it. @param {any} error */
  async #leaveOut(error) {
    const message = String(error?.message);
    const name = [...this.#offered.keys()].find((own) => message.includes(`"${own}"`));
    if (error?.code !== "TOOL_CONFLICT" || name === undefined)
      return this.#noteError("LINK", message);
    this.#conflicts.set(name, message);
    this.#offered.clear();
    this.#note("warning", `does not offer ${name}: ${message}`);
    void this.#provider.removeTool(name).catch(() => {});
    await this.#offer(this.#listed);
  }

  // ---- calls ---------------------------------------------------------------------------------------

  /** @param {string} name @param {string} original @param {any} args @param {import("../../sdk/node/types.js").Call} call */
  async #call(name, original, args, call) {
    if (!this.#offered.has(name))
      throw new ToolError("NOT_FOUND", `there is no tool ${name} any more`);
    const title = `MCP server "${this.#config.name}"`;
    try {
      const result = await this.#send(original, args, call);
      await new Promise(setImmediate); // announcements before the answer are read by then
      if (this.#pendingLists > 0) await waitAtMost(this.#refresh, IN_FORCE_MS);
      return readCallResult(result, (content, extension) =>
        this.#folder.keep(content, this.#config.name, call.session, extension),
      );
    } catch (error) {
      const failure = toCallError(error, { name: title, mask: this.#mask });
      if (failure.code === "NOT_FOUND" && this.#client) this.#onListChanged();
      if (failure.code === "DISCONNECTED" && this.#config.url !== undefined) this.#reconnect();
      throw failure;
    }
  }

  /** @param {string} original @param {any} args @param {import("../../sdk/node/types.js").Call} call */
  async #send(original, args, call) {
    const request = {
      ...{ name: original, args, traceparent: call.traceparent, signal: call.signal },
      timeoutMs: this.#config.timeout,
      onProgress: (/** @type {string} */ message) => call.progress(message),
    };
    const client = await this.#waitForClient();
    try {
      return await client.callTool(request);
    } catch (error) {
      if (isUnsent(error)) {
        if (this.#client === client) this.#onLost("the connection was lost");
        return (await this.#waitForClient()).callTool(request);
      }
      // The server has refused it for a session that it does not know, so it has not run.
      if (this.#config.url === undefined || !isLostSession(error)) throw error;
      this.#reconnect();
      return (await this.#waitForClient()).callTool(request);
    }
  }

  #reconnect() {
    if (this.#state !== "ready") return;
    this.#onLost("the connection was lost");
    this.start();
  }

  /** @returns {Promise<McpClient>} */
  async #waitForClient() {
    if (!this.#client && this.#state !== "failed")
      await waitAtMost(this.#turn.promise, this.#config.startTimeout);
    if (this.#client) return this.#client;
    const { name } = this.#config;
    const why = this.#reason || this.#lastError?.text || "it is not ready";
    const advice = `copilot-tap mcp show ${name} says more, copilot-tap mcp restart ${name} starts it again`;
    throw new ToolError("DISCONNECTED", `MCP server "${name}" does not run: ${why}. ${advice}`);
  }
}
