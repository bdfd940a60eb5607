// `completion`: what a shell needs to complete commands and options.

import yargs from "yargs";
import { Output } from "../output.mjs";

const SHELLS = ["bash", "zsh"];

/** @param {NodeJS.ProcessEnv} env */
const shellOf = (env) => (env.SHELL?.endsWith("zsh") ? "zsh" : "bash");

/** What yargs would print. @param {string} shell @returns {string} */
function scriptFor(shell) {
  process.env.SHELL = shell; // by which yargs chooses
  const parser = /** @type {any} */ (yargs().scriptName("copilot-tap"));
  let script = "";
  parser.getInternalMethods().getLoggerInstance().log = (/** @type {string} */ text) => {
    script = text;
  };
  parser.showCompletionScript("copilot-tap", "completion");
  return script;
}

/** @param {import("../given.mjs").Given & {shell: string}} given */
function run(given) {
  const { shell } = given;
  const output = new Output(given);
  output.result({ shell, script: scriptFor(shell) }, ({ script }) =>
    output.sayAll(script.trimEnd()),
  );
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "completion [shell]",
  describe: "print what a shell completes by",
  builder: (parser) =>
    parser
      .usage(
        "$0 completion [shell]\n\nPrints a script for the shell. It has to be read by each shell that is to complete.",
      )
      .positional("shell", {
        describe: "bash or zsh; else the one of SHELL",
        type: "string",
        choices: SHELLS,
        default: shellOf(process.env),
      })
      .example("$0 completion bash >> ~/.bashrc", "for bash")
      .example("$0 completion zsh >> ~/.zshrc", "for zsh"),
  handler: run,
};
