// A feature's contributions and needs. A descriptor is pure data: it can be printed, stored and compared.

import { parseCapability } from "./capabilities.mjs";

/**
 * @typedef {{capability: string, required: boolean, reason: string}} CapabilityRequest
 * @typedef {{name: string, description: string, parameters?: object, requires?: string[], group?: string}}
 *   ToolDescriptor
 * @typedef {object} Descriptor
 * @property {string} id `builtin:counter`, `user:<name>`, `project:<name>`, `mcp:<name>`
 * @property {string} displayName
 * @property {string} version
 * @property {"builtin" | "external-process" | "mcp-bridge" | "declarative"} runtime
 * @property {"gateway" | "feature-host"} [host] of a `builtin`; default: the feature host
 * @property {CapabilityRequest[]} [capabilities]
 * @property {ToolDescriptor[]} [tools]
 * @property {{name: string, point: string, when?: typeof import("./capability-grants.mjs").CONDITIONS[number]}[]}
 *   [hooks] `when`: it exists only while this condition is met
 * @property {string[]} [channels] for its events
 * @property {{name: string, description: string}[]} [commands] slash commands
 * @property {{name: string, schedule?: string, when?: typeof import("./capability-grants.mjs").CONDITIONS[number]}[]}
 *   [tasks] `when`: it runs only while this condition is met
 */

/** @param {Descriptor} descriptor @returns {{capability: string, problem: string}[]} */
export const unknownCapabilities = ({ capabilities = [] }) =>
  capabilities.flatMap(({ capability }) => {
    const parsed = parseCapability(capability);
    return typeof parsed === "string" ? [{ capability, problem: parsed }] : [];
  });

// The name of a feature's provider in messages and the timeline. Records have the id.

/** @param {string} id of a feature of the feature host @returns {string} */
export const providerName = (id) => `tap-${id.slice(id.indexOf(":") + 1)}`;
