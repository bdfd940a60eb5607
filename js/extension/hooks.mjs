// A session's hooks, as its gateway requests them. The session asks the gateway about each tool use and
// prompt, and edits the system message. Without a gateway, the session itself denies the uses that
// its providers had forbidden or wanted to check.

import { addon } from "../lib/addon.mjs";
import { errorMessage } from "../lib/values.mjs";
import { readLimit } from "../lib/limits.mjs";
import { HookRegistration } from "./hook-registration.mjs";
import { SystemMessageEditor } from "./system-message.mjs";

/** @typedef {import("./hook-registration.mjs").ToolUse} ToolUse */
/** @typedef {import("./hook-registration.mjs").Prompt} Prompt */
/** @typedef {import("./system-message.mjs").SectionEdit} SectionEdit */

/** The gateway's own deadline comes first; this margin is for a gateway that hangs. */
const MARGIN_MS = 500;
/** For the CLI to show a line. */
const NOTICE_MS = 500;
/** The gateway waits 2 s for providers that rewrite a section. */
const TEXT_MS = 2500;
const guardMs = () => readLimit("guard-ms");
/** A gateway of a different version may send more, and a timer with too long a delay fires at once. */
const MAX_GATE_MS = addon.limits.find(({ name }) => name === "gate-ms")?.most ?? 0;

/** @typedef {{deny?: string, context?: string}} Verdict */
/**
 * @typedef {object} HooksEvent the gateway's `hooks` message (docs/session-link.md)
 * @property {number} revision
 * @property {boolean} wanted
 * @property {boolean} prompts
 * @property {number} gateMs
 * @property {{provider: string, rules: object[]}[]} guards
 * @property {(SectionEdit & {section: string})[]} sections
 * @property {string} [needs] which providers need hooks, and why
 */
/**
 * @typedef {object} HooksOptions
 * @property {{connected: boolean, send: (message: object) => void}} link
 * @property {(tool: string) => string | undefined} findProvider the provider of a tool
 * @property {string} folder the session's folder; relative paths of its tools start there
 * @property {(text: string) => Promise<void>} showInfo a line in the timeline, visible when it resolves
 * @property {import("../lib/log.mjs").Log} log
 */

/** Pending answers, each with a time limit. */
class Replies {
  #count = 0;
  /** @type {Map<string, (answer: any) => void>} */
  #waiting = new Map();

