// Calls in flight: each has a handler that runs, a signal, and at most one result.

import { setTimeout as sleep } from "node:timers/promises";
import { failure, isToolError, TapError, toError, ToolError } from "./errors.mjs";
import { MAX_BUFFERED } from "./pace.mjs";
import { toJson } from "./json.mjs";
import { callText } from "./report.mjs";

/** The largest data of a tool.result; the rest of the message is small. */
const MAX_RESULT_BYTES = 5 * 1024 * 1024 - 1024;
const DRAIN_MS = 20;
const CANCELLED = formatFields({ error: "cancelled", errorCode: "CANCELLED" });

/** The value of Provider.file: a result in a file. */
export class FileResult {
  /** @param {{path: string, mimeType: string, size: number, ttl: number}} file */
  constructor(file) {
    this.file = file;
  }
}

/** @typedef {import("./connection.mjs").Message} Message */
/** @typedef {import("./tools.mjs").Tool} Tool */

export class Calls {
  #connection;
  #find;
  #onError;
  /** @type {Map<string, AbortController>} */
  #running = new Map();

  /**
   * @param {import("./connection.mjs").Connection} connection @param {(name: string) => Tool | undefined} find
   * @param {(error: Error, call: string) => void} onError for an exception of a tool that is not for the model
   */
  constructor(connection, find, onError) {
    this.#connection = connection;
    this.#find = find;
    this.#onError = onError;
  }

  /** @param {Message} message of type tool.call */
  async start({ id, tool, args, sessionId, traceparent }) {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const { signal } = controller;
    const progress = (/** @type {unknown} */ message) => {
      if (!signal.aborted) this.#progress(id, String(message));
    };
    const call = { signal, progress, callId: id, session: sessionId, tool, traceparent };
    const outcome = await this.#run(this.#find(tool), args, call);
    while (this.#connection.buffered > MAX_BUFFERED && !signal.aborted) await sleep(DRAIN_MS);
    // Without a connection no answer is expected. A cancelled call keeps its slot until now.
    if (this.#running.delete(id)) this.#answer(id, signal.aborted ? CANCELLED : outcome);
  }

  /**
   * @param {Tool | undefined} tool @param {unknown} args @param {import("./types.js").Call} call
   * @returns {Promise<string>} the fields of the answer
   */
  async #run(tool, args, call) {
    try {
      if (!tool) throw new ToolError("NOT_FOUND", `there is no tool ${call.tool} any more`);
      const result = await tool.handler(await tool.validate(args), call);
      return resultFields(result);
    } catch (thrown) {
      // After an abort, an exception is usually the abort itself.
      if (!isToolError(thrown) && !call.signal.aborted) {
        this.#onError(toError(thrown), callText(call.tool, args));
      }
      return formatFields(failure(thrown));
    }
  }

  /** Dropped if it is sent too fast, or the call is over. @param {string} id @param {string} message */
  #progress(id, message) {
    if (!this.#running.has(id)) return;
    try {
      this.#connection.send({ type: "tool.progress", id, message });
    } catch (error) {
      if (!(error instanceof TapError)) throw error;
    }
  }

  /** @param {string} id @param {string} fields */
  #answer(id, fields) {
    if (this.#connection.bound)
      this.#connection.answer(`{"type":"tool.result","id":${JSON.stringify(id)},${fields}}`);
  }

  /** @param {Message} message of type tool.cancel */
  cancel({ id, reason }) {
    const code = reason === "timeout" ? "TIMEOUT" : "CANCELLED";
    this.#running.get(id)?.abort(new ToolError(code, reason ?? "cancelled"));
  }

  /** @param {Error} error */
  abortAll(error) {
    const controllers = [...this.#running.values()];
    this.#running.clear();
    for (const controller of controllers) controller.abort(error);
  }
}

/** As JSON, without the braces. @param {object} fields some */
function formatFields(fields) {
  return JSON.stringify(fields).slice(1, -1);
}

/**
 * The fields of an answer as JSON: converted once, since an object may return different values the second time.
 * @param {unknown} result of a handler @returns {string}
 */
function resultFields(result) {
  if (result instanceof FileResult) return formatFields({ file: result.file });
  const data = toJson(result ?? "");
  if (data === undefined)
    throw new TypeError(`the tool returned a ${typeof result}, which is no JSON`);
  const size = Buffer.byteLength(data);
  if (size <= MAX_RESULT_BYTES) return `"data":${data}`;
  throw new ToolError(
    "PAYLOAD_TOO_LARGE",
    `the result has ${size} bytes of JSON; 5 MB are allowed`,
  );
}
