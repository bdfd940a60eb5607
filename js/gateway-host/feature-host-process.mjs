// The feature host as a child process: started at the first need, kept running, and notified of changes by lines on its
// stdin. Its stdin ends with this process, which ends the feature host.

import path from "node:path";
import { findNode } from "../lib/node.mjs";
import { programFolder } from "../lib/paths.mjs";
import { Supervisor } from "../process/supervisor.mjs";

/** Measured: less memory for the same work. */
const FLAGS = ["--max-semi-space-size=1", "--optimize-for-size"];
const MAIN = path.join(programFolder, "js", "feature-host", "main.mjs");
const MAX_RESTARTS = 10;

/**
 * @typedef {object} FeatureHostState
 * @property {string} state `idle`: not needed yet
 * @property {number} [pid]
 * @property {number} [restarts]
 * @property {number} [startedAt] Unix ms
 * @property {number} [rss] bytes, when it last reported
 * @property {string} [trouble] the last problem
 */

/**
 * @typedef {object} FeatureHostOptions
 * @property {import("../lib/paths.mjs").GatewayFiles} files
 * @property {() => string} issueToken @property {(token: string) => void} revokeToken
 * @property {(token: string) => object} greeting the first line of its stdin
 * @property {(level: import("../lib/log.mjs").Level, text: string) => void} onMessage
 * @property {NodeJS.ProcessEnv} [env] of the gateway host
 * @property {string} [main] the program @property {string} [name] of its log @property {string} [title] for messages
 * @property {number} [maxRestarts] in a row, replaced in tests
 *
 * The part that a gateway host uses.
 * @typedef {Pick<FeatureHostProcess, "start" | "send" | "status" | "stop">} FeatureHostRun
 * @typedef {() => Promise<{FeatureHostProcess: new (options: FeatureHostOptions) => FeatureHostRun}>} ImportFeatureHost
 */

export class FeatureHostProcess {
  #supervisor;
  #startedAt = 0;

  /** @param {FeatureHostOptions} options */
  constructor({ files, issueToken, revokeToken, greeting, onMessage, env, ...replaced }) {
    const { main = MAIN, maxRestarts = MAX_RESTARTS } = replaced;
    const { name = "feature-host", title = "the feature host" } = replaced;
    const node = findNode(env);
    if (!node) throw new Error("no Node.js was found to run it");
    this.#supervisor = new Supervisor({
      sessionId: "",
      workspace: programFolder,
      port: files.port,
      logs: files.logs,
      logFile: path.join(files.logs, `${name}.log`),
      title,
      env,
      providers: [
        {
          name,
          command: node,
          args: [...FLAGS, main],
          env: {},
          restart: { policy: "always", maxRestarts },
        },
      ],
      onToken: () => {
        this.#startedAt = Date.now();
        return issueToken();
      },
      onEnded: (_name, token) => revokeToken(token),
      input: (_name, token) => JSON.stringify(greeting(token)),
      onMessage,
    });
  }

  start() {
    this.#supervisor.start();
  }

  /** @param {object} message dropped while it does not run: the greeting of the next process includes it */
  send(message) {
    this.#supervisor.writeLine(JSON.stringify(message));
  }

  /** @returns {{state: string, pid?: number, restarts: number, startedAt: number}} */
  status() {
    const [{ state, pid, restarts }] = this.#supervisor.status();
    return { state, ...(pid !== undefined && { pid }), restarts, startedAt: this.#startedAt };
  }

  /** @returns {Promise<void>} when its processes have ended */
  stop() {
    return this.#supervisor.stop();
  }
}
