// A question at the terminal.

import readline from "node:readline";

/**
 * Anything but a clear yes is a no, the end of the input included.
 * @param {string} question @returns {Promise<boolean>}
 */
export function confirmed(question) {
  const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
  return new Promise((resolve) => {
    terminal.on("close", () => resolve(false));
    terminal.question(question, (answer) => {
      resolve(/^\s*y(es)?\s*$/i.test(answer));
      terminal.close();
    });
  });
}
