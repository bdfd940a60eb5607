// What sessions want from configs: the programs and the rules that a tap.config.json names are there as long as its
// session is and the user's consent to each entry holds; those of the user's own config need none. The file is read
// when the session starts, and again with each change of consent. An entry that runs stays as it was until the session
// ends. sessions.mjs knows when that is.

import { visible } from "../base/visible.mjs";
import { Supervisor } from "../process/supervisor.mjs";
import { userConfigFile } from "./config-file.mjs";
import { loadProjectConfig, loadUserConfig } from "./config.mjs";
import { consentNotice, entriesOf, isAllowed, migrate } from "./consent.mjs";

/** @typedef {import("./config.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("./config.mjs").ProviderConfig} ProviderConfig */
/** @typedef {import("./config.mjs").Owner} Owner */
/** @typedef {import("./consent.mjs").Entry} Entry */
/** @typedef {import("./sessions.mjs").Tokens} Tokens */
/**
 * An entry that runs.
 * @typedef {{owner: Owner, file: string, entry: Entry, stop: (how?: {revoked?: boolean}) => Promise<void>}} Running
 *
 * @typedef {object} ProjectSession
 * @property {string} id
 * @property {string} cwd
 * @property {Set<string>} [told] what the timeline has said
 * @property {boolean} [failed] the timeline has said that this module cannot be loaded
 * @property {Map<string, Running>} [running]
 *
 * Installs rules and context for a session.
 * @typedef {(session: {id: string}, owner: Owner, entry: Extract<Entry, {kind: "declarative"}>) => () => Promise<void>} Declare
 *
 * What configs want of this process, besides programs. `setGroups`: tool groups that a session has, too.
 * @typedef {{declare: Declare, needHosted: () => void, setGroups: (session: {id: string}, names: string[]) => void}} ConfigHost
 *
 * @typedef {{id: string, runtime: string, session: string, name: string, state: "running" | "waiting"}} EntryState `waiting`:
 *   for the user's consent
 */

/** @param {string} file @param {Entry} entry */
const keyOf = (file, { kind, name }) => `${file}\0${kind}\0${name}`;

export class ProjectProviders {
  #gateway;
  #files;
  #store;
  #host;
  /** By entry: two runs of the same provider might be after the same thing. @type {Map<string, Promise<void>>} */
  #stopping = new Map();
  /** What the last look has found. @type {Map<string, EntryState[]>} */
  #states = new Map();

  /**
   * @param {Tokens} gateway @param {import("../base/paths.mjs").GatewayFiles} files
   * @param {string} store the user's consent @param {ConfigHost} host
   */
  constructor(gateway, files, store, host) {
    this.#gateway = gateway;
    this.#files = files;
    this.#store = store;
    this.#host = host;
  }

