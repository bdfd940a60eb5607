// The detached gateway host as a process of its own, with a home of its own, for the time of a test.

import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { hostEnvironment } from "../../js/lib/node.mjs";
import { programFolder } from "../../js/lib/paths.mjs";
import { findFreePort } from "./cli.mjs";
import { waitFor, withTimeout } from "./wait.mjs";
import { temporaryFolder } from "./harness.mjs";
import { HostAccess } from "./host-access.mjs";

export class Host extends HostAccess {
  output = "";
  errors = "";
  /** @type {import("node:child_process").ChildProcess} */
  process;
  /** @type {Promise<{code: number | null, signal: NodeJS.Signals | null}>} */
  gone;

  /** @param {import("node:test").TestContext} t @param {Record<string, string>} [env] @param {string} [main] */
  static async start(
    t,
    env = {},
    main = path.join(programFolder, "js", "gateway-host", "main.mjs"),
  ) {
    const all = {
      ...hostEnvironment(process.env),
      COPILOT_HOME: temporaryFolder(t),
      TAP_GATEWAY_PORT: String(await findFreePort()),
      // The time of a record among a dozen busy processes. Tests of the time itself give their own.
      TAP_COMMIT_MS: "60000",
      ...env,
    };
    const host = new Host(all);
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

  /** Started, and elected. */
  static async elected(t, env, main) {
    const host = await Host.start(t, env, main);
    await waitFor(() => host.descriptor, { what: () => `a descriptor\n${host.log}${host.errors}` });
    return host;
  }

  /** Its own, not that of a different process. @override */
  get descriptor() {
    const descriptor = super.descriptor;
    return descriptor?.pid === this.process.pid ? descriptor : undefined;
  }

  exit() {
    return withTimeout(this.gone, () => `the host's exit\n${this.log}`);
  }
}
