// `top`: what runs, as a screen that is kept up to date.

import { usage } from "../exit.mjs";
import { getGatewayFiles } from "../options.mjs";

/** @param {NodeJS.ProcessEnv} env @returns {string} why this terminal cannot show it; empty: it can */
function obstacle({ TERM } = process.env) {
  if (!process.stdin.isTTY) return "the standard input is not a terminal";
  if (!process.stdout.isTTY) return "the standard output is not a terminal";
  return TERM === "dumb" ? 'TERM="dumb" is a terminal that cannot move its cursor' : "";
}

/** @param {import("../options.mjs").CommandOptions} given */
async function run(given) {
  if (given.json) throw usage("top prints no JSON", "copilot-tap status --watch --json does");
  const why = obstacle();
  if (why !== "") {
    throw usage(
      `top needs a terminal: ${why}`,
      "copilot-tap status shows the same once, --watch again and again",
    );
  }
  const { runTop } = await import("../top/run.mjs");
  await runTop(getGatewayFiles(given));
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "top",
  describe: "watch everything on one screen",
  about:
    "Shows sessions, providers, rules, calls, spans, streams, pushes, what was put before the model, " +
    "goals, features and emitters, and looks again every second. It changes nothing. The last line of " +
    "the screen names the keys: q quits, ? shows them all.",
  examples: [["$0 top", "until q or Ctrl-C"]],
  handler: run,
  farewellMs: 0, // a gateway that hangs may still owe an answer
};
