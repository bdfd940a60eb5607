// `limits`: every limit, with the value in force.

import { Failure } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getEnvironment, getGatewayFiles } from "../options.mjs";
import { faint, Output, strong } from "../../views/output.mjs";
import { table } from "../../views/table.mjs";

/** @typedef {{name: string, value: number, unit: string, default: number, env: string, why: string, ignored?: string}} LimitInForce */

/**
 * As a gateway that starts with this environment would have them.
 * @param {NodeJS.ProcessEnv} variables @returns {Promise<LimitInForce[]>}
 */
async function inForce(variables) {
  const { readLimits } = await import("../../lib/limits.mjs");
  return readLimits(variables).map(({ name, value, unit, default: usual, env, why, wrong }) => {
    const limit = { name, value, unit, default: usual, env, why };
    return wrong === undefined ? limit : { ...limit, ignored: wrong };
  });
}

/** @param {Output} output @param {LimitInForce[]} limits */
function showReasons(output, limits) {
  const columns = [{ title: "limit" }, { title: "default", right: true }, { title: "why" }];
  table(
    output,
    columns,
    limits.map(({ name, default: usual, why }) => [name, String(usual), why]),
  );
}

/** @param {Output} output @param {LimitInForce[]} limits */
function show(output, limits) {
  const columns = [
    { title: "limit" },
    { title: "value", right: true },
    { title: "unit" },
    { title: "variable", flexible: true },
  ];
  const rows = limits.map(({ name, value, unit, default: usual, env }) => [
    name,
    value === usual ? String(value) : strong(value),
    unit,
    env,
  ]);
  table(output, columns, rows);
}

/** @param {import("../options.mjs").CommandOptions} given @returns {Promise<{from: "gateway" | "environment", limits: LimitInForce[]}>} */
async function readLimits(given) {
  try {
    const { limits } = await withGateway(getGatewayFiles(given), (control) => control.inspect());
    return { from: "gateway", limits };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { from: "environment", limits: await inForce(getEnvironment(given)) };
  }
}

/** @param {import("../options.mjs").CommandOptions & {why: boolean}} given */
async function run(given) {
  const output = new Output(given);
  const found = await readLimits(given);
  output.result(found, ({ from, limits }) => {
    const running = from === "gateway";
    output.print(
      faint(running ? "of the gateway that runs" : "of a gateway that starts from here"),
    );
    (given.why ? showReasons : show)(output, limits);
    for (const { ignored } of limits) if (ignored) output.printError(`${ignored}: it is ignored`);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "limits",
  describe: "show every limit and its variable",
  about:
    "Shows every limit with its unit and the environment variable that changes it. The values are " +
    "those of the running gateway. If none runs, they are those that a gateway started from this " +
    "shell would have.",
  options: {
    why: { describe: "show the default of each limit, and its reason", type: "boolean" },
  },
  examples: [
    ["$0 limits", "all of them"],
    ["$0 limits --why", "their reasons"],
    ["TAP_MAX_TOOLS=50 $0 limits", "what a variable does, while no gateway runs"],
  ],
  handler: run,
};
