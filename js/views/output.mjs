// All output of the command. Text is made safe here. Colours are for terminals
// without NO_COLOR. With --json, stdout has only JSON.

import { styleText } from "node:util";
import { escapeHidden, visible } from "../lib/visible.mjs";

/** @typedef {Parameters<typeof styleText>[0]} Style */
/** @typedef {{style: Style, text: string}} StyledText */
/** A piece of a line. @typedef {string | StyledText} Part */

/** @param {Style} style @param {unknown} text @returns {StyledText} */
export const styled = (style, text) => ({ style, text: String(text) });
/** @param {unknown} text */
export const strong = (text) => styled("bold", text);
/** @param {unknown} text */
export const faint = (text) => styled("dim", text);
/** @param {unknown} text */
export const good = (text) => styled("green", text);
/** @param {unknown} text */
export const warning = (text) => styled("yellow", text);
/** @param {unknown} text */
export const bad = (text) => styled("red", text);

/** https://no-color.org @param {{isTTY?: boolean}} stream @param {NodeJS.ProcessEnv} env */
export const hasColours = (stream, env = process.env) =>
  Boolean(stream.isTTY) && !env.NO_COLOR && env.TERM !== "dumb";

/** As `\u`, which is valid in JSON. @param {string} character */
const jsonEscape = (character) =>
  [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");

/** Escapes control and misleading characters; line breaks stay. @param {string} json */
const safeJson = (json) =>
  json
    .split("\n")
    .map((line) => escapeHidden(line, jsonEscape))
    .join("\n");

/** This module decides about colours, for each stream. */
const OURS = { validateStream: false };
/** Moves the cursor to the top left, and clears the screen below. */
const CLEAR = "\u001b[H\u001b[J";

/** @typedef {NodeJS.WritableStream & {isTTY?: boolean, columns?: number, rows?: number}} Sink */

export class Output {
  json;
  #out;
  #err;
  #env;
  #columns;
  /** The lines for a screen. @type {string[] | undefined} */
  #lines;

  /**
   * @param {{json?: boolean}} [given] of the command line
   * @param {{out?: Sink, err?: Sink, env?: NodeJS.ProcessEnv, columns?: number}} [where] `columns`:
   *   of the reader's terminal, if that is not this one
   */
  constructor({ json = false } = {}, where = {}) {
    const { out = process.stdout, err = process.stderr, env = process.env, columns } = where;
    this.json = json;
    this.#out = out;
    this.#err = err;
    this.#env = env;
    this.#columns = columns;
  }

  /** The width of a line; unlimited if the output is not a terminal. */
  get width() {
    return this.#columns ?? (this.#out.isTTY ? this.#out.columns || 80 : Infinity);
  }

  /** @param {Part[]} parts @param {Sink} stream @returns {string} */
  #line(parts, stream) {
    const colours = hasColours(stream, this.#env);
    return parts
      .map((part) => {
        if (typeof part === "string") return visible(part);
        const text = visible(part.text);
        return colours ? styleText(part.style, text, OURS) : text;
      })
      .join("");
  }

  /** A single line for people, with line breaks escaped. @param {Part[]} parts */
  print(...parts) {
    if (this.json) return;
    const line = `${this.#line(parts, this.#out)}\n`;
    if (this.#lines) this.#lines.push(line);
    else this.#out.write(line);
  }

  /** A text of several lines, for people. @param {string} text @param {string} [indent] */
  printText(text, indent = "") {
    for (const line of text.split(/\r?\n/)) this.print(indent, line.replaceAll("\t", "    "));
  }

  /**
   * Replaces the screen by the output of `show`, for a terminal that is refreshed. Lines that do not fit
   * are left out.
   * @param {() => void} show
   */
  screen(show) {
    const rows = this.#out.isTTY && this.#env.TERM !== "dumb" ? this.#out.rows || 24 : 0;
    const lines = (this.#lines = /** @type {string[]} */ ([]));
    show();
    this.#lines = undefined;
    if (rows === 0) return void this.#out.write(lines.join(""));
    this.#out.write(`${CLEAR}${lines.slice(0, rows - 1).join("")}`);
  }

  /**
   * The result of the command: with --json the value, otherwise the output of `show`.
   * @template T @param {T} value @param {(value: T) => void} [show]
   */
  result(value, show = () => {}) {
    if (this.json) this.#out.write(`${safeJson(JSON.stringify(value, null, 2))}\n`);
    else show(value);
  }

  /** The same for an item of a stream: with --json a line for each. @template T @param {T} value @param {(value: T) => void} show */
  item(value, show) {
    if (this.json) this.jsonLine(value);
    else show(value);
  }

  /** A line of JSON, even without --json. @param {unknown} value */
  jsonLine(value) {
    this.#out.write(`${safeJson(JSON.stringify(value))}\n`);
  }

  /** To stderr, for people. @param {string} text @param {string} [advice] the next step */
  printError(text, advice = "") {
    const head = this.#line([bad("copilot-tap:"), ` ${text}`], this.#err);
    this.#err.write(`${head}\n`);
    for (const line of advice === "" ? [] : advice.split("\n")) {
      this.#err.write(`${this.#line([line], this.#err)}\n`);
    }
  }

  /** Prints a failure: on stderr, or as JSON with --json. @param {import("../cli/exit.mjs").Failure} failure */
  fail({ code, message, advice, problems }) {
    if (this.json) this.result({ error: { code, message, ...(advice && { advice }), problems } });
    else this.printError(message, advice);
  }
}

// A view as text without colours, for a session's timeline.

/** 80 columns minus the timeline's own margin. */
export const TIMELINE_COLUMNS = 74;

/** @param {(output: Output) => void} show @returns {string} */
export function timelineText(show) {
  let text = "";
  const out = /** @type {any} */ ({
    isTTY: true,
    columns: TIMELINE_COLUMNS,
    write: (/** @type {string} */ part) => (text += part),
  });
  show(new Output({}, { out, err: out, env: { NO_COLOR: "1" } }));
  return text.trimEnd();
}
