// A say in what the agent does: rules and gates, context, sections (docs/protocol.md, "Hooks").

import { toError } from "./errors.mjs";

/** @typedef {import("./link.mjs").Message} Message */
/** @typedef {(check: import("./types.js").GateCheck) => unknown} Judge */
/** @typedef {(current: string, about: {section: string, session: string}) => string | Promise<string>} Rewriter */

/**
 * Whatever is not an explicit permission denies.
 * @param {any} verdict @returns {{decision: string, reason?: string}}
 */
function decisionOf(verdict) {
  if (verdict === true) return { decision: "allow" };
  if (typeof verdict === "string") return { decision: "deny", reason: verdict };
  const { decision, reason } = verdict ?? {};
  if (["allow", "deny", "context"].includes(decision)) return { decision, reason };
  return { decision: "deny", reason: "the gate has not allowed it" };
}

/** @typedef {{rules: object[], sections: Record<string, object | null>, context: string}} State */

const same = (/** @type {unknown} */ one, /** @type {unknown} */ other) =>
  JSON.stringify(one) === JSON.stringify(other);

/** @param {State} former @param {State} now @returns {[type: string, fields: object][]} */
function changes(former, now) {
  const changed = Object.entries(now.sections).filter(
    ([name, change]) => !same(change, former.sections[name]),
  );
  const hooks = {
    ...(!same(former.rules, now.rules) && { onPreToolUse: now.rules }),
    ...(changed.length > 0 && { transforms: Object.fromEntries(changed) }),
  };
  /** @type {[string, object][]} */
  const updates = Object.keys(hooks).length > 0 ? [["hooks.update", hooks]] : [];
  if (former.context !== now.context) updates.push(["context.update", { context: now.context }]);
  return updates;
}

export class Hooks {
  /** @type {Map<number, object>} */
  #rules = new Map();
  /** @type {Map<string, Judge>} */
  #judges = new Map();
  /** @type {Map<string, object | null>} null: taken away */
  #sections = new Map();
  /** @type {Map<string, Rewriter>} */
  #rewriters = new Map();
  #context = "";
  /** What the gateway has been told. @type {State} */
  #told = { rules: [], sections: {}, context: "" };
  #count = 0;
  #ask;
  #onError;
  /** @type {Promise<unknown>} one update at a time */
  #last = Promise.resolve();

  /**
   * @param {(type: string, fields: object) => Promise<unknown> | undefined} ask undefined: not bound
   * @param {(error: Error) => void} onError
   */
  constructor(ask, onError) {
    this.#ask = ask;
    this.#onError = onError;
  }

  /** @returns {State} */
  #state() {
    const sections = Object.fromEntries(this.#sections);
    return { rules: [...this.#rules.values()], sections, context: this.#context };
  }

  /** For hello. */
  declare() {
    this.#told = this.#state();
    const { rules: onPreToolUse, context } = this.#told;
    const transforms = Object.fromEntries([...this.#sections].filter(([, change]) => change));
    const some = onPreToolUse.length > 0 || Object.keys(transforms).length > 0;
    return { ...(some && { hooks: { onPreToolUse, transforms } }), ...(context && { context }) };
  }

  /** Tells the gateway of what has changed, one update at a time. @returns {Promise<void>} */
  sync() {
    const work = this.#last.then(() => this.#tell());
    this.#last = work.catch(() => {});
    return work;
  }

  async #tell() {
    const now = this.#state();
    for (const [type, fields] of changes(this.#told, now)) {
      const answer = this.#ask(type, fields);
      if (!answer) return;
      this.#told = now;
      await answer;
    }
  }

  /** @param {object} rule @returns {import("./types.js").Rule} */
  rule(rule) {
    const key = ++this.#count;
    this.#rules.set(key, rule);
    const remove = () => {
      this.#rules.delete(key);
      return this.sync();
    };
    return { remove, inForce: this.sync() };
  }

  /** @param {object} rule @param {Judge} judge @returns {import("./types.js").Rule} */
  gate(rule, judge) {
    const gateId = `gate-${this.#count + 1}`;
    this.#judges.set(gateId, judge);
    return this.rule({ ...rule, action: "gate", gateId });
  }

  /** @param {string} text */
  context(text) {
    this.#context = text;
    return this.sync();
  }

  /** @param {string} name @param {import("./types.js").SectionChange} change */
  section(name, change) {
    this.#rewriters.delete(name);
    if (typeof change === "function") {
      this.#rewriters.set(name, change);
      this.#sections.set(name, { action: "callback" });
    } else {
      const [[action, content] = []] = Object.entries(change ?? {});
      this.#sections.set(name, action ? { action, content } : null);
    }
    return this.sync();
  }

  /** @param {Message} message of type gate.check @returns {Promise<Message>} */
  async check({ gateId, callId, tool, args, sessionId }) {
    const judge = this.#judges.get(gateId);
    let decision;
    try {
      decision = decisionOf(await judge?.({ tool, args, session: sessionId }));
    } catch (error) {
      this.#onError(toError(error));
      decision = { decision: "deny", reason: `the gate failed: ${toError(error).message}` };
    }
    return { type: "gate.result", gateId, callId, ...decision };
  }

  /** @param {Message} message of type transform.request @returns {Promise<Message>} */
  async rewrite({ callId, section, current, sessionId }) {
    let content = current;
    try {
      const rewriter = this.#rewriters.get(section);
      if (rewriter) content = String(await rewriter(current, { section, session: sessionId }));
    } catch (error) {
      this.#onError(toError(error));
    }
    return { type: "transform.result", callId, content };
  }
}
