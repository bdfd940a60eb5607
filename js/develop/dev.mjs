// `dev`: a gateway and a pretend session to develop a provider with. A person types tools' names; a
// test in another language sends JSON lines (docs/testing.md).

import readline from "node:readline";
import { STATUS_TOOL } from "../host/tap-status.mjs";
import { endProvider, startProvider } from "./provider-process.mjs";
import { startTap } from "./testing.mjs";
import { visible } from "../base/visible.mjs";

/** @typedef {import("./testing.mjs").TestTap} TestTap */
/** @typedef {import("./pretend-session.mjs").PretendSession} PretendSession */
/** @typedef {{input: NodeJS.ReadableStream, output: NodeJS.WritableStream}} Streams */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

const HELP = `  tools                  list the tools
  <tool> {"city":"Bern"} call one
  prompt                 what goes with a prompt of the user
  check <tool> {…}       what the providers' rules say about the use of a tool
  idle                   the model has finished its turn
  env                    what a provider of your own needs, to be started elsewhere
  restart                kill the gateway and start another
  end                    end the session, as /clear does; another one begins
  quit                   (or the end of the input)`;

// ---- for people ----------------------------------------------------------------------------------

/** @param {string} text @returns {unknown} nothing, where it is no JSON */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {string} text of JSON, or nothing */
function readArguments(text) {
  const args = text.trim() === "" ? {} : parsed(text);
  if (typeof args === "object" && args !== null && !Array.isArray(args)) return args;
  throw new Error(`arguments are a JSON object, as in {"city":"Bern"}; this is none: ${text}`);
}

