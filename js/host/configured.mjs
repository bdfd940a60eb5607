// The features that configs name: programs, and rules that are installed in each session.

import { messageOf } from "../base/errors.mjs";
import { makeReport } from "../registry/report.mjs";

/** @typedef {import("../registry/report.mjs").Report} Report */
/** @typedef {typeof import("./declarative.mjs").installRules} InstallRules */

export class ConfiguredFeatures {
  #options;
  /** Rules that are installed, for each session. @type {Set<{id: string, rules: ReturnType<InstallRules>}>} */
  #rules = new Set();

  /**
   * @param {object} options
   * @param {import("../base/addon.js").Gateway} options.gateway @param {import("../base/log.mjs").Log} options.log
   * @param {() => import("../projects/providers.mjs").EntryState[]} options.entries what configs name
   */
  constructor(options) {
    this.#options = options;
  }

  /** @returns {Report[]} one for each name: sessions of the same folder have the same */
  reports() {
    const { providers } = JSON.parse(this.#options.gateway.inspect());
    const toolsOf = (/** @type {string} */ name, /** @type {string} */ session) =>
      providers
        .filter((/** @type {any} */ one) => one.name === name && one.onlySession === session)
        .flatMap((/** @type {any} */ one) => one.bindings[0]?.tools ?? [])
        .map((/** @type {{name: string}} */ tool) => tool.name);
    const reports = new Map();
    for (const { id, runtime, session, name, state } of this.#options.entries()) {
      if (runtime === "emitter") continue; // emitters have a list of their own
      if (state === "disabled") {
        reports.set(id, makeReport({ id, enabled: false, runtime }));
        continue;
      }
      const rules = [...this.#rules].find((one) => one.id === id)?.rules.report();
      const waiting = [{ what: "the entry", reason: "you have not allowed it: copilot-tap allow" }];
      const report = makeReport({
        id,
        enabled: true,
        runtime,
        tools: runtime === "external-process" ? toolsOf(name, session) : [],
        skipped: state === "waiting" ? waiting : [],
      });
      reports.set(id, rules ?? report);
    }
    return [...reports.values()];
  }

  /**
   * Installs the rules of a config's entry in a session.
   * @param {string} sessionId @param {string} id of the feature
   * @param {import("../projects/config.mjs").DeclarativeConfig} config
   * @returns {() => Promise<void>} removes them
   */
  declare(sessionId, id, config) {
    const { gateway, log } = this.#options;
    const onDiagnostic = (/** @type {string} */ text) => log("warning", `${id}: ${text}`);
    /** @type {{id: string, rules: ReturnType<InstallRules>} | undefined} */
    let installed;
    let stopped = false;
    const ready = import("./declarative.mjs").then(({ installRules }) => {
      if (stopped) return;
      const rules = installRules(gateway, sessionId, id, config, onDiagnostic);
      installed = { id, rules };
      this.#rules.add(installed);
    });
    ready.catch((error) => onDiagnostic(messageOf(error)));
    return async () => {
      stopped = true;
      await ready.catch(() => {});
      if (!installed) return;
      this.#rules.delete(installed);
      await installed.rules.stop();
    };
  }
}
