// The terminal as a screen of lines that change, and as keys. What it was before comes back at each end of the
// process that Node.js can see.

import readline from "node:readline";
import * as terminal from "ansi-escapes";
import { Output } from "../../views/output.mjs";

/** @typedef {import("../../views/top/state.mjs").Key} Key */
/** @typedef {import("../../views/top/frame.mjs").Size} Size */

/** A line that a terminal draws wider than we have measured it must not push the next one down. */
const WRAP = { off: "\u001b[?7l", on: "\u001b[?7h" };

export class Screen {
  #input;
  #output;
  /** What each line has on the screen; undefined: anything. @type {string[] | undefined} */
  #shown;
  #open = false;
  /** @type {(key: Key) => void} */
  #onKey;
  #onResize;
  #restore = () => this.close();

  /**
   * @param {{input: import("node:tty").ReadStream, output: import("node:tty").WriteStream, onKey: (key: Key) => void,
   *   onResize: () => void, onEnd?: () => void}} options `onEnd`: no key will come any more
   */
  constructor({ input, output, onKey, onResize, onEnd = () => {} }) {
    this.#input = input;
    this.#output = output;
    this.#onKey = onKey;
    this.#onResize = onResize;
    input.once("end", onEnd);
  }

  /** @returns {Size} without the last column: behind it some terminals erase what is in it */
  get size() {
    return { columns: (this.#output.columns || 80) - 1, rows: this.#output.rows || 24 };
  }

  #pressed = (/** @type {string | undefined} */ text, /** @type {Key} */ key) =>
    this.#onKey({ ...key, sequence: key.sequence ?? text });

  #resized = () => {
    this.#shown = undefined;
    this.#onResize();
  };

  /** After a stop of the process its shell may have changed the terminal. */
  #continued = () => {
    this.#input.setRawMode(false);
    this.#enter();
    this.#onResize();
  };

  open() {
    this.#open = true;
    process.on("exit", this.#restore);
    process.on("uncaughtExceptionMonitor", this.#restore);
    process.on("SIGCONT", this.#continued);
    readline.emitKeypressEvents(this.#input);
    this.#input.on("keypress", this.#pressed);
    this.#output.on("resize", this.#resized);
    this.#enter();
    this.#input.resume();
  }

  #enter() {
    this.#input.setRawMode(true);
    this.#output.write(terminal.enterAlternativeScreen + terminal.cursorHide + WRAP.off);
    this.#shown = undefined;
  }

  /** @param {string[]} lines size.rows of them; those that have not changed are not written again */
  show(lines) {
    if (!this.#open) return;
    const before = this.#shown;
    const changes = lines
      .map((line, row) => terminal.cursorTo(0, row) + line + terminal.eraseEndLine)
      .filter((_, row) => lines[row] !== before?.[row]);
    this.#shown = lines;
    if (before === undefined) changes.unshift(terminal.clearViewport);
    // A terminal that knows this shows all changes at once.
    if (changes.length > 0) this.#output.write(terminal.synchronizedOutput(changes.join("")));
  }

  /** The terminal as it was. */
  close() {
    if (!this.#open) return;
    this.#open = false;
    process.off("exit", this.#restore);
    process.off("uncaughtExceptionMonitor", this.#restore);
    process.off("SIGCONT", this.#continued);
    this.#input.off("keypress", this.#pressed);
    this.#output.off("resize", this.#resized);
    this.#output.write(WRAP.on + terminal.cursorShow + terminal.exitAlternativeScreen);
    this.#input.setRawMode(false);
    this.#input.pause();
  }
}

// Lines of parts as text for a terminal.

/** Made safe. @param {import("../../views/output.mjs").Part[][]} lines @returns {string[]} */
export function paintLines(lines) {
  /** @type {string[]} */
  const texts = [];
  const out = /** @type {any} */ ({
    isTTY: true,
    write: (/** @type {string} */ line) => texts.push(line),
  });
  const output = new Output({}, { out, columns: Infinity });
  for (const line of lines) output.print(...line);
  return texts.map((line) => line.slice(0, -1));
}
