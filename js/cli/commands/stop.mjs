// `stop`: ends the gateway and the feature host where no session needs them.

import { Failure } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output } from "../../views/output.mjs";

/** @param {import("../options.mjs").CommandOptions} given */
async function run(given) {
  const output = new Output(given);
  const stopped = await withGateway(getGatewayFiles(given), (control) =>
    control.request("host.stop", {}),
  ).catch((error) => {
    if (error.code !== "SESSIONS") throw error;
    throw new Failure(error.message, {
      advice: "end these sessions first; the gateway ends on its own after the last one",
      code: "SESSIONS",
      cause: error,
    });
  });
  output.result(stopped, ({ pid, host, released }) => {
    output.print(`the gateway (pid ${pid}) ends`);
    if (host.pid !== undefined) output.print(`the feature host (pid ${host.pid}) ends with it`);
    for (const { what, feature } of released) output.print(`  released: ${what} (${feature})`);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "stop",
  describe: "end the gateway if no session uses it",
  about:
    "Ends the gateway and the feature host, and names the background work that ends with " +
    "them. While sessions use the gateway, it refuses and names these sessions.",
  examples: [["$0 stop", "after the last session, without waiting"]],
  handler: run,
};
