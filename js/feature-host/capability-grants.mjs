// Decides which features get which capabilities. A feature requests capabilities and assumes no grants.

import { isExportRequested } from "../lib/telemetry.mjs";
import { parseCapability } from "./capabilities.mjs";

/** @typedef {import("./descriptor.mjs").Descriptor} Descriptor */
/**
 * @typedef {object} Policy
 * @property {Record<string, boolean>} [features] of the config: false disables a feature
 * @property {(descriptor: Descriptor) => string} [withheld] why a feature of the user or a project must not be
 *   installed, such as a missing consent; "" if it may
 * @property {Record<string, Condition>} [conditions] for tasks and hooks that name a condition; a missing
 *   condition is not met
 *
 * @typedef {object} Decision
 * @property {boolean} enabled
 * @property {readonly string[]} granted
 * @property {{capability: string, reason: string}[]} denied
 * @property {string} obstacle why the feature is not installed; "" if it is
 */

/** The reasons that do not depend on a capability. @param {Descriptor} descriptor @param {Policy} policy */
function denialReason(descriptor, { withheld = () => "no policy allows it" }) {
  return descriptor.runtime === "builtin" ? "" : withheld(descriptor);
}

/** @param {Descriptor} descriptor @param {Policy} policy @returns {Decision} */
export function decideGrants(descriptor, policy) {
  const enabled = policy.features?.[descriptor.id] !== false;
  const obstacle = enabled ? denialReason(descriptor, policy) : "it is disabled";
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

// Conditions of tasks and hooks. While all tasks and hooks wait for a condition, no feature host is needed.

/**
 * @typedef {object} Telemetry
 * @property {Record<string, string>} variables of OpenTelemetry, in the gateway host's environment
 * @property {boolean} recorded whether spans are recorded
 *
 * @typedef {{met: boolean, obstacle: string}} Condition `obstacle`: why it is not met although the user has requested
 *   it
 */

/** The names in descriptors. */
export const CONDITIONS = /** @type {const} */ ([
  "spans-exported",
  "push-gated",
  "task-complete-gated",
]);

/**
 * @param {Telemetry} telemetry
 * @param {readonly string[]} [gated] actions that goals gate, from the user's config: "push", "task_complete"
 * @returns {Record<typeof CONDITIONS[number], Condition>}
 */
export function evaluateConditions({ variables, recorded }, gated = []) {
  const asked = isExportRequested(variables);
  const obstacle =
    asked && !recorded
      ? 'OTEL_EXPORTER_OTLP_… names a receiver of spans, but config.json has "records": false or "spans": false'
      : "";
  const met = (/** @type {string} */ action) => ({ met: gated.includes(action), obstacle: "" });
  return {
    "spans-exported": { met: asked && recorded, obstacle },
    "push-gated": met("push"),
    "task-complete-gated": met("task_complete"),
  };
}
