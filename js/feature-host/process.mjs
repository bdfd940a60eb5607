// The process of a feature host. The gateway host starts it and holds its stdin, whose end means that the gateway host
// is gone.

import { errorMessage } from "../lib/values.mjs";
import { useRelease } from "../lib/release-use.mjs";
import { GatewayMessages } from "./gateway-messages.mjs";

/** For features to end; what is left then is killed with this process's groups. */
const END_MS = 8000;
/** A plan that is imported, with its journal. */
const MAX_LINE = 64 * 1024 * 1024;

/** @param {(line: string) => void} onLine @param {() => void} onTooLong @returns {(text: string) => void} takes pieces */
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

/** Runs until stdin ends. @param {readonly import("../features/list.mjs").Feature[]} features */
export function runFeatureHost(features) {
  let ending = false;

  /** For the log, which the gateway host writes. @param {string} text */
  const writeLog = (text) => void process.stderr.write(`${text}\n`);
  const messages = new GatewayMessages(features, writeLog);

  /** @param {string} reason @param {number} code */
  async function end(reason, code) {
    if (ending) return;
    ending = true;
    setTimeout(() => process.exit(code), END_MS).unref();
    await messages.end(reason);
    process.exit(code);
  }

  process.on("SIGHUP", () => {}); // a closed terminal does not concern it
  process.on("SIGTERM", () => void end("the gateway ends", 0));
  process.on("SIGINT", () => void end("the gateway ends", 0));
  // Such as of a timer of a feature: that one says so, and the others go on.
  process.on("unhandledRejection", (error) => {
    if (!messages.handleUncaught(error)) writeLog(`unhandled: ${errorMessage(error)}`);
  });
  process.on("uncaughtException", (error) => {
    if (messages.handleUncaught(error)) return;
    writeLog(`uncaught: ${error.stack ?? error.message}`);
    void end("the feature host has failed", 1);
  });

  useRelease();
  const onLine = (/** @type {string} */ line) => messages.receive(line);
  const take = splitLines(onLine, () => void end("stdin has no lines", 1));
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", take);
  process.stdin.on("error", () => void end("the gateway is gone", 0));
  process.stdin.on("end", () => void end("the gateway is gone", 0));
}
