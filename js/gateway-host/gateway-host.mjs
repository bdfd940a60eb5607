// A gateway with its port, the link for sessions, the descriptor and the token file. main.mjs runs it in a separate
// process. The addon handles the bytes of the protocol.

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { addon } from "../lib/addon.mjs";
import { errorMessage } from "../lib/values.mjs";
import {
  makePrivateFolder,
  createTempFolder,
  readDescriptor,
  readIfThere,
  removeIfOurs,
  removeTempFolder,
  writePrivate,
} from "../lib/host-files.mjs";
import { readLimit } from "../lib/limits.mjs";
import { MAX_SOCKET_PATH, version } from "../lib/paths.mjs";
import { telemetryVariables } from "../lib/telemetry.mjs";
import { readStamp, StampTracker, userConfigFile } from "../config/file.mjs";
import { ProjectSessions } from "./project-sessions.mjs";
import { NO_CONFIG, readUserConfig } from "../config/user-config.mjs";
import { evaluateConditions } from "../feature-host/capability-grants.mjs";
import {
  serveEmitterRequests,
  serveFeatureRequests,
  HostRequests,
  servePlanRequests,
  serveSessionRequests,
} from "./requests.mjs";
import { HostFeatures } from "./features.mjs";
import { Inbox } from "./inbox.mjs";
import { McpServers } from "./mcp-servers.mjs";
import { Holds, Shutdown } from "./shutdown.mjs";
import { HostRecords } from "./records.mjs";

const FILES_CHECK_MS = 2000;
/** In bytes: "/link" and a NUL follow. */
const MAX_LINK_FOLDER_BYTES = MAX_SOCKET_PATH - "/link".length - 1;

/**
 * Parts that tests replace. `env`: of this process, except for the limits, which the addon reads itself.
 * @typedef {{env: NodeJS.ProcessEnv, importFeatureHost: import("./feature-host-process.mjs").ImportFeatureHost,
 *   features?: readonly import("../features/list.mjs").Feature[], pingMs?: number}} Parts
 */

/** @type {Parts} */
const DEFAULT_PARTS = {
  env: process.env,
  importFeatureHost: () => import("./feature-host-process.mjs"),
};

export class GatewayHost {
  /** The methods of host.request. */
  requests = new HostRequests();
  #files;
  #log;
  #onExit;
  #token = `ptk-${randomBytes(32).toString("hex")}`;
  #secret = randomBytes(32).toString("hex");
  #descriptor = "";
  #link;
  /** A separate folder for the link, if the usual folder is unusable. @type {string | undefined} */
  #linkFolder;
  /** While its feature is enabled. @type {ProjectSessions | undefined} */
  #projects;
  /** @type {HostFeatures} */
  #features;
  /** @type {McpServers} */
  #mcp;
  #holds;
  #shutdown;
  /** Requests without an answer, whose clients may leave. @type {Map<number, AbortController>} */
  #pending = new Map();
  #records;
  #config;
  #parts;
  #configStamps;
  /** The sessions, for features that are enabled later: id → folder. @type {Map<string, string>} */
  #sessions = new Map();
  #tokenPublished = false;
  /** @type {NodeJS.Timeout | undefined} */
  #filesCheck;
  /** @type {Promise<void> | undefined} */
  #closed;

