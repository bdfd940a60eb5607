// The `copilot-tap` command (docs/command.md), started by cli.mjs. Its commands are in commands/, one file each. What
// the whole process is to do is done in runProgram(): runCommand() can run in a process that goes on.

import { programFolder, version } from "../lib/paths.mjs";
import { load, loadGroups, NAMES } from "./commands/index.mjs";
import { toFailure, EXIT, Failure } from "./exit.mjs";
import { parse, splitCommand, unknownCommand } from "./parser.mjs";
import { Output } from "../views/output.mjs";

/**
 * How a command line has ended. `farewellMs`: what still runs is waited for only so long.
 * @typedef {{exit: number, farewellMs?: number}} CommandResult
 */

/** In a clone nothing may be installed yet. @param {unknown} error */
function explainError(error) {
  if (!(error instanceof Error && /^Cannot find package/.test(error.message))) return error;
  return new Failure(`the packages that it needs are not installed in ${programFolder}`, {
    advice: "run this there: npm install --omit=dev",
    code: "NOT_INSTALLED",
    cause: error,
  });
}

/** @param {string} text @returns {CommandResult} */
function print(text) {
  process.stdout.write(text);
  return { exit: EXIT.done };
}

/** @param {string} name @param {string[]} rest @returns {Promise<CommandResult>} */
async function runNamed(name, rest) {
  if (!NAMES.includes(name)) throw unknownCommand(name, NAMES);
  const command = await load(name);
  const { help, version: wanted, ...given } = parse(rest, command);
  if (help) return print((await import("./help.mjs")).formatHelp(command, process.stdout.columns));
  if (wanted) return print(`${version}\n`);
  const code = await command.handler(given);
  return { exit: typeof code === "number" ? code : EXIT.done, farewellMs: command.farewellMs };
}

/** @param {string[]} rest @returns {Promise<CommandResult>} */
async function runWithout(rest) {
  const { help, version: wanted, ...given } = parse(rest);
  if (help) {
    const { formatCommandList } = await import("./help.mjs");
    return print(formatCommandList(await loadGroups(), process.stdout.columns));
  }
  if (wanted) return print(`${version}\n`);
  await (await import("./overview.mjs")).showOverview(given);
  return { exit: EXIT.done };
}

/** @param {string[]} args @returns {Promise<CommandResult>} */
async function run(args) {
  if (args[0] === "--complete") {
    const { answerShell } = await import("./completion.mjs");
    await answerShell(args.slice(1));
    return { exit: EXIT.done, farewellMs: 0 }; // the shell waits; the gateway may not have answered
  }
  const split = splitCommand(args);
  const isHelp = split.name === "help";
  // `help plan` is `plan --help`.
  const { name, rest } = isHelp ? splitCommand(["--help", ...split.rest]) : split;
  return name === undefined || (isHelp && name === "help")
    ? runWithout(rest)
    : runNamed(name, rest);
}

/**
 * Runs a command line to its end; a failure is printed.
 * @param {string[]} args without the program @returns {Promise<CommandResult>}
 */
export async function runCommand(args) {
  try {
    return await run(args);
  } catch (error) {
    const failure = toFailure(explainError(error));
    const [end = args.length] = [args.indexOf("--")].filter((at) => at >= 0);
    new Output({ json: args.slice(0, end).includes("--json") }).fail(failure);
    return { exit: failure.exit };
  }
}

/** The same where nothing else is the business of this process. @param {string[]} args */
export async function runProgram(args) {
  // The reader of our output has closed it, as `head` does.
  process.stdout.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
    process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.notDone);
  });
  const { exit, farewellMs } = await runCommand(args);
  process.exitCode = exit;
  if (farewellMs !== undefined) setTimeout(() => process.exit(), farewellMs).unref();
}
