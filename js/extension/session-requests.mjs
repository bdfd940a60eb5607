// The requests that tap's features may send to a session (docs/session-link.md, "session.request"). Other names are
// refused, and no request can name a method of the CLI.

import { errorMessage } from "../lib/values.mjs";
import { parseModels } from "../lib/models.mjs";
import { MODES } from "./agent-mode.mjs";
import { Dialogs } from "./dialogs.mjs";
import { AnswerRefused, answerWait } from "./answers.mjs";
import { awaitAnswer, listModels, listPermissions, AnswerUnavailable } from "./copilot-rpc.mjs";
import { readState } from "./session-state.mjs";
import { Waits } from "./waits.mjs";

/** @typedef {import("./copilot-rpc.mjs").Session} Session */
/** @typedef {{requestId: string, request: string, params: any}} SessionRequest */

/** A request that the session refuses. */
class RequestRefused extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const MODELS_MS = 10_000;

/** @param {unknown} mode @param {string} field */
function parseMode(mode, field) {
  if (typeof mode === "string" && MODES.includes(mode)) return mode;
  throw new RequestRefused("INVALID", `${field}: expected ${MODES.join(" or ")}`);
}

/** @param {any} params */
function parseQuestion({ text, of, timeoutMs }) {
  if (typeof text !== "string" || text.trim() === "") {
    throw new RequestRefused("INVALID", "text: expected a question");
  }
  if (timeoutMs !== undefined && !Number.isSafeInteger(timeoutMs)) {
    throw new RequestRefused("INVALID", "timeoutMs: expected a whole number");
  }
  if (of !== undefined && typeof of !== "string") {
    throw new RequestRefused("INVALID", "of: expected a text");
  }
  return { text, of, timeoutMs };
}

export class SessionRequests {
  #link;
  #mode;
  #dialogs = new Dialogs();
  /** Fed with the session's events. */
  waits = new Waits((message) => this.#dialogs.isOwn(message));
  #table = new Map(
    Object.entries({
      "state.read": (/** @type {Session} */ session) => readState(session, this.#mode.chosenBy),
      "models.list": (/** @type {Session} */ session) => this.#models(session),
      "mode.set": (/** @type {Session} */ _session, /** @type {any} */ params) =>
        this.#setMode(params),
      ask: (/** @type {Session} */ session, /** @type {any} */ params) =>
        this.#ask(session, params),
      consent: (/** @type {Session} */ session, /** @type {any} */ params) =>
        this.#consent(session, params),
      // For the user alone: the gateway passes these on for the inbox, and for no feature.
      "waits.list": (/** @type {Session} */ session) => this.#listWaits(session),
      "waits.answer": (/** @type {Session} */ session, /** @type {any} */ params) =>
        answerWait(session, this.waits, params),
    }),
  );

  /** @param {{send: (message: object) => void}} link @param {import("./agent-mode.mjs").AgentMode} mode */
  constructor(link, mode) {
    this.#link = link;
    this.#mode = mode;
  }

  /** Never rejects. @param {Session} session @param {SessionRequest} request */
  async receive(session, { requestId, request, params }) {
    const answer = await this.#answer(session, request, params ?? {});
    this.#link.send({ type: "session.result", requestId, ...answer });
  }

  /** @param {Session} session @param {string} request @param {any} params */
  async #answer(session, request, params) {
    try {
      const run = this.#table.get(request);
      if (run) return { result: (await run(session, params)) ?? null };
      const known = [...this.#table.keys()].join(", ");
      throw new RequestRefused(
        "UNKNOWN_REQUEST",
        `there is no request of that name; there are: ${known}`,
      );
    } catch (error) {
      const code =
        error instanceof RequestRefused || error instanceof AnswerRefused
          ? error.code
          : error instanceof AnswerUnavailable
            ? "UNAVAILABLE"
            : "INTERNAL";
      return { error: { code, message: errorMessage(error) } };
    }
  }

  /** The models of the user's account and config. The CLI may use the network. @param {Session} session */
  async #models(session) {
    const answer = await awaitAnswer(() => listModels(session), MODELS_MS);
    return parseModels("account", answer.list) ?? { source: "none", models: [] };
  }

  /** In -p nobody can answer, though the CLI says that it has dialogs. @param {Session} session */
  async #listWaits(session) {
    if (session.capabilities?.ui?.canvases === false) return { waits: [] };
    if (!this.waits.hasRunningTool) return { waits: this.waits.list() };
    const asked = await awaitAnswer(() => listPermissions(session)).catch(() => undefined);
    return { waits: this.waits.list(asked?.items) };
  }

  /** @param {any} params */
  async #setMode({ mode, from }) {
    return this.#mode.set(parseMode(mode, "mode"), parseMode(from, "from"));
  }

  /** @param {Session} session @param {any} params */
  async #ask(session, params) {
    return this.#dialogs.ask(session, parseQuestion(params));
  }

  /** @param {Session} session @param {any} params */
  async #consent(session, params) {
    return this.#dialogs.consent(session, parseQuestion(params));
  }
}
