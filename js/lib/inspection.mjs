// Reads an inspection of the gateway (docs/session-link.md, "inspection") for display.

/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../link/control.mjs").InspectedProvider} InspectedProvider */
/** @typedef {import("../link/control.mjs").InspectedBinding} InspectedBinding */

/** Whether it is tap's own, and no MCP server. @param {Pick<InspectedProvider, "trust" | "name">} provider */
export const isBuiltin = ({ trust, name }) =>
  trust === "internal" || (trust === "builtin" && !name.startsWith("mcp:"));

/**
 * The providers that a user has connected, without tap's own.
 * @param {Pick<Inspection, "providers">} seen
 */
export const connectedProviders = ({ providers }) =>
  providers.filter((provider) => !isBuiltin(provider));

/**
 * The providers that are bound to a session, by name.
 * @param {Pick<Inspection, "providers">} seen
 * @param {string} sessionId
 * @returns {{provider: InspectedProvider, binding: InspectedBinding}[]}
 */
export function boundProviders(seen, sessionId) {
  const bound = connectedProviders(seen).flatMap((provider) =>
    provider.bindings
      .filter(({ session }) => session === sessionId)
      .map((binding) => ({ provider, binding })),
  );
  return bound.sort(({ provider: first }, { provider: second }) =>
    first.name === second.name
      ? first.connection - second.connection
      : first.name < second.name
        ? -1
        : 1,
  );
}

/** In ms: longer calls count as slow. */
const LONG_WAIT_MS = 5000;

/**
 * Whether a provider keeps the model waiting, for people.
 * @param {Pick<InspectedProvider, "waitedMs" | "noPongMs">} provider
 * @returns {string} empty if it does not
 */
export function describeSilence({ waitedMs, noPongMs }) {
  if (waitedMs < LONG_WAIT_MS) return "";
  const silence = `no answer for ${Math.floor(waitedMs / 1000)} s`;
  return noPongMs === undefined ? silence : `${silence}, not even to a ping`;
}

/**
 * The order in which sessions are chosen: sessions with a process before those whose process may come back, then the
 * session that was used last.
 * @param {{linked: boolean, inUse: number}} a @param {{linked: boolean, inUse: number}} b
 */
export const bySessionUse = (a, b) => Number(b.linked) - Number(a.linked) || b.inUse - a.inUse;

// The parts of a gateway's host, as its control link reports them: features, feature host, holds, record store.

/** @typedef {import("../feature-host/report.mjs").Report} Report */
/**
 * @typedef {object} HostParts
 * @property {Report[]} features
 * @property {import("../gateway-host/features.mjs").ToolGroup[]} [groups] of tools; absent in older gateways
 * @property {import("../gateway-host/feature-host-process.mjs").FeatureHostState} featureHost
 * @property {import("../gateway-host/shutdown.mjs").Hold[]} holds
 * @property {import("../gateway-host/shutdown.mjs").IgnoredHolds} [ignoredHolds]
 * @property {import("../gateway-host/records.mjs").RecordsState} records
 */

/**
 * @param {import("../link/control.mjs").Control} control
 * @returns {Promise<HostParts | undefined>} undefined: an older gateway does not report them
 */
export async function requestHostParts(control) {
  try {
    const report = await control.request("features.report", {});
    const { features, groups, host, holds, ignoredHolds } = report;
    const records = await control.request("records.state", {});
    const parts = { features, groups, featureHost: host, holds, records };
    return { ...parts, ...(ignoredHolds && { ignoredHolds }) };
  } catch {
    return undefined;
  }
}
