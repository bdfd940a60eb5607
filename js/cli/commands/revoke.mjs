// `revoke`: takes back what `allow` allowed. It also revokes a config that is gone or broken.

import fs from "node:fs";
import path from "node:path";
import { consentFile, revoke } from "../../config/consent.mjs";
import { locateConfig, PATH_ARGUMENT } from "../config-file.mjs";
import { Failure } from "../exit.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output } from "../../views/output.mjs";

/** @param {import("../options.mjs").CommandOptions & {path: string}} given */
function run(given) {
  const output = new Output(given);
  const { folder, name } = locateConfig(given.path);
  const real = fs.existsSync(folder) ? fs.realpathSync(folder) : folder;
  const file = path.join(real, name);
  const revoked = revoke(consentFile(getGatewayFiles(given)), file);
  if (revoked === 0) {
    throw new Failure(`${file} was not allowed`, {
      advice: "copilot-tap status lists what is",
      code: "NOT_FOUND",
    });
  }
  output.result({ path: file, revoked }, () => output.print(`${file} is not allowed any more`));
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "revoke [path]",
  describe: "withdraw that permission",
  about:
    "Withdraws the consent to every entry of the file. What it has started is stopped within a second.",
  positionals: { path: PATH_ARGUMENT },
  examples: [["$0 revoke ~/shop", "its providers are stopped, and not started again"]],
  handler: run,
};
