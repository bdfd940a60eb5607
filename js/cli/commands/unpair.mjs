// `unpair`: revokes a provider's pairing.

import { pairedForPrograms } from "../../views/access.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { findProvider } from "../reference.mjs";
import { pairedLine } from "./pair.mjs";

/** @param {import("../options.mjs").CommandOptions & {name: string}} given */
async function run(given) {
  const output = new Output(given);
  const revoked = await withGateway(getGatewayFiles(given), async (control) => {
    const paired = await control.listPairedProviders();
    const name = findProvider(
      paired.map((one) => one.name),
      given.name,
      "no provider is paired",
    );
    return control.unpair(name);
  });
  output.result(pairedForPrograms(revoked), () => {
    for (const provider of revoked) output.print(`${pairedLine(provider)}: its token is void`);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "unpair <name>",
  describe: "revoke the pairing of a provider",
  about: "Revokes the tokens of the paired providers of that name, and ends their connections.",
  positionals: {
    name: { describe: "as copilot-tap pair lists it, or its beginning" },
  },
  examples: [["$0 unpair browser", "ends its connection; to come back it needs another code"]],
  handler: run,
};
