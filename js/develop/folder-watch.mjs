// Says when a file of a folder has changed, also of the folders in it. Packages and hidden folders are left out.

import fs from "node:fs";
import path from "node:path";

/** Editors write a file in several steps, and several files at once. */
const QUIET_MS = 200;
/** Of folders: each costs the system a watch. */
const MOST = 1000;
const LEFT_OUT = /^(\..*|node_modules|__pycache__|venv|.*\.egg-info)$/;

export class FolderWatch {
  #root;
  #onChange;
  /** @type {Map<string, fs.FSWatcher>} */
  #watchers = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #changed = "";

  /** @param {string} root @param {(file: string) => void} onChange the last one that has changed, from the root */
  constructor(root, onChange) {
    this.#root = root;
    this.#onChange = onChange;
    this.#add(root);
  }

  /** @param {string} folder and those in it */
  #add(folder) {
    if (this.#watchers.has(folder) || this.#watchers.size >= MOST) return;
    try {
      const watcher = fs.watch(folder, (_kind, name) => this.#onEvent(folder, name));
      watcher.on("error", () => this.#remove(folder));
      this.#watchers.set(folder, watcher);
      for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory() && !LEFT_OUT.test(entry.name)) {
          this.#add(path.join(folder, entry.name));
        }
      }
    } catch {
      this.#remove(folder); // it is gone, or not ours
    }
  }

  /** @param {string} folder */
  #remove(folder) {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  /** @param {string} folder @param {string | null} name of what has changed in it */
  #onEvent(folder, name) {
    if (name === null || LEFT_OUT.test(name)) return;
    const file = path.join(folder, name);
    const isFolder = fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
    if (isFolder) this.#add(file);
    else this.#remove(file);
    this.#changed = path.relative(this.#root, file);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#onChange(this.#changed), QUIET_MS);
  }

  close() {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
