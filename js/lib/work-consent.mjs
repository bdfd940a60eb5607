// The user's consent to work that the agent wants tap to run, asked once in a session for each distinct work. A yes to
// a tool for the whole session does not cover all work that the tool may start.

import { errorMessage } from "./values.mjs";
import { shortenText, visible } from "./visible.mjs";

/** The session is too old for this question, or the feature may not ask. Any other failure means no. */
const CANNOT_ASK = ["UNKNOWN_REQUEST", "denied"];
/** Less than the time limit of a tool call. */
const MAX_WAIT_MS = 45_000;
const MAX_CONSENTS = 1000;

const MAX_VARIABLES = 6;
const MAX_VALUE = 80;

/** @typedef {{consent: (asked: {session: string, text: string, of: string, timeoutMs: number}) => Promise<any>}} Sessions the service */

/** Formats variables as lines of a question. @param {Record<string, unknown>} env */
export function formatVariables(env) {
  const all = Object.entries(env).map(
    ([name, value]) => `  with ${shortenText(visible(`${name}=${value}`), MAX_VALUE)}`,
  );
  const more = all.length - MAX_VARIABLES;
  return more > 0 ? [...all.slice(0, MAX_VARIABLES), `  and ${more} more variables`] : all;
}

/** @param {unknown} whole @returns {Promise<string>} in hexadecimal digits */
async function hashWork(whole) {
  const bytes = new TextEncoder().encode(JSON.stringify(whole));
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}

export class WorkConsent {
  #sessions;
  /** Allowed work, by session. @type {Set<string>} */
  #consents = new Set();

  /** @param {Sessions} sessions */
  constructor(sessions) {
    this.#sessions = sessions;
  }

  /**
   * If the CLI cannot ask, its own permission of the call counts.
   * @param {string} session its id @param {string} text the question
   * @param {unknown} whole the complete work: the question may be shortened, and a yes covers only this work
   * @param {{needsDialog?: boolean}} [options] needsDialog: the permission of the call is not enough
   * @returns {Promise<string>} the reason for a refusal; "": allowed
   */
  async requestConsent(session, text, whole, options) {
    return (await this.ask(session, text, whole, options)).why;
  }

  /**
   * The same.
   * @param {string} session @param {string} text @param {unknown} whole @param {{needsDialog?: boolean}} [options]
   * @returns {Promise<{why: string, isAsked: boolean}>} isAsked: a person could have answered
   */
  async ask(session, text, whole, { needsDialog = false } = {}) {
    const of = await hashWork(whole);
    const key = `${session}\n${of}\n${text}`;
    if (this.#consents.has(key)) return { why: "", isAsked: true };
    const asked = { session, text, of, timeoutMs: MAX_WAIT_MS };
    const answer = await this.#sessions.consent(asked).catch((error) => ({
      ...{ answer: "none", reason: errorMessage(error) },
      ...(CANNOT_ASK.includes(error.cause?.code ?? error.code) && { asked: false }),
    }));
    const isAsked = answer?.asked !== false;
    if (answer?.answer !== "yes" && (needsDialog || isAsked)) {
      if (answer?.answer === "no")
        return { why: "the user has refused it. Do not ask for the same again", isAsked };
      const problem = isAsked ? "the user has not allowed it" : "nobody can be asked";
      return { why: `${problem}${answer?.reason ? ` (${answer.reason})` : ""}`, isAsked };
    }
    if (this.#consents.size >= MAX_CONSENTS) this.#consents.clear();
    this.#consents.add(key);
    return { why: "", isAsked };
  }
}
