// `limits`: every limit, with the value in force.

import { environmentOf } from "../given.mjs";
import { Output, strong } from "../output.mjs";
import { table } from "../table.mjs";

/** What the gateway takes at most (native/base/limits.cc). */
const MOST = 2 ** 40;

/** @typedef {{name: string, value: number, unit: string, default: number, env: string, why: string, ignored?: string}} LimitInForce */

/**
 * As a gateway that starts with this environment would have it.
 * @param {import("../../base/addon.js").LimitRow} row @param {NodeJS.ProcessEnv} variables
 * @returns {LimitInForce}
 */
function inForce({ name, value, least, unit, env, why }, variables) {
  const text = variables[env] ?? "";
  const limit = { name, value, unit, default: value, env, why };
  if (text === "") return limit;
  const number = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (number >= least && number <= MOST) return { ...limit, value: number };
  return {
    ...limit,
    ignored: `${env} is "${text}", which is not a whole number of at least ${least}`,
  };
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

/** @param {import("../given.mjs").Given} given */
async function run(given) {
  const output = new Output(given);
  const { addon } = await import("../../base/addon.mjs");
  const limits = addon.limits.map((row) => inForce(row, environmentOf(given)));
  output.result({ limits }, () => {
    show(output, limits);
    for (const { ignored } of limits) if (ignored) output.complain(`${ignored}: it is ignored`);
  });
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "limits",
  describe: "show every limit and its variable",
  builder: (parser) =>
    parser
      .usage(
        "$0 limits\n\n" +
          "Shows every limit with the value in force, its unit and the environment variable that " +
          "changes it. docs/limits.md says why each is there.",
      )
      .example("$0 limits", "all of them")
      .example("TAP_CALL_TIMEOUT_MS=60000 $0 limits", "what a variable would do"),
  handler: run,
};
