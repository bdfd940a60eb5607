// The Copilot side of a session: joining it, and changing its join while it runs; its tools, timeline and events.
// A field that is left out of a resume request keeps its value in the CLI: tools, hooks and the system message change
// independently, even while a different request waits for the user.

/** @param {any} session the result of joinSession(); its connection is not documented */
export function canResume(session) {
  return typeof session.connection?.sendRequest === "function";
}

/**
 * Rejects with the CLI's message; the former state then stays in force.
 * @param {any} session @param {{tools?: object[], hooks?: true, systemMessage?: object}} fields
 * @returns {Promise<unknown>}
 */
export function resume(session, fields) {
  return session.connection.sendRequest("session.resume", {
    sessionId: session.sessionId,
    requestPermission: false,
    disableResume: true,
    toolFilterPrecedence: "excluded",
    envValueMode: "direct",
    ...fields,
  });
}

// Detects an idle session without an event. The CLI may lose `session.idle`: if a swap of tools ended together with a
// turn, `assistant.idle` was the last event. The CLI answers correctly when it is asked.

/** `session.idle` follows `assistant.idle` within milliseconds, if the queue is empty. */
const FIRST_CHECK_MS = 250;
/** Subagents and queued prompts may take long: the interval doubles after each check. */
const MAX_CHECK_MS = 8000;

/** Events before the end of work. */
const ENDING = ["assistant.idle", "abort"];
/** After these events the session is known to be idle, or more events will follow. */
const CERTAIN = ["session.idle", "session.shutdown", "user.message", "assistant.turn_start"];

export class IdleDetector {
  #isProcessing;
  #onIdle;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {() => Promise<boolean>} isProcessing asks the CLI @param {() => void} onIdle called when the CLI is idle without an event */
  constructor(isProcessing, onIdle) {
    this.#isProcessing = isProcessing;
    this.#onIdle = onIdle;
  }

