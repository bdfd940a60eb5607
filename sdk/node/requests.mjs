// Messages that ask for an answer, and their answers.

import { TapError } from "./errors.mjs";

/** @typedef {import("./connection.mjs").Message} Message */
/**
 * @typedef {object} Pending
 * @property {string} type
 * @property {string | undefined} sessionId that it is about; undefined: all
 * @property {Set<string>} [left] sessions whose answer is still to come; absent: the first answer counts
 * @property {any} [answer] of those that have answered, the one that has failed
 * @property {(answer?: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

export class Requests {
  #send;
  #count = 0;
  /** @type {Map<string, Pending>} */
  #pending = new Map();

  /** @param {(message: Message) => void} send throws where it cannot */
  constructor(send) {
    this.#send = send;
  }

  /**
   * @param {string} type @param {{sessionId?: string, [field: string]: unknown}} fields
   * @param {string} idField
   * @param {Iterable<string>} [sessions] each of them answers, and all are waited for
   * @returns {Promise<any>} the answer; undefined where the session that it is about has ended
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

  /** Whether anybody waited for it. @param {Message} message of type error */
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

  /** What could not be read has no id in its error. @param {string} type */
  #takeOldest(type) {
    for (const [id, pending] of this.#pending) if (pending.type === type) return this.#take(id);
    return undefined;
  }

  /** Nobody will answer for a session that has ended. @param {ReadonlySet<string>} sessions those that are left */
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
