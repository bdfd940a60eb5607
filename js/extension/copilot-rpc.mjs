// The methods of the CLI that requests of features can call (docs/session-control.md). Each is written out, so
// that a test can list them: no method changes permissions or trust, or runs programs. All are experimental in the
// CLI, and may be missing. Those that pass on the user's answer to a dialog are in answers.mjs.

/** For an answer of the CLI. */
const DEFAULT_ANSWER_MS = 3000;

/** Why the CLI did not answer. */
export class AnswerUnavailable extends Error {}

/** @typedef {any} Session the result of joinSession() */

/** @satisfies {Record<string, (session: Session) => unknown>} */
export const READS = {
  mode: ({ rpc }) => rpc?.mode?.get?.(),
  model: ({ rpc }) => rpc?.model?.getCurrent?.(),
  plan: ({ rpc }) => rpc?.plan?.read?.(),
  todos: ({ rpc }) => rpc?.plan?.readSqlTodosWithDependencies?.(),
  context: ({ rpc }) => rpc?.metadata?.contextInfo?.({}),
  usage: ({ rpc }) => rpc?.usage?.getMetrics?.(),
  quota: ({ rpc }) => rpc?.quota?.get?.(),
  tasks: ({ rpc }) => rpc?.tasks?.list?.(),
  schedules: ({ rpc }) => rpc?.schedule?.list?.(),
  canvases: ({ rpc }) => rpc?.canvas?.listOpen?.(),
  permissions: ({ rpc }) => rpc?.permissions?.getMode?.(),
};

/** The models of the user's account and config. @param {Session} session */
export const listModels = ({ rpc }) => rpc?.model?.list?.();

/** Those that wait for the user. @param {Session} session */
export const listPermissions = ({ rpc }) => rpc?.permissions?.pendingRequests?.({});

/** @param {Session} session @param {string} mode */
export const setMode = ({ rpc }, mode) => rpc?.mode?.set?.({ mode });

/**
 * Stays pending until the user has answered, perhaps indefinitely.
 * @param {Session} session @param {object} question message and requestedSchema
 */
export const showDialog = ({ rpc }, question) => rpc?.ui?.elicitation?.(question);

/**
 * The answer of a method, within a few seconds.
 * @template T @param {() => T | undefined} call undefined: the CLI does not have the method
 * @param {number} [mostMs]
 * @returns {Promise<Awaited<NonNullable<T>>>}
 * @throws {AnswerUnavailable}
 */
export async function awaitAnswer(call, mostMs = DEFAULT_ANSWER_MS) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    const why = `the CLI did not answer within ${mostMs / 1000} s`;
    timer = setTimeout(() => reject(new AnswerUnavailable(why)), mostMs);
  });
  try {
    const answer = await Promise.race([call(), late]);
    if (answer === undefined)
      throw new AnswerUnavailable("this version of the CLI does not support it");
    return /** @type {any} */ (answer);
  } finally {
    clearTimeout(timer);
  }
}
