// The program under check: its process, its connections, and the messages on them.

import { openControl } from "../../link/control.mjs";
import { boundProviders, connectedProviders } from "../../lib/inspection.mjs";
import { sleep } from "../../lib/timers.mjs";
import { gatewayFiles } from "../../lib/paths.mjs";
import { BUILTIN_TOOL_NAMES } from "../../lib/status-tool.mjs";
import { signalGroup } from "../../process/group.mjs";
import { endProvider, startProvider } from "../provider-process.mjs";

/** @typedef {import("../testing.mjs").TestTap} TestTap */
/** @typedef {import("../../link/control.mjs").TraceFrame} TraceFrame */
/**
 * A message, or the start or end of a connection, without long fields.
 * @typedef {{connection: number, kind: TraceFrame["kind"], type: string, id: string, tool: string,
 *   code: string, text: string, replyTo: string}} Frame
 * @typedef {{name: string, description?: string, parameters?: any}} DeclaredTool
 */

const POLL_MS = 20;
/** Limits the memory if a program floods the connection. */
const MAX_FRAMES = 20_000;
const TAIL_CHARACTERS = 4_000;
const TAIL_LINES = 16;

/** @param {unknown} value */
const toText = (value) => (typeof value === "string" ? value : "");

/** @param {string} text @returns {any} an object */
function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

export class Subject {
  /** @type {Frame[]} */
  frames = [];
  /** Its declared tools, by name. @type {Map<string, DeclaredTool>} */
  declared = new Map();
  /** How its process ended, or why it could not start. @type {string | undefined} */
  ended;
  isStarted = false;
  printedBytes = 0;
  tap;
  command;
  #tail = "";
  #closed = false;
  /** @type {import("../../link/control.mjs").Control | undefined} */
  #control;
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #process;

  /** @param {TestTap} tap @param {string[]} command */
  constructor(tap, command) {
    this.tap = tap;
    this.command = command;
  }

  // ---- its process ---------------------------------------------------------------------------------

  start() {
    if (this.#closed) throw new Error("the checks are over");
    this.ended = undefined;
    const child = startProvider(this.tap, this.command, () => {}, "pipe");
    this.#process = child;
    this.isStarted = child.pid !== undefined;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
        this.printedBytes += Buffer.byteLength(text);
        this.#tail = (this.#tail + text).slice(-TAIL_CHARACTERS);
      });
    }
    child.once("error", (error) => (this.ended = error.message));
    child.once("exit", (code, signal) => (this.ended = signal ?? `exit code ${code}`));
  }

  /** Its last lines of output since forgetPrinted(). */
  get lastLines() {
    const lines = this.#tail.split(/\r?\n/).filter((line) => line.trim() !== "");
    return lines.slice(-TAIL_LINES).map((line) => line.slice(0, 200));
  }

  /** @param {NodeJS.Signals | 0} signal @returns {boolean} whether it or a child still runs */
  signal(signal) {
    const pid = this.#process?.pid;
    return pid !== undefined && signalGroup(pid, signal);
  }

  async #end() {
    if (this.#process) await endProvider(this.#process);
  }

  /** Starts the same command again. */
  async startAgain() {
    await this.#end();
    this.start();
  }

  async close() {
    this.#closed = true;
    await this.#end();
    this.#control?.close();
  }

  // ---- messages ------------------------------------------------------------------------------------

  /** Listens to the present gateway. Call it after each start of a gateway. */
  async listen() {
    this.#control?.close();
    const env = /** @type {NodeJS.ProcessEnv} */ ({ ...this.tap.env });
    this.#control = await openControl(gatewayFiles(env));
    await this.#control.trace((frame) => this.#receive(frame));
  }

  /** @param {TraceFrame} frame */
  #receive({ connection, kind, text }) {
    const isMessage = kind === "received" || kind === "sent";
    const message = isMessage ? parseObject(text) : {};
    const { type, id, tool, code, replyTo } = message;
    if (kind === "received" && (type === "hello" || type === "tools.update")) {
      const tools = Array.isArray(message.tools) ? message.tools : [];
      for (const declared of tools)
        if (declared && typeof declared.name === "string")
          this.declared.set(declared.name, declared);
    }
    this.frames.push({
      connection,
      kind,
      type: toText(type),
      id: toText(id),
      tool: toText(tool),
      code: toText(code ?? message.errorCode),
      text: isMessage ? toText(message.message) : text,
      replyTo: toText(replyTo),
    });
    if (this.frames.length > MAX_FRAMES) this.frames.shift();
  }

  /** Forgets the messages. */
  forget() {
    this.frames = [];
  }

  /** Forgets the output. */
  forgetPrinted() {
    this.#tail = "";
  }

  /** @param {Frame["kind"]} kind @param {string} [type] @returns {Frame[]} */
  listFrames(kind, type) {
    return this.frames.filter(
      (frame) => frame.kind === kind && (type === undefined || frame.type === type),
    );
  }

  // ---- state ---------------------------------------------------------------------------------------

  /** @param {() => unknown} look @param {number} ms @returns {Promise<boolean>} whether it was true in time */
  async until(look, ms) {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(POLL_MS)) {
      if (look()) return true;
    }
    return Boolean(look());
  }

  async #inspect() {
    if (!this.#control) throw new Error("no control client listens to the gateway");
    return this.#control.inspect();
  }

  /** Its connections; before `hello` they have no `name`. */
  async connections() {
    return connectedProviders(await this.#inspect());
  }

  /** Its names in the session. @returns {Promise<string[]>} */
  async boundAs() {
    const bound = boundProviders(await this.#inspect(), this.tap.session.id);
    return bound.map(({ provider }) => provider.name);
  }

  /** The names of its tools in the session. */
  get tools() {
    return [...this.tap.session.tools.keys()].filter((name) => !BUILTIN_TOOL_NAMES.has(name));
  }

  /**
   * Waits until it is bound to the session with all of these tools.
   * @param {string[]} tools @param {number} ms
   * @returns {Promise<boolean>} false: too late, or its process has ended
   */
  async serves(tools, ms) {
    for (const end = performance.now() + ms; !this.#closed; await sleep(POLL_MS)) {
      const has = this.tools;
      if (tools.every((name) => has.includes(name)) && (await this.boundAs()).length > 0)
        return true;
      if (this.ended !== undefined || performance.now() >= end) break;
    }
    return false;
  }
}
