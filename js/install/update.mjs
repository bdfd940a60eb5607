// Whether the installed tap is older than this package, for `update`.

import { isNewer } from "../base/versions.mjs";
import { InstallError } from "./install-error.mjs";
import { inspect, notOurs } from "./target.mjs";

/** @typedef {"older" | "same" | "newer"} Relation what is installed, to this package */

/**
 * @param {import("./target.mjs").Target} target @param {string} version of this package
 * @returns {{installed: string, relation: Relation}}
 * @throws {InstallError} where install has put nothing there
 */
export function relationOf(target, version) {
  const present = inspect(target);
  if (present.state === "nothing") {
    const message = `tap is not installed in ${target.folder}`;
    throw new InstallError("NOT_INSTALLED", message, "copilot-tap install puts it there");
  }
  if (present.state !== "installed") {
    const { what, advice } = notOurs(target, present);
    throw new InstallError("NOT_OURS", `${what}; nothing was changed`, advice);
  }
  const installed = present.version;
  if (isNewer(version, installed)) return { installed, relation: "older" };
  return { installed, relation: isNewer(installed, version) ? "newer" : "same" };
}
