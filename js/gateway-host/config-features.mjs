// The features in configs: programs, and rules that are installed in each session.

import { errorMessage } from "../lib/values.mjs";
import { createReport } from "../feature-host/report.mjs";

/** @typedef {import("../feature-host/report.mjs").Report} Report */
/** @typedef {import("./project-providers.mjs").EntryState} EntryState */
/** @typedef {typeof import("./config-rules.mjs").installRules} InstallRules */

const LISTS = /** @type {const} */ (["tools", "hooks", "skipped", "diagnostics"]);

/** Merges reports of the same id from several sessions. @param {Report} report @param {Report} other @returns {Report} */
function mergeReports(report, other) {
  const lists = LISTS.map((list) => {
    const items = [...report[list], ...other[list]].map((item) => JSON.stringify(item));
    return [list, [...new Set(items)].map((item) => JSON.parse(item))];
  });
  const enabled = report.enabled || other.enabled;
  return createReport({ ...report, ...Object.fromEntries(lists), enabled });
}

/** The contributions of a program in its session. @param {any[]} bindings as in inspect() @returns {Partial<Report>} */
const toReportFields = (bindings) => ({
  tools: bindings.flatMap(({ tools }) => tools.map((/** @type {any} */ { name }) => name)),
  hooks: bindings.flatMap(({ rules, context, startupContext, sections }) => [
    ...rules.map(
      (/** @type {any} */ { action }, /** @type {number} */ at) => `${action}-${at + 1}`,
    ),
    ...(context + startupContext + sections.length > 0 ? ["context"] : []),
  ]),
});

export class ConfigFeatures {
  #options;
  /** Installed rules, by session. @type {Set<{id: string, session: string, rules: ReturnType<InstallRules>}>} */
  #rules = new Set();

  /**
   * @param {object} options
   * @param {import("../lib/addon.js").Gateway} options.gateway @param {import("../lib/log.mjs").Log} options.log
   * @param {() => EntryState[]} options.entries entries of configs
   */
  constructor(options) {
    this.#options = options;
  }

  /** @returns {Report[]} a report for each name, of all sessions */
  reports() {
    const { providers } = JSON.parse(this.#options.gateway.inspect());
    const reports = new Map();
    for (const entry of this.#options.entries()) {
      if (entry.runtime === "emitter") continue; // emitters have a separate list
      const report = this.#createReport(entry, providers);
      const former = reports.get(entry.id);
      reports.set(entry.id, former ? mergeReports(former, report) : report);
    }
    return [...reports.values()];
  }

  /** @param {EntryState} entry @param {any[]} providers */
  #createReport({ id, runtime, session, name, state, said: diagnostics, sandbox }, providers) {
    if (state === "disabled") return createReport({ id, enabled: false, runtime });
    const isOwn = (/** @type {any} */ provider) =>
      provider.name === name && provider.onlySession === session;
    const found =
      runtime === "external-process"
        ? toReportFields(providers.filter(isOwn).flatMap(({ bindings }) => bindings))
        : [...this.#rules]
            .find((rule) => rule.id === id && rule.session === session)
            ?.rules.report();
    const waiting = [{ what: "the entry", reason: "you have not allowed it: copilot-tap allow" }];
    return createReport({
      ...{ diagnostics: diagnostics(), sandbox: sandbox(), ...found, id, enabled: true, runtime },
      skipped: [...(found?.skipped ?? []), ...(state === "waiting" ? waiting : [])],
    });
  }

  /**
   * Installs the rules of a config's entry in a session.
   * @param {string} sessionId @param {string} id of the feature
   * @param {import("../config/load.mjs").DeclarativeConfig} config
   * @returns {() => Promise<void>} removes them
   */
  installEntry(sessionId, id, config) {
    const { gateway, log } = this.#options;
    const onDiagnostic = (/** @type {string} */ text) => log("warning", `${id}: ${text}`);
    /** @type {{id: string, session: string, rules: ReturnType<InstallRules>} | undefined} */
    let installed;
    let stopped = false;
    const ready = import("./config-rules.mjs").then(({ installRules }) => {
      if (stopped) return;
      const rules = installRules(gateway, sessionId, id, config, onDiagnostic);
      installed = { id, session: sessionId, rules };
      this.#rules.add(installed);
    });
    ready.catch((error) => onDiagnostic(errorMessage(error)));
    return async () => {
      stopped = true;
      await ready.catch(() => {});
      if (!installed) return;
      this.#rules.delete(installed);
      await installed.rules.stop();
    };
  }
}
