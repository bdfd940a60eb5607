// `tools`: which tools there are, and what they take.

import { Failure } from "../failure.mjs";
import { withGateway } from "../gateway.mjs";
import { filesOf } from "../given.mjs";
import { Output, strong, warning } from "../../views/output.mjs";
import { sessionNamed, shownId } from "../reference.mjs";
import { nameOf } from "../../views/status-view.mjs";
import { table } from "../../views/table.mjs";
import { firstLine } from "../../views/wording.mjs";

/** @typedef {import("../given.mjs").Given & {name?: string, session?: string, full: boolean}} ToolsGiven */
/** @typedef {import("../../base/control.mjs").Inspection} Inspection */
/**
 * `offered`: whether the CLI takes it.
 * @typedef {import("../../base/control.mjs").Tool & {provider: string, session: string, label: string | null, offered: boolean}} OfferedTool
 */

/** @param {Inspection} seen @returns {OfferedTool[]} */
function toolsIn({ providers, sessions }) {
  const labels = new Map(sessions.map(({ id, label }) => [id, label]));
  return providers.flatMap((provider) =>
    provider.bindings.flatMap(({ session, tools, refused }) =>
      tools.map((tool) => ({
        ...tool,
        provider: nameOf(provider),
        session,
        label: labels.get(session) || null,
        offered: !refused.includes(tool.name),
      })),
    ),
  );
}

/** @param {Output} output @param {OfferedTool[]} tools @param {boolean} full */
function showAll(output, tools, full) {
  if (tools.length === 0) output.say("tools: none; no provider is bound to a session");
  const columns = [
    { title: "tool" },
    { title: "provider", flexible: true },
    { title: "description", flexible: true },
  ];
  for (const session of new Set(tools.map((tool) => tool.session))) {
    const its = tools.filter((tool) => tool.session === session);
    output.say(strong(its[0].label || session), ` ${shownId(session, full)}`);
    const rows = its.map(({ name, provider, description, offered }) => [
      offered ? strong(name) : warning(name),
      provider,
      firstLine(description ?? ""),
    ]);
    table(output, columns, rows, 2);
    for (const { name, offered } of its) {
      if (!offered) output.say("    ", warning(`${name}: the CLI does not take it`));
    }
  }
}

/** @param {Output} output @param {OfferedTool} tool */
function showOne(output, { name, provider, label, session, description, parameters, timeout }) {
  output.say(strong(name), ` of ${provider}, in ${label || session}`);
  if (timeout !== undefined) output.say(`timeout: ${timeout} ms`);
  output.say();
  output.sayAll(description ?? "", "  ");
  output.say();
  output.sayAll(JSON.stringify(parameters ?? {}, null, 2), "  ");
}

/** @param {ToolsGiven} given */
async function run(given) {
  const output = new Output(given);
  const { name, full } = given;
  const seen = await withGateway(filesOf(given), (control) => control.inspect());
  const session =
    given.session === undefined ? undefined : sessionNamed(seen.sessions, given.session).id;
  const tools = toolsIn(seen).filter((tool) => session === undefined || tool.session === session);
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

/** @type {import("../given.mjs").Command} */
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
