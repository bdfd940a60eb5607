// What a run of the CLI has done, from its JSON lines (--output-format json).

/** `failed`: it was denied, or went wrong. @typedef {{tool: string, arguments: Record<string, unknown>, result: string, failed: boolean}} Call */
/**
 * `text` is what patterns of `transcript` are matched with.
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
 * The same from its parts, for a run and for an example.
 * @param {{prompt?: string, calls: Call[], said: string[]}} parts @returns {Transcript}
 */
export function createTranscript({ prompt = "", calls, said }) {
  const texts = [
    `user: ${prompt}`,
    ...calls.map(callText),
    ...said.map((one) => `assistant: ${one}`),
  ];
  return { calls, said, text: texts.join("\n") };
}

export class TranscriptReader {
  /** The reasons for which the run did not get to its end. @type {string[]} */
  errors = [];
  /** Whether the CLI has said that it is done. */
  ended = false;
  /** @type {unknown} what the CLI says it used */
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

  /** The first few say enough. @param {string} text */
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
    const said = this.#entries.flatMap((one) =>
      "who" in one && one.who === "assistant" ? [one.text] : [],
    );
    const texts = this.#entries.map((one) =>
      "who" in one ? `${one.who}: ${one.text}` : callText(one),
    );
    return { calls, said, text: texts.join("\n") };
  }
}
