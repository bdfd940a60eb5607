// The output of `copilot-tap` without a command: what runs, and the most common commands.

import { probePort } from "../lib/port-probe.mjs";
import { connectedProviders } from "../lib/inspection.mjs";
import { version } from "../lib/paths.mjs";
import { toFailure } from "./exit.mjs";
import { HOLDERS, withGateway } from "./gateway.mjs";
import { getGatewayFiles } from "./options.mjs";
import { faint, Output, strong } from "../views/output.mjs";
import { formatCount } from "../views/wording.mjs";

/** @type {[string, string][]} */
const COMMON_COMMANDS = [
  ["status", "what runs"],
  ["top", "the same on one screen, kept up to date"],
  ["doctor", "why a tool is missing"],
  ["tools", "the tools of each session"],
  ["call <tool> name=value", "call one without a model"],
  ["trace", "the messages of providers"],
  ["new node <name>", "write a provider"],
  ["--help", "all commands"],
];

/** @param {import("./options.mjs").CommandOptions} given */
async function readState(given) {
  const files = getGatewayFiles(given);
  try {
    const { sessions, providers } = await withGateway(files, (control) => control.inspect());
    const others = connectedProviders({ providers });
    const tools = new Set(
      others.flatMap(({ bindings }) =>
        bindings.flatMap((binding) => binding.tools.map(({ name }) => name)),
      ),
    );
    const counts = { sessions: sessions.length, providers: others.length, tools: tools.size };
    return { version, port: files.port, running: true, ...counts };
  } catch (error) {
    const holder = await probePort(files.port, files.homeHash);
    const why = holder === "ours" ? toFailure(error).message : HOLDERS[holder].text;
    return { version, port: files.port, running: false, why };
  }
}

/** @param {Awaited<ReturnType<typeof readState>>} seen */
function formatState(seen) {
  if (!("sessions" in seen)) return `${seen.why} (port ${seen.port})`;
  const { sessions, providers, tools } = seen;
  const counts = [
    formatCount(sessions, "session"),
    formatCount(providers, "provider"),
    formatCount(tools, "tool"),
  ];
  return `the gateway runs on port ${seen.port}: ${counts.join(", ")}`;
}

/** @param {import("./options.mjs").CommandOptions} given */
export async function showOverview(given) {
  const output = new Output(given);
  output.result(await readState(given), (seen) => {
    output.print(strong(`tap ${seen.version}`), `, ${formatState(seen)}`);
    output.print();
    const width = Math.max(...COMMON_COMMANDS.map(([words]) => words.length));
    for (const [words, what] of COMMON_COMMANDS) {
      output.print(`  copilot-tap ${words.padEnd(width)}  `, faint(what));
    }
  });
}
