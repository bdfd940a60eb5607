// `tap install` keeps several releases (docs/installing.md). A process that runs from a release writes a file
// named for its pid, so that a later install does not remove that release: an old session may have to
// start a gateway days later.

import fs from "node:fs";
import path from "node:path";
import { isAlive } from "./process-liveness.mjs";
import { programFolder } from "./paths.mjs";

/** The folder that holds the releases. */
export const RELEASES = "releases";
/** The folder in a release with a file per process. */
export const IN_USE = ".in-use";

/** The folder to link to: its name does not change with updates. */
export function stableFolder() {
  const folder = path.dirname(path.dirname(programFolder));
  return isInstalled && fs.existsSync(path.join(folder, "package.json")) ? folder : programFolder;
}

/** Whether `tap install` wrote this program. */
export const isInstalled = path.basename(path.dirname(programFolder)) === RELEASES;

/** @param {string} release @returns {number[]} pids */
const listUsers = (release) =>
  fs
    .readdirSync(path.join(release, IN_USE))
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0);

/** Until the end of this process. A failure to write is ignored. */
export function useRelease() {
  if (!isInstalled) return;
  const file = path.join(programFolder, IN_USE, String(process.pid));
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, "");
    for (const pid of listUsers(programFolder).filter((each) => !isAlive(each))) {
      fs.rmSync(path.join(programFolder, IN_USE, String(pid)), { force: true }); // it was killed
    }
  } catch {
    return;
  }
  process.once("exit", () => fs.rmSync(file, { force: true }));
}

/** Whether a live process runs from that release. @param {string} release */
export function isInUse(release) {
  try {
    return listUsers(release).some(isAlive);
  } catch {
    return false;
  }
}
