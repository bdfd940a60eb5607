// `completion`: prints the script with which a shell completes commands, options and their values.

import { SCRIPTS } from "../completion-scripts.mjs";
import { Output } from "../../views/output.mjs";

const SHELLS = Object.keys(SCRIPTS);

/** @param {NodeJS.ProcessEnv} env */
const shellOf = (env) => SHELLS.find((shell) => env.SHELL?.endsWith(shell)) ?? "bash";

/** @param {import("../given.mjs").Given & {shell?: string}} given */
function run(given) {
  const { shell = shellOf(process.env) } = given;
  const output = new Output(given);
  output.result({ shell, script: SCRIPTS[shell] }, ({ script }) => output.sayAll(script.trimEnd()));
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "completion [shell]",
  describe: "print the shell completion script",
  about:
    "Prints a script for your shell to load when it starts. It completes commands and options, and the " +
    "tools, sessions and providers of the running gateway.",
  positionals: {
    shell: {
      describe: "bash, zsh or fish; default: that of SHELL",
      choices: SHELLS,
    },
  },
  examples: [
    ["$0 completion bash >> ~/.bashrc", "for bash"],
    ["$0 completion zsh >> ~/.zshrc", "for zsh"],
    ["$0 completion fish > ~/.config/fish/completions/copilot-tap.fish", "for fish"],
  ],
  handler: run,
};
