// A chat-completions server whose answers a test writes. It stands in place of the language model, so
// a test sees exactly the requests for the model and decides exactly the replies.

import http from "node:http";
import { PATIENCE_MS, waitFor } from "./wait.mjs";

/**
 * @typedef {{text?: string, toolCalls?: {name: string, args: unknown}[]}} Reply
 * @typedef {{index: number, at: number, body: any}} ModelRequest
 * @typedef {(request: ModelRequest, index: number) => Reply | Promise<Reply>} Script
 */

/** @param {string} text @returns {Reply} */
export const say = (text) => ({ text });

/** @param {string} name @param {unknown} [args] @returns {Reply} */
export const callTool = (name, args = {}) => callTools([{ name, args }]);

/** @param {{name: string, args?: unknown}[]} calls several calls in the same answer @returns {Reply} */
export const callTools = (calls) => ({
  toolCalls: calls.map(({ name, args = {} }) => ({ name, args })),
});

// ---- reading a request ------------------------------------------------------------------------

const bodyOf = (request) => request.body ?? request;
const messagesOf = (request) => bodyOf(request).messages ?? [];

/** The text of a message, whether it is a string or a list of parts. */
function textOf(message) {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("");
}

/** @returns {string[]} */
export const toolNames = (request) =>
  (bodyOf(request).tools ?? []).map((tool) => tool.function?.name ?? tool.name);

/** The definition of a tool as the model sees it: `{name, description, parameters}`. */
export const toolDefinition = (request, name) =>
  (bodyOf(request).tools ?? [])
    .map((tool) => tool.function ?? tool)
    .find((tool) => tool.name === name);

/** @returns {string} */
export const systemText = (request) =>
  messagesOf(request)
    .filter(({ role }) => role === "system" || role === "developer")
    .map(textOf)
    .join("\n");

/** @returns {string[]} */
export const userTexts = (request) =>
  messagesOf(request)
    .filter(({ role }) => role === "user")
    .map(textOf);

/**
 * Results that the model has been given so far, oldest first.
 * @returns {{id: string, name: string | undefined, text: string}[]}
 */
export function toolResults(request) {
  const messages = messagesOf(request);
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const names = new Map(calls.map((call) => [call.id, call.function?.name]));
  return messages
    .filter(({ role }) => role === "tool")
    .map((message) => ({
      id: message.tool_call_id,
      name: names.get(message.tool_call_id),
      text: textOf(message),
    }));
}

// ---- wire format ---------------------------------------------------------------------------------

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const wireCalls = (reply, prefix) =>
  (reply.toolCalls ?? []).map(({ name, args }, index) => ({
    index,
    id: `${prefix}_${index}`,
    type: "function",
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));

const finishReason = (reply) => (reply.toolCalls?.length ? "tool_calls" : "stop");

function completion(reply, head, prefix) {
  const calls = wireCalls(reply, prefix).map(({ index: _index, ...call }) => call);
  const message = { role: "assistant", content: reply.text ?? null };
  if (calls.length) message.tool_calls = calls;
  const choices = [{ index: 0, message, finish_reason: finishReason(reply) }];
  return { ...head, object: "chat.completion", choices, usage: USAGE };
}

function* chunks(reply, head, prefix) {
  const chunk = (delta, finish_reason = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  yield chunk({ role: "assistant", content: reply.text ?? "" });
  const calls = wireCalls(reply, prefix);
  if (calls.length) yield chunk({ tool_calls: calls });
  yield chunk({}, finishReason(reply));
  yield { ...head, choices: [], usage: USAGE };
}

function writeStream(response, reply, head, prefix) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const chunk of chunks(reply, { ...head, object: "chat.completion.chunk" }, prefix)) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}

