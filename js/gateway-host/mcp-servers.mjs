// The MCP servers of the user's config, for this gateway: the MCP host runs them, from the first entry that is on until
// there is none. This file has what the host last said of them.

import path from "node:path";
import { createReport } from "../feature-host/report.mjs";
import { programFolder } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { requireOrigin, RequestError } from "./requests.mjs";

/** @typedef {import("../config/mcp.mjs").McpServerConfig} McpServerConfig */
/** @typedef {import("../mcp-host/server.mjs").ServerReport} ServerReport */
/** @typedef {import("../feature-host/report.mjs").Report} Report */
/** @typedef {import("./feature-host-process.mjs").FeatureHostRun} HostRun */

const MAIN = path.join(programFolder, "js", "mcp-host", "main.mjs");
const LEVELS = ["info", "warning", "error"];

/** @param {string} name */
export const mcpServerId = (name) => `mcp:${name}`;

/** @param {McpServerConfig} config @param {boolean} isOn @returns {ServerReport} of one that has not reported */
const createFirstReport = ({ name, url }, isOn) => ({
  ...{ name, state: isOn ? "starting" : "disabled", reason: "", pids: [], tools: [], restarts: 0 },
  transport: url === undefined ? "stdio" : "http",
  ...{ protocol: "", server: { name: "", version: "" }, instructions: "", lastError: null },
});

export class McpServers {
  #options;
  /** @type {readonly McpServerConfig[]} */
  #config = [];
  /** What the host was told last, as JSON. */
  #applied = "";
  /** By name. @type {Map<string, ServerReport>} */
  #reports = new Map();
  /** @type {Promise<HostRun | undefined>} */
  #host = Promise.resolve(undefined);
  #trouble = "";
  #isClosed = false;

  /**
   * @param {object} options
   * @param {import("../lib/addon.js").Gateway} options.gateway @param {import("../lib/log.mjs").Log} options.log
   * @param {import("../lib/paths.mjs").GatewayFiles} options.files @param {NodeJS.ProcessEnv} options.env
   * @param {() => string} options.link path of the link
   * @param {(id: string) => boolean} options.isOn whether the user has not disabled it
   * @param {() => Iterable<string>} options.sessions their ids, for the timeline
   * @param {import("./feature-host-process.mjs").ImportFeatureHost} options.importFeatureHost
   */
  constructor(options) {
    this.#options = options;
  }

  /** @param {readonly McpServerConfig[]} [config] the entries, where they may be others than before */
  apply(config = this.#config) {
    this.#config = config;
    const wanted = this.#listWanted();
    const text = JSON.stringify(wanted);
    if (text === this.#applied || this.#isClosed) return;
    const hadServers = this.#applied !== "" && this.#applied !== "[]";
    this.#applied = text;
    for (const name of [...this.#reports.keys()])
      if (!wanted.some((one) => one.name === name)) this.#reports.delete(name);
    if (wanted.length === 0 && !hadServers) return;
    this.#host = this.#host.then((host) => this.#change(host, wanted)).catch(() => undefined);
  }

  #listWanted() {
    return this.#config.filter(({ name }) => this.#options.isOn(mcpServerId(name)));
  }

  /** @param {HostRun | undefined} host @param {McpServerConfig[]} wanted */
  async #change(host, wanted) {
    if (this.#isClosed) return host;
    if (wanted.length === 0) {
      await host?.stop();
      return undefined;
    }
    if (!host || host.status().state === "failed") return this.#start();
    host.send({ servers: wanted });
    return host;
  }

  /** @returns {Promise<HostRun | undefined>} */
  async #start() {
    const { gateway, files, env, link, log } = this.#options;
    try {
      const { FeatureHostProcess } = await this.#options.importFeatureHost();
      const host = new FeatureHostProcess({
        ...{ files, env, main: MAIN, name: "mcp-host", title: "the MCP host" },
        issueToken: () => gateway.issueFeatureToken(),
        revokeToken: (token) => {
          gateway.revokeFeatureToken(token);
          this.#reports.clear();
        },
        greeting: (token) => {
          const where = { link: link(), token, home: files.home };
          return { ...where, servers: this.#listWanted() };
        },
        onMessage: (level, text) => {
          this.#trouble = text.replace(/^tap: /, "");
          log(level, text);
        },
      });
      host.start();
      return host;
    } catch (error) {
      this.#trouble = `the MCP host cannot be started: ${errorMessage(error)}`;
      log("error", this.#trouble);
      return undefined;
    }
  }

  // ---- what there is -------------------------------------------------------------------------------

  /** @returns {ServerReport[]} in the order of the config */
  #listReports() {
    return this.#config.map((config) => {
      const isOn = this.#options.isOn(mcpServerId(config.name));
      const report = isOn ? this.#reports.get(config.name) : undefined;
      if (report) return report;
      return { ...createFirstReport(config, isOn), reason: isOn ? this.#trouble : "" };
    });
  }

  /** @returns {Report[]} */
  reports() {
    return this.#listReports().map(({ name, state, tools, lastError }) =>
      createReport({
        ...{ id: mcpServerId(name), enabled: state !== "disabled", runtime: "mcp-bridge" },
        tools: tools.flatMap((tool) => (tool.why === undefined ? [tool.name] : [])),
        skipped: tools.flatMap(({ original, why }) =>
          why === undefined ? [] : [{ what: original, reason: why }],
        ),
        diagnostics: lastError ? [{ at: lastError.at, text: lastError.text }] : [],
      }),
    );
  }

