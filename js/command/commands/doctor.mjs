// `doctor`: why a tool is missing (docs/troubleshooting.md).

import { EXIT } from "../failure.mjs";
import { environmentOf } from "../given.mjs";
import { Output } from "../output.mjs";

/** What still hangs when all is said is not waited for. */
const FAREWELL_MS = 500;

/** @param {import("../given.mjs").Given & {tool?: string}} given */
async function run(given) {
  const output = new Output(given);
  const { tool } = given;
  const { examine } = await import("../doctor/checks.mjs");
  const { lookAround } = await import("../doctor/place.mjs");
  const { show } = await import("../doctor/report.mjs");
  const place = await lookAround({ env: environmentOf(given), cwd: process.cwd(), tool });
  const checks = examine(place);
  const well = checks.every(({ status }) => status !== "failed");
  output.result({ well, ...(tool !== undefined && { tool }), checks }, () =>
    show(output, checks, tool),
  );
  process.exitCode = well ? EXIT.done : EXIT.notDone;
  setTimeout(() => process.exit(), FAREWELL_MS).unref();
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "doctor [tool]",
  describe: "find out why a tool is missing",
  builder: (yargs) =>
    yargs
      .usage(
        "$0 doctor [tool]\n\n" +
          "Looks at everything between a provider and the model, in the order in which a call depends " +
          "on it, and shows the first thing that is wrong and what to do about it. With a tool: why " +
          "the model does not have that one. No setting is changed, nothing is installed or ended. It " +
          "runs node and copilot --version, for 5 s at most (that may unpack the CLI), gets in once " +
          "as a provider would, and on a disk that is nearly full makes a small file for a moment.",
      )
      .positional("tool", { describe: "the name of a tool that should be there", type: "string" })
      .example("$0 doctor", "is all well?")
      .example("$0 doctor get_weather", "why does the model not have it?"),
  handler: run,
};
