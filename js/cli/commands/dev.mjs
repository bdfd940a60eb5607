// `dev`: a gateway and a pretend session, to develop a provider with (docs/testing.md).

import { EXIT, usage } from "../exit.mjs";

/** @param {import("../options.mjs").CommandOptions & {watch: boolean, project: boolean, rest: string[]}} given */
async function run({ json, watch, project, rest: program }) {
  if (json && program.length > 0) {
    throw usage(
      "--json takes no command",
      "start the provider yourself, with the env of the first line",
    );
  }
  if (watch && program.length === 0) {
    throw usage(
      "--watch needs the provider's program",
      "copilot-tap dev --watch -- node provider.mjs",
    );
  }
  if (project && program.length === 0) {
    throw usage(
      "--project needs the provider's program",
      "copilot-tap dev --project -- node tools/provider.mjs",
    );
  }
  const { runDev, runJsonDev } = await import("../../develop/dev.mjs");
  const streams = { input: process.stdin, output: process.stdout };
  const failed = json
    ? await runJsonDev(streams)
    : await runDev(program, streams, { watch, project });
  process.stdin.destroy(); // it would keep the process alive
  // A person has seen it; a script has not.
  return failed && !process.stdin.isTTY ? EXIT.notDone : EXIT.done;
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "dev",
  describe: "try a provider without Copilot",
  usages: ["dev [--watch] [--project] [-- program…]"],
  about:
    "Starts a gateway and a pretend session, and the program if one is given. Type the name of a " +
    "tool and its arguments to call it, as in set_timer label=egg; `help` shows what else there " +
    "is, and Ctrl-D ends it. With --json, it reads what to do as JSON lines from stdin. If " +
    "stdin is not a terminal and a line fails, the exit code is 1.",
  options: {
    watch: {
      describe: "start the program again when a file of this folder changes",
      type: "boolean",
    },
    project: {
      describe: "start the program as a tap.config.json does: with a token and the session",
      type: "boolean",
    },
  },
  examples: [["$0 dev -- node provider.mjs", "and then call its tools by hand"]],
  takesRest: true,
  handler: run,
};
