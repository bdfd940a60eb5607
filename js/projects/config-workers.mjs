// `workers` of the user's config: how the agents of plans reach a model (docs/workers.md).

import { valueOf } from "./json-positions.mjs";

/** @typedef {{env?: string[], model?: string, provider?: Record<string, any>}} WorkersConfig */

/**
 * What it holds is checked where agents are started (js/workers/environment.mjs).
 * @param {import("./strict-reader.mjs").StrictReader} reader @param {import("jsonc-parser").Node} node
 * @returns {WorkersConfig}
 */
export function workersIn(reader, node) {
  const fields = reader.fields(node, '"workers"', ["env", "model", "provider"]);
  const [env, model, provider] = ["env", "model", "provider"].map((name) => fields.get(name));
  if (provider) reader.members(provider, '"provider"');
  return {
    ...(env && { env: reader.list(env).map((item) => reader.string(item)) }),
    ...(model && { model: reader.string(model) }),
    ...(provider && { provider: /** @type {any} */ (valueOf(provider)) }),
  };
}
