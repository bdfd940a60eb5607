// The providers that sessions want started: what a tap.config.json names runs as long as its session
// does and the user's consent holds. The file is read when the session starts, and again with each
// change of consent while nothing of the session runs: what runs is what was consented to.

import fs from "node:fs";
import path from "node:path";
import { consentFile, consentNotice, isAllowed } from "./consent.mjs";
import { loadProjectConfig } from "./project-config.mjs";
import { Supervisor } from "./supervisor.mjs";
import { visible } from "../base/visible.mjs";

/** @typedef {import("./project-config.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("./project-config.mjs").ProviderConfig} ProviderConfig */
/**
 * What is used of the addon's Gateway.
 * @typedef {Pick<import("../base/addon.js").Gateway, "issueSpawnToken" | "forgetSpawnToken" | "tellTimeline">} Tokens
 */
/**
 * @typedef {object} ProjectSession
 * @property {string} id
 * @property {string} cwd
 * @property {string} [told] the digest of the content that the timeline has spoken of
 * @property {{file: string, digest: string, supervisor: Supervisor}} [running]
 */

/** How often the user's consent is looked at. */
const POLL_MS = 1000;

/** What changes with every change of a file; empty where it cannot be seen. @param {string} file */
function stampOf(file) {
  try {
    const { ino, ctimeMs, size } = fs.statSync(file);
    return `${ino} ${ctimeMs} ${size}`;
  } catch {
    return "";
  }
}

export class ProjectProviders {
  #gateway;
  #files;
  #store;
  /** @type {Map<string, ProjectSession>} */
  #sessions = new Map();
  /** By the config's path: two runs of the same provider might be after the same thing. @type {Map<string, Promise<void>>} */
  #stopping = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #poll;
  #stamp = "";
  #stopped = false;

  /** @param {Tokens} gateway @param {import("../base/paths.mjs").GatewayFiles} files */
  constructor(gateway, files) {
    this.#gateway = gateway;
    this.#files = files;
    this.#store = consentFile(files);
  }

  /** A session has begun; it is dealt with when its welcome is on its way. @param {string} id @param {string} cwd */
  opened(id, cwd) {
    // A folder that is none is not to be taken for one of this process's.
    if (this.#stopped || !path.isAbsolute(cwd)) return;
    const session = { id, cwd };
    this.#sessions.set(id, session);
    this.#watch();
    setImmediate(() => this.#look(session));
  }

  /** @param {string} id */
  ended(id) {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    if (session) void this.#stopRunning(session);
    if (this.#sessions.size === 0) this.#unwatch();
  }

  /** @returns {Promise<void>} once nothing that was started is left */
  async stop() {
    this.#stopped = true;
    for (const id of [...this.#sessions.keys()]) this.ended(id);
    await Promise.all(this.#stopping.values());
  }

  #watch() {
    if (this.#poll) return;
    this.#stamp = stampOf(this.#store);
    this.#poll = setInterval(() => this.#lookAgain(), POLL_MS);
    this.#poll.unref();
  }

  #unwatch() {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #lookAgain() {
    const stamp = stampOf(this.#store);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    for (const session of this.#sessions.values()) {
      if (session.running) this.#lookAtConsent(session, session.running);
      else this.#look(session);
    }
  }

  /** Nothing of the session runs: should it? @param {ProjectSession} session */
  #look(session) {
    if (this.#sessions.get(session.id) !== session || session.running) return;
    const config = loadProjectConfig(session.cwd);
    if (!config) return;
    const { file, digest, result } = config;
    if (result.ok === false) {
      const lines = result.problems.map(({ text }) => `  ${text}`);
      const text = ["tap: no provider is started, since the config has mistakes:", ...lines];
      return this.#tellOnce(session, digest, "error", text.join("\n"));
    }
    if (result.providers.length === 0) return;
    if (isAllowed(this.#store, file, digest)) return void this.#start(session, config);
    this.#tellOnce(session, digest, "warning", consentNotice(file, result.providers));
  }

  /** @param {ProjectSession} session @param {NonNullable<ProjectSession["running"]>} running */
  #lookAtConsent(session, { file, digest }) {
    if (isAllowed(this.#store, file, digest)) return;
    session.told = digest;
    const text = `tap: ${visible(file)} is not allowed any more: its providers are stopped`;
    this.#gateway.tellTimeline(session.id, "warning", text);
    void this.#stopRunning(session);
  }

  /** @param {ProjectSession} session @param {LoadedConfig} config */
  async #start(session, { file, digest, result }) {
    const providers = result.ok ? result.providers : [];
    const supervisor = this.#supervisor(session, providers);
    session.running = { file, digest, supervisor };
    session.told = digest;
    await this.#stopping.get(file);
    supervisor.start(); // nothing, if it has been stopped meanwhile
  }

  /** @param {ProjectSession} session @param {ProviderConfig[]} providers */
  #supervisor({ id, cwd }, providers) {
    const { port, logs } = this.#files;
    return new Supervisor({
      sessionId: id,
      workspace: cwd,
      port,
      logs,
      providers,
      onToken: () => this.#token(id),
      onEnded: (_name, token) => this.#gateway.forgetSpawnToken(token),
      onMessage: (level, text) => this.#gateway.tellTimeline(id, level, text),
    });
  }

  /** @param {string} sessionId */
  #token(sessionId) {
    const token = this.#gateway.issueSpawnToken(sessionId);
    if (!token) throw new Error("the session has ended");
    return token;
  }

  /** @param {ProjectSession} session */
  async #stopRunning(session) {
    const running = session.running;
    session.running = undefined;
    if (!running) return;
    const { file, supervisor } = running;
    const stopped = Promise.all([this.#stopping.get(file), supervisor.stop()]).then(() => {
      if (this.#stopping.get(file) === stopped) this.#stopping.delete(file);
    });
    this.#stopping.set(file, stopped);
    await stopped;
  }

  /** Of one content of the file, once. @param {ProjectSession} session @param {string} digest @param {import("../base/log.mjs").Level} level @param {string} text */
  #tellOnce(session, digest, level, text) {
    if (session.told === digest) return;
    session.told = digest;
    this.#gateway.tellTimeline(session.id, level, text);
  }
}
