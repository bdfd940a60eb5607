// Watches files of a workspace for features. Globs select the files. Links are not followed, and folders that people
// do not edit are left out.

import fs from "node:fs/promises";
import path from "node:path";
import { watch } from "chokidar";
import { IGNORED_FOLDERS, readGlobs } from "../lib/globs.mjs";

/** Folders and files per watch: each costs the system a handle. */
export const MAX_WATCHED = 10_000;

/**
 * @typedef {object} FileWatch
 * @property {string} folder the workspace, absolute
 * @property {readonly string[]} globs relative to the folder, with /
 * @property {(file: string) => void} onChange a file was added, changed or removed; relative to the folder
 * @property {(reason: string) => void} onFailed the watch has ended
 * @property {number} [most] folders and files
 */

/** Whether a path is a folder or inside it; "": the workspace. @param {string} way @param {string} folder */
const isInside = (way, folder) => folder === "" || way === folder || way.startsWith(`${folder}/`);

/** The path relative to the folder, with /. @param {string} root @param {string} file */
const relativePath = (root, file) => path.relative(root, file).split(path.sep).join("/");

/**
 * @param {FileWatch} options
 * @returns {Promise<{close: () => Promise<void>}>} when changes are detected
 */
export async function watchFiles({ folder, globs, onChange, onFailed, most = MAX_WATCHED }) {
  const root = await fs.realpath(folder);
  const { bases, matches: fits } = readGlobs(globs);
  if (bases.some((base) => isInside(base, ".."))) {
    throw new RangeError("onChange: expected globs within the workspace");
  }
  /** The folder of a glob may be created later, or be recreated. @param {string} way */
  const leads = (way) => bases.some((base) => isInside(way, base) || isInside(base, way));
  /** Those that are gone stay in it until it is full. @type {Set<string>} */
  let watched = new Set();
  let failed = false;
  /** @type {() => void} */
  let settle = () => {};
  const settled = new Promise((resolve) => (settle = () => resolve(undefined)));
  const fail = (/** @type {string} */ reason) => {
    if (failed) return;
    failed = true;
    void watcher.close();
    settle();
    onFailed(reason);
  };
  const watcher = watch(root, {
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (file, stats) => {
      const way = relativePath(root, file);
      if (failed || !leads(way) || way.split("/").some((part) => IGNORED_FOLDERS.has(part)))
        return true;
      if (stats?.isFile() && !fits(way)) return true;
      watched.add(way);
      if (watched.size > most) watched = new Set([...listWatched(), way]);
      if (watched.size <= most) return false;
      setImmediate(fail, `more than ${most} files and folders: choose narrower globs`);
      return true;
    },
  });
  const listWatched = () =>
    Object.entries(watcher.getWatched()).flatMap(([above, names]) =>
      names.map((name) => relativePath(root, path.join(above, name))),
    );
  watcher.on("error", (error) => fail(error instanceof Error ? error.message : String(error)));
  watcher.on("all", (event, file) => {
    const way = relativePath(root, file);
    if (event !== "addDir" && event !== "unlinkDir" && fits(way)) onChange(way);
  });
  watcher.once("ready", settle);
  await settled;
  return { close: () => watcher.close() };
}

/** The watches of a feature. */
export class FileWatches {
  /** @type {Set<{close: () => Promise<void>}>} */
  #open = new Set();
  #closed = false;

  /** @param {FileWatch} options */
  async open(options) {
    if (this.#closed) throw new Error("the feature has ended");
    const watching = await watchFiles(options);
    const close = async () => {
      this.#open.delete(opened);
      await watching.close();
    };
    const opened = { close };
    this.#open.add(opened);
    if (this.#closed) await close();
    return opened;
  }

  /** @returns {Promise<void>} */
  async endAll() {
    this.#closed = true;
    await Promise.all([...this.#open].map((opened) => opened.close()));
  }
}
