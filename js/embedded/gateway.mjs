// tap embedded: the same gateway inside any long-lived Node program, with sessions attached in the
// same process.

import { randomBytes } from "node:crypto";
import { addon } from "../lib/addon.mjs";
import { LinkConnection } from "../link/client.mjs";
import { version } from "../lib/paths.mjs";
import { SessionRunner } from "../extension/session-runner.mjs";
import { ResidentFeatures } from "../gateway-host/resident-features.mjs";

export { inProcess } from "../gateway-host/in-process.mjs";

/**
 * @typedef {object} EmbeddedOptions
 * @property {number} [port] 0, the default, takes any free port
 * @property {string} [token] for the authentication of providers; by default a random token
 * @property {(level: "info" | "warning" | "error", text: string) => void} [onLog]
 */

/**
 * @typedef {object} AttachOptions
 * @property {string} [label] the label in `sessions`; the folder's name by default
 * @property {string} [cwd] this process's by default
 * @property {import("../extension/copilot-session.mjs").SessionTool[]} [tools] your own tools, in addition to those of
 *   the providers; the session's tools are replaced as a whole
 */

/** A gateway in this process. Close it, or it keeps the process alive. */
export class EmbeddedGateway {
  #gateway;
  #onLog;
  /** @type {Set<(reason: string) => void>} */
  #detachers = new Set();

  /** @param {EmbeddedOptions} options */
  constructor(options) {
    this.#onLog = options.onLog ?? (() => {});
    this.token = options.token ?? `ptk-${randomBytes(32).toString("hex")}`;
    this.#gateway = new addon.Gateway({
      version,
      token: this.token,
      linkSecret: "",
      pid: process.pid,
      onLog: this.#onLog,
    });
    const features = new ResidentFeatures(this.#gateway, this.#onLog, {
      providers: { inspect: () => JSON.parse(this.#gateway.inspect()) },
      features: { report: () => [] },
      groups: {
        list: () => [],
        open: (session, names) => this.#gateway.openGroups(session, names),
      },
      projects: { serve: () => () => {} }, // a gateway in a program starts no providers of projects
    });
    features.start();
    /** The port that providers connect to. */
    this.port = this.#gateway.listen(options.port ?? 0);
    this.#gateway.setPlainAnswer(JSON.stringify({ program: "tap", version }));
  }

  /**
   * Gives a session the tools of its providers until it is detached.
   * @param {any} session a CopilotSession of the Copilot SDK, or anything with its `sessionId`,
   *   `connection`, `registerTools`, `log`, `send`, `on` and `rpc`
   * @param {AttachOptions} [options]
   * @returns {Promise<{detach: (reason?: string) => void}>} when it is registered and providers can bind to it
   */
  async attachSession(session, options = {}) {
    const link = new LinkConnection({ onEvent: (event) => runner.receive(event) });
    const runner = new SessionRunner(link, {
      id: session.sessionId,
      cwd: options.cwd ?? process.cwd(),
      label: options.label,
      ownTools: options.tools,
      sync: "live",
      log: this.#onLog,
    });
    runner.adopt(session);
    await runner.install();
    await link.connect(this.#gateway);
    await link.register(runner.registration());
    runner.resendState();
    const detach = (reason = "the session was detached") => {
      if (!this.#detachers.delete(detach)) return;
      runner.release();
      link.send({ type: "end", reason });
      link.close(reason);
    };
    this.#detachers.add(detach);
    return { detach };
  }

  /** For `inProcess`. @param {import("../lib/addon.js").LocalProviderHandlers} handlers */
  openProvider(handlers) {
    return this.#gateway.openProvider(handlers);
  }

  /** For `inProcess`. @param {number} id @param {string} json */
  sendProvider(id, json) {
    this.#gateway.sendProvider(id, json);
  }

  /** Ends every session and connection. */
  close() {
    for (const detach of [...this.#detachers]) detach("the gateway was closed");
    this.#gateway.close();
  }
}

/**
 * @param {EmbeddedOptions} [options]
 * @returns {EmbeddedGateway}
 * @throws with code EADDRINUSE if the port is taken
 */
export function createGateway(options = {}) {
  return new EmbeddedGateway(options);
}
