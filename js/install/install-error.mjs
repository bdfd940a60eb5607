// How installing fails.

/** What went wrong is for the user, with what to do about it. */
export class InstallError extends Error {
  /** @param {string} code @param {string} message @param {string} advice @param {unknown} [cause] */
  constructor(code, message, advice, cause) {
    super(message, { cause });
    this.code = code;
    this.advice = advice;
  }
}
