// The stdio transport of an MCP server: JSON-RPC, a message a line. The process is a ProcessRun of its owner. The SDK's
// own transport starts a further process to ask for the version, and ends the connection at 10 MB.

/** @typedef {import("@modelcontextprotocol/client").Transport} Transport */
/** @typedef {import("@modelcontextprotocol/client").JSONRPCMessage} Message */
/** @typedef {{stdin: import("node:stream").Writable, stdout: import("node:stream").Readable}} Pipes */

const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Text among the messages goes to the log; a server that writes only such lines is no server. */
const MAX_UNREADABLE = 1000;
/** A server that keeps so many cancelled calls is restarted. */
const MAX_ABANDONED = 32;
const MAX_MESSAGES = 200;
const PACE_MS = 1000;
const NEWLINE = 10;

/** Bytes in, lines out. */
export class LineReader {
  /** @type {Buffer[]} */
  #parts = [];
  #bytes = 0;

  /** @param {Buffer} piece @returns {Buffer[]} @throws {RangeError} where a line is too long */
  take(piece) {
    /** @type {Buffer[]} */
    const lines = [];
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, from)) {
      this.#parts.push(piece.subarray(from, at));
      lines.push(Buffer.concat(this.#parts));
      this.#parts = [];
      this.#bytes = 0;
      from = at + 1;
    }
    if (from < piece.length) this.#parts.push(piece.subarray(from));
    this.#bytes += piece.length - from;
    if (this.#bytes > MAX_LINE_BYTES) throw new RangeError("it sent a message of more than 64 MB");
    return lines;
  }
}

/** @param {string} line @returns {any} undefined: it is no message */
function parseMessage(line) {
  try {
    const message = JSON.parse(line);
    return message?.jsonrpc === "2.0" ? message : undefined;
  } catch {
    return undefined;
  }
}

/** @implements {Transport} */
export class StdioTransport {
  /** @type {(() => void) | undefined} */
  onclose;
  /** @type {((error: Error) => void) | undefined} */
  onerror;
  /** @type {((message: any) => void) | undefined} */
  onmessage;
  #pipes;
  #handlers;
  #reader = new LineReader();
  #unreadable = 0;
  /** Calls that were cancelled and have no answer yet, by id. @type {Set<unknown>} */
  #abandoned = new Set();
  #recent = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #pace;
  #ended = false;

  /**
   * @param {Pipes} pipes
   * @param {{onText: (line: string) => void, onBroken: (why: string) => void}} handlers `onText`: a line that is no
   *   message; `onBroken`: the server cannot be used any more
   */
  constructor(pipes, handlers) {
    this.#pipes = pipes;
    this.#handlers = handlers;
    pipes.stdin.on("error", () => {}); // it has ended, which its run says
    pipes.stdout.on("data", (piece) => this.#receive(piece));
    pipes.stdout.on("close", () => this.end());
  }

  async start() {}

  /** @param {any} message */
  async send(message) {
    if (this.#ended || !this.#pipes.stdin.writable) throw new Error("the server has ended");
    if (message.method === "notifications/cancelled") this.#abandon(message.params?.requestId);
    this.#pipes.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** The process is its owner's: a further client may begin on it. */
  async close() {
    this.onclose?.();
  }

  /** The process has ended. */
  end() {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#pace);
    this.onclose?.();
  }

  /** @param {unknown} id */
  #abandon(id) {
    this.#abandoned.add(id);
    if (this.#abandoned.size >= MAX_ABANDONED)
      this.#handlers.onBroken(`it has not answered ${MAX_ABANDONED} calls that were cancelled`);
  }

  /** @param {Buffer} piece */
  #receive(piece) {
    if (this.#ended) return;
    try {
      for (const line of this.#reader.take(piece)) this.#receiveLine(line.toString("utf8"));
    } catch (error) {
      this.#handlers.onBroken(/** @type {Error} */ (error).message);
    }
  }

  /** @param {string} line */
  #receiveLine(line) {
    if (line.trim() === "") return;
    const message = parseMessage(line);
    if (message === undefined) {
      this.#unreadable += 1;
      this.#handlers.onText(line);
      if (this.#unreadable === MAX_UNREADABLE)
        this.#handlers.onBroken(`it sent ${MAX_UNREADABLE} lines in a row that are no messages`);
      return;
    }
    this.#unreadable = 0;
    if (message.method === undefined && this.#abandoned.delete(message.id)) return;
    if (message.method !== undefined) this.#slowDown();
    this.onmessage?.(message);
  }

  /** Messages that are no answers are read at a bounded pace; the pipe holds back the rest. */
  #slowDown() {
    this.#recent += 1;
    this.#pace ??= setInterval(() => {
      if (this.#recent === 0) {
        clearInterval(this.#pace);
        this.#pace = undefined;
      }
      this.#recent = 0;
      this.#pipes.stdout.resume();
    }, PACE_MS).unref();
    if (this.#recent >= MAX_MESSAGES) this.#pipes.stdout.pause();
  }
}
