// The features of this process: each has its own provider over the link, its services, and its installation. They
// are installed and removed while all others continue.

import { errorMessage } from "../lib/values.mjs";
import { truncateText } from "../lib/visible.mjs";
import { provider } from "../../sdk/node/provider.mjs";
import { evaluateConditions } from "./capability-grants.mjs";
import { Installation } from "./installation.mjs";
import { preflight } from "./preflight.mjs";
import { providerName } from "./descriptor.mjs";
import { LinkTransport } from "../../sdk/node/link.mjs";
import { toCallError } from "./results.mjs";
import { createImplementations } from "./services.mjs";
import { EventLoopMonitor } from "./event-loop-monitor.mjs";

/** @typedef {import("../features/list.mjs").Feature} Feature */
/** @typedef {import("./preflight.mjs").PreflightResult} PreflightResult */
/** @typedef {import("./gateway-requests.mjs").GatewayRequests} GatewayRequests */
/**
 * @typedef {object} StartMessage the first line that the gateway host writes
 * @property {string} link path of the gateway's link
 * @property {string} token of this process
 * @property {string} home <COPILOT_HOME>
 * @property {Record<string, boolean>} features by id: false disables a feature
 * @property {import("./capability-grants.mjs").Telemetry & {since: number}} telemetry `since`: Unix ms; no other
 *   feature host has exported the spans that were recorded since then
 * @property {readonly string[]} [gated] actions that goals gate
 * @property {number} [hangs] number of previous feature hosts in a row that were ended because they did not answer
 *
 * The present settings of features in the user's config.
 * @typedef {{features: Record<string, boolean>, recorded: boolean, gated?: readonly string[]}} FeatureConfig
 * @typedef {{installation: Installation, shape: string, close: (reason: string) => Promise<void>}} RunningFeature
 *   `shape`: the parts that depend on the config
 */

const REPORT_MS = 20;
/** Longest wait for a feature's provider to be bound. */
const CONNECT_MS = 2000;
const MAX_LINE = 100;

/** For a prompt: the CLI shows the whole text a line below. @param {string} text */
const formatFirstLine = (text) => {
  const [line] = text.split("\n", 1);
  const short = truncateText(line, MAX_LINE);
  return short === text ? text : `${short} …`;
};

/**
 * @param {import("../../sdk/node/types.js").Provider} own
 * @param {{[name in "onStarted" | "onIdle" | "onBusy" | "onPrompted"]?: (session: string) => void} &
 *   {onEnded?: (session: string) => unknown}} listeners
 *   of the feature; a session waits a moment for the promise of `onEnded`
 */
function watchSessions(own, { onStarted, onIdle, onBusy, onPrompted, onEnded }) {
  if (onStarted) own.on("session.started", ({ session }) => onStarted(session));
  if (onIdle) own.on("session.idle", ({ session }) => onIdle(session));
  // An event for features only.
  const busy = /** @type {"session.idle"} */ ("session.busy");
  if (onBusy) own.on(busy, ({ session }) => onBusy(session));
  const prompted = /** @type {"session.idle"} */ ("session.prompted");
  if (onPrompted) own.on(prompted, ({ session }) => onPrompted(session));
  if (onEnded) own.on("session.end", ({ session }) => onEnded(session));
}

/**
 * Subscribes a provider that is bound to a single session to its events. Other sessions report no events.
 * @param {import("../../sdk/node/types.js").Provider} own not connected yet
 * @param {(ended: import("../../sdk/node/types.js").Events["tool.execution_complete"]) => unknown} onToolEnded
 * @returns {Promise<{close: () => Promise<void>, context: (text: string) => Promise<void>}>} resolves when the gateway
 *   has requested the events of the session; `context`: goes with each prompt
 */
export async function followSession(own, onToolEnded) {
  const close = () => own.close();
  own.on("error", () => {}); // connect() reports it; later errors end with the session
  own.on("tool.execution_complete", onToolEnded);
  await own.connect({ signal: AbortSignal.timeout(CONNECT_MS) }).catch(async (error) => {
    await close();
    throw error;
  });
  return { close, context: (text) => own.context(text) };
}

/** The sessions that a feature follows, each with its own provider. */
class Followers {
  #name;
  #where;
  /** @type {Set<{close: () => Promise<void>}>} */
  #open = new Set();

  /** @param {string} name @param {{link: string, token: string}} where */
  constructor(name, where) {
    this.#name = name;
    this.#where = where;
  }

