// The help of the command and of each of its commands, for the columns of a terminal.

import { version } from "../lib/paths.mjs";
import { wrapWords } from "../views/wording.mjs";
import { EXIT_CODES } from "./exit.mjs";
import { GLOBAL_OPTIONS, NAME } from "./options.mjs";

/** @typedef {import("./options.mjs").Command} Command */
/** @typedef {import("./options.mjs").Option} Option */

/** Longer lines are hard to read. */
const WIDEST = 100;
const NARROWEST = 40;
const INDENT = "  ";

/** @param {number} [columns] of the terminal; without it, of none */
const clampWidth = (columns) => Math.max(NARROWEST, Math.min(columns || 80, WIDEST));

/** @param {string} text @param {number} width */
const paragraphs = (text, width) =>
  text.split("\n").flatMap((paragraph) => (paragraph === "" ? [""] : wrapWords(paragraph, width)));

/**
 * Two columns under a title; what is long on the right goes on below itself.
 * @param {string} title @param {[string, string][]} rows @param {number} width
 * @param {number} left the width of the left one
 */
function section(title, rows, width, left = Math.max(...rows.map(([term]) => term.length))) {
  if (rows.length === 0) return [];
  const lines = rows.flatMap(([term, about]) => {
    const [first, ...more] = wrapWords(about, width - left - 2 * INDENT.length);
    const under = INDENT + " ".repeat(left) + INDENT;
    return [`${INDENT}${term.padEnd(left)}${INDENT}${first}`, ...more.map((line) => under + line)];
  });
  return ["", `${title}:`, ...lines];
}

/** @param {Record<string, Option>} options @returns {[string, string][]} */
const formatOptions = (options) =>
  Object.entries(options)
    .filter(([, { hidden }]) => !hidden)
    .map(([name, { short, describe, type }]) => [
      `${short ? `-${short}, ` : "    "}--${name}${type === "boolean" ? "" : "=…"}`,
      describe ?? "",
    ]);

/** @param {string} text */
const withName = (text) => text.replaceAll("$0", NAME);

/** @param {number} width */
const globals = (width) =>
  section("Options of every command", formatOptions(GLOBAL_OPTIONS), width);

/** @param {Command["examples"][number]} example @param {number} width */
function exampleLines([command, about], width) {
  const line = INDENT + withName(command);
  const whole = `${line}  # ${about}`;
  return whole.length <= width ? [whole] : [line, `${INDENT}# ${about}`];
}

/** @param {Command} command @param {number} [columns] */
export function formatHelp(command, columns) {
  const width = clampWidth(columns);
  const { usages = [command.command], about, positionals = {}, options = {}, examples } = command;
  const { tables = [] } = command;
  const places = Object.entries(positionals).map(
    ([name, { describe = "" }]) => /** @type {[string, string]} */ ([name, describe]),
  );
  const lines = [
    ...usages.map((one) => `${NAME} ${one}`),
    ...["", ...paragraphs(withName(about), width)],
    ...section("Arguments", places, width),
    ...section("Options", formatOptions(options), width),
    ...tables.flatMap(([title, rows]) => section(title, rows, width)),
    ...globals(width),
    ...["", "Examples:", ...examples.flatMap((example) => exampleLines(example, width))],
  ];
  return `${lines.join("\n")}\n`;
}

/** @param {[string, Command[]][]} groups all, by their titles @param {number} [columns] */
export function formatCommandList(groups, columns) {
  const width = clampWidth(columns);
  const left = Math.max(
    ...groups.flatMap(([, commands]) => commands.map(({ command }) => command.length)),
  );
  const lists = groups.flatMap(([title, commands]) =>
    section(
      title,
      commands.map(({ command, describe }) => [command, describe]),
      width,
      left,
    ),
  );
  const codes = EXIT_CODES.map(
    ([code, meaning]) => /** @type {[string, string]} */ ([String(code), meaning]),
  );
  const lines = [
    `${NAME} ${version}: tools for GitHub Copilot CLI from any process`,
    "",
    `${NAME} <command> [options]`,
    `${NAME} <command> --help     what the command does, with an example`,
    ...lists,
    ...globals(width),
    ...section("Exit codes", codes, width),
  ];
  return `${lines.join("\n")}\n`;
}
