// A question at the terminal.

import readline from "node:readline";
import { Failure } from "./exit.mjs";

/** @typedef {import("../views/output.mjs").Output} Output */

/**
 * A line that the user types; "" at the end of the input.
 * @param {string} question @returns {Promise<string>} without blanks around it
 */
export function askLine(question) {
  const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
  return new Promise((resolve) => {
    terminal.on("close", () => resolve(""));
    terminal.question(question, (answer) => {
      resolve(answer.trim());
      terminal.close();
    });
  });
}

/**
 * Anything but a clear yes is a no, the end of the input included.
 * @param {string} question @returns {Promise<boolean>}
 */
export const confirm = async (question) => /^y(es)?$/i.test(await askLine(question));

// What is asked before something is ended or removed, or gets more than is usual.

/** Whether somebody can answer. @param {Output} output */
export const mayConfirm = (output) =>
  !output.json && process.stdin.isTTY === true && process.stdout.isTTY === true;

/** @param {Output} output @param {{yes: boolean, action: string}} given @param {string} question */
export async function requireConfirmation(output, { yes, action }, question) {
  if (yes) return;
  if (!mayConfirm(output)) {
    const advice = "or run it in a terminal, without --json";
    const code = "CONSENT_NEEDED";
    throw new Failure(`plan ${action} asks, and nobody is here: use --yes`, { advice, code });
  }
  if (await confirm(`${question} [y/N] `)) return;
  throw new Failure("Nothing was changed.", { code: "REFUSED" });
}
