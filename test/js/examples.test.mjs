// Every example against a real gateway host: it connects, its tool is called, a cancel does it no
// harm, and it comes back after its session has ended and to a new gateway.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, describe, test } from "node:test";
import { addon } from "../../js/addon.mjs";
import { pythonWithWebsockets } from "../setup.mjs";
import { freePort, REPO_ROOT } from "../support/cli.mjs";
import { waitFor } from "../support/wait.mjs";

const python = await pythonWithWebsockets();
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
    this.process = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (this.output += text));
    }
    this.exited = new Promise((resolve) => this.process.once("close", resolve));
    this.process.once("error", (error) => (this.output += error.message));
  }

  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.exited;
  }
}

/** A session as an extension would be one, with every step in the hands of the test. */
class Session {
  /** Tools in force, by name. */
  tools = new Map();
  /** Timeline lines and injected prompts. */
  timeline = [];
  injected = [];
  #providers = new Map();
  #port;
  #lastCall = 0;

  static async register(gateway, id) {
    const session = new Session();
    const { link, secret } = await gateway.descriptor();
    await new Promise((resolve, reject) => {
      session.#port = new addon.SessionPort({
        onConnected: () => session.send({ ...session.#registration(id), secret }),
        onEvent: (json) => session.#onEvent(JSON.parse(json), resolve),
        onClosed: (reason) => reject(new Error(`the link ended: ${reason}`)),
      });
      session.#port.connect(link);
    });
    return session;
  }

  #registration(sessionId) {
    return {
      type: "register",
      linkVersion: addon.linkVersion,
      version: "0.0.0",
      sessionId,
      label: sessionId,
      cwd: "/",
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
    }
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
class Gateway {
  #children = [];

  static async create() {
    const gateway = new Gateway();
    // Short, since the link's socket path must fit 104 bytes.
    gateway.home = await mkdtemp(path.join(os.tmpdir(), "tap-ex-"));
    await mkdir(path.join(gateway.home, "extensions", "tap"), { recursive: true });
    gateway.port = await freePort();
    await gateway.startHost();
    return gateway;
  }

  async startHost() {
    this.host = this.start(process.execPath, [path.join(REPO_ROOT, "js", "host.mjs")]);
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

const example = (name) => path.join(REPO_ROOT, "examples", name);
const hasWebSocket = typeof globalThis.WebSocket === "function";

const greeters = [
  { name: "hello.mjs", command: process.execPath, flags: [] },
  {
    name: "hello-node22.mjs",
    command: process.execPath,
    flags: hasWebSocket ? [] : ["--experimental-websocket"],
  },
  { name: "hello.py", command: python, flags: [] },
];

/** @returns {string | false} why an example cannot be run here */
const missing = ({ command }) => !command && "no python3-websockets on this machine";

for (const greeter of greeters) {
  describe(`examples/${greeter.name}`, { skip: missing(greeter) }, async () => {
    const gateway = await Gateway.create();
    after(() => gateway.dispose());
    const start = (env) =>
      gateway.start(greeter.command, [...greeter.flags, example(greeter.name)], env);

    test("serves its tool, fails a bad call, and follows when the session ends", async () => {
      start();
      const first = await Session.register(gateway, "first");
      await gateway.tools(first, "greet");
      assert.equal(await first.call("greet", { name: "Ada" }), "Hello, Ada!");
      const failure = await first.call("greet");
      assert.equal(failure.code, "INTERNAL");
      assert.match(failure.text, /name is missing/);
      const unwanted = first.start("greet", { name: "nobody" });
      first.cancel(unwanted.id);
      assert.equal((await unwanted.result).code, "CANCELLED");
      assert.equal(await first.call("greet", { name: "Eve" }), "Hello, Eve!");

      const second = await Session.register(gateway, "second");
      assert.equal(second.tools.size, 0, "it is bound to the first session only");
      first.end();
      await gateway.tools(second, "greet");
      assert.equal(await second.call("greet", { name: "Grace" }), "Hello, Grace!");
      first.close();
      second.end();
      second.close();
    });

    test("comes back to a new gateway, with its new token", async () => {
      await gateway.host.stop("SIGKILL");
      await gateway.startHost();
      const session = await Session.register(gateway, "third");
      await gateway.tools(session, "greet");
      assert.equal(await session.call("greet", { name: "Alan" }), "Hello, Alan!");
      session.close();
    });

    test("leaves with an error where TAP_PROVIDER_TOKEN is wrong", async () => {
      const wrong = start({ TAP_PROVIDER_TOKEN: "ptk-wrong" });
      assert.equal(await wrong.exited, 1);
      assert.match(wrong.output, /AUTH_FAILED/);
    });
  });
}

describe("examples/ci-watcher.mjs", async () => {
  const gateway = await Gateway.create();
  after(() => gateway.dispose());

  test("keeps, surfaces and injects builds, and has one more tool while they are red", async () => {
    const session = await Session.register(gateway, "ci");
    gateway.start(process.execPath, [example("ci-watcher.mjs")], { CI_BUILD_EVERY_MS: "700" });
    await gateway.tools(session, "ci_status");
    await gateway.tools(session, "ci_log", "ci_status");
    assert.match(
      await session.call("ci_status"),
      /build 1 is green\nbuild 2 is green\nbuild 3 is red/,
    );
    assert.match(await session.call("ci_log"), /expected 200, got 500/);
    await waitFor(() => session.injected.length > 0, { what: "the red build is injected" });
    assert.match(session.injected[0], /ci-watcher[^]*"builds"[^]*build 3 is red: test\/login/);
    await gateway.tools(session, "ci_status");
    const surfaced = () =>
      session.timeline.some((line) => line === "tap: ci-watcher/builds: build 5 is green again");
    await waitFor(surfaced, {
      what: () => `the timeline says that it is green again: ${session.timeline.join("\n")}`,
    });
    assert.ok(
      !session.timeline.some((line) => line.includes("build 4")),
      "a build of the same colour is kept only",
    );
    session.close();
  });
});
