// The command line: yargs with our commands, words and exit codes.

import yargs from "yargs";
import { version } from "../base/paths.mjs";
import { visible } from "../base/visible.mjs";
import { commandsFor } from "./commands/index.mjs";
import { EXIT_CODES, usage } from "./failure.mjs";
import { GLOBAL_OPTIONS } from "./given.mjs";

const NAME = "copilot-tap";
const WIDEST = 100;
/** The columns that yargs leaves of 80, without its margins. */
const EXAMPLE_WIDTH = 76;

const HEAD = `${NAME} ${version}: tools for GitHub Copilot CLI from any process

  $0 <command> [options]
  $0 <command> --help     what the command does, with an example`;

const exitCodes = EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`);
const FOOT = ["exit codes:", ...exitCodes].join("\n");

/** The texts of yargs, in our words. */
const STRINGS = {
  "Unknown argument: %s": {
    one: "unknown: %s",
    other: "unknown: %s",
  },
  "Unknown command: %s": { one: 'unknown command "%s"', other: "unknown commands %s" },
  "Did you mean %s?": 'unknown command: did you mean "%s"?',
  "Not enough non-option arguments: got %s, need at least %s": {
    one: "too few arguments: got %s, need at least %s",
    other: "too few arguments: got %s, need at least %s",
  },
  "Not enough arguments following: %s": "--%s needs a value",
  "Invalid values:": "invalid:",
  "Argument: %s, Given: %s, Choices: %s": "%s = %s of %s",
  "Positionals:": "Arguments:",
  "Show help": "show help",
  "Show version number": "show the version",
};

/** No argument turns into something else than the text that was typed. */
export const CONFIGURATION = {
  "boolean-negation": false,
  "dot-notation": false,
  "duplicate-arguments-array": false,
  "parse-positional-numbers": false,
  "greedy-arrays": false,
  "populate--": true,
};

/** @param {string} command with its arguments */
const nameOf = (command) => command.split(" ")[0];

/** @param {string} command with its arguments */
const usageOf = (command) =>
  `usage: ${NAME} ${command}\n${NAME} ${nameOf(command)} --help shows more`;

/** @typedef {import("./given.mjs").Command} Command */

/** @param {string[]} words the last is joined by "or" */
const anyOf = (words) => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" or ");

/**
 * Says again what yargs has found, by what was typed: it does not tell options from arguments.
 * @param {string} text with the words of STRINGS @param {string[]} args @param {string} [command] that is meant
 */
function worded(text, args, command) {
  const typed = args.map((arg) => arg.split("=", 1)[0]);
  const asTyped = (/** @type {string} */ name) =>
    [`--${name}`, `-${name}`].find((option) => typed.includes(option));
  const nearest = /^unknown command: (.*)$/s.exec(text)?.[1];
  if (nearest !== undefined) {
    const word = args.find((arg) => !arg.startsWith("-")) ?? "";
    return `unknown command "${visible(word).slice(0, 64)}": ${nearest}`;
  }
  const [, count] = /^too few arguments: got (\d+)/.exec(text) ?? [];
  if (count !== undefined && command !== undefined) {
    const missing = [...command.matchAll(/<(\w+)/g)].slice(Number(count)).map(([, name]) => name);
    if (missing.length > 0) return `missing: ${missing.join(", ")}`;
  }
  const unknown = /^unknown: (.*)$/s.exec(text)?.[1];
  if (unknown !== undefined) {
    const each = unknown.split(", ").map((name) => asTyped(name) ?? `"${name}"`);
    const options = each.filter((name) => name.startsWith("-"));
    if (options.length === 0) return `unexpected argument ${each.join(", ")}`;
    return `unknown option ${options.join(", ")}`;
  }
  const [, name, given, choices] = /^invalid: (\S+) = (.*) of (".*")$/s.exec(text) ?? [];
  if (name === undefined) return text;
  const known = choices.split(", ").map((choice) => choice.replaceAll('"', ""));
  const isOption = typed.some((word) => word === `--${name}` || word === `-${name[0]}`);
  return `${isOption ? "--" : ""}${name} must be ${anyOf(known)} (got ${given})`;
}

/** @param {string[]} args @param {Command[]} commands */
const meant = (args, commands) =>
  commands.map(({ command }) => command).find((command) => args.includes(nameOf(command)));

/** The line to look at next, after a mistake. @param {string} [given] the command that is meant */
function usageAdvice(given) {
  return given === undefined ? `${NAME} --help shows what there is` : usageOf(given);
}

/**
 * Examples in lines of their own, that can be copied: in two columns yargs breaks a command to fit the left
 * one.
 * @param {any} parser
 */
function wholeExamples(parser) {
  const add = parser.example.bind(parser);
  parser.example = (/** @type {string} */ command, /** @type {string} */ about) => {
    const line = `${command}  # ${about}`;
    if (line.replace("$0", NAME).length <= EXAMPLE_WIDTH) return add(line, "");
    add(command, "");
    return add(`# ${about}`, "");
  };
}

/**
 * As yargs is to have it. Its own options come first in its help: groups are shown in the order in which
 * they were begun. What follows after -- is no argument to yargs, and would be passed over in silence.
 * @param {Command} command
 */
const prepared = ({ command, describe, builder, handler, takesRest }) => ({
  command,
  describe,
  builder: (/** @type {import("yargs").Argv} */ parser) => {
    wholeExamples(parser);
    return builder(parser.group([], "Arguments:").group([], "Options:"));
  },
  handler: (/** @type {any} */ given) => {
    const rest = given["--"] ?? [];
    if (rest.length === 0 || takesRest) return handler(given);
    throw usage(`nothing goes after -- here, such as "${rest[0]}"`, usageOf(command));
  },
});

/** @param {string[]} args without the program */
export async function parserOf(args) {
  const commands = await commandsFor(args);
  const parser = /** @type {any} */ (yargs(args)).usageConfiguration({ "hide-types": true });
  return /** @type {import("yargs").Argv} */ (parser)
    .scriptName(NAME)
    .locale("en")
    .updateLocale(/** @type {any} */ (STRINGS))
    .parserConfiguration(CONFIGURATION)
    .usage(HEAD)
    .epilogue(FOOT)
    .options(GLOBAL_OPTIONS)
    .group(["home", "json", "help", "version"], "Options of every command:")
    .command(/** @type {any} */ (commands.map(prepared)))
    .demandCommand(1, "expected a command")
    .strict()
    .recommendCommands()
    .help()
    .alias("help", "h")
    .version(version)
    .wrap(Math.min(process.stdout.columns || 80, WIDEST))
    .exitProcess(false)
    .fail((message, error) => {
      if (error && error.name !== "YError") throw error;
      const text = (message ?? error.message).replace(/\s*\n\s*/g, " ").trim();
      const command = meant(args, commands);
      throw usage(worded(text, args, command), usageAdvice(command));
    });
}
