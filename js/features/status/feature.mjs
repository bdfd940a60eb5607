// tap_status, and tap_tools with its slash command: what a session has from tap. Both are resident, since they answer
// where nothing else does.

import { SLASH } from "../../lib/slash-commands.mjs";
import { STATUS_TOOL } from "../../lib/status-tool.mjs";
import { statusText } from "./status-text.mjs";
import { TAP_TOOLS, createTapTools } from "./tap-tools.mjs";

const NO_GROUPS = createTapTools({
  groups: () => [],
  openGroups: () => Promise.reject(new Error()),
});

/** @type {import("../../feature-host/descriptor.mjs").Descriptor} */
export const descriptor = {
  id: "builtin:status",
  displayName: "Status",
  version: "1",
  runtime: "builtin",
  host: "gateway",
  capabilities: [
    { capability: "providers:read", required: true, reason: "lists providers and features" },
    { capability: "session:control", required: true, reason: "turns groups of tools on" },
  ],
  tools: [
    { ...STATUS_TOOL, requires: ["providers:read"] },
    {
      name: TAP_TOOLS,
      description: NO_GROUPS.description(),
      parameters: NO_GROUPS.parameters,
      requires: ["session:control"],
    },
  ],
  commands: [SLASH.tools],
};

export const fixed = "every session has tap_status";

/** @param {import("../../feature-host/installation.mjs").Context} context */
export async function install({ tools, commands, services }) {
  tools.register(STATUS_TOOL.name, async (_args, { session }) => {
    const seen = await services.providers.inspect();
    const reports = await services.features.report();
    return statusText(seen, session, reports);
  });
  /** @type {import("./tap-tools.mjs").ToolGroup[]} */
  let groups = [];
  const { handler, command, description } = createTapTools({
    groups: () => groups,
    openGroups: (session, names) => services.groups.open(session, names),
  });
  const run = async (
    /** @type {{group?: string}} */ args,
    /** @type {{session: string}} */ call,
  ) => {
    groups = await services.groups.list();
    return handler(args, call);
  };
  commands.register(SLASH.tools.name, async ({ args, session }) => {
    groups = await services.groups.list();
    return command(args, session.id);
  });
  const offer = (/** @type {typeof groups} */ now) => {
    groups = now;
    if (groups.length === 0) return; // a gateway within a program has none
    tools.register(TAP_TOOLS, run, { description: description() });
  };
  offer(await services.groups.list(offer));
}
