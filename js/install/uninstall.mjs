// Takes back what install has put there, and the files of a gateway that is gone. Open sessions have
// what they need in memory, and keep their tools until they end.

import fs from "node:fs";
import path from "node:path";
import { RELEASES } from "../base/release-use.mjs";
import { CURRENT, ENTRY, explained, FORMER_ENTRY, locked, removeLeftovers } from "./install.mjs";
import { InstallError } from "./install-error.mjs";
import { checkPath, inspect, notOurs } from "./target.mjs";

/** @typedef {import("./target.mjs").Target} Target */
/**
 * @typedef {object} UninstallOptions
 * @property {boolean} [purge] also what the user has allowed, and the logs
 * @property {string} [logs] their folder
 * @typedef {{version: string, gatewayRuns: boolean, restored: boolean, kept: string[]}} Uninstalled
 */

const DESCRIPTOR = /^\.gateway-\d+\.json$/;

/** @param {string} file a descriptor */
function runs(file) {
  try {
    const { pid } = JSON.parse(fs.readFileSync(file, "utf8"));
    return Number.isInteger(pid) && pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

/** One that runs takes its files away itself, when the last session has ended. @param {string} folder */
function removeGatewayFiles(folder) {
  const descriptors = fs.readdirSync(folder).filter((name) => DESCRIPTOR.test(name));
  if (descriptors.some((name) => runs(path.join(folder, name)))) return true;
  for (const name of [...descriptors, ".provider-token", ".run"]) {
    fs.rmSync(path.join(folder, name), { recursive: true, force: true });
  }
  return false;
}

/** Folders that nothing is in any more, upwards. @param {string[]} folders the innermost first */
function removeEmpty(folders) {
  for (const folder of folders) {
    try {
      fs.rmdirSync(folder);
    } catch {
      return;
    }
  }
}

/**
 * The entry goes first: a session that starts meanwhile finds no tap, and not half of one.
 * @param {string} folder @returns {boolean} whether there is an entry again that was there before install
 */
function removeEntry(folder) {
  const entry = path.join(folder, ENTRY);
  const former = path.join(folder, FORMER_ENTRY);
  const restored = fs.existsSync(former);
  if (restored) fs.renameSync(former, entry);
  else fs.rmSync(entry, { force: true });
  return restored;
}

/**
 * @param {Target} target @param {UninstallOptions} [options]
 * @returns {Uninstalled}
 * @throws {InstallError}
 */
export function uninstall(target, { purge = false, logs } = {}) {
  const { folder } = target;
  try {
    checkPath(target);
    const present = inspect(target);
    if (present.state === "nothing") {
      const message = `tap is not installed in ${folder}`;
      throw new InstallError("NOT_INSTALLED", message, "--home names another COPILOT_HOME");
    }
    if (present.state !== "installed") {
      const { what } = notOurs(target, present);
      const advice = "remove it yourself, if it is to go: install did not put it there";
      throw new InstallError("NOT_OURS", `${what}; nothing was changed`, advice);
    }
    const found = locked(folder, () => {
      const restored = removeEntry(folder);
      removeLeftovers(folder);
      fs.rmSync(path.join(folder, RELEASES), { recursive: true, force: true });
      fs.rmSync(path.join(folder, CURRENT), { force: true });
      if (target.scope === "project") fs.rmSync(path.join(folder, ".gitignore"), { force: true });
      const gatewayRuns = target.scope === "user" && removeGatewayFiles(folder);
      if (purge) fs.rmSync(path.join(folder, "consent.json"), { force: true });
      if (purge && logs !== undefined) fs.rmSync(logs, { recursive: true, force: true });
      return { restored, gatewayRuns };
    });
    removeEmpty([...target.guarded].reverse());
    const kept = [path.join(folder, "consent.json"), ...(logs === undefined ? [] : [logs])];
    return { version: present.version, ...found, kept: kept.filter((each) => fs.existsSync(each)) };
  } catch (error) {
    throw explained(error, folder);
  }
}