  /** With what the gateway counts of each. */
  list() {
    const seen = JSON.parse(this.#options.gateway.inspect());
    return this.#listReports().map(({ instructions, tools, name, ...report }) => {
      const id = mcpServerId(name);
      const offered = tools.filter(({ why }) => why === undefined);
      const used = seen.tools.filter((/** @type {any} */ { provider }) => provider === id);
      const calls = used.reduce(
        (/** @type {number} */ sum, /** @type {any} */ one) => sum + one.calls,
        0,
      );
      const times = used.map((/** @type {any} */ { p50Ms }) => p50Ms);
      return {
        ...{ id, name, owner: "user", scope: "shared" },
        ...report,
        sessions: seen.sessions.length,
        tools: tools.length,
        offered: offered.length,
        characters: offered.reduce((sum, { characters }) => sum + characters, 0),
        calls,
        p50Ms: times.length === 0 ? null : Math.max(...times),
        details: { instructions, tools },
      };
    });
  }

  /** @param {import("./requests.mjs").HostRequests} requests @param {() => Promise<void>} reload reads the config again */
  serve(requests, reload) {
    requests.register("mcp.list", () => ({ servers: this.list() }));
    requests.register("mcp.reload", async (_params, from) => {
      requireOrigin(from, "control");
      await reload();
      return { servers: this.list() };
    });
    requests.register("mcp.restart", async ({ name }, from) => {
      requireOrigin(from, "control");
      const wanted = this.#listWanted();
      if (!wanted.some((one) => one.name === name))
        throw new RequestError("NOT_FOUND", `there is no MCP server "${name}" that is on`);
      this.#reports.delete(name);
      this.#host = this.#host.then((host) => {
        if (!host || host.status().state === "failed") return this.#start();
        host.send({ servers: wanted, restart: name });
        return host;
      });
      await this.#host;
      return {};
    });
    requests.register("mcp.report", ({ servers }, from) => {
      requireOrigin(from, "feature");
      const list = /** @type {ServerReport[]} */ (Array.isArray(servers) ? servers : []);
      for (const report of list) this.#reports.set(report.name, report);
    });
    requests.register("mcp.note", ({ level, text }, from) => {
      requireOrigin(from, "feature");
      if (!LEVELS.includes(level) || typeof text !== "string") return;
      this.#options.log(level, text);
      for (const session of this.#options.sessions())
        this.#options.gateway.tellTimeline(session, level, text);
    });
  }

  /** @returns {Promise<void>} once nothing of it is left */
  async stop() {
    this.#isClosed = true;
    await (await this.#host)?.stop();
  }
}
