// The sessions of a gateway, and when to scan their projects. The module that reads a tap.config.json and runs its
// entries (project-providers.mjs) is imported with the first folder that has such a file, to save memory on hosts
// without any.

import fs from "node:fs";
import path from "node:path";
import { errorMessage } from "../lib/values.mjs";
import {
  CONFIG_NAMES,
  configFile,
  consentFile,
  hasConfig,
  readStamp,
  StampTracker,
  userConfigFile,
} from "../config/file.mjs";

/** @typedef {import("./project-providers.mjs").ProjectProviders} ProjectProviders */
/** @typedef {import("./project-providers.mjs").ProjectSession} ProjectSession */
/**
 * The used part of the addon's Gateway.
 * @typedef {Pick<import("../lib/addon.js").Gateway, "issueSpawnToken" | "forgetSpawnToken" | "tellTimeline">}
 *   SessionGateway
 */

/** The interval for checks of the user's consent and the configs. */
const POLL_MS = 1000;

/** @param {string} cwd a stamp that changes with the folder's config */
const readFolderStamp = (cwd) =>
  CONFIG_NAMES.map((name) => readStamp(configFile(cwd, name))).join("|");

/** Resolves links now, since their targets may change. @param {string} cwd */
function realFolder(cwd) {
  try {
    return fs.realpathSync(cwd);
  } catch {
    return cwd;
  }
}

const importProviders = () => import("./project-providers.mjs");

export class ProjectSessions {
  #gateway;
  #files;
  #log;
  #host;
  #import;
  #store;
  /** @type {Map<string, ProjectSession>} */
  #sessions = new Map();
  /** @type {Promise<ProjectProviders> | undefined} */
  #loading;
  /** @type {ProjectProviders | undefined} once a folder had a config */
  #providers;
  /** @type {NodeJS.Timeout | undefined} */
  #poll;
  /** Stamp of the user's consent. */
  #stamp = "";
  /** Stamps of the user's config. */
  #stamps = new StampTracker("");
  #stopped = false;

  /**
   * @param {SessionGateway} gateway @param {import("../lib/paths.mjs").GatewayFiles} files
   * @param {import("../lib/log.mjs").Log} log @param {import("./project-providers.mjs").ConfigHost} host
   * @param {typeof importProviders} load
   */
  constructor(gateway, files, log, host, load = importProviders) {
    this.#gateway = gateway;
    this.#files = files;
    this.#log = log;
    this.#host = host;
    this.#import = load;
    this.#store = consentFile(files);
  }

  /** Adds a session; its scan starts after its welcome was sent. @param {string} id @param {string} cwd */
  openSession(id, cwd) {
    // A relative cwd would resolve against this process's own folder.
    if (this.#stopped || !path.isAbsolute(cwd)) return;
    const folder = realFolder(cwd);
    const session = { id, cwd: folder, stamp: readFolderStamp(folder) };
    this.#sessions.set(id, session);
    this.#watch();
    setImmediate(() => this.#scan(session));
  }

  /** @param {string} id */
  endSession(id) {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    if (session) this.#providers?.endSession(session);
    if (this.#sessions.size === 0) this.#unwatch();
  }

  /** @returns {Promise<void>} when all started processes have ended */
  async stop() {
    this.#stopped = true;
    for (const id of [...this.#sessions.keys()]) this.endSession(id);
    await this.#providers?.waitForStops();
  }

  /** The entries of configs, and whether they run. @returns {import("./project-providers.mjs").EntryState[]} */
  states() {
    return this.#providers?.states() ?? [];
  }

  #watch() {
    if (this.#poll) return;
    this.#stamp = readStamp(this.#store);
    this.#stamps = new StampTracker(readStamp(userConfigFile(this.#files)));
    this.#poll = setInterval(() => this.#checkForChanges(), POLL_MS);
    this.#poll.unref();
  }

  #unwatch() {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #checkForChanges() {
    const stamp = readStamp(this.#store);
    const isConfigNew = this.#stamps.update(readStamp(userConfigFile(this.#files)));
    const isNew = isConfigNew || stamp !== this.#stamp;
    this.#stamp = stamp;
    for (const session of this.#sessions.values()) {
      const former = session.stamp;
      session.stamp = readFolderStamp(session.cwd);
      // A file that keeps changing gets no new lines in the timeline.
      if (isNew) void this.#scan(session);
      else if (session.stamp !== former) void this.#scan(session, { quiet: true });
    }
  }

  /** Called when the user has switched a feature. */
  rescan() {
    for (const session of this.#sessions.values()) void this.#scan(session);
  }

  /** @param {ProjectSession} session @param {{quiet?: boolean}} [how] */
  async #scan(session, how) {
    if (!this.#isOurs(session)) return;
    if (this.#providers) return this.#providers.scan(session, how);
    if (!hasConfig(session.cwd) && !fs.existsSync(userConfigFile(this.#files))) return;
    try {
      const providers = await this.#load();
      // It may have ended meanwhile.
      if (this.#isOurs(session)) providers.scan(session, how);
    } catch (error) {
      this.#onFailure(session, error);
    }
  }

  /** @param {ProjectSession} session */
  #isOurs(session) {
    return this.#sessions.get(session.id) === session;
  }

  /** Loads once for all waiting sessions; after a failure, loads again. */
  #load() {
    this.#loading ??= this.#import().then(
      ({ ProjectProviders }) =>
        (this.#providers = new ProjectProviders(
          this.#gateway,
          this.#files,
          this.#store,
          this.#host,
        )),
    );
    this.#loading.catch(() => (this.#loading = undefined));
    return this.#loading;
  }

  /** @param {ProjectSession} session @param {unknown} error */
  #onFailure(session, error) {
    const why = errorMessage(error);
    this.#log("error", `project providers cannot be loaded: ${why}`);
    if (!this.#isOurs(session) || session.failed) return;
    session.failed = true;
    const text = `tap: the providers of this folder are not started: ${why}. Run npm install --omit=dev in the folder of the extension, then /clear`;
    this.#gateway.tellTimeline(session.id, "error", text);
  }
}
