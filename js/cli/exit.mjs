// How a command ends: the one table of exit codes, and the error that carries one.

export const EXIT = /** @type {const} */ ({
  done: 0,
  notDone: 1,
  usage: 2,
  noGateway: 3,
  portTaken: 4,
  interrupted: 130,
});

/** The meaning of each; docs/command.md repeats it. @type {[number, string][]} */
export const EXIT_CODES = [
  [EXIT.done, "done"],
  [EXIT.notDone, "failed, or there was nothing to do; the message says why"],
  [EXIT.usage, "wrong usage; nothing was done"],
  [EXIT.noGateway, "no gateway runs"],
  [EXIT.portTaken, "port in use by another program, or not accepting connections"],
  [EXIT.interrupted, "interrupted (Ctrl-C); what runs until Ctrl-C ends with 0"],
];

/** A command that did not do what it was to do, and what the user can do about it. */
export class Failure extends Error {
  /**
   * @param {string} message what is wrong
   * @param {{advice?: string, code?: string, exit?: number, cause?: unknown, problems?: object[]}} [options] advice: what to
   *   do next; code: for programs, in capitals; problems: for programs, all that is wrong
   */
  constructor(
    message,
    { advice = "", code = "FAILED", exit = EXIT.notDone, cause, problems } = {},
  ) {
    super(message, { cause });
    this.advice = advice;
    this.code = code;
    this.exit = exit;
    this.problems = problems;
  }
}

/** @param {string} message @param {string} [advice] */
export const usage = (message, advice) =>
  new Failure(message, { advice, code: "USAGE", exit: EXIT.usage });

export const NO_GATEWAY_ADVICE = "one starts with the next session of the Copilot CLI";

/** @param {string} message */
export const noGateway = (message) =>
  new Failure(message, { advice: NO_GATEWAY_ADVICE, code: "NO_GATEWAY", exit: EXIT.noGateway });

/** Any error as a failure. @param {unknown} error @returns {Failure} */
export function toFailure(error) {
  if (error instanceof Failure) return error;
  if (!(error instanceof Error)) return new Failure(String(error));
  const { code, advice } = /** @type {{code?: unknown, advice?: unknown}} */ (error);
  const next = typeof advice === "string" ? advice : "";
  // The SDK's errors say it in their message, too.
  const repeated = next !== "" && error.message.endsWith(`. ${next}`);
  return new Failure(repeated ? error.message.slice(0, -next.length - 2) : error.message, {
    advice: next,
    code: typeof code === "string" ? code : "FAILED",
    exit: code === "NO_GATEWAY" ? EXIT.noGateway : EXIT.notDone,
    cause: error,
  });
}

// Ctrl-C, and what else asks a command to end.

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Does the work; a signal aborts it. A second one ends the process, as it does without this.
 * @template T @param {(ending: AbortSignal) => Promise<T>} work @returns {Promise<T>}
 */
export async function runInterruptible(work) {
  const controller = new AbortController();
  const end = () => controller.abort();
  for (const signal of SIGNALS) process.once(signal, end);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}

/** Resolves at once when that ends. @param {number} ms @param {AbortSignal} ending */
export function pause(ms, ending) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      ending.removeEventListener("abort", done);
      resolve(undefined);
    };
    const timer = setTimeout(done, ms);
    ending.addEventListener("abort", done);
    if (ending.aborted) done();
  });
}