  /**
   * @param {import("../lib/paths.mjs").GatewayFiles} files
   * @param {import("../lib/log.mjs").Log} log
   * @param {(reason: string) => void} onExit called when this gateway is no longer needed
   * @param {import("../config/user-config.mjs").UserConfig} [config] the user's
   * @param {Partial<Parts>} [parts]
   */
  constructor(files, log, onExit, config = NO_CONFIG, parts = {}) {
    this.#files = files;
    this.#link = files.link;
    this.#log = log;
    this.#onExit = onExit;
    this.#config = config;
    this.#parts = { ...DEFAULT_PARTS, ...parts };
    this.#configStamps = new StampTracker(readStamp(userConfigFile(files)));
    this.gateway = new addon.Gateway({
      version,
      token: this.#token,
      linkSecret: this.#secret,
      pid: process.pid,
      persistRoot: path.join(files.home, "providers"),
      tokenFile: files.token,
      onLog: log,
      onSessionOpened: (sessionId, cwd) => {
        this.#publishToken();
        this.#sessions.set(sessionId, cwd);
        this.#shutdown.cancel();
        this.#projects?.openSession(sessionId, cwd);
        this.#features.setGroups(sessionId, this.#config.toolGroups);
      },
      onCommand: (number, typed) => void this.#runCommand(number, typed),
      onSessionEnded: (sessionId) => {
        this.#sessions.delete(sessionId);
        this.#projects?.endSession(sessionId);
      },
      onRequest: (number, request) => void this.#answerRequest(number, request),
      onRequestDropped: (number) => this.#pending.get(number)?.abort(),
      onExit: (reason) => this.#shutdown.request(reason),
    });
    this.#features = new HostFeatures({
      gateway: this.gateway,
      files,
      log,
      config,
      link: () => this.#link,
      entries: () => this.#projects?.states() ?? [],
      bridges: () => this.#mcp.reports(),
      onApplied: () => this.#onFeaturesApplied(),
      ...this.#parts,
      services: {
        providers: { inspect: () => JSON.parse(this.gateway.inspect()) },
        projects: { serve: () => this.#serveProjects() },
      },
    });
    this.#mcp = this.#createMcpServers();
    this.#records = new HostRecords({ files, gateway: this.gateway, log, requests: this.requests });
    for (const problem of config.problems) log("warning", problem);
    const logTrouble = () => this.#holds.trouble && log("warning", this.#holds.trouble);
    this.#holds = new Holds(files, this.#features.hostedIds, () => {
      logTrouble();
      this.#shutdown.recheck();
    });
    this.#shutdown = this.#createShutdown(this.#holds);
    logTrouble();
    this.#serveRequests();
  }

  #serveRequests() {
    const { requests, gateway } = this;
    const files = this.#files;
    serveFeatureRequests(requests, {
      features: this.#features,
      holds: this.#holds,
      files,
      gateway,
      leave: (reason) => this.#onExit(reason),
    });
    const findFolder = (/** @type {unknown} */ id) =>
      this.#sessions.get(/** @type {string} */ (id));
    serveEmitterRequests(requests, { files, findFolder, env: this.#parts.env });
    servePlanRequests(requests, files);
    this.#mcp.serve(requests, () => this.#checkConfig());
    const config = () => this.#config;
    serveSessionRequests(requests, { gateway, config, records: this.#records });
    const entries = () => this.#projects?.states() ?? [];
    const inbox = { gateway, features: this.#features, records: this.#records, entries };
    new Inbox(inbox).serve(requests);
  }

  #onFeaturesApplied() {
    this.#projects?.rescan();
    this.#mcp.apply();
    this.#shutdown.recheck();
  }

  #createMcpServers() {
    return new McpServers({
      ...{ gateway: this.gateway, files: this.#files, log: this.#log, ...this.#parts },
      link: () => this.#link,
      isOn: (id) => this.#features.isOn(id),
      sessions: () => this.#sessions.keys(),
    });
  }

  /** @param {Holds} holds */
  #createShutdown(holds) {
    return new Shutdown({
      // The work of disabled features continues when they are enabled; if the feature host is not restarted, with the
      // next gateway.
      holds: () => {
        const { state, trouble } = this.#features.hostState();
        if (state === "failed" || (state === "idle" && trouble)) return [];
        return holds.list().filter(({ feature }) => this.#features.isOn(feature));
      },
      graceMs: readLimit("grace-ms", this.#parts.env),
      log: this.#log,
      leave: (reason) => this.#onExit(reason),
    });
  }

  /** @returns {() => Promise<void>} stops it */
  #serveProjects() {
    const projects = new ProjectSessions(this.gateway, this.#files, this.#log, {
      needHosted: () => void this.#features.ensureHostReady().catch(() => {}),
      declare: (session, owner, { name, config }) =>
        this.#features.configFeatures.installEntry(session.id, `${owner}:${name}`, config),
      setGroups: (session, names) => this.#features.setGroups(session.id, names),
      env: this.#parts.env,
    });
    this.#projects = projects;
    for (const [id, cwd] of this.#sessions) projects.openSession(id, cwd);
    return () => {
      if (this.#projects === projects) this.#projects = undefined;
      return projects.stop();
    };
  }

  /**
   * Creates it with the user's config.
   * @param {import("../lib/paths.mjs").GatewayFiles} files @param {import("../lib/log.mjs").Log} log
   * @param {(reason: string) => void} onExit called when this gateway is no longer needed
   */
  static async create(files, log, onExit) {
    return new GatewayHost(files, log, onExit, await readUserConfig(files));
  }

  /**
   * The election: the process that binds the port is the gateway.
   * @throws with code EADDRINUSE if a different process is the gateway
   */
  start() {
    const { port, homeHash } = this.#files;
    this.gateway.setPlainAnswer(JSON.stringify({ program: "tap", version, home: homeHash }));
    this.gateway.listen(port);
    this.#listenLink();
    this.#records.open(this.#config);
    this.#writeDescriptor();
    this.#filesCheck = setInterval(() => {
      this.#checkFiles();
      void this.#checkConfig();
    }, FILES_CHECK_MS);
    this.#filesCheck.unref();
    this.gateway.start();
    this.#mcp.apply(this.#config.mcpServers);
    if (this.#holds.list().length > 0) void this.#features.ensureHostReady().catch(() => {});
    this.#log("info", `gateway ${version} on port ${port}, pid ${process.pid}`);
  }

  /**
   * @param {boolean} restarting a new gateway follows
   * @returns {Promise<void>} when all providers that it started have ended; all other parts close at once, or when the
   *   last spans are posted
   */
  close(restarting) {
    this.#closed ??= this.#close(restarting);
    return this.#closed;
  }

  /** @param {boolean} restarting */
  #close(restarting) {
    clearInterval(this.#filesCheck);
    if (!this.#isExportingSpans()) return this.#closeGateway(restarting);
    const ended = this.#features.stop();
    return ended.then(() => this.#closeGateway(restarting, ended));
  }

  /** Whether the feature host exports spans: at its end it requests the last spans from the gateway. */
  #isExportingSpans() {
    const { records = true, spans = true } = this.#config;
    const variables = telemetryVariables(this.#parts.env);
    const asked = evaluateConditions({ variables, recorded: records && spans })["spans-exported"]
      .met;
    return asked && this.#features.hostState().state !== "idle";
  }

  /** @param {boolean} restarting @param {Promise<void>} [ended] the end of the features, if they have already ended */
  #closeGateway(restarting, ended) {
    this.#holds.close();
    this.gateway.close(restarting);
    const parts = Promise.all([ended ?? this.#features.stop(), this.#mcp.stop()]);
    /** @type {Promise<void>} */
    const stopped = parts.then(() => this.#records.close());
    this.#attempt("the token file cannot be removed", () =>
      removeIfOurs(this.#files.token, this.#token),
    );
    this.#attempt("the descriptor cannot be removed", () =>
      removeIfOurs(this.#files.descriptor, this.#descriptor),
    );
    if (this.#linkFolder) removeTempFolder(this.#linkFolder);
    return stopped;
  }

  /** @param {number} number @param {import("../lib/addon.js").HostRequest} request */
  async #answerRequest(number, request) {
    const left = new AbortController();
    this.#pending.set(number, left);
    const answer = this.requests.answer(request, left.signal);
    const isCommand = request.from === "control";
    const text = await (isCommand ? this.#shutdown.deferUntil(answer) : answer);
    this.#pending.delete(number);
    this.gateway.answerRequest(number, text);
  }

  /** @param {number} number @param {import("../lib/addon.js").TypedCommand} typed */
  async #runCommand(number, typed) {
    const { gateway } = this;
    const session = { id: typed.sessionId, cwd: typed.cwd };
    const holds = this.#holds.list();
    const parts = { features: this.#features, holds, records: this.#records.state() };
    const context = { gateway, files: this.#files, session, env: this.#parts.env, ...parts };
    // Loaded on demand: an update may have replaced the files.
    const text = await import("./slash-commands.mjs")
      .then(({ runCommand, HOST_COMMANDS }) => runCommand(HOST_COMMANDS, context, typed))
      .catch((error) => `tap: /${typed.name} cannot be run: ${errorMessage(error)}`);
    gateway.commandFinished(number, text);
  }

  /** A full disk or a read-only home costs a file, not the gateway. @param {string} problem @param {() => void} action */
  #attempt(problem, action) {
    try {
      action();
    } catch (error) {
      this.#log("error", `${problem}: ${errorMessage(error)}`);
    }
  }

  #listenLink() {
    const { link, linkFolder, descriptor } = this.#files;
    if (!linkFolder) return this.gateway.listenLink(link);
    // This process has the port, so the process that left these files has ended.
    const former = readDescriptor(descriptor);
    if (former) removeTempFolder(path.dirname(former.link));
    try {
      makePrivateFolder(linkFolder);
      fs.rmSync(link, { force: true });
      this.gateway.listenLink(link);
    } catch (error) {
      this.#linkFolder = createTempFolder(MAX_LINK_FOLDER_BYTES);
      this.#link = path.join(this.#linkFolder, "link");
      const why = errorMessage(error);
      this.#log("warning", `the link is ${this.#link}, since ${link} cannot be used: ${why}`);
      this.gateway.listenLink(this.#link);
    }
  }

  #writeDescriptor() {
    const { port, descriptor } = this.#files;
    const link = this.#link;
    this.#descriptor = `${JSON.stringify({ pid: process.pid, port, link, secret: this.#secret, version })}\n`;
    writePrivate(descriptor, this.#descriptor);
  }

  /** Called for the first session. */
  #publishToken() {
    if (this.#tokenPublished) return;
    this.#tokenPublished = true;
    this.#writeToken();
  }

  #writeToken() {
    this.#attempt("the token file cannot be written", () =>
      writePrivate(this.#files.token, this.#token),
    );
  }

  /** Rewrites a missing token, and the descriptor while this process has the port. */
  #checkFiles() {
    if (this.#tokenPublished && readIfThere(this.#files.token) === undefined) this.#writeToken();
    if (readIfThere(this.#files.descriptor) === this.#descriptor) return;
    this.#attempt("the descriptor cannot be written", () => this.#writeDescriptor());
  }

  /** Applies the whole config of the user at once. Groups that a session has stay. */
  async #checkConfig() {
    if (!this.#configStamps.update(readStamp(userConfigFile(this.#files)))) return;
    const config = await readUserConfig(this.#files);
    for (const problem of config.problems) this.#log("warning", problem);
    if (config.problems.length > 0 || this.#closed) return; // keep the last valid config
    const { toolGroups } = config;
    const hasMore = toolGroups.some((group) => !this.#config.toolGroups.includes(group));
    this.#config = config;
    this.#records.configure(config);
    this.#features.applyConfig(config);
    this.#mcp.apply(config.mcpServers ?? []);
    if (!hasMore) return;
    for (const id of this.#sessions.keys()) this.#features.setGroups(id, toolGroups);
  }
}
