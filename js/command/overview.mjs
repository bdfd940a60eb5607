// The output of `copilot-tap` without a command: what runs, and the most common commands.

import { askPort } from "../base/host-process.mjs";
import { connectedProviders } from "../base/inspection.mjs";
import { version } from "../base/paths.mjs";
import { asFailure } from "./failure.mjs";
import { HOLDERS, withGateway } from "./gateway.mjs";
import { filesOf } from "./given.mjs";
import { faint, Output, strong } from "../views/output.mjs";
import { counted } from "../views/wording.mjs";

/** @type {[string, string][]} */
const MOST_USED = [
  ["status", "what runs"],
  ["top", "the same on one screen, kept up to date"],
  ["doctor", "why a tool is missing"],
  ["tools", "the tools of each session"],
  ["call <tool> name=value", "call one without a model"],
  ["trace", "the messages of providers"],
  ["new node <name>", "write a provider"],
  ["--help", "all commands"],
];

/** @param {import("./given.mjs").Given} given */
async function look(given) {
  const files = filesOf(given);
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
    const holder = await askPort(files.port, files.homeHash);
    const why = holder === "ours" ? asFailure(error).message : HOLDERS[holder].text;
    return { version, port: files.port, running: false, why };
  }
}

/** @param {Awaited<ReturnType<typeof look>>} seen */
function stateOf(seen) {
  if (!("sessions" in seen)) return `${seen.why} (port ${seen.port})`;
  const { sessions, providers, tools } = seen;
  const counts = [
    counted(sessions, "session"),
    counted(providers, "provider"),
    counted(tools, "tool"),
  ];
  return `the gateway runs on port ${seen.port}: ${counts.join(", ")}`;
}

/** @param {import("./given.mjs").Given} given */
export async function showOverview(given) {
  const output = new Output(given);
  output.result(await look(given), (seen) => {
    output.say(strong(`tap ${seen.version}`), `, ${stateOf(seen)}`);
    output.say();
    const width = Math.max(...MOST_USED.map(([words]) => words.length));
    for (const [words, what] of MOST_USED) {
      output.say(`  copilot-tap ${words.padEnd(width)}  `, faint(what));
    }
  });
}
