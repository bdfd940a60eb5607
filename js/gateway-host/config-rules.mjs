// Features that are configuration only: the rules and the context of a config's entry, installed for a single session
// through the same registrars as those of other features.

import { provider } from "../../sdk/node/provider.mjs";
import { Installation } from "../feature-host/installation.mjs";
import { preflight } from "../feature-host/preflight.mjs";
import { inProcess } from "./in-process.mjs";

/** @typedef {import("../config/load.mjs").DeclarativeConfig} DeclarativeConfig */
/** @typedef {import("../feature-host/descriptor.mjs").Descriptor} Descriptor */

/** @param {string} id @param {DeclarativeConfig} config @returns {Descriptor} */
const createDescriptor = (id, { name, deny, context }) => ({
  id,
  displayName: name.slice(0, 100),
  version: "1",
  runtime: "declarative",
  hooks: [
    ...deny.map((_, at) => ({ name: `deny-${at + 1}`, point: "onPreToolUse" })),
    ...(context === undefined ? [] : [{ name: "context", point: "onUserPromptSubmitted" }]),
  ],
});

/**
 * @param {Pick<import("../lib/addon.js").Gateway, "openProvider" | "sendProvider">} gateway
 * @param {string} sessionId @param {string} id of the feature @param {DeclarativeConfig} config allowed by the user
 * @param {(text: string) => void} onDiagnostic
 * @returns {{report: () => import("../feature-host/report.mjs").Report | undefined, stop: () => Promise<void>}}
 */
export function installRules(gateway, sessionId, id, config, onDiagnostic) {
  const transport = inProcess(gateway, { feature: true });
  const own = provider(id, { session: sessionId, transport });
  own.on("error", ({ message }) => onDiagnostic(message));
  /** @type {Installation | undefined} */
  let installation;
  void (async () => {
    const descriptor = createDescriptor(id, config);
    const [checked] = preflight([{ descriptor, origin: "a config" }], { withheld: () => "" });
    const nowhere = () => Promise.reject(new Error("rules have no events"));
    installation = new Installation(checked, {
      provider: own,
      sinks: { emit: nowhere, model: nowhere },
      implementations: {},
      onDiagnostic,
    });
    await installation.start(() => ({ hooks }) => {
      for (const [at, { match, reason }] of config.deny.entries()) {
        hooks.deny(`deny-${at + 1}`, match, reason);
      }
      if (config.context !== undefined) hooks.context("context", config.context);
    });
    await own.connect().catch(() => {}); // it was closed
  })();
  return {
    report: () => installation?.report(),
    async stop() {
      await installation?.stop("its config is no longer in force");
      await own.close();
    },
  };
}