  /** @param {string} type of an event */
  observe(type) {
    if (CERTAIN.includes(type)) this.stop();
    else if (ENDING.includes(type)) this.#scheduleCheck(FIRST_CHECK_MS);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** @param {number} ms */
  #scheduleCheck(ms) {
    clearTimeout(this.#timer);
    const timer = setTimeout(async () => {
      const processing = await this.#isProcessing().catch(() => true);
      if (this.#timer !== timer) return; // an event arrived meanwhile
      if (processing) return this.#scheduleCheck(Math.min(2 * ms, MAX_CHECK_MS));
      this.stop();
      this.#onIdle();
    }, ms);
    this.#timer = timer;
  }
}

// The Copilot side of a session: joining it, changing its tools, its timeline and its events. All
// knowledge about the SDK, documented or not, is in this file.

/** @typedef {import("./tools.mjs").ToolDefinition} ToolDefinition */
/** @typedef {ToolDefinition & {handler: (args: unknown, invocation: Invocation) => Promise<unknown>}} SessionTool */
/** @typedef {{signal?: AbortSignal, toolCallId?: string, traceparent?: string}} Invocation */

/** Longer than any observed swap (150 ms; 420 ms under load). There is no consent dialog to wait for, since a join
 * with only tools needs no consent. */
const SWAP_MS = 15_000;

/** This CLI does not support a live swap; reload instead. */
export class LiveSyncUnavailable extends Error {}

/**
 * The tools in a refusal of the CLI, which quotes them, or names them after "clash:".
 * @param {string} message
 */
export function findToolNames(message) {
  return [...message.matchAll(/"([\w-]+)"|clash: ([\w-]+)/g)].map(([, quoted, clashing]) =>
    String(quoted ?? clashing),
  );
}

/** @param {SessionTool} tool @param {Record<string, unknown>} metadata */
function wire({ name, description, parameters }, metadata) {
  return { name, description, parameters, metadata };
}

/** @template T @param {Promise<T>} promise @param {number} ms @returns {Promise<T>} */
function withTimeout(promise, ms) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new LiveSyncUnavailable(`no answer to session.resume within ${ms} ms`)),
      ms,
    );
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export class CopilotSessionAdapter {
  #session;
  /** @type {Set<string>} messages that tap sent */
  #sent = new Set();
  /** In the metadata of the tools, which the model does not see: the CLI skips a swap that equals the last. */
  #swaps = 0;

  /** @param {any} session the result of joinSession() */
  constructor(session) {
    this.#session = session;
  }

  get id() {
    return this.#session.sessionId;
  }

  /** Changes handlers only; the CLI keeps its list. @param {SessionTool[]} tools */
  setHandlers(tools) {
    this.#session.registerTools(tools);
  }

  /**
   * Replaces the tools in the same process and the same turn, by repeating the join's request on its connection.
   * Rejects with the CLI's message if it does not accept a tool; the former tools then stay in force.
   * @param {SessionTool[]} tools
   * @param {SessionTool[]} handlersOnly removed tools that may still be called in this turn
   * @throws {LiveSyncUnavailable} if the CLI does not support it
   */
  async swapTools(tools, handlersOnly) {
    if (!canResume(this.#session)) {
      throw new LiveSyncUnavailable("this CLI's session has no connection.sendRequest");
    }
    this.setHandlers([...handlersOnly, ...tools]);
    const metadata = { "tap.swap": (this.#swaps += 1) };
    const wired = tools.map((tool) => wire(tool, metadata));
    await withTimeout(resume(this.#session, { tools: wired }), SWAP_MS);
  }

  /** The documented way: the process ends, and a new process joins. Settles only if it fails. */
  async reload() {
    await this.#session.rpc.extensions.reload();
  }

  /** @param {string} text @param {"info" | "warning" | "error"} level */
  async log(text, level) {
    await this.#session.log(text, { level });
  }

  /**
   * Starts or queues a turn.
   * @param {string} prompt @param {string} [display] shown to the user instead of the prompt
   * @param {boolean} [immediate] it is read in the turn that runs
   */
  async send(prompt, display, immediate) {
    const id = await this.#session.send({
      prompt,
      ...(display && { displayPrompt: display }),
      ...(immediate && { mode: "immediate" }),
    });
    if (typeof id === "string") this.#sent.add(id);
  }

  /** Names of the CLI's own tools. @returns {Promise<string[]>} */
  async builtinNames() {
    const answer = await this.#session.rpc.tools.getBuiltinDescriptors({});
    return answer.tools.map((/** @type {{name: string}} */ tool) => tool.name);
  }

  /** @returns {Promise<boolean>} */
  async isProcessing() {
    const answer = await this.#session.rpc.metadata.isProcessing();
    return answer?.processing ?? answer?.isProcessing ?? false;
  }

  /**
   * Reports the session's events that the gateway needs.
   * @param {object} on
   * @param {(activity: "idle" | "busy" | "user-prompt", unsaid?: true) => void} on.activity unsaid: the CLI was asked
   * @param {(title: string) => void} on.title
   * @param {(mode: unknown) => void} on.mode
   * @param {() => void} on.shutdown
   * @param {(event: {type: string, data: any}) => void} on.any every event, before the other callbacks
   * @returns {() => void} stops listening
   */
  watch(on) {
    const idle = new IdleDetector(
      () => this.isProcessing(),
      () => on.activity("idle", true),
    );
    const unsubscribe = this.#session.on((/** @type {{type: string, data: any}} */ event) => {
      on.any(event);
      idle.observe(event.type);
      switch (event.type) {
        case "session.idle":
          return on.activity("idle");
        case "assistant.turn_start":
          return on.activity("busy");
        case "user.message":
          return on.activity(this.#isOurs(event.data) ? "busy" : "user-prompt");
        case "session.title_changed":
          return on.title(String(event.data?.title ?? ""));
        case "session.mode_changed":
          return on.mode(event.data?.newMode);
        case "session.shutdown":
          return on.shutdown();
      }
    });
    return () => {
      idle.stop();
      unsubscribe();
    };
  }

  /** @param {{source?: string, messageId?: string}} message */
  #isOurs({ source, messageId }) {
    return source !== undefined || (messageId !== undefined && this.#sent.delete(messageId));
  }
}
