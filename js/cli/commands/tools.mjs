// `tools`: which tools there are, and what they take.

import { Failure } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output, strong, warning } from "../../views/output.mjs";
import { findSession, formatId } from "../reference.mjs";
import { formatName } from "../../views/status-view.mjs";
import { table } from "../../views/table.mjs";
import { firstLine } from "../../views/wording.mjs";

/** @typedef {import("../options.mjs").CommandOptions & {name?: string, session?: string, full: boolean}} ToolsOptions */
/** @typedef {import("../../link/control.mjs").Inspection} Inspection */
/**
 * `offered`: whether the CLI takes it.
 * @typedef {import("../../link/control.mjs").Tool & {provider: string, session: string, label: string | null, offered: boolean}} OfferedTool
 */

/** @param {Inspection} seen @returns {OfferedTool[]} */
function listTools({ providers, sessions }) {
  const labels = new Map(sessions.map(({ id, label }) => [id, label]));
  return providers.flatMap((provider) =>
    provider.bindings.flatMap(({ session, tools, refused }) =>
      tools.map((tool) => ({
        ...tool,
        provider: formatName(provider),
        session,
        label: labels.get(session) || null,
        offered: !refused.includes(tool.name),
      })),
    ),
  );
}

/** @param {Output} output @param {OfferedTool[]} tools @param {boolean} full */
function showAll(output, tools, full) {
  if (tools.length === 0) output.print("tools: none; no provider is bound to a session");
  const columns = [
    { title: "tool" },
    { title: "provider", flexible: true },
    { title: "description", flexible: true },
  ];
  for (const session of new Set(tools.map((tool) => tool.session))) {
    const its = tools.filter((tool) => tool.session === session);
    output.print(strong(its[0].label || session), ` ${formatId(session, full)}`);
    const rows = its.map(({ name, provider, description, offered }) => [
      offered ? strong(name) : warning(name),
      provider,
      firstLine(description ?? ""),
    ]);
    table(output, columns, rows, 2);
    for (const { name, offered } of its) {
      if (!offered) output.print("    ", warning(`${name}: the CLI does not take it`));
    }
  }
}

/** @param {Output} output @param {OfferedTool} tool */
function showOne(output, { name, provider, label, session, description, parameters, timeout }) {
  output.print(strong(name), ` of ${provider}, in ${label || session}`);
  if (timeout !== undefined) output.print(`timeout: ${timeout} ms`);
  output.print();
  output.printText(description ?? "", "  ");
  output.print();
  output.printText(JSON.stringify(parameters ?? {}, null, 2), "  ");
}

/** @param {ToolsOptions} given */
async function run(given) {
  const output = new Output(given);
  const { name, full } = given;
  const seen = await withGateway(getGatewayFiles(given), (control) => control.inspect());
  const session =
    given.session === undefined ? undefined : findSession(seen.sessions, given.session).id;
  const tools = listTools(seen).filter((tool) => session === undefined || tool.session === session);
  if (name === undefined) return output.result(tools, () => showAll(output, tools, full));
  const named = tools.filter((tool) => tool.name === name);
  if (named.length === 0) {
    throw new Failure(`unknown tool "${name}"`, {
      advice: "copilot-tap tools lists them",
      code: "NOT_FOUND",
    });
  }
  output.result(named, () => named.forEach((tool) => showOne(output, tool)));
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "tools [name]",
  describe: "list the tools, or show the parameters of one",
  about: "Lists the tools of the providers in each session, or shows one with its parameters.",
  positionals: { name: { describe: "of a tool, to see its parameters" } },
  options: {
    session: { describe: "only this session: its id or label, or the beginning of one" },
    full: { describe: "whole ids", type: "boolean" },
  },
  examples: [
    ["$0 tools", "all of them"],
    ["$0 tools forecast", "its parameters"],
  ],
  handler: run,
};