function writeJson(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

async function readJson(request) {
  let text = "";
  request.setEncoding("utf8");
  for await (const part of request) text += part;
  return JSON.parse(text);
}

// ---- the server ----------------------------------------------------------------------------------

/** A list of replies answers in order; the last reply repeats. */
const scriptFrom = (script) =>
  typeof script === "function"
    ? script
    : (_request, index) => script[Math.min(index, script.length - 1)];

export class ScriptedModel {
  /** Requests of an agent's turn (they offer tools), in order of arrival. @type {ModelRequest[]} */
  requests = [];
  /** All other requests, such as the request for a title. @type {ModelRequest[]} */
  auxiliary = [];
  /** The errors of the script. The model then replies with them, instead of leaving the CLI to retry. @type {unknown[]} */
  errors = [];
  #script;
  #auxiliaryReply;
  #server = http.createServer((request, response) => void this.#serve(request, response));

  constructor(script, { auxiliaryReply = say("Title") } = {}) {
    this.script(script);
    this.#auxiliaryReply = auxiliaryReply;
  }

  /**
   * @param {Script | Reply[]} [script]
   * @param {{auxiliaryReply?: Reply}} [options]
   */
  static async start(script = [say("done")], options) {
    const model = new ScriptedModel(script, options);
    await new Promise((resolve, reject) => {
      model.#server.once("error", reject).listen(0, "127.0.0.1", () => resolve(undefined));
    });
    return model;
  }

  /** Replaces the script from now on; indexes go on counting. @param {Script | Reply[]} script */
  script(script) {
    this.#script = scriptFrom(script);
  }

  /** The base URL for COPILOT_PROVIDER_BASE_URL. */
  get url() {
    const { port } = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    return `http://127.0.0.1:${port}/v1`;
  }

  /** The latest request of a turn. */
  get last() {
    return this.requests.at(-1);
  }

  /**
   * The first request of a turn that fits, already arrived or still to come.
   * @param {(request: ModelRequest) => unknown} [predicate]
   * @param {number} [timeoutMs]
   */
  waitForRequest(predicate = () => true, timeoutMs = PATIENCE_MS) {
    const what = () => `a model request that fits ${predicate}\n${this.summary()}`;
    return waitFor(() => this.requests.find((request) => predicate(request)), { timeoutMs, what });
  }

  /** A line per request, for error messages. */
  summary() {
    const lines = this.requests.map((request) => {
      const results = toolResults(request).map(({ name, text }) => `${name}: ${text.slice(0, 80)}`);
      return `  #${request.index}: ${toolNames(request).length} tools, results [${results.join(" | ")}]`;
    });
    const errors = this.errors.map((error) => `  script error: ${error}`);
    return [`model requests seen: ${this.requests.length}`, ...lines, ...errors].join("\n");
  }

  async close() {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request, response) {
    try {
      if (request.method === "GET" && request.url.endsWith("/models")) {
        writeJson(response, 200, { object: "list", data: [{ id: "fake", object: "model" }] });
      } else if (request.method === "POST" && request.url.endsWith("/chat/completions")) {
        await this.#complete(await readJson(request), response);
      } else {
        writeJson(response, 404, {
          error: { message: `no route for ${request.method} ${request.url}` },
        });
      }
    } catch (error) {
      this.errors.push(error);
      if (!response.headersSent) writeJson(response, 400, { error: { message: String(error) } });
    }
  }

  async #complete(body, response) {
    const isTurn = Boolean(body.tools?.length);
    const list = isTurn ? this.requests : this.auxiliary;
    const record = { index: list.length, at: performance.now(), body };
    list.push(record);
    const reply = isTurn ? await this.#reply(record) : this.#auxiliaryReply;
    // The CLI hangs up when the user interrupts; there is then no receiver.
    if (response.destroyed) return;
    const prefix = `call_${isTurn ? "" : "aux_"}${record.index}`;
    const head = {
      id: `reply_${prefix}`,
      created: Math.floor(Date.now() / 1000),
      model: body.model ?? "fake",
    };
    if (body.stream === true) writeStream(response, reply, head, prefix);
    else writeJson(response, 200, completion(reply, head, prefix));
  }

  async #reply(record) {
    try {
      const reply = await this.#script(record, record.index);
      if (!reply) throw new Error(`the script gave no reply to request ${record.index}`);
      return reply;
    } catch (error) {
      this.errors.push(error);
      return say(`script error: ${error?.message ?? error}`);
    }
  }
}
