// `update`: installs this tap where an older one is installed.

import { version } from "../../lib/paths.mjs";
import { compareInstalled } from "../../install/target.mjs";
import { performInstall, resolveTarget, TARGET } from "../installation.mjs";
import { Output } from "../../views/output.mjs";

/** @param {import("../installation.mjs").InstallCommandOptions} given */
function run(given) {
  const output = new Output(given);
  const target = resolveTarget(given);
  const { installed, relation } = compareInstalled(target, version);
  if (relation === "older" || given.force) {
    output.print(`tap ${installed} is installed, this is ${version}`);
    return performInstall(target, given, output);
  }
  const { folder, scope } = target;
  output.result({ folder, scope, version: installed, before: installed, copied: false }, () =>
    output.print(
      relation === "same"
        ? `Already up to date (${installed}). Use --force to reinstall.`
        : `The installed version ${installed} is newer than this ${version}. Use --force to install this one.`,
    ),
  );
}

/** @type {import("../options.mjs").Command} */
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
