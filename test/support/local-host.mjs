// The gateway host and its feature host in the test's own process, with a home of their own, for the time of a test:
// the same as test-host.mjs in a tenth of the time, except for tests of processes.

import path from "node:path";
import { openLog } from "../../js/lib/log.mjs";
import { gatewayEnvironment, hostEnvironment } from "../../js/lib/node.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { GatewayMessages } from "../../js/feature-host/gateway-messages.mjs";
import { FEATURES } from "../../js/features/list.mjs";
import { GatewayHost } from "../../js/gateway-host/gateway-host.mjs";
import { OutputLog } from "../../js/process/log.mjs";
import { readUserConfig } from "../../js/config/user-config.mjs";
import { findFreePort } from "./cli.mjs";
import { withEnvironment } from "./harness.mjs";
import { HostAccess } from "./host-access.mjs";
import { temporaryFolder } from "./temporary.mjs";
import { withTimeout } from "./wait.mjs";

/** @typedef {import("../../js/features/list.mjs").Feature} Feature */
/** @typedef {import("../../js/gateway-host/feature-host-process.mjs").FeatureHostOptions} FeatureHostOptions */

/** As js/gateway-host/feature-host-process.mjs, without a process: it has no pid, and is not started again. */
class LocalFeatureHost {
  #options;
  #messages;
  #output;
  #token = "";
  #startedAt = 0;
  #state = "starting";
  /** Lines arrive in later turns, in order. */
  #arrived = Promise.resolve();

  /** @param {FeatureHostOptions} options @param {readonly Feature[]} features */
  constructor(options, features) {
    this.#options = options;
    this.#output = OutputLog.open(path.join(options.files.logs, "feature-host.log"));
    const log = (/** @type {string} */ text) => void this.#output.note("local err", text);
    this.#messages = new GatewayMessages(features, log, hostEnvironment(options.env ?? {}));
  }

  start() {
    this.#startedAt = Date.now();
    this.#token = this.#options.issueToken();
    this.#state = "running";
    this.send(this.#options.greeting(this.#token));
  }

  /** @param {object} message */
  send(message) {
    const line = JSON.stringify(message);
    this.#arrived = this.#arrived.then(() => this.#messages.receive(line));
  }

  status() {
    return { state: this.#state, restarts: 0, startedAt: this.#startedAt };
  }

  async stop() {
    await this.#arrived;
    await this.#messages.end("the gateway ends");
    this.#state = "stopped";
    this.#options.revokeToken(this.#token);
    await this.#output.close();
  }
}

export class LocalHost extends HostAccess {
  /** Resolved once it has ended. @type {Promise<void>} */
  gone;
  /** @type {GatewayHost} */
  #host;
  /** @type {import("../../js/lib/log.mjs").Log & {end: () => void}} */
  #log;
  #ended = () => {};
  /** @type {Promise<void> | undefined} */
  #stopping;

  /**
   * Started, and elected.
   * @param {import("node:test").TestContext} t
   * @param {Record<string, string>} [env] @param {readonly Feature[]} [features] in place of tap's own
   */
  static async elected(t, env = {}, features = FEATURES) {
    const all = {
      ...hostEnvironment(process.env),
      COPILOT_HOME: temporaryFolder(t),
      TAP_GATEWAY_PORT: String(await findFreePort()),
      // As test-host.mjs has it.
      TAP_COMMIT_MS: "60000",
      ...env,
    };
    const config = await readUserConfig(gatewayFiles(all));
    const host = new LocalHost(all, config, features);
    t.after(() => host.stop());
    host.#host.start();
    return host;
  }

  /**
   * @param {Record<string, string>} env @param {import("../../js/config/user-config.mjs").UserConfig} config
   * @param {readonly Feature[]} features
   */
  constructor(env, config, features) {
    super(env);
    this.gone = new Promise((resolve) => (this.#ended = () => resolve(undefined)));
    this.#log = openLog(this.files.logs, "host.log", env);
    const onExit = (/** @type {string} */ reason) => {
      this.#log("info", `leaving: ${reason}`);
      void this.stop({ restarting: reason.includes("newer") });
    };
    class FeatureHostProcess extends LocalFeatureHost {
      /** @param {FeatureHostOptions} options */
      constructor(options) {
        super(options, features);
      }
    }
    const importFeatureHost = async () => ({ FeatureHostProcess });
    const parts = { features, env: gatewayEnvironment(env), importFeatureHost };
    const limits = Object.fromEntries(
      Object.entries(env).filter(([name]) => name.startsWith("TAP_")),
    );
    this.#host = withEnvironment(
      limits,
      () => new GatewayHost(this.files, this.#log, onExit, config, parts),
    );
  }

  /** @param {{restarting?: boolean}} [how] @returns {Promise<void>} once it has ended entirely */
  stop({ restarting = false } = {}) {
    this.#stopping ??= this.#host.close(restarting).then(() => {
      this.#log.end();
      this.#ended();
    });
    return this.#stopping;
  }

  exit() {
    return withTimeout(this.gone, () => `the host's end\n${this.log}`);
  }
}
