// `sandbox`: whether this machine can sandbox what plans run, and what a sandbox enforces (docs/command.md).

import { DEFAULT_SANDBOX } from "../../config/sandbox.mjs";
import { readUserConfig } from "../../config/user-config.mjs";
import { copilotHome } from "../../lib/paths.mjs";
import { probeSandbox } from "../../process/sandbox-probe.mjs";
import { bad, faint, good, Output, strong } from "../../views/output.mjs";
import { formatSandbox } from "../../views/status-view.mjs";
import { EXIT } from "../exit.mjs";
import { getEnvironment } from "../options.mjs";

/** @typedef {import("../../process/sandbox-probe.mjs").SandboxState} SandboxState */
/** @typedef {import("../../config/sandbox.mjs").SandboxConfig} SandboxConfig */

/** What formatBwrapArguments() makes of a policy that grants nothing. */
const ENFORCED = {
  writable: ["the worktree of the node", "its allowedFolders", "a temporary folder of its own"],
  readOnly: [
    "the system",
    "the checkout",
    "its .git",
    "git's settings and toolchains in your home",
  ],
  hidden: ["the rest of your home", "/tmp", "/run", "other worktrees"],
  network: ["none, but for the hosts that a node is granted"],
  caches: ["none shared, but for those that a node is granted"],
};
const TITLES = {
  ...{ writable: "writable", readOnly: "read-only", hidden: "hidden", network: "network" },
  ...{ caches: "caches", folders: "writable", readFolders: "readable", hosts: "hosts" },
};
const WIDTH = "read-only".length;

/** @param {Output} output @param {Record<string, string[]>} lists those that are empty are left out */
function showLists(output, lists) {
  for (const [name, items] of Object.entries(lists)) {
    const title = TITLES[/** @type {keyof typeof TITLES} */ (name)].padEnd(WIDTH);
    if (items.length > 0) output.print("  ", faint(title), `  ${items.join(", ")}`);
  }
}

/** @param {Output} output @param {SandboxState} probe */
function showProbe(output, probe) {
  output.print("sandbox: ", strong(formatSandbox(probe)));
  if (probe.state === "ok") {
    showLists(output, ENFORCED);
    output.print(good("✓"), ` tried out with ${probe.program}`);
    return;
  }
  output.print(bad("✗"), ` ${probe.message}`);
  output.print("  ", probe.advice);
  if (probe.command !== undefined) output.print("    ", strong(probe.command));
  output.print("  ", faint(probe.code));
}

/** @param {Output} output @param {SandboxConfig} config */
function showConfig(output, { fallback, allow }) {
  output.print();
  output.print(`your config: fallback ${fallback}; granted to plans without a question:`);
  if (Object.values(allow).every((items) => items.length === 0)) output.print("  ", "nothing");
  showLists(output, allow);
}

/** @param {import("../options.mjs").CommandOptions} given */
async function run(given) {
  const output = new Output(given);
  const env = getEnvironment(given);
  const probe = await probeSandbox({ env, again: true });
  const config = await readUserConfig({ home: copilotHome(env) });
  const { sandbox = DEFAULT_SANDBOX, problems } = config;
  const works = probe.state === "ok";
  const found = { works, ...probe, ...(works && { enforced: ENFORCED }), config: sandbox };
  output.result({ ...found, ...(problems.length > 0 && { problems }) }, () => {
    showProbe(output, probe);
    showConfig(output, sandbox);
    if (problems.length > 0) output.printError(`your config is not applied: ${problems[0]}`);
  });
  return works ? EXIT.done : EXIT.notDone;
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "sandbox",
  describe: "try out the sandbox of plans",
  about:
    "Runs a program in the sandbox that tap has for plans, and says what it enforces here: the program must " +
    "be able to write its worktree, and must not be able to write elsewhere, have capabilities or reach the " +
    "network. If that fails, it says why and how to correct it, and the exit code is 1. It needs no " +
    "gateway, and takes less than 5 s.",
  examples: [
    ["$0 sandbox", "does it work here?"],
    ["$0 sandbox --json", "the same for a program"],
  ],
  handler: run,
};
