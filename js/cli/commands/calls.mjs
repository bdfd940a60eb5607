// `calls`: the last calls of tools, one line each, without their secrets.

import stringWidth from "fast-string-width";
import { usage, pause, runInterruptible } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles, FOLLOW } from "../options.mjs";
import { formatCall } from "../format-call.mjs";
import { bad, faint, good, Output, strong } from "../../views/output.mjs";
import { cut } from "../../views/table.mjs";
import { clock, firstLine, latency, shortId } from "../../views/wording.mjs";

/** @typedef {import("../options.mjs").CommandOptions & {follow: boolean, last: string}} CallsOptions */
/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {import("../format-call.mjs").FormattedCall} FormattedCall */

const POLL_MS = 500;
const NARROWEST = 12;

/** @param {Output} output @param {FormattedCall} call */
function show(output, { at, ms, session, label, provider, tool, by, args, whole: all, ...failed }) {
  const where = label ? `${cut(label, 24)} ${shortId(session)}` : shortId(session);
  const head = `${clock(at)}  ${where}  ${provider || "nobody"}  `;
  const ending = failed.code ? `${failed.code}, ${latency(ms)}` : `ok, ${latency(ms)}`;
  const hand = by === "command" ? "  (copilot-tap call)" : "";
  const used = stringWidth(`${head}${tool}   → ${ending}${hand}`);
  const text = JSON.stringify(args) + (all ? "" : " …");
  const shownArgs = cut(text, Math.max(NARROWEST, output.width - used));
  output.print(
    faint(`${clock(at)}  `),
    `${where}  ${provider || "nobody"}  `,
    strong(tool),
    ` ${shownArgs}  → `,
    failed.code ? bad(ending) : good(ending),
    faint(hand),
  );
  if (failed.message) output.print("    ", firstLine(failed.message));
}

/** @param {CallsOptions} given */
function parseCount({ last }) {
  if (/^\d{1,9}$/.test(last)) return Number(last);
  throw usage(`--last must be a number of calls (got "${last}")`, "copilot-tap calls --last 20");
}

/** Reads new calls again and again. @param {Control} control */
function createReader(control) {
  let after = 0;
  /** @type {Map<string, string>} */
  let labels = new Map();
  return async () => {
    const calls = await control.listCalls(after);
    after = calls.at(-1)?.sequence ?? after;
    if (calls.length > 0) {
      const { sessions } = await control.inspect();
      labels = new Map([
        ...labels,
        ...sessions.map(({ id, label }) => /** @type {const} */ ([id, label])),
      ]);
    }
    return calls.map((call) => formatCall(call, labels));
  };
}

/** @param {CallsOptions} given */
async function run(given) {
  const output = new Output(given);
  const count = parseCount(given);
  await withGateway(getGatewayFiles(given), async (control) => {
    const news = createReader(control);
    const all = await news();
    const last = count === 0 ? [] : all.slice(-count);
    if (!given.follow) {
      return output.result(last, () => {
        if (last.length === 0) output.print("No call yet since the gateway has started.");
        last.forEach((call) => show(output, call));
      });
    }
    const print = (/** @type {FormattedCall} */ call) =>
      output.item(call, () => show(output, call));
    last.forEach(print);
    await runInterruptible(async (ending) => {
      for (; !ending.aborted; await pause(POLL_MS, ending)) (await news()).forEach(print);
    });
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "calls",
  describe: "show the last calls of tools",
  about:
    "Shows the last calls, one line each: time, session, provider, tool with its arguments, " +
    "outcome and duration. The gateway keeps the last 200 of each provider, 1000 in all, in " +
    "memory. Secrets that tap recognises are removed from arguments, and long arguments are " +
    "cut.",
  options: {
    follow: FOLLOW,
    last: { short: "n", describe: "at most this many; default: 20", default: "20" },
  },
  examples: [
    ["$0 calls --last 100", "the last hundred"],
    ["$0 calls -f", "each call as it ends"],
  ],
  handler: run,
};
