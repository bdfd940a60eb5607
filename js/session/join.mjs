// How a session joins the CLI: what it waits for before, and what it does where the CLI takes not all.

import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { programFolder } from "../base/paths.mjs";
import { toolsNamedIn } from "./copilot-session.mjs";

/** @typedef {import("./copilot-session.mjs").SessionTool} SessionTool */
/** @typedef {import("./tool-table.mjs").ToolsEvent} ToolsEvent */
/** @typedef {import("./tool-table.mjs").ToolTable} ToolTable */
/** @typedef {(config: {tools: SessionTool[], skillDirectories?: string[]}) => Promise<any>} JoinSession the SDK's */

/** Without a gateway a session waits so long for its first tools; later ones are swapped in. */
const FIRST_TOOLS_MS = 8000;

/** Skills that tap brings along. The CLI finds them nowhere else, and an older one ignores the field. */
const SKILLS = path.join(programFolder, "skills");
const withSkills = () => (fs.existsSync(SKILLS) ? { skillDirectories: [SKILLS] } : {});

/** The tools that come before the session has joined. */
export class FirstTools {
  /** @type {ToolsEvent | undefined} */
  #event;
  /** @type {(() => void) | undefined} */
  #onEvent;

  /** The gateway's latest word. @param {ToolsEvent} event */
  give(event) {
    this.#event = event;
    this.#onEvent?.();
  }

  /** Once. @returns {ToolsEvent | undefined} */
  take() {
    const event = this.#event;
    this.#event = undefined;
    return event;
  }

  /** For some time only, since there may be no gateway. @returns {Promise<void>} */
  wait() {
    if (this.#event) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FIRST_TOOLS_MS);
      this.#onEvent = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  stopWaiting() {
    this.#onEvent?.();
  }
}

/**
 * Without the tools that the CLI refuses: one bad name would cost the whole join.
 * @param {JoinSession} joinSession @param {ToolTable} wanted
 * @param {{toTools: (table: ToolTable) => SessionTool[], log: import("../base/log.mjs").Log}} options
 */
export async function joinWith(joinSession, wanted, { toTools, log }) {
  /** @type {string[]} */
  const refused = [];
  for (let table = wanted; ;) {
    try {
      const session = await joinSession({ tools: toTools(table), ...withSkills() });
      return { session, table, refused };
    } catch (error) {
      log("error", `the join failed: ${messageOf(error)}`);
      const [, ...left] = table.withStatus().map((tool) => tool.name);
      if (left.length === 0) throw error;
      const culprits = table.ours(toolsNamedIn(messageOf(error)));
      const dropped = culprits.length > 0 ? culprits : left;
      refused.push(...dropped);
      table = table.without(dropped);
    }
  }
}
