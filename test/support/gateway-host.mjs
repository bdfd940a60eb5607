// A gateway host in a home of its own, with every step of its sessions in the hands of the test, and
// programs beside it: what a provider's author has.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { addon } from "../../js/addon.mjs";
import { freePort, REPO_ROOT } from "./cli.mjs";
import { waitFor } from "./wait.mjs";

const TIMERS = { TAP_RELOAD_DEBOUNCE_MS: "20", TAP_SHUTDOWN_MS: "3000", TAP_GRACE_MS: "20000" };

/** The environment of every process here: nothing of the surrounding shell but what is named. */
function environment(home, port) {
  const { PATH, HOME, LANG, TMPDIR } = process.env;
  const env = {
    PATH,
    HOME,
    LANG,
    TMPDIR,
    COPILOT_HOME: home,
    TAP_GATEWAY_PORT: String(port),
    ...TIMERS,
  };
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

/** A child whose output is kept, to be shown where a test fails. */
class Child {
  output = "";

  constructor(command, args, env) {
    this.process = spawn(command, args, { env, stdio: "pipe" });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (this.output += text));
    }
    this.exited = new Promise((resolve) => this.process.once("close", resolve));
    this.process.once("error", (error) => (this.output += error.message));
    this.process.stdin.on("error", () => {}); // it may have ended
  }

  /** @param {string | RegExp} text */
  async says(text) {
    const said = () =>
      typeof text === "string" ? this.output.includes(text) : text.test(this.output);
    await waitFor(said, { what: () => `${text} in the output:\n${this.output}` });
  }

  /** @param {string} line */
  type(line) {
    this.process.stdin.write(`${line}\n`);
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.exited;
  }
}

/** A session as an extension would be one, with every step in the hands of the test. */
export class Session {
  /** Tools in force, by name. */
  tools = new Map();
  /** Timeline lines and injected prompts. */
  timeline = [];
  injected = [];
  /** Events that providers have subscribed to. @type {string[]} */
  wanted = [];
  /** What its hooks are to do. @type {any} */
  hooks;
  #providers = new Map();
  #port;
  #lastCall = 0;
  /** Answers of the gateway to what only the CLI asks, by their kind and id. */
  #answers = new Map();

  /** @param {Gateway} gateway @param {string} id @param {string} [cwd] */
  static async register(gateway, id, cwd = "/") {
    const session = new Session();
    const { link, secret } = await gateway.descriptor();
    await new Promise((resolve, reject) => {
      session.#port = new addon.SessionPort({
        onConnected: () => session.send({ ...session.#registration(id, cwd), secret }),
        onEvent: (json) => session.#onEvent(JSON.parse(json), resolve),
        onClosed: (reason) => reject(new Error(`the link ended: ${reason}`)),
      });
      session.#port.connect(link);
    });
    return session;
  }

