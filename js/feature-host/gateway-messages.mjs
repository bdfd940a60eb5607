// Messages of the gateway host to this feature host, a line each: the first has the address of the gateway.

import { errorMessage } from "../lib/values.mjs";
import { FeatureHost } from "./feature-host.mjs";
import { GatewayRequests } from "./gateway-requests.mjs";
import { runHost } from "./process.mjs";

export class GatewayMessages {
  #features;
  #log;
  #env;
  /** @type {FeatureHost | undefined} */
  #host;
  /** @type {GatewayRequests | undefined} */
  #requests;
  /** Running commands, by the number of the question. @type {Map<number, AbortController>} */
  #commands = new Map();

  /**
   * @param {readonly import("../features/list.mjs").Feature[]} features
   * @param {(text: string) => void} log @param {NodeJS.ProcessEnv} [env] of this process
   */
  constructor(features, log, env = process.env) {
    this.#features = features;
    this.#log = log;
    this.#env = env;
  }

  /** @param {string} line */
  receive(line) {
    const message = JSON.parse(line);
    if (this.#host)
      return void this.#handle(message).catch((error) => this.#log(errorMessage(error)));
    this.#requests = new GatewayRequests(message);
    this.#host = new FeatureHost(message, this.#requests, this.#features, this.#env);
    void this.#host.start();
  }

  /** @param {any} message */
  async #handle(message) {
    switch (message.type) {
      case "apply":
        return this.#host?.apply(message);
      case "ping":
        return this.#answer(message.number, "");
      case "command":
        return this.#runCommand(message);
      case "left":
        return this.#commands.get(message.number)?.abort();
    }
  }

  /** @param {any} message @returns {Promise<void>} */
  async #runCommand(message) {
    const left = new AbortController();
    this.#commands.set(message.number, left);
    const ran = this.#host?.command(message, left.signal);
    const text = await ran?.catch((error) => `tap: ${errorMessage(error)}`);
    this.#commands.delete(message.number);
    await this.#answer(message.number, text);
  }

  /** @param {number} number @param {string | undefined} text */
  async #answer(number, text) {
    await this.#requests?.request("features.answer", { number, text });
  }

  /** Handles an uncaught exception. @param {unknown} error @returns {boolean} whether a feature caused it */
  handleUncaught(error) {
    return this.#host?.handleUncaught(error) ?? false;
  }

  /** @param {string} reason @returns {Promise<void>} when all features have ended */
  async end(reason) {
    await this.#host?.stop(reason).catch(() => {});
    this.#requests?.close();
  }
}

/** Runs until stdin ends. @param {readonly import("../features/list.mjs").Feature[]} features */
export const runFeatureHost = (features) =>
  runHost((log) => new GatewayMessages(features, log), "the feature host");
