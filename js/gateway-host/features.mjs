// The features of this gateway: their switches in the config and by the user, and their reports.

import { evaluateConditions } from "../feature-host/capability-grants.mjs";
import { createPendingReport, readReport } from "../feature-host/report.mjs";
import { FEATURES } from "../features/list.mjs";
import { telemetryVariables } from "../lib/telemetry.mjs";
import { errorMessage } from "../lib/values.mjs";
import { visible } from "../lib/visible.mjs";
import { ConfigFeatures } from "./config-features.mjs";
import {
  FeatureHostFailed,
  FeatureHostNotReady,
  FeatureHostRpc,
  Readiness,
} from "./feature-host-rpc.mjs";
import { checkBuiltins, isResident, ResidentFeatures } from "./resident-features.mjs";

/** @typedef {import("../features/list.mjs").Feature} Feature */
/** @typedef {import("../config/user-config.mjs").UserConfig} UserConfig */
/** @typedef {import("../lib/addon.js").Gateway} Gateway */
/** @typedef {import("../lib/log.mjs").Log} Log */
/** @typedef {import("../feature-host/report.mjs").Report} Report */
/** @typedef {import("../feature-host/descriptor.mjs").Descriptor} Descriptor */
/** @typedef {import("../feature-host/preflight.mjs").PreflightResult} Checked */
/** @typedef {import("./feature-host-process.mjs").FeatureHostRun} FeatureHostRun */

/** @param {readonly Feature[]} features */
const listIds = (features) => features.map(({ descriptor }) => descriptor.id);

/**
 * @param {unknown} id @param {readonly Feature[]} features @param {readonly string[]} others ids that configs name
 * @param {string} [advice] added if there is no such feature
 * @throws RangeError if there is no such feature, or it cannot be disabled
 */
export function requireSwitchable(id, features, others, advice = "") {
  const feature = features.find(({ descriptor }) => descriptor.id === id);
  if (feature?.fixed !== undefined) throw new RangeError(`${id} is always on: ${feature.fixed}`);
  if (feature || others.includes(String(id))) return;
  const known = [...new Set([...listIds(features), ...others])]
    .map((name) => visible(name))
    .join(", ");
  const problem = `there is no feature "${visible(String(id))}"; there are: ${known}`;
  throw new RangeError(advice ? `${problem}\n${advice}` : problem);
}

/** Removes features that cannot be disabled. @param {Record<string, boolean>} enabled by id @param {readonly Feature[]} features */
export function filterSwitchable(enabled, features) {
  const fixed = listIds(features.filter((feature) => feature.fixed !== undefined));
  return Object.fromEntries(Object.entries(enabled).filter(([id]) => !fixed.includes(id)));
}

/**
 * Unknown features in the user's config. For entries of projects the project's session reports them.
 * @param {Pick<UserConfig, "features" | "providers" | "declarative" | "emitters" | "mcpServers">} config @param {readonly Feature[]}
 *   features
 * @returns {string[]} texts for people
 */
export function findUnknownSwitches({ features: enabled, ...config }, features) {
  const own = [...config.providers, ...config.declarative, ...config.emitters];
  const bridges = (config.mcpServers ?? []).map(({ name }) => `mcp:${name}`);
  const known = [...listIds(features), ...own.map(({ name }) => `user:${name}`), ...bridges];
  const isUnknown = (/** @type {string} */ id) => !id.startsWith("project:") && !known.includes(id);
  return Object.keys(enabled)
    .filter(isUnknown)
    .map(
      (id) =>
        `features: there is no feature ${visible(id)}; there are ${known.map((name) => visible(name)).join(", ")}`,
    );
}

// The features of this gateway: resident features, and features of the feature host, which is started at the first
// need. The list defines the features.

/** @typedef {{name: string, description: string, tools: string[]}} ToolGroup */
/** @typedef {(groups: ToolGroup[]) => void} GroupsListener */

