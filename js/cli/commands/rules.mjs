// `rules`: the rules that may deny, check or change actions of the agent, by session and provider.

import { withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { listDeclarations, showRules } from "../../views/rules-view.mjs";

/** @param {import("../options.mjs").CommandOptions} given */
async function run(given) {
  const output = new Output(given);
  const declared = listDeclarations(
    await withGateway(getGatewayFiles(given), (control) => control.inspect()),
  );
  output.result(declared, () => showRules(output, declared));
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "rules",
  describe: "list what may deny or change what the agent does",
  about:
    "Lists every rule, context and edit of the system message that a provider has declared, by " +
    "session: what it matches, and what it does then.",
  examples: [
    ["$0 rules", "who may deny what"],
    ["$0 rules --json", "for a script"],
  ],
  handler: run,
};
