// The limits of docs/limits.md, as set by an environment. The addon reads the variables, so that a gateway,
// a session and the command use the same number.

import { addon } from "./addon.mjs";

/**
 * A row of the table with the value in force. `default`: without a variable; `wrong`: why its
 * variable is ignored, as the start of a sentence.
 * @typedef {import("./addon.js").LimitRow & {default: number, wrong?: string}} LimitInForce
 */

/** @param {NodeJS.ProcessEnv} env @returns {LimitInForce[]} */
export function readLimits(env = process.env) {
  const readings = addon.readLimits(env);
  return addon.limits.map((row, i) => ({ ...row, ...readings[i], default: row.value }));
}

/** @param {string} name of a limit @param {NodeJS.ProcessEnv} env @returns {number} the value in force */
export function readLimit(name, env = process.env) {
  const found = addon.readLimits(env).find((limit) => limit.name === name);
  if (!found) throw new Error(`there is no limit "${name}"`);
  return found.value;
}
