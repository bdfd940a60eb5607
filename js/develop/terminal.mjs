// Input and output for a person. A terminal has a prompt, which stays below the output.

import readline from "node:readline";
import { visibleLines } from "../lib/visible.mjs";

/** @typedef {{input: NodeJS.ReadableStream, output: NodeJS.WritableStream}} Streams */

export class Terminal {
  #output;
  /** @type {readline.Interface | undefined} */
  #lines;
  #asks = false;
  isTerminal;

  /** @param {Streams} streams */
  constructor({ input, output }) {
    this.isTerminal = [input, output].every((stream) => "isTTY" in stream && stream.isTTY);
    this.#output = output;
  }

  /** @param {string} text */
  print(text) {
    if (this.#asks) {
      readline.cursorTo(this.#output, 0);
      readline.clearScreenDown(this.#output);
    }
    this.#output.write(`${visibleLines(text)}\n`);
    if (this.#asks) this.#lines?.prompt(true);
  }

  /**
   * @param {Streams["input"]} input @param {AbortSignal} ending @param {() => string[]} words to complete
   */
  async *lines(input, ending, words) {
    const terminal = this.isTerminal && { output: this.#output, terminal: true, prompt: "> " };
    const completer = (/** @type {string} */ typed) => [
      words().filter((word) => word.startsWith(typed)),
      typed,
    ];
    const lines = readline.createInterface({ input, signal: ending, ...terminal, completer });
    this.#lines = lines;
    // A terminal in raw mode sends a key instead of a signal.
    lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    lines.on("close", () => (this.#asks = false));
    this.#ask();
    for await (const line of lines) {
      this.#asks = false;
      yield line;
      this.#ask();
    }
  }

  #ask() {
    if (!this.isTerminal) return;
    this.#asks = true;
    this.#lines?.prompt();
  }

  close() {
    this.#asks = false;
    this.#lines?.close();
  }
}
