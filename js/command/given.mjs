// What every command is given on its command line, and what follows from it.

import { gatewayFiles } from "../base/paths.mjs";

/** @typedef {{home?: string, json?: boolean}} Given */
/**
 * A module of yargs: what the command is called, what its help says, and what it does. It ends well, or
 * throws a Failure.
 * @typedef {object} Command
 * @property {string} command with its arguments
 * @property {string} describe
 * @property {(parser: import("yargs").Argv<any>) => import("yargs").Argv<any>} builder with an example
 * @property {(given: any) => void | Promise<void>} handler
 * @property {boolean} [takesRest] whether words may follow after --; they are given["--"]
 */

/** The options of all commands. @type {Record<string, import("yargs").Options>} */
export const GLOBAL_OPTIONS = {
  home: {
    describe: "the COPILOT_HOME to use",
    type: "string",
    requiresArg: true,
    global: true,
  },
  json: { describe: "print JSON, for programs", type: "boolean", global: true },
};

/** The environment, with the home that is meant. @param {Given} given @returns {NodeJS.ProcessEnv} */
export const environmentOf = ({ home }) =>
  home === undefined ? process.env : { ...process.env, COPILOT_HOME: home };

/** @param {Given} given */
export const filesOf = (given) => gatewayFiles(environmentOf(given));

/**
 * The options of a command line that has no command, nor anything else; undefined where it has.
 * @param {string[]} args @returns {Given | undefined}
 */
export function bareOptions(args) {
  /** @type {Given} */
  const given = {};
  for (let at = 0; at < args.length; at += 1) {
    const home = /^--home=(.+)$/.exec(args[at])?.[1];
    if (args[at] === "--json") given.json = true;
    else if (home !== undefined) given.home = home;
    else if (args[at] === "--home" && args[at + 1] !== undefined) given.home = args[(at += 1)];
    else return undefined;
  }
  return given;
}
/**
 * What is the user's to decide, a command that the agent runs cannot.
 * @param {NodeJS.ProcessEnv} env
 */
export const runByAgent = (env = process.env) => Boolean(env.COPILOT_AGENT_SESSION_ID);
