// Serves tap_status to every session, by a provider in the gateway's process.

import { STATUS_TOOL } from "../base/status-tool.mjs";
import { LocalProvider } from "./local-provider.mjs";

/** @param {import("../base/addon.js").Gateway} gateway @param {import("../base/log.mjs").Log} log */
export function serveStatus(gateway, log) {
  return new LocalProvider(gateway, {
    name: "tap",
    tools: [{ ...STATUS_TOOL, handler: (_args, { sessionId }) => gateway.status(sessionId) }],
    onError: ({ message }) => log("error", `tap_status: ${message}`),
  });
}
