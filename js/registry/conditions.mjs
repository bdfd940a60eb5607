// What has to be true for a task to run. A task that waits for a condition needs no feature host before.

import { asksForExport } from "../base/telemetry.mjs";

/**
 * @typedef {object} Telemetry
 * @property {Record<string, string>} variables of OpenTelemetry, in the gateway host's environment
 * @property {boolean} recorded whether spans are recorded
 *
 * @typedef {{met: boolean, obstacle: string}} Condition `obstacle`: why it is not met though the user asks for it
 */

/** As a descriptor names them. */
export const CONDITIONS = /** @type {const} */ (["spans-exported"]);

/** @param {Telemetry} telemetry @returns {Record<typeof CONDITIONS[number], Condition>} */
export function conditionsOf({ variables, recorded }) {
  const asked = asksForExport(variables);
  const obstacle =
    asked && !recorded
      ? 'OTEL_EXPORTER_OTLP_… names a receiver of spans, but config.json has "records": false or "spans": false'
      : "";
  return { "spans-exported": { met: asked && recorded, obstacle } };
}
