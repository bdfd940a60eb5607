// Hooks and edits of the system message, added to a session that has joined without them. Both leave
// the tools alone: neither waits for a change of tools, and none waits for them.

import { messageOf } from "../base/errors.mjs";
import { canResume, resume } from "./resume.mjs";

// ---- hooks ---------------------------------------------------------------------------------------

/** Longer than the gateway gives a gate (5 s); the CLI itself would wait for ever. */
const ANSWER_MS = 6000;

/** For the CLI to say which permissions it asks for. */
const MODE_MS = 500;

/** What the connection may take to write answers that have been given. */
const FLUSH_MS = 50;

/** The CLI's error for "No" and for Escape, and for a run that nobody can be asked in. */
const CONSENT_DENIED = /was denied permission access/;

/**
 * What a hook is told. Without the session's id: for a sub-agent's tools the CLI gives the
 * sub-agent's, which is no session of ours.
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
function decisionOf(verdict) {
  if (typeof verdict !== "object" || verdict === null) return deny("a gate gave no verdict");
  return verdict.deny === undefined ? withContext(verdict.context) : deny(String(verdict.deny));
}

/** @param {any} theirs @param {any} ours */
function joined(theirs, ours) {
  const contexts = [theirs?.additionalContext, ours.additionalContext].filter(Boolean);
  return { ...theirs, ...ours, ...withContext(contexts.join("\n\n")) };
}

/** @param {any} input */
function withoutSession({ sessionId: _sessionId, timestamp: _timestamp, ...input }) {
  return input;
}

/**
 * The hooks of one session. They are asked for once, when they are first needed, since that opens a
 * dialog unless the user allows everything. The CLI cannot be made to forget them again: where they
 * are no longer needed, the handlers answer at once.
 */
export class HookFlight {
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
   * @param {any} session what joinSession() resolves to
   * @param {HookHandlers} handlers
   * @param {{timeoutMs?: number, log?: import("../base/log.mjs").Log}} [options]
   */
  constructor(session, handlers, { timeoutMs = ANSWER_MS, log } = {}) {
    this.#session = session;
    this.#handlers = handlers;
    /** For one answer. */
    this.timeoutMs = timeoutMs;
    this.#log = log;
  }

  /**
   * Settles when the user has answered; the same outcome for every caller. The user is asked once;
   * a call after "unavailable" tries again.
   */
  register() {
    this.#outcome ??= this.#register();
    return this.#outcome;
  }

  /** Whether the user allows everything, and is not asked. A CLI that does not say may ask. @returns {Promise<boolean>} */
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
   * The CLI may be asking the user. Until that is answered it holds back what the session sends it,
   * results of tool calls included, and while it starts also changes of tools: one that is late now
   * says nothing of the CLI's ways.
   */
  get asking() {
    return this.#asking;
  }

  /**
   * Before the process ends: the CLI would let pass what is left without an answer. Pending tool
   * calls are denied; later ones pass only by a handler that answers at once.
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
    // Before the request: the first call may come before its answer.
    session.registerHooks(this.#beside(theirs));
    this.#asking = true;
    try {
      await resume(session, { hooks: true });
      return "in-force";
    } catch (error) {
      session.registerHooks(theirs);
      this.#log?.("warning", `no hooks: ${messageOf(error)}`);
      if (CONSENT_DENIED.test(messageOf(error))) return "denied";
      this.#outcome = undefined;
      return "unavailable";
    } finally {
      this.#asking = false;
    }
  }

  /** Ours, and those that a program has given its session itself. @param {any} theirs */
  #beside(theirs) {
    return {
      ...theirs,
      onPreToolUse: async (/** @type {any} */ input, /** @type {unknown} */ invocation) => {
        const ours = await this.#preToolUse(input);
        if ("permissionDecision" in ours || !theirs?.onPreToolUse) return ours;
        return joined(await theirs.onPreToolUse(input, invocation), ours);
      },
      onUserPromptSubmitted: async (
        /** @type {any} */ input,
        /** @type {unknown} */ invocation,
      ) => {
        const ours = await this.#promptSubmitted(input);
        if (!theirs?.onUserPromptSubmitted) return ours;
        return joined(await theirs.onUserPromptSubmitted(input, invocation), ours);
      },
    };
  }

  /** @param {any} input */
  #preToolUse(input) {
    const verdict = async () => decisionOf(await this.#handlers.preToolUse(withoutSession(input)));
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
      this.#log?.("warning", `nothing added to a prompt: ${reason}`);
      return {};
    });
  }

  /**
   * Never rejects: the CLI takes a failed hook for consent.
   * @template A
   * @param {() => Promise<A>} work
   * @param {(reason: string) => A} otherwise where there is no answer, or none in time
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
      work().then(settle, (error) => giveUp(`it failed: ${messageOf(error)}`));
      if (this.#draining) setImmediate(giveUp, "the session's extension is ending");
    });
  }
}

// ---- the system message --------------------------------------------------------------------------

/** Others would not fail, but land at the end of the message. */
const SECTIONS = new Set([
  "preamble",
  "identity",
  "tone",
  "tool_efficiency",
  "environment_context",
  "code_change_rules",
  "guidelines",
  "safety",
  "tool_instructions",
  "custom_instructions",
  "runtime_instructions",
  "last_instructions",
]);

/** Who the agent is and what it must not do: nothing may be put before it or in its place. */
const APPEND_ONLY = new Set(["identity", "preamble", "safety"]);

/**
 * With `callback` the section's text is asked for whenever the CLI builds the system message.
 * @typedef {{prepend?: string, append?: string, replace?: string, callback?: boolean}} SectionEdit
 * @typedef {{action: "prepend" | "append" | "replace" | "transform", content?: string}} WireSection
 * @typedef {(content: string) => Promise<string>} SectionTransform
 * @typedef {(section: string, text: string) => Promise<string | undefined>} SectionBuilder
 * @typedef {"in-force" | "unavailable"} EditOutcome
 */