/** How long a need waits for the feature host: the limit of a restart, and a margin for a busy machine. */
const READY_MS = 5000;
/** The same for the model: repeating its call of tap_tools would take longer, and cost tokens. */
const OPEN_MS = 10_000;
const PING_MS = 15_000;
/** After this many pings without a first report, a starting feature host counts as hanging. */
const MAX_SILENT_PINGS = 3;
/** After this many answers in a row, its earlier hangs are ignored. */
const MIN_ANSWERED_PINGS = 4;
const COMMAND_MS = 25_000;

/** @param {Descriptor} descriptor whether it works without a request */
const isEager = ({ tasks = [], hooks = [] }) => tasks.length + hooks.length > 0;

export class HostFeatures {
  /** The features of configs. */
  configFeatures;
  #options;
  #features;
  #resident;
  /** By id; a missing id is enabled. @type {Record<string, boolean>} */
  #enabled;
  /** @type {FeatureHostRun | undefined} */
  #host;
  /** @type {Promise<void> | undefined} */
  #starting;
  /** @type {Map<string, Report>} */
  #reports = new Map();
  /** @type {import("../feature-host/capability-grants.mjs").Telemetry} */
  #telemetry = { variables: {}, recorded: true };
  /** @type {readonly string[]} */
  #goalGates = [];
  /** When the feature host was needed, or the last feature host ended: Unix ms. */
  #since = 0;
  #rss = 0;
  #trouble = "";
  #readiness = new Readiness();
  #ready = false;
  #rpc = new FeatureHostRpc((message) => this.#host?.send(message));
  /** @type {NodeJS.Timeout | undefined} */
  #pings;
  /** For the present pid: pings without a report, and answers in a row. */
  #watched = { pid: 0, silent: 0, answered: 0 };
  /** Number of feature hosts in a row that were ended because they did not answer. */
  #hangs = 0;
  #closed = false;
  /** @type {GroupsListener} */
  #onGroups = () => {};

  /**
   * @param {object} options
   * @param {Gateway} options.gateway @param {Log} options.log
   * @param {import("../lib/paths.mjs").GatewayFiles} options.files
   * @param {() => string} options.link path of the link
   * @param {import("../feature-host/service-access.mjs").Implementations} options.services of resident features
   * @param {UserConfig} options.config the user's
   * @param {NodeJS.ProcessEnv} options.env of this process
   * @param {() => import("./project-providers.mjs").EntryState[]} options.entries entries of configs
   * @param {() => Report[]} [options.bridges] of MCP servers
   * @param {() => void} [options.onApplied] the set of working features has changed
   * @param {readonly Feature[]} [options.features] replaced in tests
   * @param {number} [options.pingMs] replaced in tests
   * @param {import("./feature-host-process.mjs").ImportFeatureHost} options.importFeatureHost
   */
  constructor(options) {
    this.#options = options;
    this.configFeatures = new ConfigFeatures(options);
    this.#features = options.features ?? FEATURES;
    this.#enabled = filterSwitchable(options.config.features, this.#features);
    this.#reportUnknownSwitches(options.config);
    this.#readConditions(options.config);
    const services = {
      ...options.services,
      features: { report: () => this.reports() },
      groups: {
        list: (/** @type {GroupsListener | undefined} */ onChange) => {
          if (onChange) this.#onGroups = onChange;
          return this.groups();
        },
        open: (/** @type {string} */ session, /** @type {string[]} */ names) =>
          this.#openGroups(session, names),
      },
    };
    this.#disableTools();
    const { gateway, log, files } = options;
    this.#resident = new ResidentFeatures(gateway, log, services, this.#features, files.home);
    this.#resident.start(this.#enabled);
  }

