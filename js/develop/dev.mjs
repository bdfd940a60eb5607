// `dev`: a gateway and a pretend session for developing a provider. A person types names of tools; a
// test in a different language sends JSON lines (docs/testing.md).

import fs from "node:fs";
import readline from "node:readline";
import { gatewayFiles } from "../lib/paths.mjs";
import { BUILTIN_TOOL_NAMES } from "../lib/status-tool.mjs";
import { ProviderRunner } from "./provider-runner.mjs";
import { findNearest } from "../lib/suggestion.mjs";
import { startProvider } from "./provider-process.mjs";
import { Terminal } from "./terminal.mjs";
import { startTap } from "./testing.mjs";
import { parseArgumentLine } from "./tool-arguments.mjs";

/** @typedef {import("./testing.mjs").TestTap} TestTap */
/** @typedef {import("./pretend-session.mjs").PretendSession} PretendSession */
/** @typedef {{input: NodeJS.ReadableStream, output: NodeJS.WritableStream}} Streams */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

const HELP = `  tools                  list the tools
  <tool> city=Bern       call a tool; "call <tool> city=Bern" does the same
  <tool> {"city":"Bern"} the same, with its arguments as JSON
  prompt                 the context for a prompt of the user
  check <tool> {…}       the effect of the providers' rules on the use of a tool
  idle                   the model has finished its turn
  env                    the variables for a provider that you start yourself
  restart                kill the gateway and start a new gateway
  end                    end the session, as /clear does; a new session begins
  quit                   (or the end of the input)`;

// ---- for people ----------------------------------------------------------------------------------

