// What is asked before something is ended or removed.

import { confirmed } from "../confirmed.mjs";
import { Failure } from "../failure.mjs";

/** @typedef {import("../../views/output.mjs").Output} Output */

/** @param {Output} output @param {{yes: boolean, action: string}} given @param {string} question */
export async function requireYes(output, { yes, action }, question) {
  if (yes) return;
  if (output.json || !(process.stdin.isTTY && process.stdout.isTTY)) {
    const advice = "or run it in a terminal, without --json";
    const code = "CONSENT_NEEDED";
    throw new Failure(`plan ${action} asks, and nobody is here: use --yes`, { advice, code });
  }
  if (await confirmed(`${question} [y/N] `)) return;
  throw new Failure("Nothing was changed.", { code: "REFUSED" });
}
