// A session's connection to a gateway in the same process: the messages of the link, without it.

import { addon } from "../base/addon.mjs";
import { PendingCalls } from "../base/pending-calls.mjs";

export class LocalLink {
  #port;
  #calls = new PendingCalls();
  connected = true;
  /** Resolves when the gateway has welcomed the session. */
  welcomed;

  /** @param {(event: {type: string, [key: string]: any}) => void} onEvent */
  constructor(onEvent) {
    /** @type {() => void} */
    let welcome = () => {};
    /** @type {(error: Error) => void} */
    let fail = () => {};
    this.welcomed = new Promise((resolve, reject) => {
      welcome = () => resolve(undefined);
      fail = reject;
    });
    this.#port = new addon.SessionPort({
      onEvent(json) {
        const event = JSON.parse(json);
        if (event.type === "welcome") welcome();
        else if (event.type === "refused") fail(new Error(event.message));
        else onEvent(event);
      },
      onSettled: (...pairs) => this.#calls.settle(pairs),
      onClosed: (reason) => fail(new Error(reason)),
    });
  }

  /** @param {import("../base/addon.js").Gateway} gateway @param {object} registration */
  attach(gateway, registration) {
    this.#port.attach(gateway);
    this.send({
      type: "register",
      linkVersion: addon.linkVersion,
      secret: "",
      version: "",
      ...registration,
    });
    return this.welcomed;
  }

  /** @param {object} message */
  send(message) {
    this.#port.send(JSON.stringify(message));
  }

  /**
   * @param {string} tool @param {unknown} args @param {number | undefined} timeoutMs
   * @param {(outcome: import("../base/addon.js").CallOutcome) => void} settle is called once
   */
  call(tool, args, timeoutMs, settle) {
    return this.#calls.call(this.#port, tool, args, timeoutMs, settle);
  }

  /** @param {number} id @param {string} reason */
  cancel(id, reason) {
    this.#port.cancel(id, reason);
  }

  /** @param {string} why */
  close(why) {
    this.#port.close(why);
  }
}
