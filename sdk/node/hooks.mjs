// Hooks: rules and gates, context, sections (docs/protocol.md, "Hooks").

import { errorText, toError } from "./errors.mjs";
import { callText } from "./report.mjs";
import { reported } from "./reported.mjs";

/** @typedef {import("./connection.mjs").Message} Message */
/** @typedef {(check: import("./types.js").GateCheck) => unknown} Judge */
/** @typedef {(current: string, about: {section: string, session: string}) => string | Promise<string>} Rewriter */

/**
 * Denies unless the verdict is an explicit permission.
 * @param {any} verdict @returns {{decision: string, reason?: string}}
 */
function toDecision(verdict) {
  if (verdict === true) return { decision: "allow" };
  if (typeof verdict === "string") return { decision: "deny", reason: verdict };
  const { decision, reason } = verdict ?? {};
  if (["allow", "deny", "context"].includes(decision)) {
    return { decision, reason: typeof reason === "string" ? reason : undefined };
  }
  return { decision: "deny", reason: "the gate has not allowed it" };
}

/** Not refusals: there is no session, and the next hello declares everything. */
const LOST = ["DISCONNECTED", "INVALID_SESSION"];

/**
 * A declaration under a key: its JSON for the gateway, and the functions that answer the gateway's requests.
 * @typedef {{wire: any, judge?: Judge, rewriter?: Rewriter}} Declared
 */

/** Declarations that change in steps, and those that the gateway knows. */
class Part {
  /** @type {Map<number | string, Declared>} */
  declared = new Map();
  /** @type {Map<number | string, Declared>} */
  known = new Map();
  #message;

  /** @param {(declared: Map<any, Declared>, changed: any[]) => [type: string, fields: object]} message */
  constructor(message) {
    this.#message = message;
  }

  /** For hello. */
  declare() {
    this.known = new Map(this.declared);
    return [...this.declared.values()].map(({ wire }) => wire);
  }

  /** The message for the gateway, or undefined. */
  change() {
    const former = this.known;
    const sent = new Map(this.declared);
    const keys = [...new Set([...former.keys(), ...sent.keys()])];
    const wire = (/** @type {Declared | undefined} */ one) => JSON.stringify(one?.wire);
    const changed = keys.filter((key) => wire(former.get(key)) !== wire(sent.get(key)));
    if (changed.length === 0) return undefined;
    const undo = () => {
      if (this.known === sent) this.known = former;
      for (const key of changed) this.#undo(key, sent.get(key), former.get(key));
    };
    return { part: this, message: this.#message(sent, changed), sent, undo };
  }

  /** Restores the former declaration, unless it was replaced since. @param {any} key @param {Declared} [sent] @param {Declared} [former] */
  #undo(key, sent, former) {
    if (this.declared.get(key) !== sent) return;
    if (former) this.declared.set(key, former);
    else this.declared.delete(key);
  }
}

/** @param {Map<number, Declared>} rules oldest first, even after a rule was restored */
const sortRules = (rules) => [...rules].sort(([a], [b]) => a - b).map(([, { wire }]) => wire);

/** Sent in this order, each in its own message, so that a refusal affects only the wrong part. */
const makeParts = () => ({
  rules: new Part((rules) => ["hooks.update", { onPreToolUse: sortRules(rules) }]),
  sections: new Part((sections, changed) => {
    const transforms = changed.map((name) => [name, sections.get(name)?.wire ?? null]);
    return ["hooks.update", { transforms: Object.fromEntries(transforms) }];
  }),
  context: new Part((context) => ["context.update", { context: context.get("")?.wire ?? "" }]),
});

/**
 * @typedef {object} HooksOptions
 * @property {(type: string, fields: object) => Promise<unknown> | undefined} ask undefined: not bound
 * @property {() => boolean} paired
 * @property {(error: Error, call?: string) => void} onError
 */

export class Hooks {
  #parts = makeParts();
  #count = 0;
  #options;
  /** @type {Promise<void> | undefined} a change that is about to be sent */
  #soon;
  /** @type {Promise<unknown>} only one update at a time */
  #last = Promise.resolve();

  /** @param {HooksOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** For hello. */
  declare() {
    const { rules, sections, context } = this.#parts;
    const [text] = context.declare();
    const transforms = Object.fromEntries(
      [...sections.declared].map(([name, { wire }]) => [name, wire]),
    );
    sections.declare();
    rules.declare();
    const onPreToolUse = sortRules(/** @type {Map<any, Declared>} */ (rules.declared));
    const some = onPreToolUse.length > 0 || sections.declared.size > 0;
    return { ...(some && { hooks: { onPreToolUse, transforms } }), ...(text && { context: text }) };
  }

