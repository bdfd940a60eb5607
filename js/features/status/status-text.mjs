// The text of tap_status.

import { boundProviders, describeSilence } from "../../lib/inspection.mjs";

/** @typedef {import("../../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../../link/control.mjs").InspectedProvider} InspectedProvider */
/** @typedef {import("../../link/control.mjs").InspectedBinding} InspectedBinding */
/** @typedef {import("../../feature-host/report.mjs").Report} Report */

const NO_PROVIDER =
  "No provider is connected to this session. A provider connects to the gateway over WebSocket " +
  "and declares its tools in hello.";

/**
 * How the model is to read a provider's name: that of a paired one is in quotes, since anybody may
 * have chosen it.
 * @param {InspectedProvider} provider
 */
function formatProviderName({ name, instance, trust, id }) {
  const paired = trust === "external";
  const quoteName = (/** @type {string} */ text) => (paired ? JSON.stringify(text) : text);
  const whole = instance === "" ? quoteName(name) : `${quoteName(name)} [${quoteName(instance)}]`;
  return `${whole} (${paired ? "paired, " : ""}${id})`;
}

/** @param {{provider: InspectedProvider, binding: InspectedBinding}} bound @returns {string} */
function formatProvider({ provider: serving, binding }) {
  const start = `- ${formatProviderName(serving)}: `;
  if (binding.tools.length === 0) return `${start}no tools`;
  const refused = new Set(binding.refused);
  const tools = binding.tools.map(({ name }) =>
    refused.has(name) ? `${name} (not accepted by the CLI)` : name,
  );
  const { callsInFlight, noPongMs } = serving;
  const calls = callsInFlight === 1 ? "1 call in flight" : `${callsInFlight} calls in flight`;
  const silence = describeSilence(serving);
  const hangs = silence && noPongMs !== undefined ? ": it is stopped, or hangs" : "";
  return [
    start + tools.join(", "),
    ...(callsInFlight > 0 ? [calls] : []),
    ...(silence ? [silence + hangs] : []),
  ].join("; ");
}

/**
 * The features in short: a line, and one more for each that lacks something.
 * @param {readonly Report[]} reports @returns {string} empty where there are no reports
 */
function featuresText(reports) {
  if (reports.length === 0) return "";
  const names = reports.map(({ id, enabled }) => (enabled ? id : `${id} (disabled)`));
  const trouble = reports.flatMap(({ id, enabled, skipped, diagnostics }) => {
    const why = diagnostics.at(-1)?.text ?? skipped[0]?.reason;
    return enabled && why !== undefined ? [`- ${id}: ${why}`] : [];
  });
  return `${["Features: " + names.join(", "), ...trouble].join("\n")}\n`;
}

/**
 * The result of tap_status for a session.
 * @param {Inspection} seen
 * @param {string} sessionId
 * @param {readonly Report[]} [reports] of the features
 * @returns {string} empty where there is no such session
 */
export function statusText(seen, sessionId, reports = []) {
  const session = seen.sessions.find(({ id }) => id === sessionId);
  if (!session) return "";
  const sessions = seen.sessions.filter(({ ending }) => !ending).length;
  const node = seen.node === "" ? "" : `, Node.js ${seen.node}`;
  const head = `tap ${seen.version}: gateway on port ${seen.port}, ${sessions} session(s)${node}.\n`;
  const bound = boundProviders(seen, sessionId);
  const features = featuresText(reports);
  if (bound.length === 0) {
    return `${head}${NO_PROVIDER}\n${features}`;
  }
  const lines = ["Providers of this session:", ...bound.map(formatProvider)];
  if (!session.settled) lines.push("A change of tools is on its way to this session.");
  return `${head}${lines.join("\n")}\n${features}`;
}
