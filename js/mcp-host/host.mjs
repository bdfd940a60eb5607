// The MCP servers of this process. The gateway host writes a line for each change; the first says where the gateway is.

import { GatewayRequests } from "../feature-host/gateway-requests.mjs";
import { isDeepStrictEqual } from "node:util";
import { McpServer } from "./server.mjs";

/** @typedef {import("../config/mcp.mjs").McpServerConfig} McpServerConfig */

const REPORT_MS = 50;
const MAX_STARTS = 4;

/** So many at a time, the others in their order. @param {number} most */
function createLimit(most) {
  let running = 0;
  /** @type {(() => void)[]} */
  const waiting = [];
  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  return async (work) => {
    if (running >= most)
      await new Promise((/** @type {(value?: undefined) => void} */ go) =>
        waiting.push(() => go()),
      );
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}

export class McpHost {
  #env;
  #log;
  /** @type {{link: string, token: string, home: string} | undefined} */
  #where;
  /** @type {GatewayRequests | undefined} */
  #requests;
  /** @type {Map<string, McpServer>} */
  #servers = new Map();
  /** Changes, in their order. */
  #changes = Promise.resolve();
  /** @type {NodeJS.Timeout | undefined} */
  #reporting;
  #limitStarts = createLimit(MAX_STARTS);

  /** @param {(text: string) => void} log @param {NodeJS.ProcessEnv} [env] of this process */
  constructor(log, env = process.env) {
    this.#log = log;
    this.#env = env;
  }

  /** @param {string} line */
  receive(line) {
    const message = JSON.parse(line);
    if (this.#where === undefined) {
      this.#where = message;
      this.#requests = new GatewayRequests(message);
    }
    this.#changes = this.#changes
      .then(() => this.#apply(message.servers, message.restart))
      .catch((error) => this.#log(String(error?.message)));
  }

  /** @param {McpServerConfig[]} wanted @param {string} [restart] the server that begins again */
  async #apply(wanted, restart) {
    const stays = (/** @type {McpServer} */ { config }) =>
      config.name !== restart && wanted.some((one) => isDeepStrictEqual(one, config));
    const former = [...this.#servers.values()].filter((server) => !stays(server));
    for (const { config } of former) this.#servers.delete(config.name);
    await Promise.all(former.map((server) => server.stop("the config has changed")));
    for (const config of wanted) {
      if (this.#servers.has(config.name)) continue;
      const server = this.#create(config);
      this.#servers.set(config.name, server);
      server.start();
    }
    this.#report();
  }

  /** @param {McpServerConfig} config */
  #create(config) {
    const where = /** @type {{link: string, token: string, home: string}} */ (this.#where);
    return new McpServer(config, {
      ...{ link: where.link, token: where.token, home: where.home, env: this.#env },
      limitStarts: this.#limitStarts,
      onChange: () => this.#report(),
      onNote: (level, text) => void this.#send("mcp.note", { level, text }),
    });
  }

  /** @param {string} method @param {object} params */
  #send(method, params) {
    return this.#requests?.request(method, params).catch(() => {});
  }

  /** Changes made together go together. */
  #report() {
    this.#reporting ??= setTimeout(() => {
      this.#reporting = undefined;
      const servers = [...this.#servers.values()].map((server) => server.report());
      void this.#send("mcp.report", { servers });
    }, REPORT_MS);
  }

  /** @returns {boolean} whether the error is known */
  handleUncaught() {
    return false;
  }

  /** @param {string} reason @returns {Promise<void>} once all servers have ended */
  async end(reason) {
    clearTimeout(this.#reporting);
    await Promise.all([...this.#servers.values()].map((server) => server.stop(reason)));
    this.#requests?.close();
  }
}
