// Runs the program in development, with --watch restarted after each change.

import fs from "node:fs";
import path from "node:path";
import { endProvider } from "./provider-process.mjs";

// Watches the files of a folder and of the folders in it, without packages and hidden folders.

/** Editors write a file in several steps, and several files at once. */
const QUIET_MS = 200;
/** The system has a watch for each folder. */
const MAX_FOLDERS = 1000;
const LEFT_OUT = /^(\..*|node_modules|__pycache__|venv|.*\.egg-info)$/;

export class FolderWatch {
  #root;
  #onChange;
  /** @type {Map<string, fs.FSWatcher>} */
  #watchers = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #changed = "";

  /** @param {string} root @param {(file: string) => void} onChange with the last changed file, relative to the root */
  constructor(root, onChange) {
    this.#root = root;
    this.#onChange = onChange;
    this.#add(root);
  }

  /** @param {string} folder and those in it */
  #add(folder) {
    if (this.#watchers.has(folder) || this.#watchers.size >= MAX_FOLDERS) return;
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
      this.#remove(folder); // it does not exist, or is not readable
    }
  }

  /** @param {string} folder */
  #remove(folder) {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  /** @param {string} folder @param {string | null} name of the changed entry */
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

export class ProviderRunner {
  #start;
  #print;
  #watch;
  /** @type {Promise<void>} restarts run in sequence */
  #last = Promise.resolve();
  #over = false;
  process;

  /** @param {() => import("node:child_process").ChildProcess} start @param {(text: string) => void} say @param {boolean} watched */
  constructor(start, say, watched) {
    this.#start = start;
    this.#print = say;
    this.process = start();
    const onChange = (/** @type {string} */ file) => this.#restart(file);
    this.#watch = watched ? new FolderWatch(process.cwd(), onChange) : undefined;
  }

  /** @param {string} file */
  #restart(file) {
    this.#last = this.#last.then(async () => {
      if (this.#over) return;
      this.#print(`${file} has changed: the provider starts again`);
      await endProvider(this.process);
      if (!this.#over) this.process = this.#start();
    });
  }

  async end() {
    this.#over = true;
    this.#watch?.close();
    await this.#last;
    await endProvider(this.process);
  }
}