/** Variables in a shell's syntax. @param {Record<string, string>} env */
const formatExports = (env) =>
  Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`)
    .join("\n");

/** @param {string} line @returns {[word: string, rest: string]} */
function splitLine(line) {
  const [, word = "", rest = ""] = /^\s*(\S*)\s*(.*)$/s.exec(line) ?? [];
  return [word, rest];
}

/** @param {string} tool @param {string[]} known */
function unknownTool(tool, known) {
  const meant = findNearest(tool, known);
  const guess = meant === undefined ? "" : `; did you mean "${meant}"?`;
  return `unknown tool "${tool}"; known: ${known.join(", ")}${guess}`;
}

export class Console {
  #tap;
  #print;
  #sessions = 1;

  /** @param {TestTap} tap @param {(text: string) => void} say */
  constructor(tap, say) {
    this.#tap = tap;
    this.#print = say;
    this.#follow(tap.session);
  }

  /** Prints the events of a session. @param {PretendSession} session */
  #follow(session) {
    let printed = 0;
    let before = "";
    session.watch(() => {
      for (const { type, text } of session.told.slice(printed)) this.#print(`[${type}] ${text}`);
      printed = session.told.length;
      const names = [...session.tools.keys()]
        .filter((name) => !BUILTIN_TOOL_NAMES.has(name))
        .join(", ");
      if (names !== before) this.#print(`[tools] ${names || "none"}`);
      before = names;
    });
  }

  #list() {
    for (const { name, description } of this.#tap.session.tools.values()) {
      this.#print(`${name}: ${description}`);
    }
  }

  async #startSession() {
    this.#tap.session.end();
    this.#sessions += 1;
    this.#tap.session = await this.#tap.addSession(`dev-${this.#sessions}`);
    this.#follow(this.#tap.session);
  }

  async #check(/** @type {string} */ rest) {
    const [tool, args] = splitLine(rest);
    if (tool === "") throw new Error('which tool? check <tool> {"command":"ls"}');
    const { parameters } = this.#tap.session.tools.get(tool) ?? {};
    const given = parseArgumentLine(args, parameters);
    this.#print(JSON.stringify(await this.#tap.session.check(tool, given)));
  }

  async #restart() {
    await this.#tap.restartGateway();
    this.#follow(this.#tap.session);
  }

  /** The possible first words of a line. */
  get words() {
    return [...this.#tap.session.tools.keys(), ...Object.keys(this.#commands), "quit"];
  }

  /** @param {string} tool @param {string} rest of the line */
  async #call(tool, rest) {
    const { tools } = this.#tap.session;
    const offered = tools.get(tool);
    if (!offered) throw new Error(unknownTool(tool, [...tools.keys()]));
    const result = await this.#tap.call(tool, parseArgumentLine(rest, offered.parameters));
    this.#print(typeof result === "string" ? result : `${result.mimeType}: ${result.text}`);
  }

  /** @param {string} rest `set_timer label=egg` */
  async #callNamed(rest) {
    const [tool, args] = splitLine(rest);
    if (tool === "") throw new Error("which tool? call <tool> city=Bern");
    await this.#call(tool, args);
  }

  /** @type {Record<string, (rest: string) => unknown>} */
  #commands = {
    help: () => this.#print(HELP),
    call: (rest) => this.#callNamed(rest),
    tools: () => this.#list(),
    prompt: async () => this.#print((await this.#tap.session.prompt()) || "nothing"),
    check: (rest) => this.#check(rest),
    env: () => this.#print(formatExports(this.#tap.env)),
    idle: () => this.#tap.session.become("idle"),
    restart: () => this.#restart(),
    end: () => this.#startSession(),
  };

  /** @param {string} line @returns {Promise<void>} */
  async run(line) {
    const [word, rest] = splitLine(line);
    if (Object.hasOwn(this.#commands, word)) await this.#commands[word](rest);
    else if (word !== "") await this.#call(word, rest);
  }
}

/** For a provider to connect, before the piped input is read. */
const PATIENCE_MS = 10_000;

/**
 * Waits until the provider's first tool is in the session, or cannot come.
 * @param {TestTap} tap @param {import("node:child_process").ChildProcess} provider @param {AbortSignal} ending
 */
async function waitForTools(tap, provider, ending) {
  const over = new Promise((resolve) => {
    for (const event of ["exit", "error"]) provider.once(event, resolve);
    ending.addEventListener("abort", resolve);
  });
  const { session } = tap;
  const served = session.until(
    () => [...session.tools.keys()].some((name) => !BUILTIN_TOOL_NAMES.has(name)),
    () => "a tool of the provider",
    PATIENCE_MS,
  );
  await Promise.race([served.catch(() => {}), over]);
}

/**
 * Runs the work. The first signal ends it cleanly, and later signals do not interrupt that.
 * @template T @param {(ending: AbortSignal) => Promise<T>} work
 */
async function runUntilSignal(work) {
  const controller = new AbortController();
  const end = () => controller.abort();
  for (const signal of SIGNALS) process.on(signal, end);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}

/**
 * @param {Console} dev @param {Terminal} terminal @param {Streams["input"]} input
 * @param {AbortSignal} ending
 * @returns {Promise<number>} number of failed lines
 */
async function runLines(dev, terminal, input, ending) {
  let failed = 0;
  const printError = (/** @type {Error} */ error) => {
    failed += 1;
    terminal.print(error.message);
  };
  const ended = new Promise((resolve) => ending.addEventListener("abort", resolve));
  for await (const line of terminal.lines(input, ending, () => dev.words)) {
    if (ending.aborted || line.trim() === "quit") break;
    await Promise.race([dev.run(line).catch(printError), ended]);
  }
  terminal.close();
  return ending.aborted ? 0 : failed;
}

/**
 * The environment that a tap.config.json gives to its providers.
 * @param {TestTap} tap
 * @returns {Record<string, string>}
 */
function projectEnv({ env, session }) {
  const { token } = gatewayFiles({ ...env });
  const TAP_PROVIDER_TOKEN = fs.readFileSync(token, "utf8").trim();
  return { ...env, TAP_PROVIDER_TOKEN, TAP_SESSION_ID: session.id };
}

/**
 * @param {string[]} command of a provider to start; empty: the user starts it
 * @param {Streams} streams
 * @param {{watch?: boolean, project?: boolean}} [options] watch: restart it when a file of this folder
 *   changes; project: as a provider of a tap.config.json
 * @returns {Promise<number>} number of failed lines
 */
export const runDev = (command, streams, { watch = false, project = false } = {}) =>
  runUntilSignal(async (ending) => {
    const terminal = new Terminal(streams);
    const print = (/** @type {string} */ text) => terminal.print(text);
    const tap = await startTap({ session: "dev" });
    const dev = new Console(tap, print);
    const usage = "help lists the commands; quit ends it";
    const own = command.length === 0;
    print(own ? `start a provider with\n\n${formatExports(tap.env)}\n\n${usage}` : usage);
    const start = () => startProvider({ env: project ? projectEnv(tap) : tap.env }, command, print);
    const provider = own ? undefined : new ProviderRunner(start, print, watch);
    try {
      const isTyped = "isTTY" in streams.input && streams.input.isTTY;
      if (provider && !isTyped) await waitForTools(tap, provider.process, ending);
      return await runLines(dev, terminal, streams.input, ending);
    } finally {
      await provider?.end();
      await tap.stop();
    }
  });

// ---- for programs --------------------------------------------------------------------------------

/**
 * Requests of a line. `session` names an added session; the default is the session of the last `use`,
 * at first the first session.
 * @type {Record<string, (tap: TestTap, asked: any, session: PretendSession) => unknown>}
 */
const REQUESTS = {
  tool: (tap, { name }) => tap.tool(name),
  toolGone: (tap, { name }) => tap.toolGone(name),
  tools: (_tap, _asked, session) => [...session.tools.values()],
  prompt: (_tap, _asked, session) => session.prompt(),
  check: (_tap, { tool, args }, session) => session.check(tool, args),
  build: (_tap, { section, current }, session) => session.build(section, current),
  wanted: (_tap, { event }, session) =>
    session.until(
      () => session.wanted.includes(event),
      () => `a subscription to ${event}`,
    ),
  report: (_tap, { event, data }, session) => session.report(event, data),
  become: (_tap, { activity }, session) => session.become(activity),
  addSession: async (tap, { name, cwd }) => void (await tap.addSession(name, cwd)),
  endSession: (_tap, _asked, session) => session.end(),
  use: (tap, _asked, session) => void (tap.session = session),
  restartGateway: (tap) => tap.restartGateway(),
  killGateway: (tap) => tap.killGateway(),
};

export class JsonLines {
  #tap;
  #send;
  /** Calls in flight, by the id of their line. @type {Map<unknown, AbortController>} */
  #calls = new Map();
  /** @type {WeakSet<PretendSession>} */
  #followed = new WeakSet();

  /** @param {TestTap} tap @param {(message: object) => void} send */
  constructor(tap, send) {
    this.#tap = tap;
    this.#send = send;
    send({ type: "ready", env: tap.env });
    this.#follow(tap.session);
  }

  /** @param {PretendSession} session */
  #follow(session) {
    if (this.#followed.has(session)) return;
    this.#followed.add(session);
    let sent = 0;
    session.watch(() => {
      for (const event of session.told.slice(sent)) {
        this.#send({ type: "event", session: session.id, event });
      }
      sent = session.told.length;
    });
  }

  /** @param {{id: unknown, tool: string, args?: object, timeout?: number}} asked */
  async #call({ id, tool, args, timeout }) {
    const controller = new AbortController();
    this.#calls.set(id, controller);
    try {
      return await this.#tap.call(tool, args, { timeout, signal: controller.signal });
    } finally {
      this.#calls.delete(id);
    }
  }

  /** @param {any} asked */
  async #perform(asked) {
    if (asked.do === "call") return this.#call(asked);
    if (asked.do === "cancel") return this.#calls.get(asked.call)?.abort();
    const request = Object.hasOwn(REQUESTS, asked.do) ? REQUESTS[asked.do] : undefined;
    if (!request) {
      throw new Error(`do: expected one of call, cancel, ${Object.keys(REQUESTS).join(", ")}`);
    }
    const result = await request(this.#tap, asked, this.#findSession(asked));
    for (const session of this.#tap.sessions) this.#follow(session);
    return result;
  }

  /** @param {{session?: string}} asked */
  #findSession({ session: wanted }) {
    if (wanted === undefined) return this.#tap.session;
    const session = [...this.#tap.sessions].find(({ id }) => id === wanted);
    if (!session) throw new Error(`there is no session ${wanted}`);
    return session;
  }

  /** Runs a request and sends its answer. Requests run in parallel. @param {string} line */
  async run(line) {
    let id;
    try {
      const asked = JSON.parse(line);
      id = asked.id;
      this.#send({ id, result: (await this.#perform(asked)) ?? null });
    } catch (error) {
      const { message, code = "ERROR" } = /** @type {any} */ (error);
      this.#send({ id, error: { code, message } });
    }
  }
}

/** @param {Streams} streams */
export const runJsonDev = ({ input, output }) =>
  runUntilSignal(async (ending) => {
    const tap = await startTap();
    try {
      const served = new JsonLines(tap, (message) => output.write(`${JSON.stringify(message)}\n`));
      const lines = readline.createInterface({ input, signal: ending });
      for await (const line of lines) void served.run(line);
    } finally {
      await tap.stop();
    }
  });
