// copilot-tap/testing: a real gateway on a free port, with a temporary home and a pretend session, so
// that a provider can be tested without Copilot. docs/testing.md is its manual.

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "../lib/free-port.mjs";
import { readDescriptor } from "../lib/host-files.mjs";
import { hostEnvironment } from "../lib/node.mjs";
import { gatewayFiles, programFolder } from "../lib/paths.mjs";
import { PretendSession } from "./pretend-session.mjs";

/** @typedef {import("./pretend-session.mjs").OfferedTool} OfferedTool */
/** @typedef {import("../../sdk/node/testing.js").TestTap} Interface */

const START_MS = 60_000;
const ATTEMPTS = 3;
/** Short, so that tests do not wait. If a test crashes, the gateway soon exits on its own. */
const TIMERS = {
  TAP_RELOAD_DEBOUNCE_MS: "20",
  TAP_LIVE_GATHER_MS: "20",
  TAP_GRACE_MS: "10000",
  TAP_SHUTDOWN_MS: "3000",
};

/** A call that failed. The message is the model's text. */
export class CallFailed extends Error {
  /** @param {{code: string, text: string}} failure */
  constructor({ code, text }) {
    super(text);
    this.name = "CallFailed";
    this.code = code;
  }
}

/** @implements {Interface} */
export class TestTap {
  /** A temporary COPILOT_HOME, removed by stop(). */
  home;
  port = 0;
  /** @type {PretendSession} the session of `tool`, `call` and `events` */
  session = /** @type {any} */ (undefined);
  /** All added sessions. @type {Set<PretendSession>} */
  sessions = new Set();
  #hostEnv;
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #host;
  #hostOutput = "";
  #stopped = false;

  /** @param {Record<string, string>} hostEnv */
  constructor(hostEnv) {
    this.#hostEnv = hostEnv;
    // Short, since the path of the link's socket must fit 104 bytes.
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "tap-test-"));
  }

  /** Environment variables for the process of a provider. */
  get env() {
    return {
      COPILOT_HOME: this.home,
      TAP_GATEWAY_PORT: String(this.port),
      TAP_PROVIDER_TOKEN: "", // the surrounding environment may have the token of a different gateway
      TAP_FOLDER: programFolder, // tap is not in this COPILOT_HOME
    };
  }

  /** The address for `provider(name, where)` in this process. */
  get where() {
    return { home: this.home, port: this.port, token: "" };
  }

  get #files() {
    return gatewayFiles(/** @type {NodeJS.ProcessEnv} */ ({ ...this.env }));
  }

  /** All texts for the user and the model, in order: lines of the timeline, injected prompts. */
  get events() {
    return this.session.told;
  }

  // ---- the gateway ---------------------------------------------------------------------------------

  /** @returns {Promise<void>} once providers can connect */
  async startGateway() {
    for (let attempt = 1; ; ++attempt) {
      if (this.sessions.size === 0) this.port = await findFreePort();
      if (await this.#startHost()) return;
      if (attempt === ATTEMPTS) throw new Error(`no gateway started:\n${this.#hostOutput}`);
    }
  }

  /** @returns {Promise<boolean>} whether it is up; the port may be taken meanwhile */
  async #startHost() {
    if (this.#stopped) throw new Error("this test gateway has been stopped");
    const host = spawn(
      process.execPath,
      [path.join(programFolder, "js", "gateway-host", "main.mjs")],
      {
        env: { ...hostEnvironment(process.env), ...TIMERS, ...this.#hostEnv, ...this.env },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.#host = host;
    for (const stream of [host.stdout, host.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (this.#hostOutput += text));
    }
    const until = Date.now() + START_MS;
    while (Date.now() < until && host.exitCode === null) {
      if (readDescriptor(this.#files.descriptor)?.pid === host.pid) return true;
      await sleep(10);
    }
    await this.killGateway();
    return false;
  }

  /** Kills it with kill -9, like a crash. */
  async killGateway() {
    const host = this.#host;
    this.#host = undefined;
    if (!host || host.exitCode !== null || host.signalCode !== null) return;
    host.kill("SIGKILL");
    await once(host, "exit");
  }

  /**
   * A crash, then a new gateway, with a new token. The sessions that have not ended register again,
   * as the CLI's do.
   */
  async restartGateway() {
    const former = [...this.sessions].filter(({ ended }) => !ended);
    await this.killGateway();
    for (const session of this.sessions) session.close();
    if (!(await this.#startHost())) throw new Error(`no gateway started:\n${this.#hostOutput}`);
    this.sessions.clear();
    for (const { id, cwd } of former) {
      const session = await this.addSession(id, cwd);
      if (this.session.id === id) this.session = session;
    }
  }

  // ---- sessions ------------------------------------------------------------------------------------

  /** Adds a session. @param {string} id @param {string} [cwd] @returns {Promise<PretendSession>} */
  async addSession(id, cwd = this.home) {
    const descriptor = readDescriptor(this.#files.descriptor);
    if (!descriptor) throw new Error("no gateway runs");
    const session = await PretendSession.register(id, cwd, descriptor);
    this.sessions.add(session);
    return session;
  }

  /** Waits until the model has the tool. @param {string} name @returns {Promise<OfferedTool>} */
  tool(name) {
    const { session } = this;
    const label = () =>
      `a tool ${name}; there are ${[...session.tools.keys()].join(", ")}\n${session.timeline.join("\n")}`;
    return session.until(() => session.tools.get(name), label);
  }

  /** Waits until the model no longer has the tool. @param {string} name */
  async toolGone(name) {
    const { session } = this;
    await session.until(
      () => !session.tools.has(name),
      () => `the tool ${name} is gone`,
    );
  }

  /**
   * Calls a tool as the model would.
   * @param {string} tool @param {object} [args]
   * @param {{signal?: AbortSignal, timeout?: number}} [options] the signal cancels, as the user can
   * @returns {Promise<any>} the result for the model: a text, or `{data, mimeType}` of an image or a file
   * @throws {CallFailed}
   */
  async call(tool, args = {}, { signal, timeout } = {}) {
    signal?.throwIfAborted();
    const { session } = this;
    if (!session.tools.has(tool)) {
      const text = `unknown tool "${tool}"; known: ${[...session.tools.keys()].join(", ")}`;
      throw new CallFailed({ code: "NOT_FOUND", text });
    }
    const { id, result } = session.start(tool, args, timeout);
    const cancel = () => session.cancel(id);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const outcome = await result;
      if (typeof outcome === "object" && "code" in outcome) throw new CallFailed(outcome);
      return outcome;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Ends all processes of this tap, and removes the home. */
  async stop() {
    this.#stopped = true;
    for (const session of this.sessions) session.close();
    await this.killGateway();
    fs.rmSync(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/**
 * @param {{env?: Record<string, string>, session?: string}} [options] additional variables of the gateway
 *   (docs/limits.md), and the session's id
 * @returns {Promise<TestTap>}
 */
export async function startTap({ env = {}, session = "test" } = {}) {
  const tap = new TestTap(env);
  try {
    await tap.startGateway();
    tap.session = await tap.addSession(session);
    return tap;
  } catch (error) {
    await tap.stop();
    throw error;
  }
}

export { callsOf, replay } from "./replay.mjs";
export { readTrace } from "./trace.mjs";
