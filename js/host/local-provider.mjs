// A provider in the gateway's own process: the messages of docs/protocol.md, handed over without a
// connection. It is trusted with everything, needs no auth, and is bound to each new session (or to the
// one it names) before that session gets its first tools. Nothing that its functions throw leaves here.

/** @typedef {"keep" | "surface" | "inject"} PushLevel */
/**
 * @typedef {object} LocalCall
 * @property {AbortSignal} signal aborted when nobody waits for the result any more
 * @property {string} sessionId
 * @property {(message: string) => void} progress shows in the timeline, and renews the timeout
 */
/**
 * @typedef {object} LocalTool
 * @property {string} name
 * @property {string} description
 * @property {Record<string, unknown>} [parameters] JSON Schema of an object
 * @property {number} [timeout] milliseconds
 * @property {(args: any, call: LocalCall) => unknown} handler what it returns, or resolves to, is the
 *   result; what it throws is the failure
 */
/** @typedef {{gateId: string, sessionId: string, tool: string, args: any}} GateCheck */
/** @typedef {{decision: "allow" | "deny" | "context", reason?: string}} GateDecision */
/**
 * @typedef {object} LocalProviderOptions
 * @property {string} name
 * @property {string} [session] default "all"
 * @property {LocalTool[]} [tools]
 * @property {object} [hooks] as in `hello`
 * @property {string} [context] as in `hello`
 * @property {string[]} [subscribe] as in `hello`
 * @property {(event: {sessionId: string, event: string, data: any}) => unknown} [onEvent]
 * @property {(change: {sessionId: string, state: string, deadline?: number}) => unknown} [onLifecycle]
 * @property {(check: GateCheck) => GateDecision | Promise<GateDecision>} [onGate] without it, and when it
 *   throws, the gate denies
 * @property {(request: {sessionId: string, section: string, current: string}) => string | Promise<string>} [onTransform]
 *   without it, and when it throws, the section stays as it is
 * @property {(error: Error) => void} [onError] what nobody waits for; a process warning by default
 */
/**
 * What carries the messages: the addon's Gateway, or an EmbeddedGateway.
 * @typedef {Pick<import("../base/addon.js").Gateway, "openProvider" | "sendProvider">} ProviderHost
 */
/** @typedef {{type: string, [key: string]: any}} Message */
/**
 * @typedef {object} Pending
 * @property {string} type
 * @property {string | undefined} sessionId that it is about; undefined: all
 * @property {(answer?: Message) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** The gateway has refused something. */
export class ProviderError extends Error {
  /** @param {Message} message */
  constructor({ code, message }) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** @param {unknown} error */
const toError = (error) => (error instanceof Error ? error : new Error(String(error)));

/** A tool as the gateway is told of it. @param {LocalTool} tool */
const declared = ({ handler: _handler, ...definition }) => definition;

/** @param {LocalTool[]} tools @returns {Map<string, LocalTool["handler"]>} */
const handlersOf = (tools) => new Map(tools.map(({ name, handler }) => [name, handler]));

export class LocalProvider {
  /** Settles when the gateway has taken it, or has said why not. @type {Promise<void>} */
  ready;
  /** Ids of the sessions that it is bound to. @type {Set<string>} */
  sessions = new Set();
  #host;
  #options;
  #id;
  #handlers;
  #closed = false;
  /** @type {{resolve: () => void, reject: (error: Error) => void}} */
  #admission = { resolve() {}, reject() {} };
  /** Calls that wait for their result. @type {Map<string, AbortController>} */
  #calls = new Map();
  /** Requests by id. @type {Map<string, Pending>} */
  #pending = new Map();
  #requests = 0;

