// Events that are pushed, their filters, and their history.

import { toJson } from "./json.mjs";

/** @typedef {import("./types.js").PushOptions} PushOptions */
/** @typedef {import("./types.js").FilterRule} FilterRule */

const OPTIONS = new Set(["level", "prompt", "metadata", "session", "key", "traceparent"]);
const LEVELS = new Set(["keep", "surface", "inject"]);

/** For push(event, options), without the stream. @param {unknown} event */
function refuseOptions(event) {
  const fields = /** @type {any} */ (event ?? {});
  if (!LEVELS.has(fields.level) || !Object.keys(fields).every((name) => OPTIONS.has(name))) return;
  throw new TypeError(
    'push() takes a stream, an event and options, as in push("orders", "new order", {level: "inject"}); ' +
      "here the event looks like the options. If it is the event, give {} as options.",
  );
}

export class Streams {
  #requests;
  #ask;
  #options;
  /** The gateway forgets them with each hello. @type {Map<string, FilterRule[]>} */
  #filters = new Map();

  /**
   * @param {import("./requests.mjs").Requests} requests
   * @param {(type: string, fields: object) => Promise<any>} ask throws if not bound
   * @param {{ifBound: (type: string, fields: object) => Promise<unknown> | undefined, broadcast: boolean, onError: (error: Error) => void}} options
   */
  constructor(requests, ask, options) {
    this.#requests = requests;
    this.#ask = ask;
    this.#options = options;
  }

  /** @param {string} name @returns {import("./types.js").Stream} */
  named(name) {
    return {
      push: (event, options) => this.push(name, event, options),
      filter: (rules) => this.filter(name, rules),
      history: (options) => this.history(name, options),
    };
  }

  /** @param {string} stream @param {unknown} data @param {PushOptions} [options] */
  async push(stream, data, options) {
    if (options === undefined) refuseOptions(data);
    const { level = "keep", prompt, metadata, session, key, traceparent } = options ?? {};
    const { feature } = /** @type {{feature?: object}} */ (options ?? {}); // of tap's own ones
    const event = typeof data === "string" ? data : toJson(data);
    const whom = session || !this.#options.broadcast ? { sessionId: session } : { broadcast: true };
    const push = { stream, event, level, prompt, metadata, key, traceparent, ...feature, ...whom };
    const ack = await this.#ask("push", push);
    if (!ack) return undefined;
    const { outcome, sessionId, rule, replaced } = ack;
    return { outcome, session: sessionId, rule, ...(replaced && { replaced }) };
  }

  /** @param {string} key @param {{session?: string}} [options] */
  async withdraw(key, { session } = {}) {
    const ack = await this.#ask("withdraw", { key, sessionId: session });
    return ack?.withdrawn ?? false;
  }

  /** @param {string} stream @param {FilterRule[]} rules */
  async filter(stream, rules) {
    const former = this.#filters.get(stream);
    this.#filters.set(stream, rules);
    try {
      await this.#options.ifBound("filter.set", { stream, rules });
    } catch (error) {
      if (/** @type {any} */ (error).code !== "DISCONNECTED") {
        if (former) this.#filters.set(stream, former);
        else this.#filters.delete(stream);
      }
      throw error;
    }
  }

  /** After a hello. */
  restore() {
    const { ifBound, onError } = this.#options;
    const refused = (/** @type {any} */ error) => {
      if (error.code !== "DISCONNECTED") onError(error); // otherwise the next hello restores it
    };
    for (const [stream, rules] of this.#filters) {
      if (rules.length > 0) ifBound("filter.set", { stream, rules })?.catch(refused);
    }
  }

  /** @param {string} stream @param {{last?: number, session?: string}} [options] */
  async history(stream, { last, session } = {}) {
    const query = { streams: [stream], last, sessionId: session };
    const answer = await this.#requests.ask("stream.query", query, "queryId");
    return Object.values(answer?.streams ?? {})[0] ?? [];
  }
}
