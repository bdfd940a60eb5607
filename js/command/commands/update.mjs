// `update`: installs this tap where an older one is installed.

import { version } from "../../base/paths.mjs";
import { relationOf } from "../../install/update.mjs";
import { performInstall, targetOf, TARGET } from "../installation.mjs";
import { Output } from "../../views/output.mjs";

/** @param {import("../installation.mjs").InstallGiven} given */
function run(given) {
  const output = new Output(given);
  const target = targetOf(given);
  const { installed, relation } = relationOf(target, version);
  if (relation === "older" || given.force) {
    output.say(`tap ${installed} is installed, this is ${version}`);
    return performInstall(target, given, output);
  }
  const { folder, scope } = target;
  output.result({ folder, scope, version: installed, before: installed, copied: false }, () =>
    output.say(
      relation === "same"
        ? `Already up to date (${installed}). Use --force to reinstall.`
        : `The installed version ${installed} is newer than this ${version}. Use --force to install this one.`,
    ),
  );
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "update [folder]",
  describe: "replace an older installed tap by this one",
  usages: ["update [--local [folder]]"],
  about:
    "Compares what is installed with the package that this command belongs to, and installs that if it is newer. " +
    "Get the newer package first, or run the command of that package.",
  positionals: TARGET.positionals,
  options: { ...TARGET.options, force: { describe: "install it in any case", type: "boolean" } },
  examples: [["$0 update", "after npm install -g of a newer tarball"]],
  handler: run,
};
