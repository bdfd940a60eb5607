// Runs the entries of configs for sessions: the programs and the rules of a tap.config.json exist as long as the
// session and the user's consent to each entry; entries of the user's own config need no consent. The files are read
// at the start of a session, and again at each change of them or of consent. Entries that are removed from the user's
// config, or disabled by the user, end. A changed entry of a project keeps its former version until the user allows
// the new version, and a removed entry of a project continues until the session ends.
// project-sessions.mjs starts the scans.

import path from "node:path";
import { wrapInQuotes, visible } from "../lib/visible.mjs";
import { Diagnostics } from "../feature-host/report.mjs";
import { Supervisor } from "../process/supervisor.mjs";
import { userConfigFile } from "../config/file.mjs";
import { loadProjectConfig, loadUserConfig } from "../config/load.mjs";
import { toPlanned } from "../watch/plan.mjs";
import { consentNotice, listEntries, isAllowed } from "../config/consent.mjs";
import { isOn } from "../config/user-config.mjs";

/** @typedef {import("../config/load.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("../config/load.mjs").ProviderConfig} ProviderConfig */
/** @typedef {import("../config/load.mjs").Owner} Owner */
/** @typedef {import("../config/consent.mjs").Entry} Entry */
/** @typedef {import("../process/supervisor.mjs").SandboxUse} SandboxUse */
/** @typedef {import("./project-sessions.mjs").SessionGateway} Tokens */
/**
 * A running entry.
 * @typedef {{owner: Owner, file: string, entry: Entry, said?: Diagnostics, sandbox?: () => SandboxUse,
 *   stop: (how?: {revoked?: boolean}) => Promise<void>}} RunningEntry
 *
 * @typedef {object} ProjectSession
 * @property {string} id
 * @property {string} cwd
 * @property {string} [stamp] of its config's files
 * @property {boolean} [quiet] the present scan shows no notices
 * @property {Set<string>} [told] notices that were shown
 * @property {boolean} [failed] the notice that this module cannot be loaded was shown
 * @property {Map<string, RunningEntry>} [running]
 *
 * Installs rules and context for a session.
 * @typedef {(session: {id: string}, owner: Owner, entry: Extract<Entry, {kind: "declarative"}>) => () => Promise<void>}
 *   Declare
 *
 * The other effects of configs on this process. `setGroups`: opens tool groups of a session. `env`: of
 * this process.
 * @typedef {{declare: Declare, needHosted: () => void, setGroups: (session: {id: string}, names: string[]) => void,
 *   env?: NodeJS.ProcessEnv}} ConfigHost
 *
 * @typedef {{id: string, runtime: string, session: string, name: string, state: "running" | "waiting" | "disabled",
 *   file: string, said: () => import("../feature-host/report.mjs").Diagnostic[], sandbox: () => SandboxUse}} EntryState
 *   `waiting`: for the user's consent
 */

/** @param {string} file @param {Pick<Entry, "kind" | "name">} entry */
const entryKey = (file, { kind, name }) => `${file}\0${kind}\0${name}`;

export class ProjectProviders {
  #gateway;
  #files;
  #store;
  #host;
  /** By entry: two runs of the same provider could conflict. @type {Map<string, Promise<void>>} */
  #stopping = new Map();
  /** The results of the last scan. @type {Map<string, EntryState[]>} */
  #states = new Map();
  /** The `features` of the user's last valid config. @type {Record<string, boolean>} */
  #switches = {};
  /** The fallback of the user's last valid config, for machines without a sandbox. @type {import("../process/entry-sandbox.mjs").Fallback | undefined} */
  #fallback;

  /**
   * @param {Tokens} gateway @param {import("../lib/paths.mjs").GatewayFiles} files
   * @param {string} store the user's consent @param {ConfigHost} host
   */
  constructor(gateway, files, store, host) {
    this.#gateway = gateway;
    this.#files = files;
    this.#store = store;
    this.#host = host;
  }

