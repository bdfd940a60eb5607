// `new`: a provider with a test, in a folder of its own.

import path from "node:path";
import { createProject, LANGUAGES, validateName } from "../../develop/scaffold.mjs";
import { usage } from "../exit.mjs";
import { Output } from "../../views/output.mjs";

/** @param {import("../options.mjs").CommandOptions & {language: string, name: string}} given */
function run(given) {
  const output = new Output(given);
  const trouble = validateName(given.name);
  if (trouble !== "") throw usage(trouble);
  const { readme, tool } = createProject(given.language, given.name);
  output.result({ folder: path.resolve(given.name), language: given.language, tool }, () => {
    output.printText(readme);
    output.print();
    output.print(
      `tool: ${tool} – try: copilot-tap call ${tool} name=Ada, or ask Copilot: greet Ada`,
    );
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "new <language> <name>",
  describe: "write a provider with a test",
  about: "Writes a provider with a test into a new folder of that name.",
  positionals: {
    language: {
      describe: "node or python",
      choices: LANGUAGES,
    },
    name: { describe: "of the provider and its folder: lowercase letters, digits, - and _" },
  },
  examples: [["$0 new node weather", "then: cd weather; npm test"]],
  handler: run,
};
