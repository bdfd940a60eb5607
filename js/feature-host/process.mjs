// The process of a feature host. The gateway host starts it and holds its stdin open; the end of stdin means that the
// gateway host has ended.

import { errorMessage } from "../lib/values.mjs";
import { useRelease } from "../lib/release-use.mjs";

/**
 * What a process does with the lines of the gateway host.
 * @typedef {{receive: (line: string) => void, handleUncaught: (error: unknown) => boolean,
 *   end: (reason: string) => Promise<void>}} Messages
 */

/** Time for features to end. After that their process groups are killed. */
const END_MS = 8000;
/** Large enough for an imported plan with its journal. */
const MAX_LINE = 64 * 1024 * 1024;

/** @param {(line: string) => void} onLine @param {() => void} onTooLong @returns {(text: string) => void} called with pieces */
function splitLines(onLine, onTooLong) {
  /** @type {string[]} */
  let rest = [];
  let length = 0;
  return (text) => {
    const [first, ...lines] = text.split("\n");
    rest.push(first);
    length += first.length;
    if (length > MAX_LINE) return onTooLong();
    if (lines.length === 0) return;
    onLine(rest.join(""));
    const last = /** @type {string} */ (lines.pop());
    [rest, length] = [[last], last.length];
    for (const line of lines) onLine(line);
  };
}

/**
 * Runs until stdin ends.
 * @param {(log: (text: string) => void) => Messages} create @param {string} title of this process
 */
export function runHost(create, title) {
  let ending = false;

  /** Writes to the log, through the gateway host. @param {string} text */
  const writeLog = (text) => void process.stderr.write(`${text}\n`);
  const messages = create(writeLog);

  /** @param {string} reason @param {number} code */
  async function end(reason, code) {
    if (ending) return;
    ending = true;
    setTimeout(() => process.exit(code), END_MS).unref();
    await messages.end(reason);
    process.exit(code);
  }

  process.on("SIGHUP", () => {}); // a closed terminal must not end it
  process.on("SIGTERM", () => void end("the gateway ends", 0));
  process.on("SIGINT", () => void end("the gateway ends", 0));
  // Such as an exception in a timer of a feature: its report has it, and the other features continue.
  process.on("unhandledRejection", (error) => {
    if (!messages.handleUncaught(error)) writeLog(`unhandled: ${errorMessage(error)}`);
  });
  process.on("uncaughtException", (error) => {
    if (messages.handleUncaught(error)) return;
    writeLog(`uncaught: ${error.stack ?? error.message}`);
    void end(`${title} has failed`, 1);
  });

  useRelease();
  const onLine = (/** @type {string} */ line) => messages.receive(line);
  const take = splitLines(onLine, () => void end("stdin has no lines", 1));
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", take);
  process.stdin.on("error", () => void end("the gateway is gone", 0));
  process.stdin.on("end", () => void end("the gateway is gone", 0));
}
