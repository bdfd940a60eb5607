// tap_status: what a session has from tap, for the model. It is resident: it answers where nothing else does.

import { STATUS_TOOL } from "../../base/status-tool.mjs";
import { statusText } from "./status-text.mjs";

/** @type {import("../../registry/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:status",
  displayName: "Status",
  version: "1",
  runtime: "builtin",
  host: "gateway",
  capabilities: [
    { capability: "providers:read", required: true, reason: "lists providers and features" },
  ],
  tools: [{ ...STATUS_TOOL, requires: ["providers:read"] }],
};

export const fixed = "every session has tap_status";

/** @param {import("../../registry/installation.mjs").Context} context */
export function install({ tools, services }) {
  tools.register(STATUS_TOOL.name, async (_args, { session }) => {
    const seen = await services.providers.inspect();
    const reports = await services.features.report();
    return statusText(seen, session, reports);
  });
}
