// A session of the Copilot CLI without the CLI: it registers with a gateway as an extension would, puts
// received state in force at once, and leaves each step to the test or the developer of a provider.

import { LinkConnection, LinkEnded } from "../link/client.mjs";

/** @typedef {import("../lib/addon.js").CallOutcome} CallOutcome */
/** @typedef {import("../link/client.mjs").GatewayEvent} GatewayEvent */

/** @typedef {{name: string, description: string, parameters: any}} OfferedTool */
/** @typedef {{type: "timeline" | "inject", text: string}} Told a line of the timeline, or a prompt for the model */

const PATIENCE_MS = 60_000;

export class PretendSession {
  /** Tools in force, by name. @type {Map<string, OfferedTool>} */
  tools = new Map();
  /** All texts for the user and the model, in order. @type {Told[]} */
  told = [];
  /** Events that providers have subscribed to. @type {string[]} */
  wanted = [];
  /** The session's hooks. @type {any} */
  hooks;
  /** @type {Map<string, OfferedTool[]>} */
  #providers = new Map();
  #link;
  #lastQuestion = 0;
  /** The gateway's answers to questions of the CLI, by kind and id. @type {Map<string, any>} */
  #answers = new Map();
  /** @type {Set<() => void>} */
  #watchers = new Set();
  #served = false;
  /** Closed by this process: there will be no more changes. */
  #closed = false;
  /** Ended by the CLI, it seems. */
  ended = false;
  /** Why the link has ended. @type {string | undefined} */
  #ended;

