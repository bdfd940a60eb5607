// `install`: puts this tap where the CLI finds it.

import { performInstall, targetOf, withTarget } from "../installation.mjs";
import { Output } from "../../views/output.mjs";

/** @type {import("../given.mjs").Command} */
export default {
  command: "install [folder]",
  describe: "put this tap where the Copilot CLI finds it",
  builder: (yargs) =>
    withTarget(yargs)
      .usage(
        "$0 install [--local [folder]]\n\nCopies this tap into the CLI's extensions, and switches to it once the copy is complete and runs. " +
          "The former version works until then. The package itself is not needed afterwards.",
      )
      .option("force", {
        describe: "replace a tap that was put there in another way, such as a clone",
        type: "boolean",
      })
      .example("$0 install", "for all your sessions")
      .example("$0 install --local", "for sessions in this project"),
  handler: (given) => performInstall(targetOf(given), given, new Output(given)),
};
