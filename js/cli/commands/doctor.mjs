// `doctor`: why a tool is missing (docs/troubleshooting.md).

import { EXIT } from "../exit.mjs";
import { getEnvironment } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { table } from "../../views/table.mjs";

/** @param {string | undefined} text */
const parseColumns = (text) => (/^\d{1,4}$/.test(text ?? "") ? Number(text) : undefined);

/** @param {Output} output */
async function showCodes(output) {
  const { listCodes } = await import("../../doctor/findings.mjs");
  const columns = [{ title: "code" }, { title: "severity" }, { title: "fix" }];
  output.result({ codes: listCodes() }, ({ codes }) =>
    table(
      output,
      columns,
      codes.map(({ code, severity, fix }) => [code, severity, fix || "as the finding says"]),
    ),
  );
  return EXIT.done;
}

/** @param {import("../options.mjs").CommandOptions & {tool?: string, verbose: boolean, codes: boolean, columns?: string}} given */
async function run(given) {
  const output = new Output(given, { columns: parseColumns(given.columns) });
  if (given.codes) return showCodes(output);
  const { tool } = given;
  const { examine } = await import("../../doctor/checks.mjs");
  const { gatherFacts } = await import("../../doctor/facts.mjs");
  const { show } = await import("../../doctor/report.mjs");
  const place = await gatherFacts({ env: getEnvironment(given), cwd: process.cwd(), tool });
  const checks = examine(place);
  const well = checks.every(({ status }) => status !== "failed");
  output.result({ well, ...(tool !== undefined && { tool }), checks }, () =>
    show(output, checks, { tool, verbose: given.verbose }),
  );
  return well ? EXIT.done : EXIT.notDone;
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "doctor [tool]",
  describe: "find out why a tool is missing",
  about:
    "Checks everything between a provider and the model, in the order in which a call depends " +
    "on it, and shows the first problem with its fix. With a tool, it says why the model does " +
    "not have that tool. The doctor changes no setting, and installs and ends nothing. It " +
    "runs node and copilot --version for at most 5 s (that may unpack the CLI), tries out the " +
    "sandbox of plans, and connects once as a provider would.",
  positionals: { tool: { describe: "the name of a tool that should be there" } },
  options: {
    verbose: { short: "v", describe: "also show the checks that passed", type: "boolean" },
    codes: { describe: "list the codes of all findings with their fixes", type: "boolean" },
    columns: { hidden: true },
  },
  examples: [
    ["$0 doctor", "is all well?"],
    ["$0 doctor get_weather", "why does the model not have it?"],
  ],
  handler: run,
  farewellMs: 500, // what hung while it was examined may hang on
};