  /**
   * Called when the session has started, or a config or the user's consent has changed.
   * @param {ProjectSession} session @param {{quiet?: boolean}} [how] `quiet`: without notices about entries that wait
   *   for consent
   */
  scan(session, { quiet = false } = {}) {
    session.running ??= new Map();
    session.quiet = quiet;
    this.#states.set(session.id, []);
    const config = loadProjectConfig(session.cwd);
    const own = loadUserConfig(userConfigFile(this.#files));
    if (!own || own.result.ok) this.#switches = own?.result.ok ? own.result.features : {};
    if (own?.result.ok !== false) this.#fallback = own?.result.sandbox?.fallback;
    this.#stopRevoked(session, session.running, config);
    this.#stopRemoved(session, session.running, { project: config, user: own });
    if (config) this.#scanConfig(session, "project", config);
    if (own) this.#scanConfig(session, "user", own);
  }

  /** @param {ProjectSession} session */
  endSession(session) {
    this.#states.delete(session.id);
    for (const key of [...(session.running?.keys() ?? [])]) void this.#stop(session, key);
  }

  /** @returns {Promise<void>} when all stopped entries have ended */
  async waitForStops() {
    await Promise.all(this.#stopping.values());
  }

  /** @returns {EntryState[]} of all sessions */
  states() {
    return [...this.#states.values()].flat();
  }

  /** @param {ProjectSession} session @param {Owner} owner @param {LoadedConfig} config */
  #scanConfig(session, owner, config) {
    const { file, digest, result } = config;
    if (result.ok === false)
      return this.#reportMistakes(session, { file, digest }, result.problems);
    this.#getNotified(session).delete(`mistakes ${file}`);
    if (owner === "project") this.#openGroups(session, result.toolGroups);
    const all = listEntries(result);
    // Nothing runs because of an entry of a tool.
    const isTool = (/** @type {Entry} */ { kind }) => kind === "tool";
    const entries = all.filter((entry) => !isTool(entry));
    const on = entries.filter(({ name }) => this.#isOn(owner, result, name));
    const allowed = on.filter((entry) => this.#isAllowed(owner, config, entry));
    for (const entry of allowed) void this.#start(session, owner, config, entry);
    const waiting = on.filter(
      (entry) => !allowed.includes(entry) && !this.#isRunning(session, file, entry),
    );
    const off = entries.filter((entry) => !on.includes(entry));
    const add = (/** @type {Entry[]} */ some, /** @type {EntryState["state"]} */ state) =>
      this.#addStates(session, { owner, file, state }, some);
    add(allowed, "running");
    add(waiting, "waiting");
    const isRunning = (/** @type {Entry} */ entry) => this.#isRunning(session, file, entry);
    add(off.filter(isRunning), "running");
    add(
      off.filter((entry) => !isRunning(entry)),
      "disabled",
    );
    if (owner === "project") this.#reportUnknown(session, file, result);
    waiting.push(...all.filter((one) => isTool(one) && !this.#isAllowed(owner, config, one)));
    if (waiting.length === 0) return;
    const names = waiting.map((entry) => entry.digest).join();
    // With the commands that would run.
    const shown = waiting.map((entry) =>
      entry.kind === "emitter"
        ? { ...entry, config: toPlanned(entry.config, path.dirname(file), result.tools) }
        : entry,
    );
    const text = consentNotice(file, shown, this.#host.env);
    this.#notifyOnce(session, `${file} ${names}`, "warning", text);
  }

  /** @param {ProjectSession} session @param {{owner: Owner, file: string, state: EntryState["state"]}} of @param {Entry[]} some */
  #addStates({ id: session, running }, { owner, file, state }, some) {
    const states = some.map((entry) => ({
      ...{
        id: `${owner}:${entry.name}`,
        runtime: entry.kind,
        session,
        name: entry.name,
        state,
        file,
      },
      said: () => running?.get(entryKey(file, entry))?.said?.list() ?? [],
      sandbox: () => running?.get(entryKey(file, entry))?.sandbox?.(),
    }));
    this.#states.get(session)?.push(...states);
  }

  /** @param {Owner} owner @param {import("../config/load.mjs").Config} result @param {string} name of an entry */
  #isOn(owner, { features }, name) {
    return isOn(`${owner}:${name}`, features, this.#switches);
  }

  /** Open groups stay open. @param {ProjectSession} session @param {string[]} groups */
  #openGroups(session, groups) {
    const key = `groups ${groups.join()}`;
    if (groups.length === 0 || this.#getNotified(session).has(key)) return;
    this.#getNotified(session).add(key);
    this.#host.setGroups(session, groups);
  }

  /** @param {ProjectSession} session @param {string} file @param {import("../config/load.mjs").Config} result */
  #reportUnknown(session, file, result) {
    const known = listEntries(result).map(({ name }) => `project:${name}`);
    const unknown = Object.keys(result.features).filter((id) => !known.includes(id));
    if (unknown.length === 0) return;
    const text = `tap: "features" of ${visible(file)} names unknown features: ${visible(unknown.join(", "))}`;
    this.#notifyOnce(session, text, "warning", text);
  }

  /** @param {ProjectSession} session @param {string} file @param {Entry} entry */
  #isRunning(session, file, entry) {
    return session.running?.get(entryKey(file, entry))?.entry.digest === entry.digest;
  }

  /**
   * Stops entries that are no longer in their config, that have an allowed new version, or that are disabled. While
   * the config has mistakes, all entries continue.
   * @param {ProjectSession} session @param {Map<string, RunningEntry>} running
   * @param {Record<Owner, LoadedConfig | undefined>} configs
   */
  #stopRemoved(session, running, configs) {
    for (const [key, { owner, file, entry }] of running) {
      const config = configs[owner];
      if (config?.result.ok === false) continue;
      const result = config?.file === file && config.result.ok ? config.result : undefined;
      const now =
        result && listEntries(result).find((candidate) => entryKey(file, candidate) === key);
      if (!now || !result || !this.#isOn(owner, result, now.name)) {
        this.#stopUnwanted(session, key, { owner, file, entry, isNamed: now !== undefined });
      } else if (now.digest !== entry.digest && this.#isAllowed(owner, config, now)) {
        void this.#stop(session, key); // its rules hold until its successor has started
      }
    }
  }

  /**
   * The agent can write a project's file, and must not remove a guard with that: its entry continues until the session
   * ends, or the user disables it.
   * @param {ProjectSession} session @param {string} key
   * @param {{owner: Owner, file: string, entry: Entry, isNamed: boolean}} of
   */
  #stopUnwanted(session, key, { owner, file, entry, isNamed }) {
    const { name, digest } = entry;
    const id = `${owner}:${name}`;
    const ends = owner === "user" || this.#switches[id] === false;
    if (ends) void this.#stop(session, key, { revoked: true });
    else if (!isNamed) {
      this.#addStates(session, { owner, file, state: "running" }, [entry]);
    }
    const about = `unwanted ${key} ${digest}`;
    if ((ends && isNamed) || this.#getNotified(session).has(about)) return;
    this.#getNotified(session).add(about);
    const change = isNamed ? "disables" : "does not name";
    const then = ends
      ? "it is stopped"
      : `it continues until the session ends; copilot-tap features disable ${visible(id)} stops it`;
    const text = `tap: ${visible(file)} ${change} ${wrapInQuotes(visible(name))}${isNamed ? "" : " any more"}: ${then}`;
    this.#gateway.tellTimeline(session.id, "info", text);
  }

  /** @param {Owner} owner @param {LoadedConfig | undefined} config @param {Entry} entry */
  #isAllowed(owner, config, entry) {
    return owner === "user" || (config !== undefined && isAllowed(this.#store, config.file, entry));
  }

  /**
   * @param {ProjectSession} session @param {Map<string, RunningEntry>} running @param {LoadedConfig} [config]
   */
  #stopRevoked(session, running, config) {
    const revoked = [...running].filter(
      ([, { owner, file, entry }]) => owner === "project" && !isAllowed(this.#store, file, entry),
    );
    for (const file of new Set(revoked.map(([, entry]) => entry.file))) {
      const text = `tap: ${visible(file)} is no longer allowed: its entries are stopped`;
      this.#gateway.tellTimeline(session.id, "warning", text);
      this.#getNotified(session).add(`${file} ${this.#waitingNames(file, config)}`);
    }
    for (const [key] of revoked) void this.#stop(session, key, { revoked: true });
  }

  /** For the next notice about a revoked config. @param {string} file @param {LoadedConfig} [config] */
  #waitingNames(file, config) {
    if (config?.file !== file || !config.result.ok) return "";
    return listEntries(config.result)
      .filter((entry) => !isAllowed(this.#store, file, entry))
      .map(({ digest }) => digest)
      .join();
  }

  /** @param {ProjectSession} session @param {Owner} owner @param {LoadedConfig} config @param {Entry} entry */
  async #start(session, owner, config, entry) {
    const { file } = config;
    if (this.#isRunning(session, file, entry)) return;
    const key = entryKey(file, entry);
    if (entry.kind === "declarative") {
      const stop = this.#installRules(session, owner, entry, this.#stopping.get(key));
      session.running?.set(key, { owner, file, entry, stop });
      return;
    }
    // The feature host runs emitters, and checks consent by requests (js/gateway-host/requests.mjs).
    if (entry.kind !== "external-process") {
      this.#host.needHosted();
      session.running?.set(key, { owner, file, entry, stop: async () => {} });
      return;
    }
    const workspace = config.folder ?? session.cwd;
    const said = new Diagnostics();
    const supervisor = this.#createSupervisor(session, workspace, [entry.config], said);
    const stop = (/** @type {{revoked?: boolean} | undefined} */ how) => supervisor.stop(how);
    const sandbox = () => supervisor.status()[0].sandbox;
    session.running?.set(key, { owner, file, entry, said, sandbox, stop });
    await this.#stopping.get(key);
    supervisor.start(); // has no effect if it was stopped meanwhile
  }

  /**
   * Waits for the former rules to end, since two with the same name would conflict.
   * @param {ProjectSession} session @param {Owner} owner @param {Extract<Entry, {kind: "declarative"}>} entry
   * @param {Promise<void>} [former] the end of the former rules
   * @returns {() => Promise<void>} removes it
   */
  #installRules(session, owner, entry, former) {
    if (!former) return this.#host.declare(session, owner, entry);
    let stopped = false;
    const declared = former.then(() => {
      if (!stopped) return this.#host.declare(session, owner, entry);
    });
    return async () => {
      stopped = true;
      await (
        await declared
      )?.();
    };
  }

  /**
   * @param {ProjectSession} session
   * @param {string} workspace the folder of the config that the user allowed: a link to it may have a different target
   *   by now
   * @param {ProviderConfig[]} providers @param {Diagnostics} diagnostics
   */
  #createSupervisor({ id }, workspace, providers, diagnostics) {
    const { port, logs } = this.#files;
    return new Supervisor({
      sessionId: id,
      workspace,
      port,
      logs,
      providers,
      env: this.#host.env,
      fallback: this.#fallback,
      onToken: () => this.#issueToken(id),
      onEnded: (_name, token, revoked) => this.#gateway.forgetSpawnToken(token, revoked),
      onMessage: (level, text) => {
        if (level !== "info") diagnostics.add(text.replace(/^tap: /, ""));
        this.#gateway.tellTimeline(id, level, text);
      },
    });
  }

  /** @param {string} sessionId */
  #issueToken(sessionId) {
    const token = this.#gateway.issueSpawnToken(sessionId);
    if (!token) throw new Error("the session has ended");
    return token;
  }

  /** @param {ProjectSession} session @param {string} key @param {{revoked?: boolean}} [how] */
  async #stop(session, key, how) {
    const running = session.running?.get(key);
    session.running?.delete(key);
    if (!running) return;
    const stopped = Promise.all([this.#stopping.get(key), running.stop(how)]).then(() => {
      if (this.#stopping.get(key) === stopped) this.#stopping.delete(key);
    });
    this.#stopping.set(key, stopped);
    await stopped;
  }

  /** @param {ProjectSession} session */
  #getNotified(session) {
    return (session.told ??= new Set());
  }

  /**
   * Shown even in a quiet scan, to explain why entries do not start. For a file that keeps changing, only the first.
   * @param {ProjectSession} session @param {{file: string, digest: string}} of @param {{text: string}[]} problems
   */
  #reportMistakes(session, { file, digest }, problems) {
    const shown = this.#getNotified(session);
    const about = `${file} ${digest}`;
    if (shown.has(about) || (session.quiet && shown.has(`mistakes ${file}`))) return;
    shown.add(about).add(`mistakes ${file}`);
    const lines = problems.map(({ text }) => `  ${text}`);
    const text = ["tap: the config has mistakes, so no entry of it is started:", ...lines];
    this.#gateway.tellTimeline(session.id, "error", text.join("\n"));
  }

  /** @param {ProjectSession} session @param {string} about @param {import("../lib/log.mjs").Level} level @param {string} text */
  #notifyOnce(session, about, level, text) {
    const shown = this.#getNotified(session);
    if (session.quiet || shown.has(about)) return;
    shown.add(about);
    this.#gateway.tellTimeline(session.id, level, text);
  }
}
