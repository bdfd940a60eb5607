// The extension's runtime: a single instance per process, on globalThis. It connects the session of this process
// to the gateway, and shuts down cleanly. If the CLI imports the extension again in the same process, it
// finds this runtime and joins again.

import { sleep } from "../lib/timers.mjs";
import { GatewayLink } from "./gateway-link.mjs";
import { readLimits } from "../lib/limits.mjs";
import { openLog } from "../lib/log.mjs";
import { parseWholeNumber } from "../lib/values.mjs";
import { gatewayFiles } from "../lib/paths.mjs";
import { sessionEnvironment } from "./session-info.mjs";
import { SessionRunner } from "./session-runner.mjs";
import { SlashCommands } from "./slash-commands.mjs";

/** After SIGTERM the CLI waits about a second, or five at a reload. */
const DRAIN_MS = 4000;
/** If the session ends, session.shutdown follows SIGTERM by 10 to 20 ms. */
const SHUTDOWN_EVENT_MS = 150;

/** @returns {"auto" | "live" | "reload"} */
function syncPreference(env = process.env) {
  const wanted = env.TAP_TOOL_SYNC;
  return wanted === "live" || wanted === "reload" ? wanted : "auto";
}

/** Shown once for each session. @param {import("./gateway-link.mjs").GatewayEvent} welcome */
const readyLine = ({ version, port }) => `tap ${version} ready, port ${port} (/tap)`;

const tick = () => sleep(10);

export class Runtime {
  #log;
  /** @type {GatewayLink} */
  #link;
  /** @type {SessionRunner} */
  #session;
  /** @type {SlashCommands} */
  #commands;
  #draining = false;

  constructor(env = process.env) {
    const files = gatewayFiles(env);
    this.#log = openLog(files.logs, "extension.log");
    for (const { wrong, value, unit } of readLimits(env)) {
      if (wrong) this.#log("warning", `${wrong}; using ${value} ${unit}`);
    }
    this.#link = new GatewayLink({
      files,
      log: this.#log,
      register: () => this.#session.registration(),
      onEvent: (event) => {
        if (event.type === "command.result") this.#commands.showResult(/** @type {any} */ (event));
        else this.#session.receive(event);
      },
      onWelcome: (welcome) => {
        this.#session.resendState();
        if (!welcome.known && env.TAP_QUIET !== "1") this.#show(readyLine(welcome));
      },
      onLost: () => {
        this.#commands.gatewayGone();
        this.#session.gatewayGone();
      },
      onTrouble: (text) => {
        this.#session.receive({ type: "timeline", level: "warning", text });
        this.#session.stopWaiting();
      },
    });
    this.#session = new SessionRunner(this.#link, {
      id: env.SESSION_ID ?? "",
      cwd: process.cwd(),
      cliPid: parseWholeNumber(env.COPILOT_EXTENSION_PARENT_PID, 1, 2 ** 32) ?? process.ppid,
      environment: sessionEnvironment(env, process.execPath),
      sync: syncPreference(env),
      log: this.#log,
    });
    this.#commands = new SlashCommands({ link: this.#link, show: (text) => this.#show(text) });
    process.on("SIGTERM", () => void this.#drain());
    process.on("SIGHUP", () => void this.#drain());
  }

  /** @param {string} text a line of the timeline */
  #show(text) {
    this.#session.receive({ type: "timeline", level: "info", text });
  }

  /**
   * Joins the session of this process, with the tools that the gateway has for it.
   * @param {(config: object) => Promise<any>} joinSession the SDK's
   */
  async join(joinSession) {
    this.#link.start();
    await this.#session.join((config) =>
      joinSession({ ...config, commands: this.#commands.list() }),
    );
  }

  /** The CLI ends this process: calls in flight get the remaining time. */
  async #drain() {
    if (this.#draining) return;
    this.#draining = true;
    const start = performance.now();
    await this.#session.denyPending();
    const wait = this.#session.reloading ? 0 : SHUTDOWN_EVENT_MS;
    while (!this.#session.ended && performance.now() - start < wait) await tick();
    while (this.#session.callsInFlight > 0 && performance.now() - start < DRAIN_MS) await tick();
    this.#link.stop("the session's process ends");
    await tick();
    this.#log.end();
    process.exit(0);
  }
}

const KEY = Symbol.for("copilot-tap.runtime");

/** The runtime of this process. @returns {Runtime} */
export function runtime() {
  const holder = /** @type {Record<symbol, Runtime | undefined>} */ (
    /** @type {unknown} */ (globalThis)
  );
  return (holder[KEY] ??= new Runtime());
}
