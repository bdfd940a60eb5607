// Refusals that no caller handles.

import { toError } from "./errors.mjs";

/** A promise that knows whether it has a handler. */
class Watched extends Promise {
  awaited = false;

  /** @override */
  static get [Symbol.species]() {
    return Promise;
  }

  /** @override @type {Promise<any>["then"]} */
  then(onFulfilled, onRejected) {
    this.awaited = true;
    return super.then(onFulfilled, onRejected);
  }
}

/**
 * The same promise; a rejection without a handler is reported to `onError`. A message that was lost with the
 * connection is not a refusal: the next hello declares it again.
 * @template T
 * @param {Promise<T>} work @param {(error: Error) => void} onError
 * @returns {Promise<T>}
 */
export function reported(work, onError) {
  const watched = new Watched((resolve, reject) => {
    work.then(resolve, (error) => {
      reject(error);
      if (!watched.awaited && error?.code !== "DISCONNECTED") onError(toError(error));
    });
  });
  Promise.prototype.then.call(watched, undefined, () => {});
  return watched;
}
