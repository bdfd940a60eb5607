// Who gets which capabilities. A grant is the host's decision: a feature states what it wants and assumes nothing.

import { parseCapability } from "./capabilities.mjs";

/** @typedef {import("./descriptor.mjs").Descriptor} Descriptor */
/**
 * @typedef {object} Policy
 * @property {Record<string, boolean>} [features] of the config: false disables one
 * @property {(descriptor: Descriptor) => string} [withheld] why a feature of the user or a project may not be
 *   installed, such as a missing consent; "": it may
 * @property {Record<string, import("./conditions.mjs").Condition>} [conditions] for tasks and hooks that name one; one that
 *   is not there is not met
 *
 * @typedef {object} Decision
 * @property {boolean} enabled
 * @property {readonly string[]} granted
 * @property {{capability: string, reason: string}[]} denied
 * @property {string} obstacle why nothing of it is installed; "": nothing is in the way
 */

/** The reasons that do not depend on a capability. @param {Descriptor} descriptor @param {Policy} policy */
function obstacleOf(descriptor, { withheld = () => "no policy allows it" }) {
  if (descriptor.runtime === "mcp-bridge") return "not yet: this tap has no MCP bridge";
  return descriptor.runtime === "builtin" ? "" : withheld(descriptor);
}

/** @param {Descriptor} descriptor @param {Policy} policy @returns {Decision} */
export function decide(descriptor, policy) {
  const enabled = policy.features?.[descriptor.id] !== false;
  const obstacle = enabled ? obstacleOf(descriptor, policy) : "it is disabled";
  /** @type {string[]} */
  const granted = [];
  /** @type {Decision["denied"]} */
  const denied = [];
  let missing = "";
  for (const { capability, required } of descriptor.capabilities ?? []) {
    const parsed = parseCapability(capability);
    const reason = typeof parsed === "string" ? parsed : obstacle;
    if (reason === "") granted.push(capability);
    else {
      denied.push({ capability, reason });
      if (required) missing ||= `it needs ${capability}: ${reason}`;
    }
  }
  return {
    enabled,
    granted: Object.freeze(granted),
    denied,
    obstacle: obstacle || missing,
  };
}
