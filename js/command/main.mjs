// The `copilot-tap` command (docs/command.md), started by cli.mjs. Its commands are in commands/, one file each.

import { programFolder } from "../base/paths.mjs";
import { asFailure, EXIT, Failure } from "./failure.mjs";
import { Output } from "./output.mjs";

const args = process.argv.slice(2);

// Who reads from us has read enough, as `head` does.
process.stdout.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
  process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.notDone);
});

// Only the script of zsh hands this on; yargs takes SHELL, which need not be the shell that asks.
if (args.includes("--get-yargs-completions")) {
  process.env.SHELL = process.env.COMP_CWORD === undefined ? "bash" : "zsh";
}

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

try {
  const { parserOf } = await loadParser();
  const parser = await parserOf(args);
  await parser.parseAsync();
} catch (error) {
  const failure = asFailure(error);
  const [end = args.length] = [args.indexOf("--")].filter((at) => at >= 0);
  new Output({ json: args.slice(0, end).includes("--json") }).fail(failure);
  process.exitCode = failure.exit;
}
