// The detached gateway host as a process of its own, with a home of its own, for the time of a test.

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { readDescriptor } from "../../js/base/host-files.mjs";
import { hostEnvironment } from "../../js/base/node.mjs";
import { gatewayFiles, programFolder } from "../../js/base/paths.mjs";
import { freePort } from "./cli.mjs";
import { waitFor, withTimeout } from "./wait.mjs";
import { temporaryFolder, TestSession } from "./harness.mjs";

export class Host {
  output = "";
  errors = "";
  /** @type {Record<string, string | undefined>} */
  env;
  /** @type {import("../../js/base/paths.mjs").GatewayFiles} */
  files;
  /** @type {import("node:child_process").ChildProcess} */
  process;
  /** @type {Promise<{code: number | null, signal: NodeJS.Signals | null}>} */
  gone;

  /** @param {import("node:test").TestContext} t @param {Record<string, string>} [env] @param {string} [main] */
  static async start(t, env = {}, main = path.join(programFolder, "js", "host", "host.mjs")) {
    const host = new Host();
    const all = {
      ...hostEnvironment(process.env),
      COPILOT_HOME: temporaryFolder(t),
      TAP_GATEWAY_PORT: String(await freePort()),
      // What a record takes beside a dozen busy processes. Tests of the time itself give their own.
      TAP_COMMIT_MS: "60000",
      ...env,
    };
    host.env = all;
    host.files = gatewayFiles(all);
    host.process = spawn(process.execPath, [main], {
      env: all,
      stdio: ["ignore", "pipe", "pipe"],
    });
    host.process.stdout.on("data", (text) => (host.output += text));
    host.process.stderr.on("data", (text) => (host.errors += text));
    host.gone = once(host.process, "close").then(([code, signal]) => ({ code, signal }));
    t.after(async () => {
      host.process.kill("SIGKILL");
      await host.gone;
    });
    return host;
  }

  /** Started, and the one that was elected. */
  static async elected(t, env, main) {
    const host = await Host.start(t, env, main);
    await waitFor(() => host.descriptor, { what: () => `a descriptor\n${host.log}${host.errors}` });
    return host;
  }

  get descriptor() {
    const descriptor = readDescriptor(this.files.descriptor);
    return descriptor?.pid === this.process.pid ? descriptor : undefined;
  }

  get log() {
    const file = path.join(this.files.logs, "host.log");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  }

  get token() {
    return fs.existsSync(this.files.token) ? fs.readFileSync(this.files.token, "utf8") : undefined;
  }

  /** A registered session. @param {object} [fields] of its registration */
  async session(t, fields = {}) {
    const session = new TestSession();
    t.after(() => session.close());
    await session.connect(this.descriptor.link);
    session.register({ secret: this.descriptor.secret, ...fields });
    await session.waitFor("welcome");
    return session;
  }

  /** With a session, and its token published. */
  async withToken(t) {
    const session = await this.session(t);
    await waitFor(() => this.token, { what: "a token file" });
    return session;
  }

  exit() {
    return withTimeout(this.gone, () => `the host's exit\n${this.log}`);
  }
}
