// The CLI's own tools for files run in its process, outside of the wall. Such a tool checks a path and uses it later: a
// command that runs meanwhile could put a link in between. So in a session with a wall, file tools and commands never
// run at the same time.

import fs from "node:fs";
import { sleep } from "../lib/timers.mjs";

const FILE_TOOLS = new Set(["view", "create", "edit", "apply_patch", "str_replace_editor"]);
/** Search tools run behind the wall. */
const SEARCH_TOOLS = new Set(["grep", "glob", "rg"]);
const POLL_MS = 20;
/** The longest wait of a file tool for a command. Longer commands are background work. */
const WAIT_MS = 10_000;

/**
 * Whether bubblewrap runs a command in that folder. Its children end with it.
 * @param {string} folder
 */
function hasCommands(folder) {
  if (process.platform !== "linux") return false;
  const words = `\0--chdir\0${folder}\0`;
  return fs.readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return fs.readFileSync(`/proc/${name}/cmdline`, "utf8").includes(words);
    } catch {
      return false; // it has ended
    }
  });
}

export class FileGate {
  /** Running tools by call. The CLI reports all calls of a turn before it asks for the first. @type {Map<string, string>} */
  #calls = new Map();
  /** Calls of commands that run or may start. @type {Set<string>} */
  #commands = new Set();
  /** The last file tool waited in vain. */
  #refused = false;
  #folder;
  #hasCommands;
  #waitMs;

  /** @param {string} folder where commands start @param {{runs?: (folder: string) => boolean, waitMs?: number}} [parts] */
  constructor(folder, { runs = hasCommands, waitMs = WAIT_MS } = {}) {
    this.#folder = folder;
    this.#hasCommands = runs;
    this.#waitMs = waitMs;
  }

  /** @param {any} event of the CLI */
  handleEvent({ type, data }) {
    if (type === "tool.execution_start") this.#calls.set(data.toolCallId, data.toolName);
    if (type !== "tool.execution_complete") return;
    this.#calls.delete(data.toolCallId);
    this.#commands.delete(data.toolCallId);
  }

  /** The kind of tool behind a call. @param {string} callId @returns {"files" | "search" | undefined} */
  findKind(callId) {
    const name = this.#calls.get(callId) ?? "";
    if (FILE_TOOLS.has(name)) return "files";
    return SEARCH_TOOLS.has(name) ? "search" : undefined;
  }

  /** Before a tool starts. @param {string} tool @returns {Promise<string>} the reason for a refusal; "": allowed */
  async enterTool(tool) {
    if (!FILE_TOOLS.has(tool)) return "";
    const begun = performance.now();
    while (this.#commands.size > 0 || this.#hasCommands(this.#folder)) {
      // A command that outlives its call is background work and may take long.
      const most = this.#refused ? 0 : this.#commands.size > 0 ? this.#waitMs : this.#waitMs / 10;
      this.#refused = performance.now() - begun >= most;
      if (this.#refused)
        return "tap: a command of this job still runs. Read and write files with commands until it has ended.";
      await sleep(POLL_MS);
    }
    this.#refused = false;
    return "";
  }

  /** Before a command starts. @param {string} callId */
  async enterCommand(callId) {
    while ([...this.#calls.values()].some((name) => FILE_TOOLS.has(name))) await sleep(POLL_MS);
    this.#commands.add(callId);
  }
}