  get #pingMs() {
    return this.#options.pingMs ?? PING_MS;
  }

  /** The features of the feature host. */
  get #hostedFeatures() {
    return this.#features.filter((feature) => !isResident(feature));
  }

  // ---- reports -------------------------------------------------------------------------------------

  /** @returns {Report[]} built-in features in the list's order, then those of configs and of MCP servers */
  reports() {
    const bridges = this.#options.bridges?.() ?? [];
    return [...this.#listBuiltinReports(), ...this.configFeatures.reports(), ...bridges];
  }

  /** @returns {Report[]} */
  #listBuiltinReports() {
    const resident = new Map(this.#resident.reports().map((report) => [report.id, report]));
    return this.#checkFeatures().flatMap((checked) => {
      const report = resident.get(checked.descriptor.id) ?? this.#getHostedReport(checked);
      return report ? [report] : [];
    });
  }

  #checkFeatures() {
    const conditions = evaluateConditions(this.#telemetry, this.#goalGates);
    return checkBuiltins(this.#features, this.#enabled, conditions);
  }

  /** The expected report from its descriptor, until the feature host reports. @param {Checked} checked */
  #getHostedReport({ descriptor, skipped }) {
    const enabled = this.#enabled[descriptor.id] !== false;
    const reported = this.#reports.get(descriptor.id);
    if (this.#ready && reported?.enabled === enabled) return reported;
    return createPendingReport(descriptor, { enabled, skipped, trouble: this.#trouble });
  }

  /** @returns {import("./feature-host-process.mjs").FeatureHostState} */
  hostState() {
    const trouble = this.#trouble ? { trouble: this.#trouble } : {};
    if (!this.#host) return { state: "idle", ...trouble };
    return { ...this.#host.status(), ...(this.#rss > 0 && { rss: this.#rss }), ...trouble };
  }

  /** The tool groups of enabled features, each with the description of its first tool. @returns {ToolGroup[]} */
  groups() {
    const all = this.#checkFeatures().filter(
      ({ decision }) => decision.enabled && !decision.obstacle,
    );
    return all.flatMap(({ descriptor: { tools = [] } }) => {
      const names = [...new Set(tools.flatMap(({ group }) => group ?? []))];
      return names.map((name) => {
        const own = tools.filter(({ group }) => group === name);
        const [description] = own[0].description.split(". ", 1);
        return { name, description, tools: own.map((tool) => tool.name) };
      });
    });
  }

  /**
   * Opens the groups of a config. A session can have only a few, so unknown names are not stored.
   * @param {string} session @param {readonly string[]} wanted
   */
  setGroups(session, wanted) {
    const all = this.#features.flatMap(({ descriptor: { tools = [] } }) =>
      tools.map(({ group }) => group),
    );
    const names = [...new Set(wanted)].filter((name) => all.includes(name));
    const unknown = wanted.filter((name) => !all.includes(name));
    if (unknown.length > 0) {
      const known = [...new Set(all.filter((name) => name !== undefined))].join(", ");
      const text = `toolGroups: there is no group ${unknown.join(", ")}; there are ${known}`;
      this.#options.log("warning", text);
    }
    this.#options.gateway.setGroups(session, names);
    this.sessionOpened(this.#listOpenGroups(session));
  }

  /** The groups of its config, and groups that it has from an earlier gateway. @param {string} session */
  #listOpenGroups(session) {
    const { sessions } = JSON.parse(this.#options.gateway.inspect());
    const found = sessions.find((/** @type {{id: string}} */ { id }) => id === session);
    const groups = /** @type {{name: string, on: boolean}[]} */ (found?.groups ?? []);
    return groups.filter(({ on }) => on).map(({ name }) => name);
  }

  /** @param {string} session @param {string[]} names @returns {Promise<import("../lib/addon.js").OpenedGroups>} */
  async #openGroups(session, names) {
    const hosted = this.#hostedFeatures.some(({ descriptor }) =>
      descriptor.tools?.some(({ group }) => group !== undefined && names.includes(group)),
    );
    if (hosted) {
      // The group stays open. Its tools are added when the feature host is ready.
      await this.ensureHostReady(OPEN_MS).catch((error) => {
        if (!(error instanceof FeatureHostNotReady)) throw error;
      });
    }
    return this.#options.gateway.openGroups(session, names);
  }

  // ---- changes -------------------------------------------------------------------------------------

  /**
   * @param {unknown} id @param {readonly string[]} named by configs @param {string} [advice] added if there is no such
   *   feature
   * @throws RangeError if there is no such feature, or it cannot be disabled
   */
  requireSwitchable(id, named, advice) {
    const seen = this.#options.entries().map((entry) => entry.id);
    const others = new Set([...seen, ...named, ...Object.keys(this.#enabled)]);
    requireSwitchable(id, this.#features, [...others], advice);
  }

  isOn = (/** @type {string} */ id) => this.#enabled[id] !== false;

  /** @param {UserConfig} config the user's present config */
  applyConfig(config) {
    this.#reportUnknownSwitches(config);
    this.#readConditions(config);
    this.apply(config.features);
  }

  /** Reads the conditions of tasks and hooks. @param {UserConfig} config */
  #readConditions({ records = true, spans = true, goals }) {
    this.#goalGates = goals?.gate ?? [];
    const variables = telemetryVariables(this.#options.env);
    this.#telemetry = { variables, recorded: records && spans };
  }

  /** @param {UserConfig} config */
  #reportUnknownSwitches(config) {
    for (const problem of findUnknownSwitches(config, this.#features)) {
      this.#options.log("warning", problem);
    }
  }

  /** The ids of the features that may hold this gateway: those of the feature host. */
  get hostedIds() {
    return this.#hostedFeatures.map(({ descriptor }) => descriptor.id);
  }

  /** @param {Record<string, boolean>} enabled by id: from the user's present config */
  apply(enabled) {
    this.#enabled = filterSwitchable(enabled, this.#features);
    this.#disableTools();
    this.#resident.apply(this.#enabled);
    this.#onGroups(this.groups());
    const { recorded } = this.#telemetry;
    this.#host?.send({ type: "apply", features: this.#enabled, recorded, gated: this.#goalGates });
    this.#ensureHostForSessions();
    this.#options.onApplied?.();
  }

  /** Newly enabled features may work without a request, or have an open group. */
  #ensureHostForSessions() {
    const { sessions } = JSON.parse(this.#options.gateway.inspect());
    for (const { id } of sessions) this.sessionOpened(this.#listOpenGroups(id));
  }

  /** Calls of disabled tools get an error with the reason. */
  #disableTools() {
    for (const { id, tools = [] } of this.#features.map(({ descriptor }) => descriptor)) {
      const names = this.#enabled[id] === false ? tools.map(({ name }) => name) : [];
      this.#options.gateway.disableTools(id, names);
    }
  }

  // ---- the feature host ----------------------------------------------------------------------------

  /** A session has started: features that work without a request are needed. @param {readonly string[]} [groups] its open groups */
  sessionOpened(groups = []) {
    const on = this.#checkFeatures().filter(
      ({ descriptor, decision }) => descriptor.host !== "gateway" && decision.enabled,
    );
    const needed = on.some(
      ({ descriptor }) =>
        isEager(descriptor) ||
        descriptor.tools?.some(({ group }) => group !== undefined && groups.includes(group)),
    );
    if (needed) void this.ensureHostReady().catch(() => {});
  }

  /**
   * Starts the feature host if it does not run.
   * @param {number} [mostMs]
   * @returns {Promise<void>} when its features are installed; rejects with FeatureHostNotReady after a timeout
   */
  async ensureHostReady(mostMs = READY_MS) {
    if (this.#closed) throw new Error("the gateway ends");
    if (this.#ready) return;
    this.#starting ??= this.#start();
    await this.#starting;
    if (this.#host?.status().state === "failed") throw new FeatureHostFailed(this.#trouble);
    if (!this.#ready) await this.#readiness.wait(mostMs, () => this.#trouble);
  }

  async #start() {
    const { gateway, files, link, log, env } = this.#options;
    this.#since = Date.now();
    try {
      const { FeatureHostProcess } = await this.#options.importFeatureHost();
      if (this.#closed) return;
      this.#host = new FeatureHostProcess({
        files,
        env,
        issueToken: () => gateway.issueFeatureToken(),
        revokeToken: (token) => {
          this.#ready = false;
          this.#since = Date.now();
          this.#rss = 0;
          gateway.revokeFeatureToken(token);
          this.#rpc.settleAll("the feature host has ended");
        },
        greeting: (token) => ({
          link: link(),
          token,
          home: files.home,
          features: this.#enabled,
          telemetry: { ...this.#telemetry, since: this.#since },
          gated: this.#goalGates,
          hangs: this.#hangs,
        }),
        onMessage: (level, text) => {
          // Its state has the time of the restart.
          this.#trouble = text.replace(/^tap: /, "").replace(/; it is restarted in [\d.]+ s$/, "");
          log(level, text);
          if (level !== "error") return;
          this.#readiness.settle(new FeatureHostFailed(this.#trouble));
          this.#options.onApplied?.();
        },
      });
      this.#host.start();
      this.#pings = setInterval(() => void this.#ping(), this.#pingMs);
      this.#pings.unref();
    } catch (error) {
      this.#starting = undefined;
      this.#trouble = `the feature host cannot be started: ${errorMessage(error)}`;
      log("error", this.#trouble);
      this.#options.onApplied?.();
      throw new Error(this.#trouble, { cause: error });
    }
  }

  /** The feature host's own report. @param {any} message unvalidated */
  receiveReports({ reports, rss }) {
    const read = (Array.isArray(reports) ? reports : []).flatMap(
      (report) => readReport(report) ?? [],
    );
    const known = read.filter(({ id }) => this.hostedIds.includes(id));
    this.#reports = new Map(known.map((report) => [report.id, report]));
    this.#rss = Number.isSafeInteger(rss) ? rss : 0;
    this.#ready = true;
    this.#readiness.settle();
  }

  /** Ends a feature host that hangs, or does not become ready; its supervisor restarts it. */
  async #ping() {
    const { pid } = this.#host?.status() ?? {};
    if (pid === undefined) return;
    if (this.#watched.pid !== pid) this.#watched = { pid, silent: 0, answered: 0 };
    const watched = this.#watched;
    if (!this.#ready) {
      watched.silent += 1;
      if (watched.silent < MAX_SILENT_PINGS) return;
    } else {
      const answered = await this.#rpc
        .request({ type: "ping" }, this.#pingMs - this.#pingMs / 15)
        .then(() => true)
        .catch(() => false);
      watched.answered += 1;
      if (answered && watched.answered >= MIN_ANSWERED_PINGS) this.#hangs = 0;
      if (answered || this.#host?.status().pid !== pid || !this.#ready) return;
    }
    const seconds = (this.#pingMs * (this.#ready ? 1 : MAX_SILENT_PINGS)) / 1000;
    const action = this.#ready ? "answer" : "become ready";
    this.#trouble = `the feature host did not ${action} for ${seconds} s and was ended`;
    this.#options.log("error", this.#trouble);
    this.#hangs += 1;
    process.kill(pid, "SIGKILL");
  }

  /** Handles an answer of the feature host. @param {{number: number, text: string}} answer */
  receiveAnswer(answer) {
    this.#rpc.settle(answer);
  }

  // ---- slash commands ------------------------------------------------------------------------------

  /**
   * @param {string} name @param {number} [mostMs] the limit for its answer
   * @returns {import("../feature-host/installation.mjs").RunCommand | undefined} undefined: no feature has it
   */
  command(name, mostMs = COMMAND_MS) {
    const own = this.#resident.command(name);
    if (own) return own;
    const hosted = this.#hostedFeatures.find(({ descriptor }) =>
      descriptor.commands?.some((command) => command.name === name),
    );
    if (!hosted) return undefined;
    const { id } = hosted.descriptor;
    return async ({ args, session, left }) => {
      if (this.#enabled[id] === false) return `tap: ${id} is disabled`;
      await this.ensureHostReady();
      const message = { type: "command", name, arguments: args, session };
      return this.#rpc.request(message, mostMs, left);
    };
  }

  /** @returns {Promise<void>} when all have ended */
  async stop() {
    this.#closed = true;
    clearInterval(this.#pings);
    this.#rpc.settleAll("the gateway ends");
    await Promise.all([this.#resident.stop(), this.#host?.stop()]);
  }
}
