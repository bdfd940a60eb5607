// What every command is given on its command line, and what follows from it.

import { gatewayFiles } from "../lib/paths.mjs";

/** @typedef {{home?: string, json?: boolean}} CommandOptions */
/**
 * An option or an argument, as a command says what it is.
 * @typedef {object} Option
 * @property {string} [describe]
 * @property {"string" | "boolean"} [type] default: string; an argument always is one
 * @property {string} [short] its letter
 * @property {readonly string[]} [choices] the values that there are
 * @property {string} [default]
 * @property {boolean} [multiple] may be given several times; its value is an array then
 * @property {number} [values] so many words belong to it; its value is an array then
 * @property {boolean} [mayBeEmpty] "" is a value, too
 * @property {boolean} [hidden] not in the help
 */
/**
 * The exit code of a command that did its work; without one it is 0.
 * @typedef {number | void} Exit
 *
 * A command: what it is called, what its help says, and what it does. It ends well, or throws a Failure.
 * @typedef {object} Command
 * @property {string} command with its arguments: `<name>`, `[name]`, `[names..]`
 * @property {string} describe in a line
 * @property {string[]} [usages] as the help shows them; default: `command`
 * @property {string} about what the help says, with `$0` for the program
 * @property {Record<string, Option>} [positionals] the arguments, by the names in `command`
 * @property {Record<string, Option>} [options] by their names without --
 * @property {[string, [string, string][]][]} [tables] further ones of the help, by their titles
 * @property {[string, string][]} examples a command line, with `$0`, and what it is for
 * @property {(given: any) => Exit | Promise<Exit>} handler gets them by camelCase names
 * @property {number} [farewellMs] once it has ended well, the process waits only so long for what still runs
 * @property {boolean} [takesRest] whether words may follow after --; they are given.rest
 */

export const NAME = "copilot-tap";

/** The options of all commands. @type {Record<string, Option>} */
export const GLOBAL_OPTIONS = {
  home: { describe: "the COPILOT_HOME to use" },
  json: { describe: "print JSON, for programs", type: "boolean" },
  help: { short: "h", describe: "show help", type: "boolean" },
  version: { describe: "show the version", type: "boolean" },
};

/** The option of the commands that show what comes. @type {Option} */
export const FOLLOW = {
  short: "f",
  describe: "keep showing what comes, until Ctrl-C",
  type: "boolean",
};

/** The environment, with the home that is meant. @param {CommandOptions} given @returns {NodeJS.ProcessEnv} */
export const getEnvironment = ({ home }) =>
  home === undefined ? process.env : { ...process.env, COPILOT_HOME: home };

/** @param {CommandOptions} given */
export const getGatewayFiles = (given) => gatewayFiles(getEnvironment(given));

/**
 * What is the user's to decide, a command that the agent runs cannot.
 * @param {NodeJS.ProcessEnv} env
 */
export const isRunByAgent = (env = process.env) => Boolean(env.COPILOT_AGENT_SESSION_ID);
