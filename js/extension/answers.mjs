// The user's answers to dialogs of the CLI, from tap's inbox: the whole table of the methods that answer, and of the
// values that they may pass. The gateway passes on only the user's own (js/gateway-host/inbox.mjs).

import { errorMessage } from "../lib/values.mjs";
import { awaitAnswer, AnswerUnavailable } from "./copilot-rpc.mjs";
import { findValuesProblem, PLAIN_FIELD } from "./waits.mjs";

/** @typedef {import("./copilot-rpc.mjs").Session} Session */
/** @typedef {import("./waits.mjs").Wait} Wait */
/** @typedef {{key?: unknown, act?: unknown, values?: unknown, text?: unknown}} Answer */

const MAX_TEXT_LENGTH = 4096;

/** Why an answer is not passed on. */
export class AnswerRefused extends Error {
  /** @param {"INVALID" | "GONE"} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** @param {string} message @returns {never} */
const refuse = (message) => {
  throw new AnswerRefused("INVALID", message);
};

/** @param {Wait} wait @param {Answer} answer @returns {Record<string, unknown>} */
function readValues({ form = [] }, { values = {} }) {
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    refuse("values: expected an object");
  }
  const given = /** @type {Record<string, unknown>} */ (values);
  const problem = findValuesProblem(form, given);
  return problem ? refuse(problem) : given;
}

/** @param {Answer} answer */
function readFeedback({ text }) {
  const isGood = typeof text === "string" && text.trim() !== "" && text.length <= MAX_TEXT_LENGTH;
  return isGood ? text : refuse(`text: expected 1 to ${MAX_TEXT_LENGTH} characters`);
}

/** @type {Record<string, (session: Session, wait: Wait, answer: Answer) => unknown>} */
const SEND = {
  "question.accept": ({ rpc }, wait, answer) => {
    const content = readValues(wait, answer);
    if (!wait.isPlain) {
      const result = { action: "accept", content };
      return rpc?.ui?.handlePendingElicitation?.({ requestId: wait.key, result });
    }
    const isChoice = wait.form?.[0].enum !== undefined;
    const response = { answer: content[PLAIN_FIELD], wasFreeform: !isChoice };
    return rpc?.ui?.handlePendingUserInput?.({ requestId: wait.key, response });
  },
  "question.decline": ({ rpc }, { key, isPlain }) =>
    isPlain
      ? refuse("this CLI has no way to decline the question")
      : rpc?.ui?.handlePendingElicitation?.({ requestId: key, result: { action: "decline" } }),
  "plan-review.interactive": ({ rpc }, { key }) =>
    rpc?.ui?.handlePendingExitPlanMode?.({
      requestId: key,
      response: { approved: true, selectedAction: "interactive" },
    }),
  "plan-review.exit_only": ({ rpc }, { key }) =>
    rpc?.ui?.handlePendingExitPlanMode?.({
      requestId: key,
      response: { approved: true, selectedAction: "exit_only" },
    }),
  "plan-review.feedback": ({ rpc }, { key }, answer) =>
    rpc?.ui?.handlePendingExitPlanMode?.({
      requestId: key,
      response: { approved: false, feedback: readFeedback(answer) },
    }),
};

/**
 * Passed on once; whoever answers first wins.
 * @param {Session} session @param {Pick<import("./waits.mjs").Waits, "find" | "remove">} waits @param {Answer} answer
 * @returns {Promise<{done: true}>} @throws {AnswerRefused}
 */
export async function answerWait(session, waits, answer) {
  const wait = waits.find(String(answer.key));
  if (!wait) throw new AnswerRefused("GONE", "it was answered already, or its turn has ended");
  const act = `${wait.kind}.${answer.act}`;
  if (!wait.acts.some(({ id }) => id === answer.act) || !Object.hasOwn(SEND, act)) {
    refuse(`act: expected one of ${wait.acts.map(({ id }) => id).join(", ") || "none"}`);
  }
  try {
    const result = await awaitAnswer(() => /** @type {any} */ (SEND[act](session, wait, answer)));
    if (result.success === false) {
      throw new AnswerRefused("GONE", "it was answered in the session meanwhile");
    }
    waits.remove(wait.key);
    return { done: true };
  } catch (error) {
    if (error instanceof AnswerRefused || error instanceof AnswerUnavailable) throw error;
    throw new AnswerUnavailable(`the CLI did not take the answer: ${errorMessage(error)}`);
  }
}
