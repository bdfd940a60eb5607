// Hooks, added to a session that joined without them. Changes of hooks and changes of tools do not wait for each
// other.

import { errorMessage } from "../lib/values.mjs";
import { canResume, resume } from "./copilot-session.mjs";

/** Longer than the gateway waits for a gate (5 s); the CLI itself would wait indefinitely. */
const ANSWER_MS = 6000;

/** For the CLI to report its permission mode. */
const MODE_MS = 500;

/** Time for the connection to write pending answers. */
const FLUSH_MS = 50;

/** The CLI's error for "No", for Escape, and for a run without a user. */
const CONSENT_DENIED = /was denied permission access/;

/**
 * The input of a hook. Without the session's id: for a sub-agent's tools the CLI passes the
 * sub-agent's id, which is not a session of tap.
 * @typedef {{workingDirectory?: string, agentId?: string, agentType?: string, parentAgentId?: string}} HookInput
 * @typedef {HookInput & {toolName: string, toolArgs: unknown}} ToolUse
 * @typedef {HookInput & {prompt: string}} Prompt
 * @typedef {{deny?: string, context?: string}} Verdict
 * @typedef {"in-force" | "denied" | "unavailable"} HookOutcome
 */

/**
 * @typedef {object} HookHandlers
 * @property {(use: ToolUse) => Promise<Verdict>} preToolUse before each tool call, also of sub-agents
 * @property {(prompt: Prompt) => Promise<{context?: string}>} promptSubmitted
 */

/** @param {string} reason */
const deny = (reason) => ({ permissionDecision: "deny", permissionDecisionReason: reason });

/** @param {unknown} context */
const withContext = (context) =>
  typeof context === "string" && context !== "" ? { additionalContext: context } : {};

/**
 * Never "allow": that would skip the question that the CLI asks the user.
 * @param {Verdict} verdict
 */
function toDecision(verdict) {
  if (typeof verdict !== "object" || verdict === null) return deny("a gate gave no verdict");
  return verdict.deny === undefined ? withContext(verdict.context) : deny(String(verdict.deny));
}

/** @param {any} theirs @param {any} ours */
function mergeOutputs(theirs, ours) {
  const contexts = [theirs?.additionalContext, ours.additionalContext].filter(Boolean);
  return { ...theirs, ...ours, ...withContext(contexts.join("\n\n")) };
}

/** @param {any} input */
function withoutSession({ sessionId: _sessionId, timestamp: _timestamp, ...input }) {
  return input;
}

/**
 * The hooks of a session. They are requested once, when they are first needed, since that opens a
 * dialog unless the user allows everything. The CLI cannot remove hooks again: when they
 * are no longer needed, the handlers answer at once.
 */
export class HookRegistration {
  #session;
  #handlers;
  #log;
  /** @type {Promise<HookOutcome> | undefined} */
  #outcome;
  /** Ends the wait for an answer. @type {Set<(reason: string) => void>} */
  #pending = new Set();
  #draining = false;
  #asking = false;

  /**
   * @param {any} session the result of joinSession()
   * @param {HookHandlers} handlers
   * @param {{timeoutMs?: number, log?: import("../lib/log.mjs").Log}} [options]
   */
  constructor(session, handlers, { timeoutMs = ANSWER_MS, log } = {}) {
    this.#session = session;
    this.#handlers = handlers;
    /** For a single answer. */
    this.timeoutMs = timeoutMs;
    this.#log = log;
  }

  /**
   * Settles when the user has answered, with the same outcome for every caller. The CLI asks the user once; a
   * call after "unavailable" tries again.
   */
  register() {
    this.#outcome ??= this.#register();
    return this.#outcome;
  }

  /** Whether the CLI allows everything without asking. False if the CLI does not report it. @returns {Promise<boolean>} */
  async isAllowed() {
    try {
      const asked = this.#session.rpc.permissions.getMode();
      const late = new Promise((resolve) => setTimeout(resolve, MODE_MS).unref());
      const answer = await Promise.race([asked, late]);
      return (answer?.mode ?? answer) === "allow-all";
    } catch {
      return false;
    }
  }

