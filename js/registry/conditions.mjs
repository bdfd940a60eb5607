// What has to be true for a task to run, or for a hook to be there. One that waits for a condition needs no feature
// host before.

import { asksForExport } from "../base/telemetry.mjs";

/**
 * @typedef {object} Telemetry
 * @property {Record<string, string>} variables of OpenTelemetry, in the gateway host's environment
 * @property {boolean} recorded whether spans are recorded
 *
 * @typedef {{met: boolean, obstacle: string}} Condition `obstacle`: why it is not met though the user asks for it
 */

/** As a descriptor names them. */
export const CONDITIONS = /** @type {const} */ ([
  "spans-exported",
  "push-gated",
  "task-complete-gated",
]);

/**
 * @param {Telemetry} telemetry
 * @param {readonly string[]} [gated] what the user's config has goals gate: "push", "task_complete"
 * @returns {Record<typeof CONDITIONS[number], Condition>}
 */
export function conditionsOf({ variables, recorded }, gated = []) {
  const asked = asksForExport(variables);
  const obstacle =
    asked && !recorded
      ? 'OTEL_EXPORTER_OTLP_… names a receiver of spans, but config.json has "records": false or "spans": false'
      : "";
  const met = (/** @type {string} */ what) => ({ met: gated.includes(what), obstacle: "" });
  return {
    "spans-exported": { met: asked && recorded, obstacle },
    "push-gated": met("push"),
    "task-complete-gated": met("task_complete"),
  };
}
