// A gateway host in a home of its own, with every step of its sessions in the hands of the test, and
// programs of a provider's author.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { PretendSession } from "../../js/develop/pretend-session.mjs";
import { findFreePort, REPO_ROOT } from "./cli.mjs";
import { waitFor } from "./wait.mjs";

const TIMERS = {
  TAP_RELOAD_DEBOUNCE_MS: "20",
  TAP_LIVE_GATHER_MS: "20",
  TAP_SHUTDOWN_MS: "3000",
  TAP_GRACE_MS: "20000",
};

/** The environment of every process here: of the surrounding shell only the named variables. */
function environment(home, port) {
  const { PATH, HOME, LANG, TMPDIR, LD_PRELOAD, ASAN_OPTIONS, UBSAN_OPTIONS } = process.env;
  const env = {
    PATH,
    HOME,
    LANG,
    TMPDIR,
    ...{ LD_PRELOAD, ASAN_OPTIONS, UBSAN_OPTIONS }, // a sanitized addon needs them
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
    const isPrinted = () =>
      typeof text === "string" ? this.output.includes(text) : text.test(this.output);
    await waitFor(isPrinted, { what: () => `${text} in the output:\n${this.output}` });
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

/** A session as of an extension, with every step in the hands of the test. */
export const Session = {
  /** @param {Gateway} gateway @param {string} id @param {string} [cwd] */
  async register(gateway, id, cwd = "/") {
    const session = new PretendSession(id, cwd, await gateway.descriptor());
    await session.registered();
    return session;
  },
};

/** A host in a home of its own, and the programs that a test starts for it. */
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
    gateway.port = await findFreePort();
    await gateway.startHost();
    return gateway;
  }

  async startHost() {
    this.host = this.start(
      process.execPath,
      [path.join(REPO_ROOT, "js", "gateway-host", "main.mjs")],
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
    const wanted = ["tap_status", "tap_tools", ...names].sort().join();
    const same = () => [...session.tools.keys()].sort().join() === wanted;
    const what = () =>
      `the tools are ${wanted}, not ${[...session.tools.keys()]}:\n${this.report()}`;
    await waitFor(same, { what });
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
