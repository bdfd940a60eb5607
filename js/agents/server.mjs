// A headless CLI: the server of several sessions, in a separate process group. It ends with its owner in any
// case: its stdin closes then, and the reaper (js/process) ends its group.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { makePrivateFolder } from "../lib/host-files.mjs";
import { parseModels } from "../lib/models.mjs";
import { isSameProcess, readStartTime } from "../lib/process-identity.mjs";
import { sleep } from "../lib/timers.mjs";
import { errorMessage } from "../lib/values.mjs";
import { endGroup, guard } from "../process/group.mjs";
import { dropInherited } from "../process/sandbox.mjs";
import { probeSandbox } from "./sandbox-probe.mjs";
import { installShim } from "./sandbox.mjs";

/** @typedef {import("./environment.mjs").AgentEnvironment} AgentEnvironment */

// The parts of the CLI's SDK that workers use. The SDK is loaded from the CLI's own folder; it is not a dependency
// of tap.

/**
 * @typedef {object} Session
 * @property {(handler: (event: any) => void) => () => void} on
 * @property {(message: {prompt: string}) => Promise<string>} send
 * @property {() => Promise<void>} abort
 * @property {() => Promise<void>} disconnect
 * @property {string} [workspacePath]
 * @property {any} rpc
 */
/**
 * @typedef {object} Client
 * @property {() => Promise<void>} start
 * @property {() => Promise<Error[]>} stop
 * @property {() => Promise<void>} forceStop
 * @property {() => Promise<unknown>} ping
 * @property {(config: object) => Promise<Session>} createSession
 * @property {(sessionId: string, config: object) => Promise<Session>} resumeSession
 * @property {(sessionId: string) => Promise<void>} deleteSession
 * @property {() => Promise<any[]>} listModels
 * @property {any} rpc
 */
/** @typedef {{CopilotClient: new (options: object) => Client, RuntimeConnection: {forStdio: (options: object) => object}}} Sdk */

/** @param {string} where its folder, or its index.js @returns {Promise<Sdk>} */
export async function loadSdk(where) {
  const file = where.endsWith(".js") ? where : path.join(where, "index.js");
  if (!fs.existsSync(file)) {
    throw new Error(
      `the CLI's SDK is not at ${file}. Was the CLI updated? Start the session again`,
    );
  }
  const sdk = await import(pathToFileURL(file).href);
  if (typeof sdk.CopilotClient !== "function" || !sdk.RuntimeConnection?.forStdio) {
    throw new Error(`${file} is not an SDK that workers can use`);
  }
  return sdk;
}

/** The package of the CLI that an SDK belongs to, with its tools. @param {string} sdk its folder, or its index.js */
export const findPackageFolder = (sdk) =>
  path.dirname(sdk.endsWith(".js") ? path.dirname(sdk) : sdk);

const LAUNCHER = fileURLToPath(new URL("launch.sh", import.meta.url));
const START_MS = 20_000;
const STOP_MS = 3000;
const POLL_MS = 200;
/** A server that does not answer for so long hangs. */
const PING_MS = 5000;
const SILENT_MS = 30_000;
const MAX_STDERR = 500;

/**
 * @template T @param {Promise<T>} promise @param {number} ms @param {string} label
 * @returns {Promise<T>}
 */
