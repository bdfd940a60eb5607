// Files of ours that are needed for minutes at most, in a folder for files that belong to the repository. A process
// that was killed leaves them, and no later one has the same names.

import fs from "node:fs/promises";
import path from "node:path";

const OLD_MS = 86_400_000;
/** Indexes of what is kept or brought back, and attributes that are not complete; with git's locks of them. */
const TEMPORARY = /^(?:orphan-|restore-|attributes-[0-9a-f]{32}-)/;

/** @param {string} folder @param {number} [now] ms since 1970 */
export async function deleteOldFiles(folder, now = Date.now()) {
  const names = (await fs.readdir(folder)).filter((name) => TEMPORARY.test(name));
  for (const name of names) {
    const place = path.join(folder, name);
    const stat = await fs.lstat(place).catch(() => undefined);
    if (stat && now - stat.mtimeMs > OLD_MS) await fs.rm(place, { recursive: true, force: true });
  }
}