  /**
   * @param {string} id @param {string} cwd
   * @param {import("../lib/host-files.mjs").Descriptor} descriptor of the gateway
   */
  constructor(id, cwd, { link, secret }) {
    this.id = id;
    this.cwd = cwd;
    this.#link = new LinkConnection({
      onEvent: (event) => this.#receive(event),
      onClosed: (reason) => this.#onEnd(reason),
    });
    void this.#register(link, secret);
  }

  /**
   * @param {string} id @param {string} cwd @param {import("../lib/host-files.mjs").Descriptor} descriptor
   * @returns {Promise<PretendSession>} when the gateway has sent its first tools
   */
  static async register(id, cwd, descriptor) {
    const session = new PretendSession(id, cwd, descriptor);
    await session.registered();
    return session;
  }

  /** `registered` reports errors. @param {string} link @param {string} secret */
  async #register(link, secret) {
    try {
      await this.#link.connect(link);
      await this.#link.register(registration(this.id, this.cwd), secret);
    } catch (error) {
      if (error instanceof LinkEnded) return; // #onEnd has been called
      this.#onEnd(/** @type {Error} */ (error).message);
      this.close();
    }
  }

  /** @param {string} reason */
  #onEnd(reason) {
    this.#ended ??= reason;
    this.#changed();
  }

  /** Waits for the gateway's first list of tools, which may be empty. */
  async registered() {
    await this.until(
      () => this.#served || this.#ended !== undefined,
      () => "a welcome",
    );
    if (this.#ended !== undefined) throw new Error(`the link ended: ${this.#ended}`);
  }

  /** @param {Told["type"]} kind */
  #listTexts(kind) {
    return this.told.filter(({ type }) => type === kind).map(({ text }) => text);
  }

  /** The lines of the user's timeline. */
  get timeline() {
    return this.#listTexts("timeline");
  }

  /** Prompts for the model. */
  get injected() {
    return this.#listTexts("inject");
  }

  /** @param {GatewayEvent} message */
  send(message) {
    this.#link.send(message);
  }

  // ---- incoming messages -------------------------------------------------------------------------

  /** @param {GatewayEvent} event */
  #receive(event) {
    switch (event.type) {
      case "tools":
        this.#apply(event);
        break;
      case "timeline":
        this.told.push({ type: "timeline", text: event.text });
        break;
      case "inject":
        // The text for the user in place of the prompt.
        if (event.display) this.told.push({ type: "timeline", text: event.display });
        this.told.push({ type: "inject", text: event.prompt });
        break;
      case "subscribe":
        this.wanted = event.events;
        break;
      case "hooks": {
        this.hooks = event;
        const { revision } = event;
        this.send({ type: "hooks.state", revision, hooks: "in-force", sections: "in-force" });
        break;
      }
      case "hook.verdict":
        this.#answers.set(`check ${event.checkId}`, event);
        break;
      case "prompt.context":
        this.#answers.set(`prompt ${event.promptId}`, event);
        break;
      case "command.result":
        this.#answers.set(`command ${event.commandId}`, event);
        break;
      case "section.text":
        this.#answers.set(`build ${event.buildId}`, event);
    }
    this.#changed();
  }

  /** @param {GatewayEvent} change */
  #apply({ drop, set, revision }) {
    for (const name of drop) this.#providers.delete(name);
    for (const { provider, definitions } of set) this.#providers.set(provider, definitions);
    this.tools = new Map([...this.#providers.values()].flat().map((tool) => [tool.name, tool]));
    this.send({ type: "synced", revision });
    this.#served = true;
  }

  #changed() {
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Calls the watcher now, and after each change. @param {() => void} watcher */
  watch(watcher) {
    this.#watchers.add(watcher);
    watcher();
  }

  /**
   * @template T
   * @param {() => T} look called after each change
   * @param {() => string} label of the wait, for errors
   * @param {number} [patienceMs]
   * @returns {Promise<NonNullable<T>>} the first result that is not empty
   */
  until(look, label, patienceMs = PATIENCE_MS) {
    return new Promise((resolve, reject) => {
      const settle = (/** @type {() => void} */ how) => {
        clearTimeout(timer);
        this.#watchers.delete(watcher);
        how();
      };
      const watcher = () => {
        const value = look();
        if (value) settle(() => resolve(value));
        else if (this.#closed) settle(() => reject(new Error(`it is closed before ${label()}`)));
      };
      const late = () => new Error(`not within ${patienceMs} ms: ${label()}`);
      const timer = setTimeout(() => settle(() => reject(late())), patienceMs);
      this.watch(watcher);
    });
  }

  /** @param {string | RegExp} text @returns {Promise<string>} the line of the timeline */
  shows(text) {
    const fits = (/** @type {string} */ line) =>
      typeof text === "string" ? line.includes(text) : text.test(line);
    const label = () => `${text} in the timeline:\n${this.timeline.join("\n")}`;
    return this.until(() => this.timeline.find(fits), label);
  }

  // ---- actions of the CLI --------------------------------------------------------------------------

  /**
   * @param {string} tool @param {object} [args] @param {number} [timeoutMs]
   * @returns {{id: number, result: Promise<CallOutcome>}}
   */
  start(tool, args = {}, timeoutMs) {
    return this.#link.startCall(tool, args, timeoutMs);
  }

  /** @param {string} tool @param {object} [args] */
  call(tool, args) {
    return this.start(tool, args).result;
  }

  /** @param {number} id of a call */
  cancel(id) {
    this.#link.cancel(id, "it is no longer needed");
  }

  /** @param {"check" | "prompt" | "build" | "command"} kind @param {GatewayEvent} question */
  #request(kind, question) {
    const id = String(++this.#lastQuestion);
    this.send({ ...question, [`${kind}Id`]: id });
    return this.until(
      () => this.#answers.get(`${kind} ${id}`),
      () => `an answer to ${kind} ${id}`,
    );
  }

  /**
   * The gateway's verdict before a tool is used.
   * @param {string} tool @param {object} args
   * @returns {Promise<{deny?: string, context?: string}>}
   */
  async check(tool, args) {
    const { deny, context } = await this.#request("check", { type: "hook.check", tool, args });
    return { ...(deny !== undefined && { deny }), ...(context && { context }) };
  }

  /** @returns {Promise<string>} the context for a prompt of the user */
  async prompt() {
    return (await this.#request("prompt", { type: "prompt.submitted" })).context;
  }

  /** @param {string} section @param {string} current @returns {Promise<string | undefined>} its new text */
  async build(section, current) {
    return (await this.#request("build", { type: "section.build", section, current })).content;
  }

  /** @param {string} name of a slash command @param {string} [args] @returns {Promise<string>} its output */
  async command(name, args = "") {
    return (await this.#request("command", { type: "command.run", name, arguments: args })).text;
  }

  /** @param {"idle" | "busy" | "user-prompt"} activity */
  become(activity) {
    this.send({ type: "activity", activity });
  }

  /** Reports an event to subscribed providers. @param {string} event @param {object} data */
  report(event, data) {
    this.send({ type: "event", event, data });
  }

  /** Ends the session, as /clear does. @param {string} [reason] */
  end(reason = "the session has ended") {
    this.ended = true;
    this.send({ type: "end", reason });
  }

  /** Ends all pending waits. */
  close() {
    this.#closed = true;
    this.#link.close("it is closed");
    this.#changed();
  }
}

/** @param {string} sessionId @param {string} cwd */
function registration(sessionId, cwd) {
  return {
    sessionId,
    label: sessionId,
    cwd,
    cliPid: 0,
    mode: "live",
    joined: true,
    have: {},
  };
}
