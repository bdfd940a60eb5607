// The table of host.request (docs/session-link.md): each method is registered by the part that owns it. The
// gateway has checked and numbered the requests; their answers go back to it as JSON text.

import { messageOf } from "../base/errors.mjs";

/** A request that takes longer has failed for its client. */
const MOST_MS = 30_000;

/**
 * `from`: whose link it was: of the copilot-tap command, or of tap's own features.
 * @typedef {"control" | "feature"} RequestOrigin
 * @typedef {(params: any, from: RequestOrigin, left: AbortSignal) => unknown} RequestHandler its promise, or its return
 *   value, is the result: anything that JSON can say. `left`: the client is gone, and what only it has a use for may
 *   end. What changes something goes on to its end
 */

/** For a client that cannot leave. */
const STAYS = new AbortController().signal;

/** Thrown by a handler: the client gets the code, and reads the message. */
export class RequestError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** A method that is not for everybody. @param {RequestOrigin} from @param {RequestOrigin} wanted */
export function only(from, wanted) {
  if (from === wanted) return;
  const who = wanted === "control" ? "the user" : "the feature host";
  throw new RequestError("DENIED", `only ${who} may ask for this`);
}

/** A result that is JSON already. A large one is not read and written again on this loop. */
export class JsonText {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

export class HostRequests {
  /** @type {Map<string, {handler: RequestHandler, mostMs: number}>} */
  #methods = new Map();
  #mostMs;

  /** @param {number} [mostMs] */
  constructor(mostMs = MOST_MS) {
    this.#mostMs = mostMs;
  }

  /**
   * @param {string} method of a-z, 0-9, "." and "-" @param {RequestHandler} handler
   * @param {{mostMs?: number}} [options] `mostMs`: its own limit
   * @returns {() => void} takes the method out again
   */
  register(method, handler, { mostMs = this.#mostMs } = {}) {
    if (!/^[a-z0-9.-]{1,64}$/.test(method))
      throw new TypeError(`"${method}" is not a method's name`);
    if (this.#methods.has(method)) throw new Error(`the method "${method}" is registered already`);
    this.#methods.set(method, { handler, mostMs });
    return () => {
      if (this.#methods.get(method)?.handler === handler) this.#methods.delete(method);
    };
  }

  /**
   * Never rejects.
   * @param {import("../base/addon.js").HostRequest} request @param {AbortSignal} [left] the client has left
   * @returns {Promise<string>} JSON text of an object with `result`, or with `error`
   */
  async answer({ method, params, from }, left = STAYS) {
    try {
      const result = (await this.#run(method, params, from, left)) ?? null;
      return result instanceof JsonText ? `{"result":${result.text}}` : JSON.stringify({ result });
    } catch (error) {
      const code = error instanceof RequestError ? error.code : "INTERNAL";
      return JSON.stringify({ error: { code, message: messageOf(error) } });
    }
  }

  /** @param {string} method @param {string} params @param {RequestOrigin} from @param {AbortSignal} left */
  async #run(method, params, from, left) {
    const found = this.#methods.get(method);
    if (!found) {
      const known = [...this.#methods.keys()].sort().join(", ") || "none";
      throw new RequestError(
        "UNKNOWN_METHOD",
        `there is no method "${method}"; there are: ${known}`,
      );
    }
    const { handler, mostMs } = found;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      const why = `${method} was not done within ${mostMs / 1000} s`;
      timer = setTimeout(() => reject(new RequestError("TIMEOUT", why)), mostMs);
      timer.unref(); // a gateway that has closed gives no answer
    });
    try {
      return await Promise.race([handler(JSON.parse(params), from, left), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
