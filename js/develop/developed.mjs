// The program that is developed: started, and with --watch started again when it has changed.

import { FolderWatch } from "./folder-watch.mjs";
import { endProvider } from "./provider-process.mjs";

export class Developed {
  #start;
  #say;
  #watch;
  /** @type {Promise<void>} one restart at a time */
  #last = Promise.resolve();
  #over = false;
  process;

  /** @param {() => import("node:child_process").ChildProcess} start @param {(text: string) => void} say @param {boolean} watched */
  constructor(start, say, watched) {
    this.#start = start;
    this.#say = say;
    this.process = start();
    const onChange = (/** @type {string} */ file) => this.#restart(file);
    this.#watch = watched ? new FolderWatch(process.cwd(), onChange) : undefined;
  }

  /** @param {string} file */
  #restart(file) {
    this.#last = this.#last.then(async () => {
      if (this.#over) return;
      this.#say(`${file} has changed: the provider starts again`);
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
