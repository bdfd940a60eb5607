// The CLI's session events in the format for providers (docs/protocol.md,
// "session.event"). The CLI's complete event of a tool lacks its name, arguments and duration, so they
// are stored at the start event.

/** More than ever run at once. The oldest start without an end is dropped. */
const MAX_RUNNING = 1000;

/** @typedef {{event: string, data: object}} ProviderEvent */

export class SessionEvents {
  /** @type {Map<string, {tool: string, args: object, since: number}>} */
  #running = new Map();

  /**
   * The provider's event, if providers can subscribe to this event.
   * @param {{type: string, data: any}} event the SDK's
   * @param {(tool: string) => string | undefined} findProvider the provider of a tool, if any
   * @returns {ProviderEvent | undefined}
   */
  translate({ type, data }, findProvider) {
    switch (type) {
      case "user.message":
        return { event: type, data: { content: String(data.content ?? "") } };
      case "assistant.message":
        return { event: type, data: assistantMessage(data) };
      case "assistant.intent":
        return { event: type, data: { intent: String(data.intent ?? "") } };
      case "tool.execution_start":
        this.#start(data);
        return undefined;
      case "tool.execution_complete":
        return this.#complete(data, findProvider);
      default:
        return undefined;
    }
  }

  /** @param {{toolCallId: string, toolName: string, arguments?: object}} data */
  #start(data) {
    const [oldest] = this.#running.keys();
    if (this.#running.size >= MAX_RUNNING) this.#running.delete(oldest);
    this.#running.set(data.toolCallId, {
      tool: data.toolName,
      args: data.arguments ?? {},
      since: performance.now(),
    });
  }

  /**
   * @param {any} data @param {(tool: string) => string | undefined} findProvider
   * @returns {ProviderEvent | undefined}
   */
  #complete(data, findProvider) {
    const started = this.#running.get(data.toolCallId);
    if (!started) return undefined; // it began before this process listened, so its name is unknown
    this.#running.delete(data.toolCallId);
    const provider = findProvider(started.tool);
    const output = data.success ? data.result?.content : data.error?.message;
    const exitCode = data.shellExecution?.exitCode;
    return {
      event: "tool.execution_complete",
      data: {
        tool: started.tool,
        ...(provider === undefined ? {} : { provider }),
        args: started.args,
        result: {
          type: data.success ? "success" : "failure",
          ...(output === undefined ? {} : { output: String(output) }),
        },
        ...(Number.isSafeInteger(exitCode) && { exitCode }),
        durationMs: Math.round(performance.now() - started.since),
      },
    };
  }
}

/** @param {any} data */
function assistantMessage({ content, toolRequests }) {
  const requests = (toolRequests ?? []).map((/** @type {any} */ request) => ({
    name: request.name,
    args: request.arguments ?? {},
  }));
  return { content: String(content ?? ""), ...(requests.length > 0 && { toolRequests: requests }) };
}
