// `stop`: ends the gateway and the feature host where no session needs them.

import { Failure } from "../failure.mjs";
import { withGateway } from "../gateway.mjs";
import { filesOf } from "../given.mjs";
import { Output } from "../../views/output.mjs";

/** @param {import("../given.mjs").Given} given */
async function run(given) {
  const output = new Output(given);
  const stopped = await withGateway(filesOf(given), (control) =>
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
    output.say(`the gateway (pid ${pid}) ends`);
    if (host.pid !== undefined) output.say(`the feature host (pid ${host.pid}) ends with it`);
    for (const { what, feature } of released) output.say(`  released: ${what} (${feature})`);
  });
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "stop",
  describe: "end the gateway if no session uses it",
  about:
    "Ends the gateway and the feature host, and names the background work that ends with " +
    "them. While sessions use the gateway, it refuses and names these sessions.",
  examples: [["$0 stop", "after the last session, without waiting"]],
  handler: run,
};
