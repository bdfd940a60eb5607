// The features in the gateway's own process, through a single provider over `inProcess`. The list defines these
// features.

import { provider } from "../../sdk/node/provider.mjs";
import { openFeatureFolder } from "../feature-host/feature-folder.mjs";
import { FEATURES } from "../features/list.mjs";
import { Installation } from "../feature-host/installation.mjs";
import { preflight } from "../feature-host/preflight.mjs";
import { inProcess } from "./in-process.mjs";

/** @typedef {import("../lib/addon.js").Gateway} Gateway */
/** @typedef {import("../lib/log.mjs").Log} Log */
/** @typedef {import("../features/list.mjs").Feature} Feature */
/** @typedef {import("../feature-host/preflight.mjs").PreflightResult} Checked */
/** @typedef {import("../feature-host/report.mjs").Report} Report */
/** @typedef {import("../feature-host/service-access.mjs").Implementations} Implementations */

const ORIGIN = "tap itself";

/** @param {Feature} feature */
export const isResident = ({ descriptor }) => descriptor.host === "gateway";

/**
 * @param {readonly Feature[]} features @param {Record<string, boolean>} enabled
 * @param {import("../feature-host/capability-grants.mjs").Policy["conditions"]} [conditions] for tasks and hooks of the
 *   feature host
 * @returns {Checked[]}
 */
export const checkBuiltins = (features, enabled, conditions) =>
  preflight(
    features.map(({ descriptor }) => ({ descriptor, origin: ORIGIN })),
    { features: enabled, conditions },
  );

export class ResidentFeatures {
  #features;
  #log;
  #implementations;
  #home;
  #tap;
  /** @type {Map<string, Installation>} */
  #installed = new Map();

  /**
   * @param {Pick<Gateway, "openProvider" | "sendProvider">} gateway @param {Log} log
   * @param {Implementations} implementations of services @param {readonly Feature[]} [features]
   * @param {string} [home] <COPILOT_HOME>
   */
  constructor(gateway, log, implementations, features = FEATURES, home = "") {
    this.#features = features;
    this.#log = log;
    this.#implementations = implementations;
    this.#home = home;
    this.#tap = provider("tap", {
      session: "all",
      transport: inProcess(gateway, { feature: true }),
    });
    this.#tap.on("error", ({ message }) => log("error", `tap: ${message}`));
  }

  /** Tools that features register synchronously are in the first session's first list. @param {Record<string, boolean>} [enabled] */
  start(enabled = {}) {
    this.apply(enabled);
    this.#tap
      .connect()
      .catch((/** @type {Error} */ { message }) => this.#log("error", `tap: ${message}`));
  }

  /** Installs enabled features that are missing, and removes disabled features. @param {Record<string, boolean>} enabled */
  apply(enabled) {
    for (const checked of checkBuiltins(this.#features, enabled)) {
      const { descriptor, decision } = checked;
      if (descriptor.host !== "gateway") continue;
      const former = this.#installed.get(descriptor.id);
      if (former?.enabled === decision.enabled) continue;
      void former?.stop("the feature was disabled");
      this.#installed.set(descriptor.id, this.#install(checked));
    }
  }

  /** @param {Checked} checked */
  #install(checked) {
    const { id } = checked.descriptor;
    const home = this.#home;
    const installation = new Installation(checked, {
      provider: this.#tap,
      sinks: {
        emit: (channel, { level, summary }, session) =>
          this.#tap.push(channel, summary, { level: "surface", metadata: { level }, session }),
        model: (text, { level, session }) =>
          this.#tap.push("notify", text, { level: "inject", metadata: { level }, session }),
      },
      implementations: this.#implementations,
      ...(home && {
        overflow: async (text, { session, tool }) =>
          openFeatureFolder(home, id).keep(text, tool, session),
      }),
      onDiagnostic: (text) => this.#log("warning", `${id}: ${text}`),
    });
    const feature = this.#features.find(({ descriptor }) => descriptor.id === id);
    void installation.start(() => /** @type {Feature} */ (feature).install);
    return installation;
  }

  /** @param {string} name @returns {import("../feature-host/installation.mjs").RunCommand | undefined} */
  command(name) {
    for (const installation of this.#installed.values()) {
      const run = installation.command(name);
      if (run) return run;
    }
    return undefined;
  }

  /** @returns {Report[]} */
  reports() {
    return [...this.#installed.values()].map((installation) => installation.report());
  }

  /** @returns {Promise<void>} when all have ended */
  async stop() {
    const stopped = [...this.#installed.values()].map((installation) =>
      installation.stop("the gateway ends"),
    );
    await Promise.all(stopped);
  }
}