  /** @param {ProviderHost} host @param {LocalProviderOptions} options */
  constructor(host, options) {
    this.#host = host;
    this.#options = options;
    this.#handlers = handlersOf(options.tools ?? []);
    this.ready = new Promise((resolve, reject) => {
      this.#admission = { resolve, reject };
    });
    this.ready.catch(() => {}); // who does not wait for it need not hear of it
    this.#id = host.openProvider({
      onMessage: (json) => this.#receive(JSON.parse(json)),
      onClosed: (reason) => this.#onClosed(reason),
    });
    const { name, session = "all", tools = [], hooks, context, subscribe } = options;
    const bound = { name, session, hooks, context, subscribe };
    this.#send({ type: "hello", protocolVersion: 2, ...bound, tools: tools.map(declared) });
  }

  // ---- what it can do ------------------------------------------------------------------------------

  /**
   * @param {{event?: string, prompt?: string, level: PushLevel, stream?: string, sessionId?: string,
   *   broadcast?: boolean, metadata?: object}} push as in docs/protocol.md; one that is bound to "all"
   *   names a session, or says broadcast
   * @returns {Promise<Message | undefined>} what became of it (of the first session's, for broadcasts)
   */
  push(push) {
    return this.#request("push", push);
  }

  /**
   * Replaces the tools. Where the gateway refuses the new ones the former stay.
   * @param {LocalTool[]} tools @param {string} [sessionId] in this session only; a handler belongs to
   *   its tool's name in all of them
   */
  async updateTools(tools, sessionId) {
    const former = this.#handlers;
    const kept = sessionId === undefined ? [] : former;
    const next = new Map([...kept, ...handlersOf(tools)]);
    this.#handlers = next;
    try {
      await this.#request("tools.update", { tools: tools.map(declared), sessionId });
    } catch (error) {
      if (this.#handlers === next) this.#handlers = former;
      throw error;
    }
  }

  /** @param {object} hooks `onPreToolUse` and `transforms`, as in `hooks.update` @param {string} [sessionId] */
  async updateHooks(hooks, sessionId) {
    await this.#request("hooks.update", { ...hooks, sessionId });
  }

  /** @param {string} context @param {string} [sessionId] */
  async setContext(context, sessionId) {
    await this.#request("context.update", { context, sessionId });
  }

  /** @param {string} stream @param {object[]} rules none: takes the filter away @param {string} [sessionId] */
  async setFilter(stream, rules, sessionId) {
    await this.#request("filter.set", { stream, rules, sessionId });
  }

  /** Unbinds it from every session, for good. Calls that wait fail. @param {string} [reason] */
  dispose(reason = "disposed") {
    this.#send({ type: "goodbye", reason });
  }

  // ---- messages ------------------------------------------------------------------------------------

  /** @param {Message} message */
  #send(message) {
    if (!this.#closed) this.#host.sendProvider(this.#id, JSON.stringify(message));
  }

  /**
   * Sends an update, and waits for its answer. Where there is no session there is none.
   * @param {string} type @param {{sessionId?: string, [key: string]: unknown}} fields
   * @returns {Promise<Message | undefined>}
   */
  #request(type, fields) {
    if (this.#closed) return Promise.reject(new Error("this provider is disposed"));
    const requestId = `r-${++this.#requests}`;
    const answer = new Promise((resolve, reject) => {
      this.#pending.set(requestId, { type, sessionId: fields.sessionId, resolve, reject });
    });
    this.#send({ ...fields, type, requestId });
    this.#dropUnanswerable();
    return answer;
  }

  /** Requests that are about sessions which are no more. */
  #dropUnanswerable() {
    for (const [requestId, { sessionId, resolve }] of this.#pending) {
      const answerable =
        sessionId === undefined ? this.sessions.size > 0 : this.sessions.has(sessionId);
      if (answerable) continue;
      this.#pending.delete(requestId);
      resolve();
    }
  }

  /** @param {Message} message */
  #receive(message) {
    switch (message.type) {
      case "hello.ack":
        return this.#admission.resolve();
      case "ack":
        return this.#take(message)?.resolve(message);
      case "error":
        return this.#onRefused(message);
      case "tool.call":
        return void this.#call(message);
      case "tool.cancel":
        return this.#cancel(message);
      case "gate.check":
        return void this.#gate(message);
      case "transform.request":
        return void this.#transform(message);
      case "session.event":
        return this.#onEvent(message);
      case "session.lifecycle":
        return this.#onLifecycle(message);
    }
  }

  /** @param {Message} message */
  #take({ requestId }) {
    const pending = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    return pending;
  }

  /** Where a message could not be read its error has no requestId. @param {string} type */
  #takeOldest(type) {
    for (const [requestId, pending] of this.#pending) {
      if (pending.type === type) return this.#take({ type, requestId });
    }
    return undefined;
  }

  /** @param {Message} message */
  #onRefused(message) {
    const error = new ProviderError(message);
    const pending = this.#take(message) ?? this.#takeOldest(message.replyTo);
    if (pending) return pending.reject(error);
    if (message.replyTo === "hello") this.#admission.reject(error);
    this.#report(error);
  }

  /** @param {Message} message */
  #onEvent({ sessionId, event, data }) {
    this.#tell(this.#options.onEvent, { sessionId, event, data });
  }

  /** @param {Message} message */
  #onLifecycle({ sessionId, state, deadline }) {
    if (state === "started") this.sessions.add(sessionId);
    if (state === "shutdown.pending") {
      this.sessions.delete(sessionId);
      this.#dropUnanswerable();
    }
    this.#tell(this.#options.onLifecycle, { sessionId, state, deadline });
  }

  /** @param {string} reason */
  #onClosed(reason) {
    this.#closed = true;
    const error = new Error(`the provider is gone: ${reason}`);
    this.#admission.reject(error);
    this.sessions.clear();
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    for (const controller of this.#calls.values()) controller.abort(error);
    this.#calls.clear();
  }

  // ---- calls, gates, transforms --------------------------------------------------------------------

  /** @param {Message} call */
  async #call({ id, tool, sessionId, args }) {
    const controller = new AbortController();
    this.#calls.set(id, controller);
    const { signal } = controller;
    const progress = (/** @type {string} */ message) => {
      if (this.#calls.has(id)) this.#send({ type: "tool.progress", id, message: String(message) });
    };
    const outcome = await this.#outcome(tool, args, { signal, sessionId, progress });
    if (this.#calls.delete(id)) this.#sendResult(id, outcome);
  }

  /** @param {string} tool @param {unknown} args @param {LocalCall} call @returns {Promise<object>} */
  async #outcome(tool, args, call) {
    try {
      const handler = this.#handlers.get(tool);
      if (!handler) throw new Error(`there is no handler for ${tool}`);
      return { data: await handler(args, call) };
    } catch (error) {
      return failure(error);
    }
  }

  /** @param {string} id @param {object} outcome */
  #sendResult(id, outcome) {
    try {
      this.#send({ type: "tool.result", id, ...outcome });
    } catch (error) {
      // No JSON: a number too large for it, an object that contains itself.
      this.#send({ type: "tool.result", id, ...failure(error) });
    }
  }

  /** @param {Message} cancel */
  #cancel({ id, reason }) {
    this.#calls.get(id)?.abort(new Error(reason));
    this.#calls.delete(id);
    this.#send({ type: "tool.result", id, error: "cancelled", errorCode: "CANCELLED" });
  }

  /** @param {Message} check */
  async #gate({ gateId, callId, sessionId, tool, args }) {
    const { name, onGate } = this.#options;
    /** @type {Partial<GateDecision>} */
    let answer = { reason: `${name} has nothing to say on this gate` };
    try {
      if (onGate) answer = await onGate({ gateId, sessionId, tool, args });
    } catch (error) {
      answer = { reason: `${name} failed: ${toError(error).message}` };
      this.#report(error);
    }
    // Whatever is no clear answer denies.
    const { decision = "deny", reason } = answer ?? {};
    this.#send({ type: "gate.result", gateId, callId, decision, reason });
  }

  /** @param {Message} request */
  async #transform({ callId, sessionId, section, current }) {
    const { onTransform } = this.#options;
    let content = current;
    try {
      if (onTransform) content = await onTransform({ sessionId, section, current });
    } catch (error) {
      this.#report(error);
    }
    this.#send({ type: "transform.result", callId, content });
  }

  /**
   * @template {object} T
   * @param {((message: T) => unknown) | undefined} listener @param {T} message
   */
  #tell(listener, message) {
    if (!listener) return;
    // What it resolves to is of no interest, how it fails is.
    void (async () => listener(message))().catch((error) => this.#report(error));
  }

  /** @param {unknown} error */
  #report(error) {
    const { name, onError } = this.#options;
    if (!onError) return process.emitWarning(`provider ${name}: ${toError(error).message}`);
    try {
      onError(toError(error));
    } catch {
      // It was the last to be told.
    }
  }
}

/** The fields of a failed result. @param {unknown} error */
function failure(error) {
  const { message, code } = /** @type {Error & {code?: unknown}} */ (toError(error));
  return { error: message, errorCode: typeof code === "string" ? code : "INTERNAL" };
}
