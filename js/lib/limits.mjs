// The limits of docs/limits.md that an environment puts in force. The addon reads the variables: a gateway,
// a session and the command are to see the same number.

import { addon } from "./addon.mjs";

/**
 * A row of the table with what is in force. `default`: where no variable says otherwise; `wrong`: why its
 * variable is ignored, to begin a sentence with.
 * @typedef {import("./addon.js").LimitRow & {default: number, wrong?: string}} LimitInForce
 */

/** @param {NodeJS.ProcessEnv} env @returns {LimitInForce[]} */
export function readLimits(env = process.env) {
  const readings = addon.readLimits(env);
  return addon.limits.map((row, i) => ({ ...row, ...readings[i], default: row.value }));
}

/** @param {string} name of a limit @param {NodeJS.ProcessEnv} env @returns {number} what is in force */
export function readLimit(name, env = process.env) {
  const found = addon.readLimits(env).find((limit) => limit.name === name);
  if (!found) throw new Error(`there is no limit "${name}"`);
  return found.value;
}