  /**
   * The CLI may be asking the user. Until the answer it delays all messages of the session,
   * results of tool calls included, and at its start also changes of tools: a late answer
   * then proves no lack of support.
   */
  get asking() {
    return this.#asking;
  }

  /**
   * Called before the process ends, since the CLI would allow unanswered calls. Pending tool
   * calls are denied; later calls pass only through a handler that answers at once.
   * Resolves when the answers are written.
   */
  async drain() {
    this.#draining = true;
    for (const giveUp of [...this.#pending]) giveUp("the session's extension is ending");
    await new Promise((resolve) => setTimeout(resolve, FLUSH_MS));
  }

  /** @returns {Promise<HookOutcome>} */
  async #register() {
    const session = this.#session;
    if (!canResume(session) || typeof session.registerHooks !== "function") return "unavailable";
    const theirs = session.hooks;
    // Before the request: the first call may arrive before the answer.
    session.registerHooks(this.#composeHandlers(theirs));
    this.#asking = true;
    try {
      await resume(session, { hooks: true });
      return "in-force";
    } catch (error) {
      session.registerHooks(theirs);
      this.#log?.("warning", `no hooks: ${errorMessage(error)}`);
      if (CONSENT_DENIED.test(errorMessage(error))) return "denied";
      this.#outcome = undefined;
      return "unavailable";
    } finally {
      this.#asking = false;
    }
  }

  /** Combines tap's hooks with hooks that a program gave its session itself. @param {any} theirs */
  #composeHandlers(theirs) {
    return {
      ...theirs,
      onPreToolUse: async (/** @type {any} */ input, /** @type {unknown} */ invocation) => {
        const ours = await this.#preToolUse(input);
        if ("permissionDecision" in ours || !theirs?.onPreToolUse) return ours;
        return mergeOutputs(await theirs.onPreToolUse(input, invocation), ours);
      },
      onUserPromptSubmitted: async (
        /** @type {any} */ input,
        /** @type {unknown} */ invocation,
      ) => {
        const ours = await this.#promptSubmitted(input);
        if (!theirs?.onUserPromptSubmitted) return ours;
        return mergeOutputs(await theirs.onUserPromptSubmitted(input, invocation), ours);
      },
    };
  }

  /** @param {any} input */
  #preToolUse(input) {
    const verdict = async () => toDecision(await this.#handlers.preToolUse(withoutSession(input)));
    return this.#answer(verdict, (reason) => {
      this.#log?.("warning", `${input.toolName} denied: ${reason}`);
      return deny(`no gate has allowed it: ${reason}`);
    });
  }

  /** @param {any} input */
  #promptSubmitted(input) {
    const context = async () => {
      const answer = await this.#handlers.promptSubmitted(withoutSession(input));
      return withContext(answer?.context);
    };
    return this.#answer(context, (reason) => {
      this.#log?.("warning", `no context added to a prompt: ${reason}`);
      return {};
    });
  }

  /**
   * Never rejects, since the CLI takes a failed hook for consent.
   * @template A
   * @param {() => Promise<A>} work
   * @param {(reason: string) => A} otherwise without an answer in time
   * @returns {Promise<A>}
   */
  #answer(work, otherwise) {
    return new Promise((resolve) => {
      const settle = (/** @type {A} */ answer) => {
        if (!this.#pending.delete(giveUp)) return;
        clearTimeout(timer);
        resolve(answer);
      };
      const giveUp = (/** @type {string} */ reason) => {
        if (this.#pending.has(giveUp)) settle(otherwise(reason));
      };
      this.#pending.add(giveUp);
      const timer = setTimeout(giveUp, this.timeoutMs, `no answer in ${this.timeoutMs} ms`);
      work().then(settle, (error) => giveUp(`it failed: ${errorMessage(error)}`));
      if (this.#draining) setImmediate(giveUp, "the session's extension is ending");
    });
  }
}
