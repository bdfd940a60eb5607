// One headless CLI: the server of several sessions, in a process group of its own. It ends with its owner, however
// that ends: its stdin closes then, and the reaper (js/process) ends its group.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../base/errors.mjs";
import { makePrivateFolder } from "../base/host-files.mjs";
import { sleep } from "../base/patience.mjs";
import { isStill, startOf } from "../base/process-identity.mjs";
import { endGroup } from "../process/end-group.mjs";
import { guard } from "../process/group.mjs";
import { loadSdk } from "./sdk.mjs";

/** @typedef {import("./environment.mjs").Place} Place */

const LAUNCHER = fileURLToPath(new URL("launch.sh", import.meta.url));
const START_MS = 20_000;
const STOP_MS = 3000;
const TERM_MS = 2000;
const LOOK_MS = 200;
/** A server that answers nothing for so long hangs. */
const PING_MS = 5000;
const SILENT_MS = 30_000;
const MOST_WORDS = 500;

/**
 * @template T @param {Promise<T>} promise @param {number} ms @param {string} what
 * @returns {Promise<T>}
 */
export async function within(promise, ms, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms);
  });
  try {
    return /** @type {T} */ (await Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} file */
function lastWords(file) {
  try {
    return fs.readFileSync(file, "utf8").trim().slice(-MOST_WORDS);
  } catch {
    return "";
  }
}

export class Server {
  /** Settles once its process is gone. Never rejects. @type {Promise<void>} */
  ended;
  /** Settles once it is to end, or has ended. Never rejects. @type {Promise<void>} */
  leaving;
  /** @type {import("./sdk.mjs").Client} */
  client;
  /** Private to the server, for the time of its life. */
  folder;
  /** @type {import("../base/process-identity.mjs").Identity} */
  #process = { pid: 0, start: "" };
  #gone = () => {};
  #leave = () => {};
  /** @type {NodeJS.Timeout | undefined} */
  #watch;
  /** @type {Promise<void> | undefined} */
  #stopping;

  /** @param {import("./sdk.mjs").Sdk} sdk @param {string} cli @param {Place} place */
  constructor(sdk, cli, { variables, ownHome, token }) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-workers-"));
    this.ended = new Promise((resolve) => (this.#gone = resolve));
    this.leaving = new Promise((resolve) => (this.#leave = resolve));
    const grouped = process.platform !== "win32";
    const own = ["--log-dir", path.join(this.folder, "logs")];
    const files = [path.join(this.folder, "pid"), path.join(this.folder, "stderr")];
    this.client = new sdk.CopilotClient({
      connection: sdk.RuntimeConnection.forStdio({
        path: grouped ? "/bin/sh" : cli,
        args: grouped ? [LAUNCHER, ...files, cli, ...own] : own,
      }),
      // The SDK's own option for a token puts it where shells see it.
      env: { ...variables, ...(token !== undefined && { COPILOT_GITHUB_TOKEN: token }) },
      workingDirectory: this.folder,
      logLevel: "error",
      useLoggedInUser: !ownHome,
    });
  }

  /** @param {{cli: string, sdk: string, place: Place}} options @returns {Promise<Server>} ready for sessions */
  static async start({ cli, sdk: where, place }) {
    const sdk = await loadSdk(where);
    if (place.ownHome) makePrivateFolder(place.home);
    const server = new Server(sdk, cli, place);
    try {
      await within(server.client.start(), START_MS, "the start of the CLI's server");
      server.#begin();
      return server;
    } catch (error) {
      const words = lastWords(path.join(server.folder, "stderr"));
      server.#begin();
      await server.stop();
      throw new Error([messageOf(error), words].filter(Boolean).join(": "), { cause: error });
    }
  }

  get pid() {
    return this.#process.pid;
  }

  /** From now on it is watched, and ends with this process. */
  #begin() {
    const client = /** @type {any} */ (this.client);
    const pid = Number(lastWords(path.join(this.folder, "pid"))) || client.cliProcess?.pid;
    if (!pid) return this.#over();
    this.#process = { pid, start: startOf(pid) };
    guard(pid);
    let heard = performance.now();
    let asking = false;
    let askedAt = heard;
    this.#watch = setInterval(() => {
      const now = performance.now();
      if (!this.#alive()) return this.#over();
      if (now - heard > SILENT_MS) return void this.stop();
      if (asking || now - askedAt < PING_MS) return;
      asking = true;
      askedAt = now;
      this.client
        .ping()
        .then(() => (heard = performance.now()))
        .catch(() => {})
        .finally(() => (asking = false));
    }, LOOK_MS);
    this.#watch.unref();
  }

  #alive() {
    if (this.#process.start !== "") return isStill(this.#process);
    try {
      return process.kill(this.#process.pid, 0);
    } catch {
      return false;
    }
  }

  /** Its process is gone; so is the rest of its group, soon. */
  #over() {
    clearInterval(this.#watch);
    this.#gone();
    void this.stop();
  }

  /** @returns {Promise<void>} once nothing of its group is left */
  stop() {
    return (this.#stopping ??= this.#stop());
  }

  async #stop() {
    this.#leave();
    const asked = this.client.stop().catch(() => []);
    await Promise.race([asked, this.ended, sleep(STOP_MS)]);
    if (this.#process.pid > 0) await endGroup(this.#process.pid, TERM_MS);
    clearInterval(this.#watch);
    await this.client.forceStop().catch(() => {});
    this.#gone();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}
