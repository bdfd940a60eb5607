// A question to the user of a session, with yes or no as the answer. In `-p` the CLI says that it has dialogs, and then
// never answers: such a session counts as one without a user, and each dialog has a time limit.

import { errorMessage } from "../lib/values.mjs";
import { shortenText } from "../lib/visible.mjs";
import { awaitAnswer, READS, showDialog } from "./copilot-rpc.mjs";

/** @typedef {import("./copilot-rpc.mjs").Session} Session */

/** JSON-RPC's code for a method that the CLI does not have. */
const NO_SUCH_METHOD = -32_601;
const MAX_QUESTION_LENGTH = 2000;
const MIN_DIALOG_MS = 100;
export const MAX_DIALOG_MS = 60_000;
/** For so long an answer counts that came when nobody waited for it any more. */
const LATE_MS = 600_000;

/**
 * `none`: nobody has said anything; `reason` says why. `asked: false`: no question was shown.
 * @typedef {{answer: "yes" | "no" | "none", reason?: string, asked?: false}} Answer
 */
/** `of`: of what it leaves out. @typedef {{text: string, of?: string, timeoutMs?: number}} Question */

/** @param {string} reason @returns {Answer} */
const createUnanswered = (reason) => ({ answer: "none", reason });
/** @param {string} reason @returns {Answer} */
const createNotAsked = (reason) => ({ answer: "none", asked: false, reason });

/** Why nobody can be asked; "": somebody can. @param {Session} session */
async function findObstacle(session) {
  const { elicitation, canvases } = session.capabilities?.ui ?? {};
  if (elicitation !== true) return "this session cannot show dialogs";
  // In a terminal both are there. `-p` has dialogs according to this, and nobody to answer them.
  if (canvases === false) return "nobody sits in front of this session";
  // There the CLI dismisses each dialog at once, and the user sees none.
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
    const none = createUnanswered(`the user did not answer within ${mostMs / 1000} s`);
    timer = setTimeout(() => resolve(none), mostMs);
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

  /** One that is open, perhaps beyond its time. @type {{what: string, answer: Promise<Answer>} | undefined} */
  #open;
  /** What the user has said too late to what the agent wanted to run. @type {{what: string, answer: Answer, at: number} | undefined} */
  #late;

  /**
   * The user's yes to what the agent wants to run: not asked where he has allowed everything. Who takes longer than
   * the question waits has not refused: his answer counts when the agent asks for the same again. Never rejects.
   * @param {Session} session @param {Question} question
   * @returns {Promise<Answer>}
   */
  async consent(session, question) {
    const said = await awaitAnswer(() => READS.permissions(session)).catch(() => undefined);
    if ((said?.mode ?? said) === "allow-all") {
      return { answer: "yes", asked: false, reason: "the CLI allows everything" };
    }
    const what = questionKey(question);
    if (this.#late?.what === what) {
      const { answer, at } = this.#late;
      this.#late = undefined;
      if (performance.now() - at < LATE_MS) return answer;
    }
    const open = this.#open;
    const answer = await (open?.what === what
      ? withDialogTimeout(open.answer, question.timeoutMs)
      : this.ask(session, question));
    if (answer.answer !== "none" || answer.asked === false || this.#open?.what !== what)
      return answer;
    void this.#open.answer.then((later) => {
      if (later.asked !== false) this.#late = { what, answer: later, at: performance.now() };
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
    if (this.#open) return createUnanswered("another question of tap waits for the user already");
    const answer = this.#show(session, shortenText(question.text, MAX_QUESTION_LENGTH));
    this.#open = { what: questionKey(question), answer };
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
