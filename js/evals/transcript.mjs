// The actions of a run of the CLI, from its JSON lines (--output-format json).

/** `failed`: denied, or with an error. @typedef {{tool: string, arguments: Record<string, unknown>, result: string, failed: boolean}} Call */
/**
 * Patterns of `transcript` are matched with `text`.
 * @typedef {{calls: Call[], said: string[], text: string}} Transcript
 */

const MAX_TEXT = 256 * 1024;
const MAX_LINE = 16 * 1024 * 1024;
const MAX_ENTRIES = 10_000;
const MAX_ERRORS = 5;

/** @param {unknown} text */
const truncate = (text) => String(text ?? "").slice(0, MAX_TEXT);

/** @param {Call} call */
const callText = ({ tool, arguments: args, result, failed }) =>
  `call ${tool} ${JSON.stringify(args)}\n${failed ? "failed" : "result"} ${tool}: ${result}`;

/**
 * The transcript of a run or an example, from its parts.
 * @param {{prompt?: string, calls: Call[], said: string[]}} parts @returns {Transcript}
 */
export function createTranscript({ prompt = "", calls, said }) {
  const texts = [
    `user: ${prompt}`,
    ...calls.map(callText),
    ...said.map((message) => `assistant: ${message}`),
  ];
  return { calls, said, text: texts.join("\n") };
}

export class TranscriptReader {
  /** The reasons why the run did not finish. @type {string[]} */
  errors = [];
  /** Whether the CLI has reported its end. */
  ended = false;
  /** @type {unknown} as the CLI reports it */
  usage;
  #rest = "";
  /** @type {Map<string, Call>} */
  #calls = new Map();
  /** In order. @type {(Call | {who: "user" | "assistant", text: string})[]} */
  #entries = [];

  /** @param {string} text the next piece */
  feed(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE) {
      this.#error(`the CLI wrote a line of more than ${MAX_LINE} characters`);
      this.#rest = "";
    }
    for (const line of lines) this.#line(line);
  }

  /** @param {string} line */
  #line(line) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      return; // not an event: a notice of the CLI
    }
    if (typeof event?.type === "string" && !event.ephemeral) this.#event(event);
  }

  /** @param {{type: string, data?: any, exitCode?: number, usage?: unknown}} event */
  #event({ type, data = {}, exitCode, usage }) {
    if (type === "user.message") this.#add({ who: "user", text: truncate(data.content) });
    if (type === "assistant.message" && data.content) {
      this.#add({ who: "assistant", text: truncate(data.content) });
    }
    if (type === "tool.execution_start") this.#start(data);
    if (type === "tool.execution_complete") this.#complete(data);
    if (type === "session.error") this.#error(truncate(data.message));
    if (type === "abort") this.#error(`the run was aborted: ${truncate(data.reason)}`);
    if (type === "result") {
      this.ended = exitCode === 0;
      this.usage = usage;
    }
  }

  /** @param {Call | {who: "user" | "assistant", text: string}} entry */
  #add(entry) {
    if (this.#entries.length < MAX_ENTRIES) this.#entries.push(entry);
    else this.#error(`the run has more than ${MAX_ENTRIES} messages and calls`);
  }

  /** Only the first few are stored. @param {string} text */
  #error(text) {
    if (this.errors.length < MAX_ERRORS && !this.errors.includes(text)) this.errors.push(text);
  }

  /** @param {any} data */
  #start({ toolCallId, toolName, arguments: args }) {
    const call = { tool: String(toolName), arguments: args ?? {}, result: "", failed: true };
    this.#add(call);
    if (this.#calls.size < MAX_ENTRIES) this.#calls.set(toolCallId, call);
  }

  /** @param {any} data */
  #complete({ toolCallId, success, result, error }) {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.failed = success !== true;
    call.result = truncate(success ? result?.content : error?.message);
  }

  /** @returns {Transcript} */
  read() {
    const calls = [...this.#calls.values()];
    const said = this.#entries.flatMap((entry) =>
      "who" in entry && entry.who === "assistant" ? [entry.text] : [],
    );
    const texts = this.#entries.map((entry) =>
      "who" in entry ? `${entry.who}: ${entry.text}` : callText(entry),
    );
    return { calls, said, text: texts.join("\n") };
  }
}