  /**
   * @param {number} ms @param {(id: string) => void} ask
   * @returns {Promise<any>} the answer; undefined without an answer in time or a gateway
   * @throws the errors of `ask`
   */
  wait(ms, ask) {
    const id = String(++this.#count);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.settle(id, undefined), ms);
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      try {
        ask(id);
      } catch (error) {
        reject(error);
        this.settle(id, undefined);
      }
    });
  }

  /** @param {string} id @param {unknown} answer */
  settle(id, answer) {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(answer);
  }

  giveUp() {
    for (const id of [...this.#waiting.keys()]) this.settle(id, undefined);
  }
}

/** The tool uses that each provider wants to decide about, for times without a gateway. */
class Guards {
  /** @type {Map<string, {covers: import("../lib/addon.js").HookGuards, expiry?: NodeJS.Timeout}>} */
  #byProvider = new Map();

  /** @param {HooksEvent["guards"]} guards guards of providers that are not back yet stay for a while */
  replace(guards) {
    for (const [provider, { expiry }] of this.#byProvider) {
      if (!expiry) this.#byProvider.delete(provider);
    }
    /** @type {Map<string, object[]>} */
    const rules = new Map();
    for (const guard of guards) {
      rules.set(guard.provider, [...(rules.get(guard.provider) ?? []), ...guard.rules]);
    }
    for (const [provider, list] of rules) {
      clearTimeout(this.#byProvider.get(provider)?.expiry);
      this.#byProvider.set(provider, { covers: new addon.HookGuards(JSON.stringify(list)) });
    }
  }

  /** The gateway has ended: from now on guards expire, independently of the wall clock. */
  age() {
    for (const [provider, guard] of this.#byProvider) {
      guard.expiry ??= setTimeout(() => this.#byProvider.delete(provider), guardMs());
      guard.expiry.unref?.();
    }
  }

  get isEmpty() {
    return this.#byProvider.size === 0;
  }

  /**
   * A provider that has a rule about this use.
   * @param {{tool: string, owner: string, args: unknown, folder: string}} use `owner`: the tool's provider
   * @param {boolean} asked the gateway has decided: skip guards that it knows
   */
  findProvider({ tool, owner, args, folder }, asked) {
    const text = this.isEmpty ? "" : JSON.stringify(args);
    for (const [provider, { covers, expiry }] of this.#byProvider) {
      if (asked && !expiry) continue;
      if (covers.covers(tool, owner, text, folder)) return provider;
    }
    return undefined;
  }
}

/** Waits for a short time. @param {Promise<unknown>} work */
const waitBriefly = (work) =>
  Promise.race([work.catch(() => {}), new Promise((resolve) => setTimeout(resolve, NOTICE_MS))]);

/** @param {string} needs */
const consentLine = (needs) =>
  `tap: ${needs} needs hooks, for which Copilot may ask you now about "elevated permissions" for tap. ` +
  "If you deny them, tap stays and all tools work: only these rules are not in force then";

export class SessionHooks {
  #options;
  #wanted = false;
  #prompts = false;
  #gateMs = 5000;
  /** Resolves when the user can read why the CLI asks. @type {Promise<void> | undefined} */
  #announcement;
  /** Number of the gateway's `hooks` messages, and the last of them that needs no answer. */
  #received = 0;
  #answered = 0;
  #guards = new Guards();
  #verdicts = new Replies();
  #contexts = new Replies();
  /** @type {HookRegistration | undefined} */
  #registration;
  /** @type {SystemMessageEditor | undefined} */
  #message;
  #texts = new Replies();
  /** @type {Map<string, {current: string, text: Promise<string | undefined>}>} sections of this turn */
  #sectionTexts = new Map();

  /** @param {HooksOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {any} session the result of joinSession() */
  adopt(session) {
    const { log } = this.#options;
    const handlers = {
      preToolUse: (/** @type {ToolUse} */ use) => this.#preToolUse(use),
      promptSubmitted: (/** @type {Prompt} */ prompt) => this.#promptSubmitted(prompt),
    };
    this.#registration = new HookRegistration(session, handlers, { log });
    this.#message = new SystemMessageEditor(session, (section, text) => this.#build(section, text));
  }

  /** A turn is over: in the next turn, providers are asked again for the sections that they rewrite. */
  endTurn() {
    this.#sectionTexts.clear();
    this.#message?.rebuild().catch((error) => this.#logEditFailure(error));
  }

  /** Whether the CLI may be asking the user to allow hooks. */
  get asking() {
    return this.#registration?.asking ?? false;
  }

  /** Resolves when the user has answered. */
  async answered() {
    await this.#registration?.register();
  }

  /** A message from the gateway. @param {{type: string, [key: string]: any}} event */
  receive(event) {
    if (event.type === "hooks") void this.#applyEvent(/** @type {any} */ (event));
    else if (event.type === "hook.verdict") this.#verdicts.settle(event.checkId, event);
    else if (event.type === "prompt.context") this.#contexts.settle(event.promptId, event);
    else if (event.type === "section.text") this.#texts.settle(event.buildId, event);
  }

  /** The gateway has ended. */
  gatewayGone() {
    this.#answered = this.#received; // the next gateway needs no answer to these
    this.#guards.age();
    this.#verdicts.giveUp();
    this.#contexts.giveUp();
    this.#texts.giveUp();
  }

  /** This process ends: pending checks are denied. */
  async drain() {
    if (this.#wanted) await this.#registration?.drain();
  }

  /** @param {HooksEvent} event */
  async #applyEvent({ revision, wanted, prompts, gateMs, guards, sections, needs }) {
    const received = ++this.#received;
    this.#wanted = wanted;
    this.#prompts = prompts;
    this.#gateMs = Math.min(gateMs, MAX_GATE_MS);
    this.#guards.replace(guards);
    if (this.#registration) this.#registration.timeoutMs = this.#gateMs + 2 * MARGIN_MS;
    const edits = Object.fromEntries(sections.map(({ section, ...edit }) => [section, edit]));
    const edited = this.#edit(edits);
    const hooked = wanted ? this.#register(needs) : "in-force";
    const outcome = { hooks: await hooked, sections: await edited };
    if (received <= this.#answered) return; // a later message was answered, which covers this
    this.#answered = received;
    this.#options.link.send({ type: "hooks.state", revision, ...outcome });
  }

  /** Requests hooks. The CLI's own question names neither the provider nor the reason. @param {string} [needs] */
  async #register(needs) {
    const flight = this.#registration;
    if (needs && flight) this.#announcement ??= this.#announce(flight, needs);
    await this.#announcement; // later requests wait for the announcement, too
    return flight?.register();
  }

  /**
   * The CLI delays lines while its question is open, so this line is sent before. The wait is short, since
   * no use is checked until hooks are registered.
   * @param {HookRegistration} flight @param {string} needs
   */
  async #announce(flight, needs) {
    if (!(await flight.isAllowed())) await waitBriefly(this.#options.showInfo(consentLine(needs)));
  }

  /** @param {Record<string, SectionEdit>} edits */
  async #edit(edits) {
    try {
      return await this.#message?.apply(edits);
    } catch (error) {
      this.#logEditFailure(error);
      return "unavailable";
    }
  }

  /** @param {unknown} error */
  #logEditFailure(error) {
    this.#options.log("warning", `the system message is not edited: ${error}`);
  }

  /**
   * The CLI builds its system message several times for a prompt: providers are asked once.
   * @param {string} section @param {string} current @returns {Promise<string | undefined>}
   */
  #build(section, current) {
    const known = this.#sectionTexts.get(section);
    if (known?.current === current) return known.text;
    const text = this.#requestSection(section, current);
    this.#sectionTexts.set(section, { current, text });
    return text;
  }

  /** @param {string} section @param {string} current @returns {Promise<string | undefined>} */
  async #requestSection(section, current) {
    const { link } = this.#options;
    if (!link.connected) return undefined;
    const answer = await this.#texts.wait(TEXT_MS, (buildId) =>
      link.send({ type: "section.build", buildId, section, current }),
    );
    return answer?.content;
  }

  /** @param {ToolUse} use @returns {Promise<Verdict>} */
  async #preToolUse({ toolName, toolArgs }) {
    if (!this.#wanted && this.#guards.isEmpty) return {};
    const args = toolArgs ?? {};
    const verdict = this.#wanted ? await this.#requestVerdict(toolName, args) : undefined;
    if (verdict?.deny !== undefined) return { deny: verdict.deny };
    const { findProvider, folder } = this.#options;
    const owned = { tool: toolName, owner: findProvider(toolName) ?? "", args, folder };
    const guard = this.#guards.findProvider(owned, verdict !== undefined);
    if (guard === undefined) return { context: verdict?.context };
    return {
      deny: `tap provider "${guard}" decides about this tool use, and is not reachable at the moment; try again in a few seconds`,
    };
  }

  /** @param {string} tool @param {unknown} args @returns {Promise<Verdict | undefined>} */
  async #requestVerdict(tool, args) {
    const { link } = this.#options;
    if (!link.connected) return undefined;
    try {
      return await this.#verdicts.wait(this.#gateMs + MARGIN_MS, (checkId) =>
        link.send({ type: "hook.check", checkId, tool, args }),
      );
    } catch (error) {
      const why = errorMessage(error);
      return {
        deny: `tap cannot check this use of "${tool}": its arguments cannot be sent (${why})`,
      };
    }
  }

  /** @param {Prompt} prompt @returns {Promise<{context?: string}>} */
  async #promptSubmitted({ agentId }) {
    const { link } = this.#options;
    // A sub-agent's prompt is the agent's, not the user's.
    if (!this.#prompts || agentId !== undefined || !link.connected) return {};
    const answer = await this.#contexts.wait(TEXT_MS, (promptId) =>
      link.send({ type: "prompt.submitted", promptId }),
    );
    return { context: answer?.context };
  }
}
