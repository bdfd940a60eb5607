// Messages that ask for an answer, and their answers.

import { TapError } from "./errors.mjs";

/** @typedef {import("./connection.mjs").Message} Message */
/**
 * @typedef {object} Pending
 * @property {string} type
 * @property {string | undefined} sessionId of the request; undefined: all
 * @property {Set<string>} [left] sessions that have not answered yet; absent: the first answer counts
 * @property {any} [answer] the failed answer, or else an earlier answer
 * @property {(answer?: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

export class Requests {
  #send;
  #count = 0;
  /** @type {Map<string, Pending>} */
  #pending = new Map();

  /** @param {(message: Message) => void} send throws if it cannot send */
  constructor(send) {
    this.#send = send;
  }

  /**
   * @param {string} type @param {{sessionId?: string, [field: string]: unknown}} fields
   * @param {string} idField
   * @param {Iterable<string>} [sessions] wait for the answers of all these
   * @returns {Promise<any>} the answer; undefined if the request's session has ended
   */
  ask(type, fields, idField = "requestId", sessions) {
    const id = `r-${++this.#count}`;
    // In process the answer comes before `send` returns.
    const answer = new Promise((resolve, reject) => {
      const left = sessions && new Set(sessions);
      this.#pending.set(id, { type, sessionId: fields.sessionId, left, resolve, reject });
    });
    try {
      this.#send({ ...fields, type, [idField]: id });
    } catch (error) {
      this.#pending.delete(id);
      throw error;
    }
    return answer;
  }

  /** @param {Message} message with the id of its request */
  answered(message) {
    const id = message.requestId ?? message.queryId;
    const pending = this.#pending.get(id);
    if (pending?.left) {
      pending.left.delete(message.sessionId);
      if (pending.answer?.inForce !== false) pending.answer = message;
      if (pending.left.size > 0) return;
    }
    this.#take(id)?.resolve(pending?.answer ?? message);
  }

  /** Returns whether a request was pending. @param {Message} message of type error */
  refused(message) {
    const pending = this.#take(message.requestId) ?? this.#takeOldest(message.replyTo);
    pending?.reject(TapError.of(/** @type {any} */ (message)));
    return pending !== undefined;
  }

  /** @param {string} id */
  #take(id) {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  /** The error of a request that could not be parsed has no id. @param {string} type */
  #takeOldest(type) {
    for (const [id, pending] of this.#pending) if (pending.type === type) return this.#take(id);
    return undefined;
  }

  /** A session that has ended does not answer. @param {ReadonlySet<string>} sessions the open sessions */
  settleEnded(sessions) {
    for (const [id, { sessionId, left, answer, resolve }] of this.#pending) {
      for (const one of left ?? []) if (!sessions.has(one)) left?.delete(one);
      const waits = left ? left.size > 0 : sessions.size > 0;
      if (sessionId === undefined ? waits : sessions.has(sessionId)) continue;
      this.#pending.delete(id);
      resolve(answer);
    }
  }

  /** @param {Error} error */
  rejectAll(error) {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
