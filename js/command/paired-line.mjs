/** @param {import("./paired.mjs").PairedProvider} provider @returns {string} */
export function pairedLine({ name, origin, sessionId, label }) {
  const from = origin ? ` (${origin})` : "";
  return `${name}${from}, in session ${label || sessionId}`;
}
