// The command line: yargs with our commands, words and exit codes.

import yargs from "yargs";
import { version } from "../base/paths.mjs";
import { commandsFor } from "./commands/index.mjs";
import { EXIT_CODES, usage } from "./failure.mjs";
import { GLOBAL_OPTIONS } from "./given.mjs";

const NAME = "copilot-tap";
const WIDEST = 100;

const HEAD = `${NAME} ${version}: tools for GitHub Copilot CLI from any process

  $0 <command> [options]
  $0 <command> --help     what the command does, with an example`;

const exitCodes = EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`);
const FOOT = ["exit codes:", ...exitCodes].join("\n");

/** What yargs says, in our words. */
const STRINGS = {
  "Unknown argument: %s": {
    one: 'there is no argument or option "%s" here',
    other: "there are no arguments or options %s here",
  },
  "Unknown command: %s": { one: 'there is no command "%s"', other: "there are no commands %s" },
  "Did you mean %s?": 'there is no such command; did you mean "%s"?',
  "Not enough non-option arguments: got %s, need at least %s": {
    one: "too few arguments: got %s, need at least %s",
    other: "too few arguments: got %s, need at least %s",
  },
  "Not enough arguments following: %s": "--%s needs a value",
  "Invalid values:": "wrong value:",
  "Argument: %s, Given: %s, Choices: %s": "%s is %s, and has to be one of %s",
  "Positionals:": "Arguments:",
  "Show help": "show help",
  "Show version number": "show the version",
};

/** No argument turns into something else than the text that was typed. */
const CONFIGURATION = {
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

/** The line to look at next, after a mistake. @param {string[]} args @param {Command[]} commands */
function usageAdvice(args, commands) {
  const given = commands
    .map(({ command }) => command)
    .find((command) => args.includes(nameOf(command)));
  return given === undefined ? `${NAME} --help shows what there is` : usageOf(given);
}

/**
 * As yargs is to have it. Its own options come first in its help: groups are shown in the order in which
 * they were begun. What follows after -- is no argument to yargs, and would be passed over in silence.
 * @param {Command} command
 */
const prepared = ({ command, describe, builder, handler, takesRest }) => ({
  command,
  describe,
  builder: (/** @type {import("yargs").Argv} */ parser) =>
    builder(parser.group([], "Arguments:").group([], "Options:")),
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
      throw usage(text, usageAdvice(args, commands));
    });
}
