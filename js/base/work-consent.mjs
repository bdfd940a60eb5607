// The user's yes to what the agent wants tap to run, once in a session for each distinct text. A yes to a tool for the
// whole session is not one to everything that the tool may start.

import { messageOf } from "./errors.mjs";

/** The session is older than this question, its CLI has none, or the feature may not ask. */
const CANNOT_ASK = ["UNKNOWN_REQUEST", "UNAVAILABLE", "denied"];
/** Below what a tool call has. */
const MOST_MS = 45_000;
const MOST_KEPT = 1000;

/** @typedef {{consent: (asked: {session: string, text: string, timeoutMs: number}) => Promise<any>}} Sessions the service */

export class WorkConsent {
  #sessions;
  /** What was allowed, by session. @type {Set<string>} */
  #given = new Set();

  /** @param {Sessions} sessions */
  constructor(sessions) {
    this.#sessions = sessions;
  }

  /**
   * Where the CLI cannot ask, its own permission of the call is what there is.
   * @param {string} session its id @param {string} text the question; whole: it says what will run
   * @returns {Promise<string>} why not; "": it may
   */
  async obstacle(session, text) {
    const key = `${session}\n${text}`;
    if (this.#given.has(key)) return "";
    const asked = { session, text, timeoutMs: MOST_MS };
    const said = await this.#sessions.consent(asked).catch((error) => ({
      ...{ answer: "none", reason: messageOf(error) },
      ...(CANNOT_ASK.includes(error.cause?.code ?? error.code) && { asked: false }),
    }));
    if (said?.answer !== "yes" && said?.asked !== false) {
      return said?.answer === "no"
        ? "the user has refused it. Do not ask for the same again"
        : `the user has not allowed it${said?.reason ? ` (${said.reason})` : ""}`;
    }
    if (this.#given.size >= MOST_KEPT) this.#given.clear();
    this.#given.add(key);
    return "";
  }
}
