// The listeners of a provider's events.

import { toError } from "./errors.mjs";
import { report } from "./report.mjs";

/** The events of this SDK; every other name is an event of the session, which needs a subscription. */
const OWN = ["status", "bound", "unbound", "error"];
/** Only tap's own features get `session.busy` and `session.prompted`. */
const LIFECYCLE = [
  ...["session.started", "session.idle", "session.busy"],
  ...["session.prompted", "session.end"],
];

export class Listeners {
  /** @type {Map<string, Set<(data: any) => unknown>>} */
  #byEvent = new Map();
  #name;

  /** @param {string} name of the provider */
  constructor(name) {
    this.#name = name;
  }

  /** @param {string} event @param {(data: any) => unknown} listener */
  add(event, listener) {
    const set = this.#byEvent.get(event) ?? new Set();
    this.#byEvent.set(event, set.add(listener));
  }

  /** @param {string} event @param {(data: any) => unknown} listener */
  delete(event, listener) {
    this.#byEvent.get(event)?.delete(listener);
  }

  /** @param {string} event */
  isSessionEvent(event) {
    return !OWN.includes(event) && !LIFECYCLE.includes(event);
  }

  /** For hello. */
  get subscriptions() {
    return [...this.#byEvent.keys()].filter((event) => this.isSessionEvent(event));
  }

  /** @param {string} event @param {any} data @returns {Promise<void>} once all listeners are done; an exception becomes an error event */
  async emit(event, data) {
    const listeners = [...(this.#byEvent.get(event) ?? [])];
    await Promise.all(
      listeners.map(async (listener) => {
        try {
          await listener(data);
        } catch (error) {
          if (event !== "error") this.error(toError(error), `on("${event}")`);
          else report(this.#name, error, 'on("error")');
        }
      }),
    );
  }

  /** Reports an error without a caller. Without a listener it is written to stderr. @param {Error} error @param {string} [call] the failed call */
  error(error, call) {
    if ((this.#byEvent.get("error")?.size ?? 0) > 0) void this.emit("error", error);
    else report(this.#name, error, call);
  }
}
