// Errors of installing.

/** An error for the user, with the next step. */
export class InstallError extends Error {
  /** @param {string} code @param {string} message @param {string} advice @param {unknown} [cause] */
  constructor(code, message, advice, cause) {
    super(message, { cause });
    this.code = code;
    this.advice = advice;
  }
}
