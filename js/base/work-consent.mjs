// The user's yes to what the agent wants tap to run, once in a session for each distinct work. A yes to a tool for the
// whole session is not one to everything that the tool may start.

import { messageOf } from "./errors.mjs";
import { shortened, visible } from "./visible.mjs";

/** The session is older than this question, its CLI has none, or the feature may not ask. */
const CANNOT_ASK = ["UNKNOWN_REQUEST", "UNAVAILABLE", "denied"];
/** Below what a tool call has. */
const MOST_MS = 45_000;
const MOST_KEPT = 1000;

const MOST_VARIABLES = 6;
const MOST_VALUE = 80;

/** @typedef {{consent: (asked: {session: string, text: string, of: string, timeoutMs: number}) => Promise<any>}} Sessions the service */

/** Variables, in lines of a question. @param {Record<string, unknown>} env */
export function variableLines(env) {
  const all = Object.entries(env).map(
    ([name, value]) => `  with ${shortened(visible(`${name}=${value}`), MOST_VALUE)}`,
  );
  const more = all.length - MOST_VARIABLES;
  return more > 0 ? [...all.slice(0, MOST_VARIABLES), `  and ${more} more variables`] : all;
}

/** @param {unknown} whole @returns {Promise<string>} in hexadecimal digits */
async function digestOf(whole) {
  const bytes = new TextEncoder().encode(JSON.stringify(whole));
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}

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
   * @param {string} session its id @param {string} text the question
   * @param {unknown} whole all that will run: the question may leave something out, and a yes is to nothing else
   * @returns {Promise<string>} why not; "": it may
   */
  async obstacle(session, text, whole) {
    const of = await digestOf(whole);
    const key = `${session}\n${of}\n${text}`;
    if (this.#given.has(key)) return "";
    const asked = { session, text, of, timeoutMs: MOST_MS };
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