  /** Sends the changes to the gateway; simultaneous changes are sent together. @returns {Promise<void>} */
  sync() {
    if (this.#soon) return this.#soon;
    const work = this.#last.then(() => this.#sendChanges());
    this.#soon = reported(work, this.#options.onError);
    this.#last = work.catch(() => {});
    return this.#soon;
  }

  async #sendChanges() {
    this.#soon = undefined;
    // Compared together: changes during an update are for the next update.
    const changes = Object.values(this.#parts).flatMap((part) => part.change() ?? []);
    const refusals = [];
    for (const change of changes) {
      try {
        await this.#sendChange(change);
      } catch (error) {
        if (LOST.includes(/** @type {any} */ (error).code)) throw error;
        refusals.push(error);
      }
    }
    for (const error of refusals.slice(1)) this.#options.onError(toError(error));
    if (refusals.length > 0) throw refusals[0];
  }

  /** @param {NonNullable<ReturnType<Part["change"]>>} change */
  async #sendChange({ part, message, sent, undo }) {
    const answer = this.#options.ask(...message);
    if (!answer) return;
    part.known = sent;
    try {
      await answer;
    } catch (error) {
      if (!this.#kept(part, /** @type {any} */ (error).code)) undo();
      throw error;
    }
  }

  /**
   * Whether a refused declaration is kept. After a refusal by the user, rules and context stay declared: the
   * next session asks again. A paired provider may not have them at all.
   * @param {Part} part @param {string} code
   */
  #kept(part, code) {
    if (LOST.includes(code)) return true;
    const { sections } = this.#parts;
    return code === "UNAUTHORIZED" && part !== sections && !this.#options.paired();
  }

  /** @param {object} rule @param {Judge} [judge] @returns {import("./types.js").Rule} */
  #rule(rule, judge) {
    const key = ++this.#count;
    const { declared } = this.#parts.rules;
    declared.set(key, { wire: judge ? { ...rule, gateId: `gate-${key}` } : rule, judge });
    const remove = () => {
      declared.delete(key);
      return this.sync();
    };
    return { remove, inForce: this.sync() };
  }

  /** @param {object} rule */
  rule(rule) {
    return this.#rule(rule);
  }

  /** @param {object} rule @param {Judge} judge */
  gate(rule, judge) {
    return this.#rule({ ...rule, action: "gate" }, judge);
  }

  /** @param {string} text */
  context(text) {
    if (text) this.#parts.context.declared.set("", { wire: text });
    else this.#parts.context.declared.delete("");
    return this.sync();
  }

  /** @param {string} name @param {import("./types.js").SectionChange} change */
  section(name, change) {
    const { declared } = this.#parts.sections;
    const [[action, content] = []] = Object.entries(change ?? {});
    if (typeof change === "function") {
      declared.set(name, { wire: { action: "callback" }, rewriter: change });
    } else if (action) {
      declared.set(name, { wire: { action, content } });
    } else {
      declared.delete(name);
    }
    return this.sync();
  }

  /** The gateway may still ask for a gate that is being removed. @param {string} gateId */
  #judge(gateId) {
    const { declared, known } = this.#parts.rules;
    const all = [...declared.values(), ...known.values()];
    return all.find(({ wire }) => wire.gateId === gateId)?.judge;
  }

  /** @param {Message} message of type gate.check @returns {Promise<Message>} */
  async check({ gateId, callId, tool, args, sessionId }) {
    const judge = this.#judge(gateId);
    let decision;
    try {
      decision = toDecision(await judge?.({ tool, args, session: sessionId }));
    } catch (error) {
      this.#options.onError(toError(error), `the gate of ${callText(tool, args)}`);
      decision = { decision: "deny", reason: `the gate failed: ${errorText(error)}` };
    }
    return { type: "gate.result", gateId, callId, ...decision };
  }

  /** @param {Message} message of type transform.request @returns {Promise<Message>} */
  async rewrite({ callId, section, current, sessionId }) {
    let content = current;
    try {
      const { declared, known } = this.#parts.sections;
      const { rewriter } = declared.get(section) ?? known.get(section) ?? {};
      if (rewriter) content = String(await rewriter(current, { section, session: sessionId }));
    } catch (error) {
      this.#options.onError(toError(error), `the function of section ${section}`);
    }
    return { type: "transform.result", callId, content };
  }
}
