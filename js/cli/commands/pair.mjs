// `pair`: which providers are paired.

import { pairedForPrograms } from "../../views/access.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { formatId } from "../reference.mjs";

/** @param {import("../../link/control.mjs").PairedProvider} provider @returns {string} */
export function pairedLine({ name, origin, sessionId, label }) {
  const from = origin ? ` (${origin})` : "";
  return `${name}${from}, in session ${label || formatId(sessionId)}`;
}

/** @param {import("../options.mjs").CommandOptions} given */
async function run(given) {
  const output = new Output(given);
  const providers = await withGateway(getGatewayFiles(given), (control) =>
    control.listPairedProviders(),
  );
  output.result(pairedForPrograms(providers), () => {
    output.print(providers.length === 0 ? "paired providers: none" : "paired providers:");
    for (const provider of providers) output.print(`  ${pairedLine(provider)}`);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "pair",
  describe: "list the paired providers",
  about:
    "Lists the providers that were paired by a code.\n\n" +
    "A web page, or a program that cannot read the token file, asks to be paired: the session's " +
    "timeline then shows a code of six digits, and you type it into that page or program. It " +
    "has access to that session only, until `$0 unpair <name>` or the end of the gateway (docs/protocol.md).",
  examples: [["$0 pair", "which providers, from where, in which session"]],
  handler: run,
};
