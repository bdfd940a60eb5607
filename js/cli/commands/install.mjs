// `install`: puts this tap where the CLI finds it.

import { performInstall, resolveTarget, TARGET } from "../installation.mjs";
import { Output } from "../../views/output.mjs";

/** @type {import("../options.mjs").Command} */
export default {
  command: "install [folder]",
  describe: "put this tap where the Copilot CLI finds it",
  usages: ["install [--local [folder]]"],
  about:
    "Copies this tap into the CLI's extensions, and switches to it once the copy is complete and runs. " +
    "The former version works until then. The package itself is not needed afterwards.",
  positionals: TARGET.positionals,
  options: {
    ...TARGET.options,
    force: {
      describe: "replace a tap that was put there in another way, such as a clone",
      type: "boolean",
    },
  },
  examples: [
    ["$0 install", "for all your sessions"],
    ["$0 install --local", "for sessions in this project"],
  ],
  handler: (given) => performInstall(resolveTarget(given), given, new Output(given)),
};
