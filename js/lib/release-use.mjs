// `tap install` keeps several releases (docs/installing.md). A process that runs from one says so with a file
// named for its pid, so that a later install does not remove the release under it: an old session may have to
// start a gateway days after.

import fs from "node:fs";
import path from "node:path";
import { isAlive } from "./process-liveness.mjs";
import { programFolder } from "./paths.mjs";

/** The folder that holds the releases. */
export const RELEASES = "releases";
/** In a release: a file per process. */
export const IN_USE = ".in-use";

/** Where this program can be linked to: an update leaves that name as it is. */
export function stableFolder() {
  const folder = path.dirname(path.dirname(programFolder));
  return isInstalled && fs.existsSync(path.join(folder, "package.json")) ? folder : programFolder;
}

/** Whether this program was put where it is by `tap install`. */
export const isInstalled = path.basename(path.dirname(programFolder)) === RELEASES;

/** @param {string} release @returns {number[]} pids */
const listUsers = (release) =>
  fs
    .readdirSync(path.join(release, IN_USE))
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0);

/** From now to the end of this process. A failure to write is not worth failing for. */
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

/** Whether a process that is alive runs from that release. @param {string} release */
export function isInUse(release) {
  try {
    return listUsers(release).some(isAlive);
  } catch {
    return false;
  }
}
