// `unpair`: turns out a provider that was let in by a code.

import { Failure } from "../failure.mjs";
import { withGateway } from "../gateway.mjs";
import { filesOf } from "../given.mjs";
import { Output } from "../output.mjs";
import { pairedLine } from "./pair.mjs";

/** @param {import("../given.mjs").Given & {name: string}} given */
async function run(given) {
  const output = new Output(given);
  const { name } = given;
  const revoked = await withGateway(filesOf(given), (control) => control.unpair(name));
  if (revoked.length === 0) {
    throw new Failure(`no provider is paired by the name "${name}"`, {
      advice: "copilot-tap pair lists them",
      code: "NOT_FOUND",
    });
  }
  output.result(revoked, () => {
    for (const provider of revoked) output.say(`${pairedLine(provider)}: its token is void`);
  });
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "unpair <name>",
  describe: "turn such a provider out",
  builder: (yargs) =>
    yargs
      .usage(
        "$0 unpair <name>\n\nVoids the tokens of the paired providers of that name, and ends their connections.",
      )
      .positional("name", { describe: "as copilot-tap pair lists it", type: "string" })
      .example("$0 unpair browser", "turns it out; to come back it needs another code"),
  handler: run,
};