/** Variables as a shell takes them. @param {Record<string, string>} env */
const exports = (env) =>
  Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`)
    .join("\n");

export class Console {
  #tap;
  #say;
  #sessions = 1;

  /** @param {TestTap} tap @param {(text: string) => void} say */
  constructor(tap, say) {
    this.#tap = tap;
    this.#say = say;
    this.#follow(tap.session);
  }

  /** Tells what happens in a session. @param {PretendSession} session */
  #follow(session) {
    let told = 0;
    let before = "";
    session.watch(() => {
      for (const { type, text } of session.told.slice(told)) this.#say(`[${type}] ${text}`);
      told = session.told.length;
      const names = [...session.tools.keys()].filter((name) => name !== "tap_status").join(", ");
      if (names !== before) this.#say(`[tools] ${names || "none"}`);
      before = names;
    });
  }

  #list() {
    for (const { name, description } of this.#tap.session.tools.values()) {
      this.#say(`${name}: ${description}`);
    }
  }

  async #anotherSession() {
    this.#tap.session.end();
    this.#sessions += 1;
    this.#tap.session = await this.#tap.addSession(`dev-${this.#sessions}`);
    this.#follow(this.#tap.session);
  }

  async #check(/** @type {string} */ rest) {
    const [, tool = "", args = ""] = /^(\S*)\s*(.*)$/s.exec(rest) ?? [];
    this.#say(JSON.stringify(await this.#tap.session.check(tool, readArguments(args))));
  }

  async #restart() {
    await this.#tap.restartGateway();
    this.#follow(this.#tap.session);
  }

  async #call(/** @type {string} */ tool, /** @type {string} */ args) {
    const result = await this.#tap.call(tool, readArguments(args));
    this.#say(typeof result === "string" ? result : `${result.mimeType}: ${result.text}`);
  }

  /** @type {Record<string, (rest: string) => unknown>} */
  #commands = {
    help: () => this.#say(HELP),
    tools: () => this.#list(),
    prompt: async () => this.#say((await this.#tap.session.prompt()) || "nothing"),
    check: (rest) => this.#check(rest),
    env: () => this.#say(exports(this.#tap.env)),
    idle: () => this.#tap.session.become("idle"),
    restart: () => this.#restart(),
    end: () => this.#anotherSession(),
  };

  /** @param {string} line @returns {Promise<void>} */
  async run(line) {
    const [, word = "", rest = ""] = /^\s*(\S*)\s*(.*)$/s.exec(line) ?? [];
    if (Object.hasOwn(this.#commands, word)) await this.#commands[word](rest);
    else if (word !== "") await this.#call(word, rest);
  }
}

/** For a provider to connect, before what was piped in is done. */
const PATIENCE_MS = 10_000;

/**
 * Until the provider's first tool is there, or will not come.
 * @param {TestTap} tap @param {import("node:child_process").ChildProcess} provider @param {AbortSignal} ending
 */
async function untilItServes(tap, provider, ending) {
  const over = new Promise((resolve) => {
    for (const event of ["exit", "error"]) provider.once(event, resolve);
    ending.addEventListener("abort", resolve);
  });
  const { session } = tap;
  const served = session.until(
    () => [...session.tools.keys()].some((name) => name !== STATUS_TOOL.name),
    () => "a tool of the provider",
    PATIENCE_MS,
  );
  await Promise.race([served.catch(() => {}), over]);
}

/**
 * Does the work; by a signal it ends in good order, however many come.
 * @template T @param {(ending: AbortSignal) => Promise<T>} work
 */
async function untilSignal(work) {
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
 * @param {Console} dev @param {Streams["input"]} input
 * @param {AbortSignal} ending @param {(text: string) => void} say
 * @returns {Promise<number>} how many lines have failed
 */
async function converse(dev, input, ending, say) {
  let failed = 0;
  const tell = (/** @type {Error} */ error) => {
    failed += 1;
    say(error.message);
  };
  const ended = new Promise((resolve) => ending.addEventListener("abort", resolve));
  for await (const line of readline.createInterface({ input, signal: ending })) {
    if (ending.aborted || line.trim() === "quit") break;
    await Promise.race([dev.run(line).catch(tell), ended]);
  }
  return ending.aborted ? 0 : failed;
}

/**
 * @param {string[]} command of a provider to be started; none: the user starts it
 * @param {Streams} streams
 * @returns {Promise<number>} how many of the lines have failed
 */
export const runDev = (command, { input, output }) =>
  untilSignal(async (ending) => {
    const say = (/** @type {string} */ text) =>
      void output.write(`${text.split("\n").map(visible).join("\n")}\n`);
    const tap = await startTap({ session: "dev" });
    const dev = new Console(tap, say);
    const usage = "help shows what to type; quit ends it";
    const own = command.length === 0;
    say(own ? `start a provider with\n\n${exports(tap.env)}\n\n${usage}` : usage);
    const provider = own ? undefined : startProvider(tap, command, say);
    try {
      if (provider && !("isTTY" in input && input.isTTY))
        await untilItServes(tap, provider, ending);
      return await converse(dev, input, ending, say);
    } finally {
      if (provider) await endProvider(provider);
      await tap.stop();
    }
  });

// ---- for programs --------------------------------------------------------------------------------

/**
 * What a line may ask for. `session` names one that was added; without it: the one of the last `use`,
 * at first the first.
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
    let told = 0;
    session.watch(() => {
      for (const event of session.told.slice(told)) {
        this.#send({ type: "event", session: session.id, event });
      }
      told = session.told.length;
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
    const result = await request(this.#tap, asked, this.#sessionOf(asked));
    for (const session of this.#tap.sessions) this.#follow(session);
    return result;
  }

  /** @param {{session?: string}} asked */
  #sessionOf({ session: wanted }) {
    if (wanted === undefined) return this.#tap.session;
    const session = [...this.#tap.sessions].find(({ id }) => id === wanted);
    if (!session) throw new Error(`there is no session ${wanted}`);
    return session;
  }

  /** Answers once it is done; others may overtake it. @param {string} line */
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
  untilSignal(async (ending) => {
    const tap = await startTap();
    try {
      const served = new JsonLines(tap, (message) => output.write(`${JSON.stringify(message)}\n`));
      const lines = readline.createInterface({ input, signal: ending });
      for await (const line of lines) void served.run(line);
    } finally {
      await tap.stop();
    }
  });
