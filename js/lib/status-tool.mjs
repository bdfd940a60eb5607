// tap_status for the model. The gateway's process serves it (js/features/status/). A session without a
// gateway offers it, too.

/** Tools of tap itself, in every session: a developer's provider does not count them as its own. */
export const BUILTIN_TOOL_NAMES = new Set(["tap_status", "tap_tools"]);

/** @type {import("../extension/tools.mjs").ToolDefinition} */
export const STATUS_TOOL = {
  name: "tap_status",
  description:
    "Lists the tap providers that are connected to this session and the tools they offer. Use it " +
    "when a provider's tool is missing or fails.",
  parameters: { type: "object", properties: {} },
};
