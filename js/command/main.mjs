// The `copilot-tap` command (docs/command.md), started by cli.mjs. Its commands are in commands/, one file each.

import { programFolder, version } from "../base/paths.mjs";
import { load, loadAll, NAMES } from "./commands/index.mjs";
import { asFailure, EXIT, Failure } from "./failure.mjs";
import { helpOf, helpOfAll } from "./help.mjs";
import { parse, splitCommand, unknownCommand } from "./parser.mjs";
import { Output } from "../views/output.mjs";

const args = process.argv.slice(2);

// The reader of our output has closed it, as `head` does.
process.stdout.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
  process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.notDone);
});

/** In a clone nothing may be installed yet. @param {unknown} error */
function explained(error) {
  if (!(error instanceof Error && /^Cannot find package/.test(error.message))) return error;
  return new Failure(`the packages that it needs are not installed in ${programFolder}`, {
    advice: "run this there: npm install --omit=dev",
    code: "NOT_INSTALLED",
    cause: error,
  });
}

const print = (/** @type {string} */ text) => void process.stdout.write(text);

/** @param {string} name @param {string[]} rest */
async function runCommand(name, rest) {
  if (!NAMES.includes(name)) throw unknownCommand(name, NAMES);
  const command = await load(name);
  const { help, version: wanted, ...given } = parse(rest, command);
  if (help) return print(helpOf(command, process.stdout.columns));
  return wanted ? print(`${version}\n`) : command.handler(given);
}

/** @param {string[]} rest */
async function runWithout(rest) {
  const { help, version: wanted, ...given } = parse(rest);
  if (help) return print(helpOfAll(await loadAll(), process.stdout.columns));
  return wanted ? print(`${version}\n`) : (await import("./overview.mjs")).showOverview(given);
}

async function run() {
  if (args[0] === "--complete") {
    const { answerShell } = await import("./complete.mjs");
    return answerShell(args.slice(1));
  }
  const split = splitCommand(args);
  const isHelp = split.name === "help";
  // `help plan` is `plan --help`.
  const { name, rest } = isHelp ? splitCommand(["--help", ...split.rest]) : split;
  return name === undefined || (isHelp && name === "help")
    ? runWithout(rest)
    : runCommand(name, rest);
}

try {
  await run();
} catch (error) {
  const failure = asFailure(explained(error));
  const [end = args.length] = [args.indexOf("--")].filter((at) => at >= 0);
  new Output({ json: args.slice(0, end).includes("--json") }).fail(failure);
  process.exitCode = failure.exit;
}
