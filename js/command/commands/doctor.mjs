// `doctor`: why a tool is missing (docs/troubleshooting.md).

import { EXIT } from "../failure.mjs";
import { environmentOf } from "../given.mjs";
import { Output } from "../../views/output.mjs";

/** Does not wait for operations that still hang after the report. */
const FAREWELL_MS = 500;

/** @param {string | undefined} text */
const columnsOf = (text) => (/^\d{1,4}$/.test(text ?? "") ? Number(text) : undefined);

/** @param {import("../given.mjs").Given & {tool?: string, verbose: boolean, columns?: string}} given */
async function run(given) {
  const output = new Output(given, { columns: columnsOf(given.columns) });
  const { tool } = given;
  const { examine } = await import("../../doctor/checks.mjs");
  const { lookAround } = await import("../../doctor/place.mjs");
  const { show } = await import("../../doctor/report.mjs");
  const place = await lookAround({ env: environmentOf(given), cwd: process.cwd(), tool });
  const checks = examine(place);
  const well = checks.every(({ status }) => status !== "failed");
  output.result({ well, ...(tool !== undefined && { tool }), checks }, () =>
    show(output, checks, { tool, verbose: given.verbose }),
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
          "on it, and shows what is wrong first and how to fix it. With a tool: why " +
          "the model does not have that one. No setting is changed, nothing is installed or ended. It " +
          "runs node and copilot --version, for 5 s at most (that may unpack the CLI), gets in once " +
          "as a provider would, and on a disk that is nearly full makes a small file for a moment.",
      )
      .positional("tool", { describe: "the name of a tool that should be there", type: "string" })
      .option("verbose", {
        alias: "v",
        describe: "what has passed, too",
        type: "boolean",
        default: false,
      })
      .option("columns", { type: "string", requiresArg: true, hidden: true })
      .example("$0 doctor", "is all well?")
      .example("$0 doctor get_weather", "why does the model not have it?"),
  handler: run,
};
