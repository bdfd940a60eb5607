// The sessions of a gateway, as far as their projects matter: when each is to be looked at. What
// reads a tap.config.json and runs what it names (providers.mjs) is imported with the first
// folder that has one: a host without any does not need its memory.

import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import {
  CONFIG_NAMES,
  configFile,
  consentFile,
  mayHaveConfig,
  stampOf,
  Stamps,
  userConfigFile,
} from "./config-file.mjs";

/** @typedef {import("./providers.mjs").ProjectProviders} ProjectProviders */
/** @typedef {import("./providers.mjs").ProjectSession} ProjectSession */
/**
 * What is used of the addon's Gateway.
 * @typedef {Pick<import("../base/addon.js").Gateway, "issueSpawnToken" | "forgetSpawnToken" | "tellTimeline">} Tokens
 */

/** How often the user's consent and the configs are looked at. */
const POLL_MS = 1000;

/** @param {string} cwd what changes with each change of its config */
const stampOfFolder = (cwd) => CONFIG_NAMES.map((name) => stampOf(configFile(cwd, name))).join("|");

/** A link to it may lead elsewhere later. @param {string} cwd */
function realFolder(cwd) {
  try {
    return fs.realpathSync(cwd);
  } catch {
    return cwd;
  }
}

const importProviders = () => import("./providers.mjs");

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
  /** Of the user's consent. */
  #stamp = "";
  /** Of the user's config. */
  #stamps = new Stamps("");
  #stopped = false;

  /**
   * @param {Tokens} gateway @param {import("../base/paths.mjs").GatewayFiles} files
   * @param {import("../base/log.mjs").Log} log @param {import("./providers.mjs").ConfigHost} host
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

  /** A session has begun; it is dealt with when its welcome is on its way. @param {string} id @param {string} cwd */
  opened(id, cwd) {
    // A relative cwd would resolve against this process's own folder.
    if (this.#stopped || !path.isAbsolute(cwd)) return;
    const folder = realFolder(cwd);
    const session = { id, cwd: folder, stamp: stampOfFolder(folder) };
    this.#sessions.set(id, session);
    this.#watch();
    setImmediate(() => this.#look(session));
  }

  /** @param {string} id */
  ended(id) {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    if (session) this.#providers?.ended(session);
    if (this.#sessions.size === 0) this.#unwatch();
  }

  /** @returns {Promise<void>} once nothing that was started is left */
  async stop() {
    this.#stopped = true;
    for (const id of [...this.#sessions.keys()]) this.ended(id);
    await this.#providers?.stopped();
  }

  /** What configs name, and whether it runs. @returns {import("./providers.mjs").EntryState[]} */
  states() {
    return this.#providers?.states() ?? [];
  }

  #watch() {
    if (this.#poll) return;
    this.#stamp = stampOf(this.#store);
    this.#stamps = new Stamps(stampOf(userConfigFile(this.#files)));
    this.#poll = setInterval(() => this.#lookForChanges(), POLL_MS);
    this.#poll.unref();
  }

  #unwatch() {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #lookForChanges() {
    const stamp = stampOf(this.#store);
    const isConfigNew = this.#stamps.changed(stampOf(userConfigFile(this.#files)));
    const isNew = isConfigNew || stamp !== this.#stamp;
    this.#stamp = stamp;
    for (const session of this.#sessions.values()) {
      const former = session.stamp;
      session.stamp = stampOfFolder(session.cwd);
      // A file that keeps changing says nothing new in the timeline.
      if (isNew) void this.#look(session);
      else if (session.stamp !== former) void this.#look(session, { quiet: true });
    }
  }

  /** The user has switched a feature. */
  lookAgain() {
    for (const session of this.#sessions.values()) void this.#look(session);
  }

  /** @param {ProjectSession} session @param {{quiet?: boolean}} [how] */
  async #look(session, how) {
    if (!this.#isOurs(session)) return;
    if (this.#providers) return this.#providers.look(session, how);
    if (!mayHaveConfig(session.cwd) && !fs.existsSync(userConfigFile(this.#files))) return;
    try {
      const providers = await this.#load();
      // It may have ended meanwhile.
      if (this.#isOurs(session)) providers.look(session, how);
    } catch (error) {
      this.#onFailure(session, error);
    }
  }

  /** @param {ProjectSession} session */
  #isOurs(session) {
    return this.#sessions.get(session.id) === session;
  }

  /** Loads once for all sessions that wait for it; after a failure, loads again. */
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
    const why = messageOf(error);
    this.#log("error", `project providers cannot be loaded: ${why}`);
    if (!this.#isOurs(session) || session.failed) return;
    session.failed = true;
    const text = `tap: the providers of this folder are not started: ${why}. Run npm install --omit=dev in the folder of the extension, then /clear`;
    this.#gateway.tellTimeline(session.id, "error", text);
  }
}
