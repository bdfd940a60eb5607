// The `copilot-tap` command (docs/command.md), started by cli.mjs. Its commands are in commands/, one file each.

import { programFolder } from "../base/paths.mjs";
import { asFailure, EXIT, Failure } from "./failure.mjs";
import { bareOptions } from "./given.mjs";
import { Output } from "../views/output.mjs";

const [first, ...others] = process.argv.slice(2);
/** `help plan` is `plan --help`. */
const args = first === "help" ? [...others, "--help"] : process.argv.slice(2);

// The reader of our output has closed it, as `head` does.
process.stdout.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
  process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.notDone);
});

/** In a clone nothing may be installed yet. */
const loadParser = () =>
  import("./parser.mjs").catch((cause) => {
    if (!/^Cannot find package/.test(cause.message)) throw cause;
    throw new Failure(`the packages that it needs are not installed in ${programFolder}`, {
      advice: "run this there: npm install --omit=dev",
      code: "NOT_INSTALLED",
      cause,
    });
  });

async function run() {
  if (args[0] === "--complete") {
    const { answerShell } = await import("./complete.mjs");
    return answerShell(args.slice(1));
  }
  const { parserOf } = await loadParser();
  const given = bareOptions(args);
  if (given) {
    const { showOverview } = await import("./overview.mjs");
    return showOverview(given);
  }
  const parser = await parserOf(args);
  await parser.parseAsync();
}

try {
  await run();
} catch (error) {
  const failure = asFailure(error);
  const [end = args.length] = [args.indexOf("--")].filter((at) => at >= 0);
  new Output({ json: args.slice(0, end).includes("--json") }).fail(failure);
  process.exitCode = failure.exit;
}