  #registration(sessionId, cwd) {
    return {
      type: "register",
      linkVersion: addon.linkVersion,
      version: "0.0.0",
      sessionId,
      label: sessionId,
      cwd,
      cliPid: 0,
      mode: "live",
      joined: true,
      have: {},
    };
  }

  send(message) {
    this.#port.send(JSON.stringify(message));
  }

  #onEvent(event, welcomed) {
    if (event.type === "tools") {
      for (const name of event.drop) this.#providers.delete(name);
      for (const { provider, definitions } of event.set) this.#providers.set(provider, definitions);
      this.tools = new Map([...this.#providers.values()].flat().map((tool) => [tool.name, tool]));
      this.send({ type: "synced", revision: event.revision });
      welcomed();
    } else if (event.type === "timeline") {
      this.timeline.push(event.text);
    } else if (event.type === "inject") {
      this.injected.push(event.prompt);
    } else if (event.type === "subscribe") {
      this.wanted = event.events;
    } else {
      this.#onHookEvent(event);
    }
  }

  #onHookEvent({ type, ...event }) {
    if (type === "hooks") {
      this.hooks = event;
      const { revision } = event;
      this.send({ type: "hooks.state", revision, hooks: "in-force", sections: "in-force" });
    } else if (type === "hook.verdict") {
      this.#answers.set(`check ${event.checkId}`, event);
    } else if (type === "prompt.context") {
      this.#answers.set(`prompt ${event.promptId}`, event);
    } else if (type === "section.text") {
      this.#answers.set(`build ${event.buildId}`, event);
    }
  }

  /** @param {"check" | "prompt" | "build"} kind @param {object} question */
  async #ask(kind, question) {
    const id = String(++this.#lastCall);
    this.send({ ...question, [`${kind}Id`]: id });
    return waitFor(() => this.#answers.get(`${kind} ${id}`), {
      what: `an answer to ${kind} ${id}`,
    });
  }

  /** What the gateway says before a tool is used. @returns {Promise<{deny?: string, context?: string}>} */
  async check(tool, args) {
    const { deny, context } = await this.#ask("check", { type: "hook.check", tool, args });
    return { ...(deny !== undefined && { deny }), ...(context && { context }) };
  }

  /** @returns {Promise<string>} what goes with a prompt of the user */
  async prompt() {
    return (await this.#ask("prompt", { type: "prompt.submitted" })).context;
  }

  /** @returns {Promise<string | undefined>} a section's new text */
  async build(section, current) {
    return (await this.#ask("build", { type: "section.build", section, current })).content;
  }

  /** @param {"idle" | "busy" | "user-prompt"} activity */
  become(activity) {
    this.send({ type: "activity", activity });
  }

  /** Something that a provider may have subscribed to. @param {string} event @param {object} data */
  report(event, data) {
    this.send({ type: "event", event, data });
  }

  /** @param {string | RegExp} text @returns {Promise<string>} the line of the timeline */
  shows(text) {
    const fits = (line) => (typeof text === "string" ? line.includes(text) : text.test(line));
    return waitFor(() => this.timeline.find(fits), {
      what: () => `${text} in the timeline:\n${this.timeline.join("\n")}`,
    });
  }

  /** @returns {{id: string, result: Promise<any>}} */
  start(tool, args) {
    const id = String(++this.#lastCall);
    return { id, result: this.#port.call(id, tool, JSON.stringify(args)) };
  }

  call(tool, args = {}) {
    return this.start(tool, args).result;
  }

  cancel(id) {
    this.#port.cancel(id, "the test does not want it any more");
  }

  end() {
    this.send({ type: "end", reason: "the test ends it" });
  }

  close() {
    this.#port.close("the test closes it");
  }
}

/** A host in a home of its own, and what a test starts beside it. */
export class Gateway {
  home = "";
  port = 0;
  #children = [];
  #hostEnv = {};

  /** @param {object} [hostEnv] further variables of the host */
  static async create(hostEnv = {}) {
    const gateway = new Gateway();
    gateway.#hostEnv = hostEnv;
    // Short, since the link's socket path must fit 104 bytes.
    gateway.home = await mkdtemp(path.join(os.tmpdir(), "tap-ex-"));
    await mkdir(path.join(gateway.home, "extensions", "tap"), { recursive: true });
    gateway.port = await freePort();
    await gateway.startHost();
    return gateway;
  }

  async startHost() {
    this.host = this.start(
      process.execPath,
      [path.join(REPO_ROOT, "js", "host.mjs")],
      this.#hostEnv,
    );
    const { pid } = this.host.process;
    await waitFor(async () => (await this.descriptor()).pid === pid, {
      what: () => `the host is up:\n${this.report()}`,
    });
  }

  async descriptor() {
    const file = path.join(this.home, "extensions", "tap", `.gateway-${this.port}.json`);
    return JSON.parse(readFileSync(file, "utf8"));
  }

  start(command, args, env = {}) {
    const child = new Child(command, args, { ...environment(this.home, this.port), ...env });
    this.#children.push(child);
    return child;
  }

  /** Waits for the token file: it follows the first session. */
  async token() {
    const file = path.join(this.home, "extensions", "tap", ".provider-token");
    return waitFor(() => readFileSync(file, "utf8"), { what: "a token file" });
  }

  /** A way to the gateway that can be cut: a port, and how. */
  async detour() {
    const sockets = new Set();
    const server = net.createServer((near) => {
      const far = net.connect(this.port, "127.0.0.1");
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ]) {
        sockets.add(socket);
        // A pipe does not pass an error on: whoever waits at the other end would wait for long.
        socket.on("error", () => other.destroy()).on("close", () => sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(true)));
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    const cut = () => sockets.forEach((socket) => socket.destroy());
    return { port, cut, close: () => (server.close(), cut()) };
  }

  /** Waits until the session has exactly these tools, and tap's own. */
  async tools(session, ...names) {
    const wanted = ["tap_status", ...names].sort().join();
    const same = () => [...session.tools.keys()].sort().join() === wanted;
    const what = () =>
      `the tools are ${wanted}, not ${[...session.tools.keys()]}:\n${this.report()}`;
    await waitFor(same, { what, timeoutMs: 15_000 });
  }

  report() {
    return this.#children
      .map(({ process: { spawnargs }, output }) => `${spawnargs.join(" ")}\n${output}`)
      .join("\n");
  }

  async dispose() {
    await Promise.all(this.#children.map((child) => child.stop("SIGKILL")));
    await rm(this.home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}