export async function withTimeout(promise, ms, label) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${label} took longer than ${ms / 1000} s`)), ms);
  });
  try {
    return /** @type {T} */ (await Promise.race([promise, late]));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} file */
function readTail(file) {
  try {
    return fs.readFileSync(file, "utf8").trim().slice(-MAX_STDERR);
  } catch {
    return "";
  }
}

export class Server {
  /** Resolves when its process has ended. Never rejects. @type {Promise<void>} */
  ended;
  /** Resolves when it is about to end, or has ended. Never rejects. @type {Promise<void>} */
  ending;
  /** @type {Client} */
  client;
  /** Private to the server, deleted with it. */
  folder;
  /** The environment without tap's additions. @type {NodeJS.ProcessEnv} */
  env;
  /** @type {import("../lib/process-identity.mjs").Identity} */
  #process = { pid: 0, start: "" };
  #markEnded = () => {};
  #markEnding = () => {};
  /** @type {NodeJS.Timeout | undefined} */
  #watch;
  /** @type {Promise<void> | undefined} */
  #stopping;
  /** @type {Promise<string> | undefined} */
  #probed;

  /** @param {Sdk} sdk @param {string} cli @param {AgentEnvironment} place */
  constructor(sdk, cli, { variables, ownHome, token }) {
    this.folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "tap-workers-")));
    this.env = variables;
    const temporary = path.join(this.folder, "tmp");
    fs.mkdirSync(temporary);
    this.ended = new Promise((resolve) => (this.#markEnded = resolve));
    this.ending = new Promise((resolve) => (this.#markEnding = resolve));
    dropInherited();
    const grouped = process.platform !== "win32";
    const own = ["--log-dir", path.join(this.folder, "logs")];
    const files = [path.join(this.folder, "pid"), path.join(this.folder, "stderr")];
    this.client = new sdk.CopilotClient({
      connection: sdk.RuntimeConnection.forStdio({
        path: grouped ? "/bin/sh" : cli,
        args: grouped ? [LAUNCHER, ...files, cli, ...own] : own,
      }),
      // The SDK's own option for a token would show it to shells. The CLI lets each sandbox write its TMPDIR.
      env: {
        ...variables,
        ...(grouped && { PATH: installShim(this.folder, variables.PATH), TMPDIR: temporary }),
        // The default is below TMPDIR, so each start would compile the CLI again.
        NODE_COMPILE_CACHE: path.join(os.tmpdir(), "node-compile-cache"),
        ...(token !== undefined && { COPILOT_GITHUB_TOKEN: token }),
      },
      workingDirectory: this.folder,
      logLevel: "error",
      useLoggedInUser: !ownHome,
    });
  }

  /** @param {{cli: string, sdk: string, place: AgentEnvironment}} options @returns {Promise<Server>} ready for sessions */
  static async start({ cli, sdk: where, place }) {
    const sdk = await loadSdk(where);
    if (place.ownHome) makePrivateFolder(place.home);
    const server = new Server(sdk, cli, place);
    try {
      await withTimeout(server.client.start(), START_MS, "the start of the CLI's server");
      server.#begin();
      return server;
    } catch (error) {
      const words = readTail(path.join(server.folder, "stderr"));
      server.#begin();
      await server.stop();
      throw new Error([errorMessage(error), words].filter(Boolean).join(": "), { cause: error });
    }
  }

  get pid() {
    return this.#process.pid;
  }

  /** Runs once for each server. @param {string} packageFolder of the CLI @returns {Promise<string>} see probeSandbox */
  probeSandbox(packageFolder) {
    return (this.#probed ??= probeSandbox(this, packageFolder));
  }

  /** Starts to watch the server. From now on it ends with this process. */
  #begin() {
    const client = /** @type {any} */ (this.client);
    const pid = Number(readTail(path.join(this.folder, "pid"))) || client.cliProcess?.pid;
    if (!pid) return this.#handleExit();
    this.#process = { pid, start: readStartTime(pid) };
    guard(pid);
    let heard = performance.now();
    let asking = false;
    let askedAt = heard;
    this.#watch = setInterval(() => {
      const now = performance.now();
      if (!this.#alive()) return this.#handleExit();
      if (now - heard > SILENT_MS) return void this.stop();
      if (asking || now - askedAt < PING_MS) return;
      asking = true;
      askedAt = now;
      this.client
        .ping()
        .then(() => (heard = performance.now()))
        .catch(() => {})
        .finally(() => (asking = false));
    }, POLL_MS);
    this.#watch.unref();
  }

  #alive() {
    if (this.#process.start !== "") return isSameProcess(this.#process);
    try {
      return process.kill(this.#process.pid, 0);
    } catch {
      return false;
    }
  }

  /** Its process has ended. The rest of its group is ended, too. */
  #handleExit() {
    clearInterval(this.#watch);
    this.#markEnded();
    void this.stop();
  }

  /** @returns {Promise<void>} resolves when all processes of its group have ended */
  stop() {
    return (this.#stopping ??= this.#stop());
  }

  async #stop() {
    this.#markEnding();
    const asked = this.client.stop().catch(() => []);
    await Promise.race([asked, this.ended, sleep(STOP_MS)]);
    if (this.#process.pid > 0) await endGroup(this.#process.pid);
    clearInterval(this.#watch);
    await this.client.forceStop().catch(() => {});
    this.#markEnded();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

// The models that the workers' CLI knows: of its account when signed in, otherwise those that it was built with.

/** @param {Client} client @returns {Promise<import("../lib/models.mjs").Models>} */
export async function queryModels(client) {
  const account = await client.listModels().catch(() => undefined);
  const online = parseModels("account", account);
  if (online) return online;
  const catalog = await client.rpc.models?.getBuiltInCatalog?.().catch(() => undefined);
  return parseModels("catalog", catalog?.models) ?? { source: "none", models: [] };
}
