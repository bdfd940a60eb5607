// The user's yes to what the agent wants tap to run, once in a session for each distinct work. A yes to a tool for the
// whole session is not one to everything that the tool may start.

import { errorMessage } from "./values.mjs";
import { shortenText, visible } from "./visible.mjs";

/** The session is older than this question, or the feature may not ask. Any other failure is no yes. */
const CANNOT_ASK = ["UNKNOWN_REQUEST", "denied"];
/** Below what a tool call has. */
const MAX_WAIT_MS = 45_000;
const MAX_CONSENTS = 1000;

const MAX_VARIABLES = 6;
const MAX_VALUE = 80;

/** @typedef {{consent: (asked: {session: string, text: string, of: string, timeoutMs: number}) => Promise<any>}} Sessions the service */

/** Variables, in lines of a question. @param {Record<string, unknown>} env */
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
  /** What was allowed, by session. @type {Set<string>} */
  #consents = new Set();

  /** @param {Sessions} sessions */
  constructor(sessions) {
    this.#sessions = sessions;
  }

  /**
   * Where the CLI cannot ask, its own permission of the call is what there is.
   * @param {string} session its id @param {string} text the question
   * @param {unknown} whole all that will run: the question may leave something out, and a yes is to nothing else
   * @param {{needsDialog?: boolean}} [options] needsDialog: the permission of the call is not enough
   * @returns {Promise<string>} why not; "": it may
   */
  async requestConsent(session, text, whole, options) {
    return (await this.ask(session, text, whole, options)).why;
  }

  /**
   * The same.
   * @param {string} session @param {string} text @param {unknown} whole @param {{needsDialog?: boolean}} [options]
   * @returns {Promise<{why: string, isAsked: boolean}>} isAsked: somebody could have said yes
   */
  async ask(session, text, whole, { needsDialog = false } = {}) {
    const of = await hashWork(whole);
    const key = `${session}\n${of}\n${text}`;
    if (this.#consents.has(key)) return { why: "", isAsked: true };
    const asked = { session, text, of, timeoutMs: MAX_WAIT_MS };
    const said = await this.#sessions.consent(asked).catch((error) => ({
      ...{ answer: "none", reason: errorMessage(error) },
      ...(CANNOT_ASK.includes(error.cause?.code ?? error.code) && { asked: false }),
    }));
    const isAsked = said?.asked !== false;
    if (said?.answer !== "yes" && (needsDialog || isAsked)) {
      if (said?.answer === "no")
        return { why: "the user has refused it. Do not ask for the same again", isAsked };
      const what = isAsked ? "the user has not allowed it" : "nobody can be asked";
      return { why: `${what}${said?.reason ? ` (${said.reason})` : ""}`, isAsked };
    }
    if (this.#consents.size >= MAX_CONSENTS) this.#consents.clear();
    this.#consents.add(key);
    return { why: "", isAsked };
  }
}