  /** @param {{session: string, onToolEnded: Parameters<typeof followSession>[1]}} asked */
  async follow({ session, onToolEnded }) {
    const transport = new LinkTransport(this.#where);
    const following = await followSession(
      provider(this.#name, { session, transport }),
      onToolEnded,
    );
    this.#open.add(following);
    const close = () => {
      this.#open.delete(following);
      return following.close();
    };
    return { ...following, close };
  }

  endAll() {
    return Promise.all([...this.#open].map((follower) => follower.close()));
  }
}

/**
 * @param {import("../../sdk/node/types.js").Provider} own @param {Followers} followers
 * @returns {import("./service-access.mjs").Implementations["sessions"]}
 */
const createSessionEvents = (own, followers) => ({
  watch: (listeners) => watchSessions(own, listeners),
  follow: (asked) => followers.follow(asked),
});

/** @param {PreflightResult} checked */
function formatShape({ descriptor: { hooks = [], tasks = [] }, decision: { enabled } }) {
  return JSON.stringify(enabled && [hooks, tasks]);
}

/** @param {Promise<unknown>} done @param {number} ms @returns {Promise<void>} when it is done, or after this time */
function waitAtMost(done, ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void done.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * Where the sinks of a feature lead.
 * @param {import("../../sdk/node/types.js").Provider} own @param {Promise<unknown>} isBound
 * @returns {import("./sinks.mjs").Port}
 */
function createPort(own, isBound) {
  /** `feature`: what only tap's own may say (docs/session-link.md, "provider.open"). */
  const push = (
    /** @type {string} */ stream,
    /** @type {string} */ text,
    /** @type {import("../../sdk/node/types.js").PushOptions} */ options,
    /** @type {object} */ feature = {},
  ) => isBound.then(() => own.push(stream, text, /** @type {any} */ ({ ...options, feature })));
  return {
    emit: (channel, { level, summary, detail, isWhole }, session) => {
      const how = { metadata: { level, detail }, session };
      const line = isWhole ? { display: summary } : {};
      return push(channel, summary, { level: "surface", ...how }, line);
    },
    model: (text, { level, session, traceparent, key, ...feature }) => {
      const how = { metadata: { level }, session, traceparent, key };
      return push("notify", text, { level: "inject", ...how }, feature);
    },
    withdraw: (key, session) => isBound.then(() => own.withdraw(key, { session })),
    prompt: (text, session, traceparent) => {
      const how = { prompt: text, session, traceparent };
      return push("prompt", formatFirstLine(text), { level: "inject", ...how });
    },
  };
}

export class FeatureHost {
  #startMessage;
  #requests;
  #features;
  #env;
  #monitor;
  /** @type {Map<string, RunningFeature>} */
  #running = new Map();
  /** Changes run in sequence. @type {Promise<void>} */
  #changes = Promise.resolve();
  /** @type {NodeJS.Timeout | undefined} */
  #reporting;
  #ready = false;
  /** @type {FeatureConfig} */
  #nextConfig;

  /**
   * @param {StartMessage} greeting @param {GatewayRequests} requests @param {readonly Feature[]} features
   * @param {NodeJS.ProcessEnv} env of this process
   */
  constructor(greeting, requests, features, env) {
    this.#startMessage = greeting;
    this.#env = env;
    const { features: enabled, telemetry, gated } = greeting;
    this.#nextConfig = { features: enabled, recorded: telemetry.recorded, gated };
    this.#requests = requests;
    this.#features = features.filter(({ descriptor }) => descriptor.host !== "gateway");
    this.#monitor = new EventLoopMonitor((id, ms) => {
      const text = `it blocked the event loop for ${ms} ms`;
      this.#running.get(id)?.installation.diagnostics.add(text);
    });
  }

  /** @returns {Promise<void>} once the features are installed */
  start() {
    return this.apply(this.#nextConfig).then(() => {
      this.#ready = true;
      this.#report();
    });
  }

  /**
   * Installs enabled features that are missing, removes disabled features, and reinstalls features whose hooks or
   * tasks have changed.
   * @param {FeatureConfig} config @returns {Promise<void>}
   */
  apply(config) {
    this.#nextConfig = config; // replaces a config that was not applied yet
    this.#changes = this.#changes.then(() => this.#apply(this.#nextConfig)).catch(() => {});
    return this.#changes;
  }

  /** @param {FeatureConfig} config */
  async #apply({ features, recorded, gated }) {
    const telemetry = { ...this.#startMessage.telemetry, recorded };
    const candidates = this.#features.map(({ descriptor }) => ({
      descriptor,
      origin: "tap itself",
    }));
    const conditions = evaluateConditions(telemetry, gated);
    const changed = preflight(candidates, { features, conditions }).filter(
      (checked) => this.#running.get(checked.descriptor.id)?.shape !== formatShape(checked),
    );
    await Promise.all(
      changed.map(async (checked) => {
        const { id } = checked.descriptor;
        const former = this.#running.get(id);
        const { enabled } = checked.decision;
        await former?.close(enabled ? "your config has changed" : "the feature was disabled");
        const since = former ? Date.now() : telemetry.since;
        const { running, started } = this.#install(checked, { ...telemetry, since });
        running.installation.diagnostics.prepend(former?.installation.diagnostics.list());
        this.#running.set(id, running);
        await started;
      }),
    );
    this.#report();
  }

  /**
   * @param {PreflightResult} checked @param {StartMessage["telemetry"]} telemetry
   * @returns {{running: RunningFeature, started: Promise<unknown>}}
   */
  #install(checked, telemetry) {
    const { id } = checked.descriptor;
    const { link, token, home, hangs = 0 } = this.#startMessage;
    const { implementations, files, endProcesses } = createImplementations(
      id,
      { home, telemetry, env: this.#env },
      this.#requests,
      (work) => this.#monitor.leave(work),
    );
    const own = provider(providerName(id), {
      session: "all",
      transport: new LinkTransport({ link, token }),
    });
    const followers = new Followers(`${providerName(id)}-session`, { link, token });
    Object.assign(implementations.sessions, createSessionEvents(own, followers));
    // Pushes of a feature that is starting wait until its provider is bound.
    /** @type {() => void} */
    let bound = () => {};
    const isBound = new Promise((resolve) => (bound = () => resolve(undefined)));
    const installation = new Installation(checked, {
      provider: own,
      sinks: createPort(own, isBound),
      ...{ implementations, hangs },
      overflow: async (text, { session, tool }) => files.keep(text, tool, session),
      failure: toCallError,
      enter: (work) => this.#monitor.enter(id, work),
      endProcesses,
      onDiagnostic: () => this.#report(),
    });
    own.on("error", (error) => installation.diagnostics.add(error.message));
    const close = async (/** @type {string} */ reason) => {
      const closed = own.close(reason); // its calls end at once
      await installation.stop(reason);
      await Promise.all([closed, followers.endAll()]);
      const timers = this.#monitor.clearTimers(id);
      if (timers > 0) installation.diagnostics.add(`it left ${timers} timers running: ended`);
    };
    const started = installation
      .start(() => this.#findInstall(id))
      .then(() => {
        const { tools, hooks, channels } = installation.report();
        const says = tools.length + hooks.length + channels.length > 0;
        const connected = says ? own.connect().catch(() => {}) : Promise.resolve();
        void connected.then(bound);
        this.#report();
        // Callers that wait for the features find their tools.
        return waitAtMost(connected, CONNECT_MS);
      });
    return { running: { installation, shape: formatShape(checked), close }, started };
  }

  /** @param {string} id */
  #findInstall(id) {
    const feature = this.#features.find(({ descriptor }) => descriptor.id === id);
    return /** @type {Feature} */ (feature).install;
  }

  /**
   * Handles an uncaught exception.
   * @param {unknown} error @returns {boolean} whether a feature caused it, whose report then has it
   */
  handleUncaught(error) {
    const running = this.#running.get(this.#monitor.owner() ?? "");
    running?.installation.diagnostics.add(`it threw an uncaught exception: ${errorMessage(error)}`);
    return running !== undefined;
  }

  /** Reports the features to the gateway host; simultaneous changes are reported together. */
  #report() {
    if (!this.#ready) return;
    this.#reporting ??= setTimeout(() => {
      this.#reporting = undefined;
      const { rss } = process.memoryUsage();
      const message = { reports: this.reports(), pid: process.pid, rss };
      this.#requests.request("features.report", message).catch(() => {});
    }, REPORT_MS);
  }

  reports() {
    return [...this.#running.values()].map(({ installation }) => installation.report());
  }

  /**
   * Runs a slash command.
   * @param {{name: string, arguments: string, session: {id: string, cwd: string}}} typed
   * @param {AbortSignal} [left] the client has left
   * @returns {Promise<string>} rejects if it fails
   */
  async command({ name, arguments: args, session }, left) {
    for (const { installation } of this.#running.values()) {
      const run = installation.command(name);
      if (run) return run({ args, session, left });
    }
    throw new Error(`no feature has the command ${name}`);
  }

  /** @param {string} reason @returns {Promise<void>} when all have ended */
  async stop(reason) {
    clearTimeout(this.#reporting);
    this.#ready = false;
    await Promise.all([...this.#running.values()].map(({ close }) => close(reason)));
    this.#monitor.stop();
  }
}
