// A question to the user of a session, with yes or no as the answer. In `-p` the CLI claims to have dialogs, but never
// answers: such a session counts as a session without a user, and each dialog has a time limit.

import { errorMessage } from "../lib/values.mjs";
import { shortenText } from "../lib/visible.mjs";
import { awaitAnswer, READS, showDialog } from "./copilot-rpc.mjs";

/** @typedef {import("./copilot-rpc.mjs").Session} Session */

/** JSON-RPC's code for a method that the CLI does not have. */
const NO_SUCH_METHOD = -32_601;
const MAX_QUESTION_LENGTH = 2000;
const MIN_DIALOG_MS = 100;
export const MAX_DIALOG_MS = 60_000;
/** How long a late answer counts, for the next request of the same question. */
const LATE_MS = 600_000;

/**
 * `none`: no answer, for the given `reason`. `asked: false`: no question was shown.
 * @typedef {{answer: "yes" | "no" | "none", reason?: string, asked?: false}} Answer
 */
/** `of`: distinguishes questions whose text is shortened. @typedef {{text: string, of?: string, timeoutMs?: number}} Question */

/** @param {string} reason @returns {Answer} */
const createUnanswered = (reason) => ({ answer: "none", reason });
/** @param {string} reason @returns {Answer} */
const createNotAsked = (reason) => ({ answer: "none", asked: false, reason });

/** Why no person can answer; "" if a person can. @param {Session} session */
async function findObstacle(session) {
  const { elicitation, canvases } = session.capabilities?.ui ?? {};
  if (elicitation !== true) return "this session cannot show dialogs";
  // In a terminal both are true. `-p` claims to have dialogs, but has no user.
  if (canvases === false) return "this session has no user in front of it";
  // In autopilot the CLI dismisses each dialog at once, and the user does not see it.
  const mode = await awaitAnswer(() => READS.mode(session)).catch(() => "");
  return mode === "autopilot" ? "in autopilot the CLI shows no dialogs" : "";
}

/** @param {string} message */
const createDialog = (message) => ({
  message,
  requestedSchema: {
    type: "object",
    properties: {
      answer: { type: "string", title: "Allow it?", enum: ["no", "yes"], default: "no" },
    },
    required: ["answer"],
  },
});

/** @param {any} result of the CLI @returns {Answer} */
function parseAnswer(result) {
  if (result?.action === "accept" && result.content?.answer === "yes") return { answer: "yes" };
  return { answer: "no", ...(result?.action !== "accept" && { reason: "the user dismissed it" }) };
}

/** @param {Promise<Answer>} answer @param {number} [timeoutMs] @returns {Promise<Answer>} */
async function withDialogTimeout(answer, timeoutMs = MAX_DIALOG_MS) {
  const mostMs = Math.min(Math.max(timeoutMs, MIN_DIALOG_MS), MAX_DIALOG_MS);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    const unanswered = createUnanswered(`the user did not answer within ${mostMs / 1000} s`);
    timer = setTimeout(() => resolve(unanswered), mostMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** @param {Question} question */
const questionKey = ({ text, of = "" }) => `${of}\n${text}`;

export class Dialogs {
  /** The message of the dialog that is open. */
  #message = "";

  /** The open dialog, perhaps beyond its time limit. @type {{key: string, answer: Promise<Answer>} | undefined} */
  #open;
  /** A late answer to a consent question. @type {{key: string, answer: Answer, at: number} | undefined} */
  #late;

  /**
   * Requests the user's consent. Not asked if the CLI allows everything. An answer after the time limit is not a
   * refusal: it counts when the agent asks the same question again. Never rejects.
   * @param {Session} session @param {Question} question
   * @returns {Promise<Answer>}
   */
  async consent(session, question) {
    const permissions = await awaitAnswer(() => READS.permissions(session)).catch(() => undefined);
    if ((permissions?.mode ?? permissions) === "allow-all") {
      return { answer: "yes", asked: false, reason: "the CLI allows everything" };
    }
    const key = questionKey(question);
    if (this.#late?.key === key) {
      const { answer, at } = this.#late;
      this.#late = undefined;
      if (performance.now() - at < LATE_MS) return answer;
    }
    const open = this.#open;
    const answer = await (open?.key === key
      ? withDialogTimeout(open.answer, question.timeoutMs)
      : this.ask(session, question));
    if (answer.answer !== "none" || answer.asked === false || this.#open?.key !== key)
      return answer;
    void this.#open.answer.then((later) => {
      if (later.asked !== false) this.#late = { key, answer: later, at: performance.now() };
    });
    return createUnanswered(
      `${answer.reason}. The question is still open: ask again once he has answered`,
    );
  }

  /**
   * Never rejects.
   * @param {Session} session @param {Question} question
   * @returns {Promise<Answer>}
   */
  async ask(session, question) {
    const why = await findObstacle(session);
    if (why) return createNotAsked(why);
    if (this.#open)
      return createUnanswered("the user has not answered an earlier question of tap yet");
    const answer = this.#show(session, shortenText(question.text, MAX_QUESTION_LENGTH));
    this.#open = { key: questionKey(question), answer };
    void answer.then(() => (this.#open = undefined));
    return withDialogTimeout(answer, question.timeoutMs);
  }

  /** Whether tap has opened the dialog with this message. @param {string} message */
  isOwn(message) {
    return this.#message !== "" && message === this.#message;
  }

  /** @param {Session} session @param {string} text @returns {Promise<Answer>} */
  async #show(session, text) {
    this.#message = text;
    try {
      const shown = showDialog(session, createDialog(text));
      if (shown === undefined) return createNotAsked("this version of the CLI has no dialogs");
      return parseAnswer(await shown);
    } catch (error) {
      const why = `the dialog failed: ${errorMessage(error)}`;
      const isMissing = /** @type {any} */ (error)?.code === NO_SUCH_METHOD;
      return isMissing ? createNotAsked(why) : createUnanswered(why);
    } finally {
      this.#message = "";
    }
  }
}
