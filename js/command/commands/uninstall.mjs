// `uninstall`: takes back what `install` did.

import { uninstall } from "../../install/uninstall.mjs";
import { filesOf } from "../given.mjs";
import { targetOf, withTarget } from "../installation.mjs";
import { Output } from "../output.mjs";

/** @param {import("../installation.mjs").InstallGiven & {purge?: boolean}} given */
function run(given) {
  const output = new Output(given);
  const target = targetOf(given);
  const logs = target.scope === "user" ? filesOf(given).logs : undefined;
  const { folder, scope } = target;
  const done = uninstall(target, { purge: given.purge, logs });
  const { version, gatewayRuns, restored, inUse, kept } = done;
  output.result({ folder, scope, ...done }, () => {
    output.say(`tap${version === null ? "" : ` ${version}`} is uninstalled from ${folder}`);
    output.say("Sessions that are open keep its tools until they end.");
    if (gatewayRuns)
      output.say("A gateway still runs; it removes its files when the last session has ended.");
    if (restored) output.say("The extension.mjs that was there before is there again.");
    for (const release of inUse) {
      output.say(
        `kept: ${release}, which a process still runs from (uninstall again once it has ended)`,
      );
    }
    for (const file of kept) output.say(`kept: ${file} (--purge removes it)`);
  });
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "uninstall [folder]",
  describe: "remove what install has put there",
  builder: (yargs) =>
    withTarget(yargs)
      .usage(
        "$0 uninstall [--local [folder]]\n\nRemoves the installed tap and the files of a gateway that is gone. What you have allowed and the logs are kept.",
      )
      .option("purge", { describe: "remove those, too", type: "boolean" })
      .example("$0 uninstall --purge", "nothing of tap is left"),
  handler: run,
};
