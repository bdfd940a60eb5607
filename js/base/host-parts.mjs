// The parts of a gateway's host, as its control link tells them: features, the feature host, holds, the record store.

/** @typedef {import("../registry/report.mjs").Report} Report */
/**
 * @typedef {object} HostParts
 * @property {Report[]} features
 * @property {import("../host/features.mjs").ToolGroup[]} [groups] of tools; older gateways do not tell
 * @property {import("../host/feature-host.mjs").FeatureHostState} featureHost
 * @property {import("../host/holds.mjs").Hold[]} holds
 * @property {import("../host/holds.mjs").IgnoredHolds} [ignoredHolds]
 * @property {import("../host/records.mjs").RecordsState} records
 */

/**
 * @param {import("./control.mjs").Control} control
 * @returns {Promise<HostParts | undefined>} undefined: a gateway of an older version has none of them
 */
export async function hostParts(control) {
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
