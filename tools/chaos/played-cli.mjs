// The behaviour of the CLI towards an extension, as far as the runtime needs it: it has a list of tools,
// puts each tool use to the hooks, and has turns.

import process from "node:process";

const TURN_MS = 700;

export class PlayedCli {
  /** @type {Map<string, (args: object, invocation: {signal: AbortSignal}) => Promise<any>>} */
  handlers = new Map();
  /** @type {{onPreToolUse?: (use: object, invocation: object) => Promise<any>} | undefined} */
  hooks;
  /** @type {Set<(event: {type: string, data: object}) => void>} */
  listeners = new Set();
  #busy = false;

  rpc = {
    tools: { getBuiltinDescriptors: async () => ({ tools: [{ name: "bash" }] }) },
    metadata: { isProcessing: async () => ({ processing: this.#busy }) },
    extensions: { reload: async () => process.kill(process.pid, "SIGTERM") },
  };
  connection = { sendRequest: async () => {} };

  /** @param {string} sessionId */
  constructor(sessionId) {
    this.sessionId = sessionId;
    setInterval(() => this.#turn(), TURN_MS).unref();
  }

  #turn() {
    this.#busy = !this.#busy;
    const event = { type: this.#busy ? "assistant.turn_start" : "session.idle", data: {} };
    for (const listener of this.listeners) listener(event);
  }

  /** The joinSession of an extension. */
  join = async ({ tools }) => {
    this.registerTools(tools);
    return this;
  };
  registerTools(tools) {
    this.handlers = new Map(tools.map(({ name, handler }) => [name, handler]));
  }
  registerHooks(hooks) {
    this.hooks = hooks;
  }
  registerTransformCallbacks() {}
  async log() {}
  async send() {
    return "message";
  }
  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
