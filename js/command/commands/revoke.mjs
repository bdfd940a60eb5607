// `revoke`: takes back what `allow` allowed. It also revokes a config that is gone or broken.

import fs from "node:fs";
import path from "node:path";
import { consentFile, revoke } from "../../projects/consent.mjs";
import { locate, PATH_ARGUMENT } from "../config-file.mjs";
import { Failure } from "../failure.mjs";
import { filesOf } from "../given.mjs";
import { Output } from "../../views/output.mjs";

/** @param {import("../given.mjs").Given & {path: string}} given */
function run(given) {
  const output = new Output(given);
  const { folder, name } = locate(given.path);
  const real = fs.existsSync(folder) ? fs.realpathSync(folder) : folder;
  const file = path.join(real, name);
  const revoked = revoke(consentFile(filesOf(given)), file);
  if (revoked === 0) {
    throw new Failure(`${file} was not allowed`, {
      advice: "copilot-tap status lists what is",
      code: "NOT_FOUND",
    });
  }
  output.result({ path: file, revoked }, () => output.say(`${file} is not allowed any more`));
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "revoke [path]",
  describe: "withdraw that permission",
  about:
    "Withdraws the consent to every entry of the file. What it has started is stopped within a second.",
  positionals: { path: PATH_ARGUMENT },
  examples: [["$0 revoke ~/shop", "its providers are stopped, and not started again"]],
  handler: run,
};
