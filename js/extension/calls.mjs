// Calls of tools: from the SDK to the gateway, and their outcome as a result of the SDK.

import { addon } from "../lib/addon.mjs";
import { errorMessage } from "../lib/values.mjs";

/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./copilot-session.mjs").Invocation} Invocation */
/** @typedef {import("./tools.mjs").ToolDefinition} ToolDefinition */

/**
 * @typedef {object} ToolResult
 * @property {string} textResultForLlm
 * @property {"success" | "failure"} resultType
 * @property {string} [error]
 * @property {{data: string, mimeType: string, type: "image" | "resource"}[]} [binaryResultsForLlm]
 */

/** @param {import("../lib/addon.js").CallOutcome} outcome @returns {ToolResult} */
export function toToolResult(outcome) {
  if (typeof outcome === "string") return { textResultForLlm: outcome, resultType: "success" };
  if ("code" in outcome) {
    return { textResultForLlm: outcome.text, resultType: "failure", error: outcome.text };
  }
  const { text, data, mimeType } = outcome;
  const type = mimeType.startsWith("image/") ? "image" : "resource";
  return {
    textResultForLlm: text || `The result is attached: ${mimeType}.`,
    resultType: "success",
    binaryResultsForLlm: [{ data, mimeType, type }],
  };
}

// Calls of a session: from the CLI's handlers to the gateway, and back.

export class SessionCalls {
  #link;
  #inFlight = 0;

  /** @param {Pick<import("./session-runner.mjs").Link, "call" | "cancel">} link */
  constructor(link) {
    this.#link = link;
  }

  /** Number of pending calls. */
  get inFlight() {
    return this.#inFlight;
  }

  /** Adds the handler for the CLI. @param {ToolDefinition} tool @returns {SessionTool} */
  toTool(tool) {
    return { ...tool, handler: (args, invocation) => this.#call(tool, args, invocation) };
  }

  /**
   * A single call: to the gateway and back. Never throws, since the CLI would lose the message.
   * @param {ToolDefinition} tool @param {unknown} args @param {Invocation} invocation
   * @returns {Promise<ToolResult>}
   */
  #call(tool, args, invocation) {
    return new Promise((resolve) => {
      const signal = invocation?.signal;
      let id = 0;
      const abort = () => this.#link.cancel(id, "aborted by the user");
      signal?.addEventListener("abort", abort, { once: true });
      /** @param {import("../lib/addon.js").CallOutcome} outcome */
      const settle = (outcome) => {
        --this.#inFlight;
        signal?.removeEventListener("abort", abort);
        resolve(toToolResult(outcome));
      };
      ++this.#inFlight;
      try {
        id = this.#link.call(tool.name, args, tool.timeout, settle, invocation);
      } catch (error) {
        // Arguments that JSON cannot represent do not reach the gateway.
        return settle(addon.refuseArguments(tool.name, `are not JSON: ${errorMessage(error)}`));
      }
      if (signal?.aborted) abort();
    });
  }
}
