// `uninstall`: takes back what `install` did.

import fs from "node:fs";
import path from "node:path";
import { uninstall } from "../../install/uninstall.mjs";
import { getGatewayFiles } from "../options.mjs";
import { resolveTarget, TARGET } from "../installation.mjs";
import { Output } from "../../views/output.mjs";

/** The files of the user's own providers are not tap's to remove. @param {string} home @returns {string | null} */
function providerFiles(home) {
  const folder = path.join(home, "providers");
  return fs.existsSync(folder) && fs.readdirSync(folder).length > 0 ? folder : null;
}

/** @param {import("../installation.mjs").InstallCommandOptions & {purge?: boolean}} given */
function run(given) {
  const output = new Output(given);
  const target = resolveTarget(given);
  const { folder, scope } = target;
  const { logs, home } = getGatewayFiles(given);
  const ofUser = scope === "user";
  const done = uninstall(target, { purge: given.purge, logs: ofUser ? logs : undefined });
  const left = ofUser ? providerFiles(home) : null;
  output.result({ folder, scope, ...done, providerFiles: left }, () => {
    const { version, wasInstalled, gatewayRuns, restored, inUse, kept } = done;
    const name = version === null ? "tap" : `tap ${version}`;
    if (wasInstalled) output.print(`${name} is uninstalled from ${folder}`);
    else
      output.print(`${name} was uninstalled already; what was left of it in ${folder} is removed`);
    if (gatewayRuns) {
      output.print("A session is open: it keeps tap's tools until it ends.");
      output.print("The gateway removes its own files after the last session.");
    }
    if (restored) output.print("The extension.mjs that was there before is there again.");
    for (const release of inUse) {
      output.print(`kept (in use): ${release}; run uninstall again later`);
    }
    for (const file of kept) output.print(`kept: ${file} (--purge removes it)`);
    if (left) output.print(`kept: ${left}, the files of your providers (remove them yourself)`);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "uninstall [folder]",
  describe: "remove what install has put there",
  usages: ["uninstall [--local [folder]]"],
  about:
    "Removes the installed tap and the files of a gateway that no longer runs. Keeps the logs and what you have allowed.",
  positionals: TARGET.positionals,
  options: {
    ...TARGET.options,
    purge: { describe: "also remove what you have allowed, and the logs", type: "boolean" },
  },
  examples: [["$0 uninstall --purge", "nothing of tap is left"]],
  handler: run,
};
