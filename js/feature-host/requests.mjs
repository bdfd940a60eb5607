// Requests to the gateway host, over a control link that the feature host's token opens. The link is opened with the
// first request, and again after it has ended.

import { Frames } from "./link.mjs";

const ANSWER_MS = 30_000;

/** @typedef {{resolve: (value: any) => void, reject: (error: Error) => void, timer: NodeJS.Timeout}} Waiting */

export class HostRequests {
  #path;
  #token;
  /** @type {Frames | undefined} */
  #frames;
  #count = 0;
  /** By the request's id; an inspection has none, and is kept under "". @type {Map<string, Waiting>} */
  #waiting = new Map();
  /** One inspection after another. @type {Promise<unknown>} */
  #inspecting = Promise.resolve();

  /** @param {string} path of the link @param {string} token */
  constructor(path, token) {
    this.#path = path;
    this.#token = token;
  }

  /**
   * @param {string} method @param {object} params
   * @returns {Promise<any>} rejected with an Error whose `code` is the gateway host's
   */
  request(method, params) {
    const requestId = String(++this.#count);
    return this.#ask(requestId, { type: "host.request", requestId, method, params });
  }

  /** @returns {Promise<import("../base/control.mjs").Inspection>} */
  inspect() {
    const asked = this.#inspecting.then(() => this.#ask("", { type: "inspect" }));
    this.#inspecting = asked.catch(() => {});
    return asked;
  }

  /** @param {string} id @param {object} message @returns {Promise<any>} */
  #ask(id, message) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#settle(id, undefined, new Error(`no answer within ${ANSWER_MS / 1000} s`));
      }, ANSWER_MS);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#open().send(JSON.stringify(message));
    });
  }

  #open() {
    if (this.#frames) return this.#frames;
    const frames = new Frames(this.#path, {
      onFrame: (text) => this.#receive(JSON.parse(text)),
      onClosed: (reason) => {
        if (this.#frames === frames) this.#lost(reason);
      },
    });
    this.#frames = frames;
    frames.send(JSON.stringify({ type: "control.open", secret: this.#token, sessionId: "" }));
    return frames;
  }

  /** @param {any} message */
  #receive(message) {
    if (message.type === "refused") return this.#lost(message.message);
    if (message.type === "inspection") return this.#settle("", message.report);
    if (message.type !== "host.result") return;
    const { requestId, result, error } = message;
    if (!error) return this.#settle(requestId, result);
    this.#settle(
      requestId,
      undefined,
      Object.assign(new Error(error.message), { code: error.code }),
    );
  }

  /** @param {string} id @param {unknown} value @param {Error} [error] */
  #settle(id, value, error) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (error) waiting.reject(error);
    else waiting.resolve(value);
  }

  /** @param {string} reason */
  #lost(reason) {
    const frames = this.#frames;
    this.#frames = undefined;
    frames?.close();
    for (const id of [...this.#waiting.keys()]) {
      this.#settle(id, undefined, new Error(`the link has ended: ${reason}`));
    }
  }

  close() {
    this.#lost("it was closed");
  }
}
