// Results in files: each has its own file, for as long as the gateway may read it.

import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";

const MAX_TIMER_MS = 2 ** 31 - 1;

export class Files {
  /** @type {Map<string, NodeJS.Timeout>} by path */
  #timers = new Map();

  /**
   * @param {string} folder @param {string} name @param {Uint8Array} bytes
   * @param {number} ttl seconds @returns {Promise<string>} its path
   */
  async write(folder, name, bytes, ttl) {
    const file = path.join(folder, `${randomUUID()}-${path.basename(name)}`);
    const remove = () => void this.#remove(file);
    this.#timers.set(file, setTimeout(remove, Math.min(ttl * 1000, MAX_TIMER_MS)).unref());
    await writeFile(file, bytes, { mode: 0o600, flag: "wx" });
    return file;
  }

  /** @param {string} file */
  async #remove(file) {
    clearTimeout(this.#timers.get(file));
    this.#timers.delete(file);
    await rm(file, { force: true }).catch(() => {}); // the folder belongs to the provider
  }

  async removeAll() {
    await Promise.all([...this.#timers.keys()].map((file) => this.#remove(file)));
  }
}
