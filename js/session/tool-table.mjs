// The tools of one session, by provider, as the gateway last said; and the handlers that carry a
// call to it.

import { STATUS_TOOL } from "../base/status-tool.mjs";

/** @typedef {{digest: string, definitions: ToolDefinition[]}} ProviderTools */
/** @typedef {{name: string, description: string, parameters: Record<string, unknown>, timeout?: number}} ToolDefinition */
/**
 * @typedef {object} ToolsEvent the gateway's `tools` message
 * @property {number} revision
 * @property {boolean} reload
 * @property {{provider: string, digest: string, definitions: ToolDefinition[]}[]} set
 * @property {string[]} drop
 */

export class ToolTable {
  /** @type {Map<string, ProviderTools>} */
  #providers;

  /** @param {Map<string, ProviderTools>} [providers] */
  constructor(providers = new Map()) {
    this.#providers = providers;
  }

  /** This table with that change. @param {ToolsEvent} event */
  with(event) {
    const providers = new Map(this.#providers);
    for (const name of event.drop) providers.delete(name);
    for (const { provider, digest, definitions } of event.set) {
      providers.set(provider, { digest, definitions });
    }
    return new ToolTable(providers);
  }

  /** What the gateway is told that we have. @returns {Record<string, string>} */
  digests() {
    return Object.fromEntries([...this.#providers].map(([name, { digest }]) => [name, digest]));
  }

  /**
   * Sorted by provider, then as declared: a changed order would cost the model's prompt cache.
   * @returns {ToolDefinition[]}
   */
  definitions() {
    return [...this.#providers]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, { definitions }]) => definitions);
  }

  /** Whose tool this is. @param {string} tool @returns {string | undefined} */
  providerOf(tool) {
    for (const [provider, { definitions }] of this.#providers) {
      if (definitions.some(({ name }) => name === tool)) return provider;
    }
    return undefined;
  }

  /** What the CLI is given: tap_status first, even where no gateway serves it, then the others. */
  withStatus() {
    const tools = this.definitions();
    const served = tools.find(({ name }) => name === STATUS_TOOL.name);
    return [served ?? STATUS_TOOL, ...tools.filter((tool) => tool !== served)];
  }

  /** Those of these names that are tools of ours. @param {string[]} names */
  ours(names) {
    const known = new Set(this.definitions().map((tool) => tool.name));
    return names.filter((name) => known.has(name));
  }

  /** Without these tools. @param {string[]} names */
  without(names) {
    const refused = new Set(names);
    return new ToolTable(
      new Map(
        [...this.#providers].map(([provider, { digest, definitions }]) => [
          provider,
          { digest, definitions: definitions.filter((tool) => !refused.has(tool.name)) },
        ]),
      ),
    );
  }
}