  /** The session has begun, or the user's consent has changed. @param {ProjectSession} session */
  look(session) {
    session.running ??= new Map();
    this.#states.set(session.id, []);
    const config = loadProjectConfig(session.cwd);
    this.#stopRevoked(session, session.running, config);
    if (config) this.#lookAt(session, "project", config);
    const own = loadUserConfig(userConfigFile(this.#files));
    if (own) this.#lookAt(session, "user", own);
  }

  /** @param {ProjectSession} session */
  ended(session) {
    this.#states.delete(session.id);
    for (const key of [...(session.running?.keys() ?? [])]) void this.#stop(session, key);
  }

  /** @returns {Promise<void>} once nothing is left of what has ended */
  async stopped() {
    await Promise.all(this.#stopping.values());
  }

  /** @returns {EntryState[]} of all sessions */
  states() {
    return [...this.#states.values()].flat();
  }

  /** @param {ProjectSession} session @param {Owner} owner @param {LoadedConfig} config */
  #lookAt(session, owner, config) {
    const { file, digest, result } = config;
    if (result.ok === false) {
      const lines = result.problems.map(({ text }) => `  ${text}`);
      const text = ["tap: nothing of the config is started, since it has mistakes:", ...lines];
      return this.#tellOnce(session, `${file} ${digest}`, "error", text.join("\n"));
    }
    if (owner === "project" && result.toolGroups.length > 0) {
      this.#host.setGroups(session, result.toolGroups);
    }
    const entries = entriesOf(result);
    if (owner === "project") this.#migrate(config, entries);
    const on = entries.filter(({ name }) => result.features[`${owner}:${name}`] !== false);
    const allowed = on.filter((entry) => owner === "user" || isAllowed(this.#store, config, entry));
    for (const entry of allowed) void this.#start(session, owner, config, entry);
    const waiting = on.filter(
      (entry) => !allowed.includes(entry) && !this.#runs(session, file, entry),
    );
    const states = this.#states.get(session.id);
    const stateOf = (
      /** @type {Entry} */ { kind, name },
      /** @type {EntryState["state"]} */ state,
    ) => ({
      id: `${owner}:${name}`,
      runtime: kind,
      session: session.id,
      name,
      state,
    });
    const isFeature = (/** @type {Entry} */ { kind }) => kind !== "emitter";
    states?.push(...allowed.filter(isFeature).map((entry) => stateOf(entry, "running")));
    states?.push(...waiting.filter(isFeature).map((entry) => stateOf(entry, "waiting")));
    if (waiting.length === 0) return;
    const names = waiting.map((entry) => entry.digest).join();
    this.#tellOnce(session, `${file} ${names}`, "warning", consentNotice(file, waiting));
  }

  /** A file that cannot be written stays as it is, and allows the same. @param {LoadedConfig} config @param {Entry[]} entries */
  #migrate(config, entries) {
    try {
      migrate(this.#store, config, entries);
    } catch {
      // The older consent is still there.
    }
  }

  /** @param {ProjectSession} session @param {string} file @param {Entry} entry */
  #runs(session, file, entry) {
    return session.running?.has(keyOf(file, entry)) ?? false;
  }

  /**
   * The consent of an older version is to the content of a file.
   * @param {ProjectSession} session @param {Map<string, Running>} running @param {LoadedConfig} [config]
   */
  #stopRevoked(session, running, config) {
    const revoked = [...running].filter(([, { owner, file, entry }]) => {
      const digest = config?.file === file ? config.digest : "";
      return owner === "project" && !isAllowed(this.#store, { file, digest }, entry);
    });
    for (const file of new Set(revoked.map(([, one]) => one.file))) {
      const text = `tap: ${visible(file)} is not allowed any more: what it names is stopped`;
      this.#gateway.tellTimeline(session.id, "warning", text);
      this.#told(session).add(`${file} ${this.#waitingNames(file, config)}`);
    }
    for (const [key] of revoked) void this.#stop(session, key, { revoked: true });
  }

  /** Of the notice that a revoked config would get next. @param {string} file @param {LoadedConfig} [config] */
  #waitingNames(file, config) {
    if (config?.file !== file || !config.result.ok) return "";
    return entriesOf(config.result)
      .filter((entry) => !isAllowed(this.#store, config, entry))
      .map(({ digest }) => digest)
      .join();
  }

  /** @param {ProjectSession} session @param {Owner} owner @param {LoadedConfig} config @param {Entry} entry */
  async #start(session, owner, config, entry) {
    const { file } = config;
    if (this.#runs(session, file, entry)) return;
    const key = keyOf(file, entry);
    if (entry.kind === "declarative") {
      const stop = this.#host.declare(session, owner, entry);
      session.running?.set(key, { owner, file, entry, stop });
      return;
    }
    // The feature host runs emitters, and asks what is allowed (js/host/emitter-requests.mjs).
    if (entry.kind === "emitter") {
      this.#host.needHosted();
      session.running?.set(key, { owner, file, entry, stop: async () => {} });
      return;
    }
    const workspace = config.folder ?? session.cwd;
    const supervisor = this.#supervisor(session, workspace, [entry.config]);
    const stop = (/** @type {{revoked?: boolean} | undefined} */ how) => supervisor.stop(how);
    session.running?.set(key, { owner, file, entry, stop });
    await this.#stopping.get(key);
    supervisor.start(); // nothing, if it has been stopped meanwhile
  }

  /**
   * @param {ProjectSession} session
   * @param {string} workspace the folder of the config that the user allowed: a link to it may lead elsewhere by now
   * @param {ProviderConfig[]} providers
   */
  #supervisor({ id }, workspace, providers) {
    const { port, logs } = this.#files;
    return new Supervisor({
      sessionId: id,
      workspace,
      port,
      logs,
      providers,
      onToken: () => this.#token(id),
      onEnded: (_name, token, revoked) => this.#gateway.forgetSpawnToken(token, revoked),
      onMessage: (level, text) => this.#gateway.tellTimeline(id, level, text),
    });
  }

  /** @param {string} sessionId */
  #token(sessionId) {
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
  #told(session) {
    return (session.told ??= new Set());
  }

  /** @param {ProjectSession} session @param {string} about @param {import("../base/log.mjs").Level} level @param {string} text */
  #tellOnce(session, about, level, text) {
    const told = this.#told(session);
    if (told.has(about)) return;
    told.add(about);
    this.#gateway.tellTimeline(session.id, level, text);
  }
}