/** @param {(string | undefined)[]} parts */
const lines = (...parts) => parts.filter(Boolean).join("\n");

/**
 * What SystemMessageFlight leaves out of these edits, in words.
 * @param {Record<string, SectionEdit>} edits
 * @returns {string[]}
 */
export function refusedEdits(edits) {
  return Object.entries(edits).flatMap(([section, edit]) => {
    if (!SECTIONS.has(section)) return [`there is no section ${section}`];
    const fixed = APPEND_ONLY.has(section) && (edit.prepend || edit.replace !== undefined);
    return fixed ? [`section ${section} can only be appended to`] : [];
  });
}

/** @param {string} section @param {SectionEdit} edit @returns {SectionEdit} */
function permitted(section, edit) {
  if (!SECTIONS.has(section)) return {};
  return APPEND_ONLY.has(section) ? { append: edit.append } : edit;
}

/**
 * Only what the CLI knows: it takes an unknown action without a word, and then no turn starts any
 * more. It puts nothing between an addition and the section's own text.
 * @param {SectionEdit} edit @returns {WireSection | undefined}
 */
function wireSection({ prepend, append, replace, callback }) {
  if (callback) return { action: "transform" };
  if (replace !== undefined) return { action: "replace", content: lines(prepend, replace, append) };
  if (prepend && append) return { action: "transform" };
  if (prepend) return { action: "prepend", content: `${prepend}\n` };
  return append ? { action: "append", content: `\n${append}` } : undefined;
}

/**
 * @param {Record<string, SectionEdit>} edits
 * @param {SectionBuilder} build
 * @returns {{sections: Record<string, WireSection>, transforms: Map<string, SectionTransform>, built: boolean, key: string}}
 *   two edits with the same key say the same; `built`: some of it is asked for each time
 */
function plan(edits, build) {
  /** @type {Record<string, WireSection>} */
  const sections = {};
  /** @type {Map<string, SectionTransform>} what is added on both sides, which one action cannot */
  const transforms = new Map();
  const parts = [];
  for (const section of Object.keys(edits).sort()) {
    const edit = permitted(section, edits[section]);
    const wire = wireSection(edit);
    if (!wire) continue;
    sections[section] = wire;
    parts.push([section, edit.prepend, edit.append, edit.replace, edit.callback]);
    if (wire.action !== "transform") continue;
    transforms.set(section, async (content) => {
      const base = edit.replace ?? content;
      const built = edit.callback ? await build(section, base) : undefined;
      return lines(edit.prepend, built ?? base, edit.append);
    });
  }
  const built = Object.values(edits).some(({ callback }) => callback);
  return { sections, transforms, built, key: JSON.stringify(parts) };
}

/**
 * The edits of one session's system message. The model sees a change from the next turn on. Nothing
 * is sent before the first edit: the CLI introduces the agent in other words from then on.
 */
export class SystemMessageFlight {
  #session;
  #build;
  #wanted = plan({}, async () => undefined);
  /** @type {ReturnType<typeof plan> | undefined} nothing where a request has failed */
  #inForce = this.#wanted;
  /** @type {Promise<EditOutcome> | undefined} */
  #running;

  /**
   * @param {any} session what joinSession() resolves to
   * @param {SectionBuilder} [build] for sections with a callback
   */
  constructor(session, build = async () => undefined) {
    this.#session = session;
    this.#build = build;
  }

  /**
   * The CLI builds the system message once and keeps it: this makes it build anew for the next turn.
   * Between turns only, since within one the edits would be lost for the rest of it.
   */
  async rebuild() {
    const current = this.#inForce;
    if (this.#running || !current?.built) return;
    this.#running = this.#run(current);
    await this.#running;
  }

  /**
   * All the edits that are to be in force, in place of the former. One request after another, and
   * only for a change; of what is asked for meanwhile, only the last.
   * Rejects with the CLI's words; the next call then tries again.
   * @param {Record<string, SectionEdit>} edits @returns {Promise<EditOutcome>}
   */
  async apply(edits) {
    const session = this.#session;
    if (!canResume(session) || typeof session.registerTransformCallbacks !== "function") {
      return "unavailable";
    }
    this.#wanted = plan(edits, this.#build);
    if (!this.#running) {
      if (this.#wanted.key === this.#inForce?.key) return "in-force";
      this.#running = this.#run(this.#wanted);
    }
    return this.#running;
  }

  /** @param {ReturnType<typeof plan>} first @returns {Promise<EditOutcome>} */
  async #run(first) {
    try {
      await this.#send(first);
      while (this.#wanted.key !== this.#inForce?.key) await this.#send(this.#wanted);
      return "in-force";
    } finally {
      // At once: an edit that comes now must not be taken for one that is still looked at.
      this.#running = undefined;
    }
  }

  /** @param {ReturnType<typeof plan>} next */
  async #send(next) {
    const former = this.#inForce;
    this.#inForce = undefined;
    this.#answerWith(next);
    try {
      const systemMessage = { mode: "customize", sections: next.sections };
      await resume(this.#session, { systemMessage });
      // Within a turn the CLI looks for transforms in what was in force before.
      if (next.transforms.size > 0) await resume(this.#session, { systemMessage });
      this.#inForce = next;
    } catch (error) {
      if (former) this.#answerWith(former);
      throw error;
    }
  }

  /** @param {{transforms: Map<string, SectionTransform>}} edits */
  #answerWith({ transforms }) {
    this.#session.registerTransformCallbacks(transforms.size > 0 ? transforms : undefined);
  }
}
