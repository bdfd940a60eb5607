// The providers that sessions want started: what a tap.config.json names runs as long as its session
// does and the user's consent holds. The file is read when the session starts, and again with each
// change of consent while nothing of the session runs: what runs is what was consented to.
// sessions.mjs knows when that is.

import { consentNotice, isAllowed } from "./consent.mjs";
import { loadProjectConfig } from "./config.mjs";
import { Supervisor } from "../process/supervisor.mjs";
import { visible } from "../base/visible.mjs";

/** @typedef {import("./config.mjs").LoadedConfig} LoadedConfig */
/** @typedef {import("./config.mjs").ProviderConfig} ProviderConfig */
/** @typedef {import("./sessions.mjs").Tokens} Tokens */
/**
 * @typedef {object} ProjectSession
 * @property {string} id
 * @property {string} cwd
 * @property {string} [told] the digest of the content that the timeline has spoken of
 * @property {boolean} [failed] the timeline has said that this module cannot be loaded
 * @property {{file: string, digest: string, supervisor: Supervisor}} [running]
 */

export class ProjectProviders {
  #gateway;
  #files;
  #store;
  /** By the config's path: two runs of the same provider might be after the same thing. @type {Map<string, Promise<void>>} */
  #stopping = new Map();

  /** @param {Tokens} gateway @param {import("../base/paths.mjs").GatewayFiles} files @param {string} store the user's consent */
  constructor(gateway, files, store) {
    this.#gateway = gateway;
    this.#files = files;
    this.#store = store;
  }

  /** The session has begun, or the user's consent has changed. @param {ProjectSession} session */
  look(session) {
    if (session.running) return this.#lookAtConsent(session, session.running);
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

  /** @param {ProjectSession} session */
  ended(session) {
    void this.#stopRunning(session);
  }

  /** @returns {Promise<void>} once nothing is left of what has ended */
  async stopped() {
    await Promise.all(this.#stopping.values());
  }

  /** @param {ProjectSession} session @param {NonNullable<ProjectSession["running"]>} running */
  #lookAtConsent(session, { file, digest }) {
    if (isAllowed(this.#store, file, digest)) return;
    session.told = digest;
    const text = `tap: ${visible(file)} is not allowed any more: its providers are stopped`;
    this.#gateway.tellTimeline(session.id, "warning", text);
    void this.#stopRunning(session, { revoked: true });
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

  /** @param {ProjectSession} session @param {{revoked?: boolean}} [how] */
  async #stopRunning(session, how) {
    const running = session.running;
    session.running = undefined;
    if (!running) return;
    const { file, supervisor } = running;
    const stopped = Promise.all([this.#stopping.get(file), supervisor.stop(how)]).then(() => {
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
