// One session's calls: from the handlers that the CLI has to the gateway, and back.

import { addon } from "../base/addon.mjs";
import { messageOf } from "../base/errors.mjs";
import { toToolResult } from "./tool-result.mjs";

/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./copilot-session.mjs").Invocation} Invocation */
/** @typedef {import("./tool-table.mjs").ToolDefinition} ToolDefinition */

export class SessionCalls {
  #link;
  #inFlight = 0;

  /** @param {Pick<import("./runner.mjs").Link, "call" | "cancel">} link */
  constructor(link) {
    this.#link = link;
  }

  /** Those that wait for their outcome. */
  get inFlight() {
    return this.#inFlight;
  }

  /** As the CLI is given it. @param {ToolDefinition} tool @returns {SessionTool} */
  toTool(tool) {
    return { ...tool, handler: (args, invocation) => this.#call(tool, args, invocation) };
  }

  /**
   * One call: to the gateway and back. Never throws, since the CLI would lose the message.
   * @param {ToolDefinition} tool @param {unknown} args @param {Invocation} invocation
   * @returns {Promise<import("./tool-result.mjs").ToolResult>}
   */
  #call(tool, args, invocation) {
    return new Promise((resolve) => {
      const signal = invocation?.signal;
      let id = 0;
      const abort = () => this.#link.cancel(id, "aborted by the user");
      signal?.addEventListener("abort", abort, { once: true });
      /** @param {import("../base/addon.js").CallOutcome} outcome */
      const settle = (outcome) => {
        --this.#inFlight;
        signal?.removeEventListener("abort", abort);
        resolve(toToolResult(outcome));
      };
      ++this.#inFlight;
      try {
        id = this.#link.call(tool.name, args, tool.timeout, settle, invocation);
      } catch (error) {
        // What no JSON can be made of never reaches the gateway.
        return settle(addon.refuseArguments(tool.name, `are not JSON: ${messageOf(error)}`));
      }
      if (signal?.aborted) abort();
    });
  }
}
