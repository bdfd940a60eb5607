// tap_status: the one tool of tap itself, served to every session by a provider in the gateway's process.

import { LocalProvider } from "./local-provider.mjs";

/** @type {import("../session/tool-table.mjs").ToolDefinition} */
export const STATUS_TOOL = {
  name: "tap_status",
  description:
    "Lists the tap providers that are connected to this session and the tools they offer. Use it " +
    "when a provider's tool is missing or fails.",
  parameters: { type: "object", properties: {} },
};

/**
 * What a session registers: tap_status first, by itself where no gateway serves it, and the others.
 * @param {import("../session/tool-table.mjs").ToolTable} table
 */
export function withStatus(table) {
  const tools = table.definitions();
  const served = tools.find(({ name }) => name === STATUS_TOOL.name);
  return [served ?? STATUS_TOOL, ...tools.filter((tool) => tool !== served)];
}

/** @param {import("../base/addon.js").Gateway} gateway @param {import("../base/log.mjs").Log} log */
export function serveStatus(gateway, log) {
  return new LocalProvider(gateway, {
    name: "tap",
    tools: [{ ...STATUS_TOOL, handler: (_args, { sessionId }) => gateway.status(sessionId) }],
    onError: ({ message }) => log("error", `tap_status: ${message}`),
  });
}
