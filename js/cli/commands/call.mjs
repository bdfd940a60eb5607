// `call`: a tool without a model.

import fs from "node:fs";
import { text as textOf } from "node:stream/consumers";
import { EXIT, Failure, usage, runInterruptible } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles } from "../options.mjs";
import { Output } from "../../views/output.mjs";
import { findNearest } from "../../lib/suggestion.mjs";
import {
  parseArguments,
  arePairs,
  BadArguments,
  parsePairs,
  parseObject,
} from "../../develop/tool-arguments.mjs";
import { resolveSessionId } from "../reference.mjs";

/** @typedef {import("../options.mjs").CommandOptions & {tool: string, args?: string, more?: string[], stdin: boolean, session?: string, timeout?: string, output?: string}} CallOptions */
/** @typedef {import("../../lib/addon.js").CallOutcome} CallOutcome */
/** @typedef {import("../../lib/addon.js").Attachment} Attachment */

/** Where the gateway has refused it; of a failure of the tool, its own words say what to do. @type {Record<string, string>} */
const ADVICE = {
  NOT_FOUND: "copilot-tap tools lists the tools, and what one takes",
  INVALID_SESSION: "copilot-tap status lists the sessions",
};
/** A failure of a provider begins with its name. */
const OF_A_PROVIDER = /^Provider "/;
/** A timer accepts only less than this. */
const MAX_TIMEOUT_MS = 2 ** 31;

/** Errors in arguments are usage errors. @template T @param {() => T} read */
function withUsageErrors(read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BadArguments)) throw error;
    throw usage(error.message, "copilot-tap tools <tool> shows what one takes");
  }
}

/** The words of the arguments. @param {CallOptions} given @returns {Promise<string[]>} */
async function readWords({ args: first, more = [], stdin }) {
  const typed = first === undefined ? [] : [first, ...more];
  if (!stdin) {
    if (!arePairs(typed)) withUsageErrors(() => parseArguments(typed));
    else withUsageErrors(() => parsePairs(typed)); // each is one; the types come later
    return typed;
  }
  if (typed.length > 0) {
    throw usage(
      "the arguments are typed, and --stdin says that they are not",
      "give one of the two",
    );
  }
  const text = await textOf(process.stdin);
  withUsageErrors(() => parseObject(text));
  return [text];
}

/**
 * The tools that it may mean.
 * @param {import("../../link/control.mjs").Control} control
 * @param {CallOptions} given
 */
async function listOfferedTools(control, { session }) {
  const { providers } = await control.inspect();
  return providers
    .flatMap(({ bindings }) => bindings)
    .filter((binding) => session === undefined || binding.session === session)
    .flatMap(({ tools }) => tools);
}

/**
 * What to do where the gateway has refused the call.
 * @param {import("../../link/control.mjs").Control} control
 * @param {CallOptions} given @param {string} code
 */
async function adviceFor(control, given, code) {
  const advice = ADVICE[code] ?? "";
  if (code !== "NOT_FOUND") return advice;
  const names = (await listOfferedTools(control, given)).map(({ name }) => name);
  const meant = findNearest(given.tool, names);
  return meant === undefined ? advice : `did you mean "${meant}"? ${advice}`;
}

/** @param {string | undefined} text in seconds @returns {number | undefined} in ms */
function parseTimeout(text) {
  if (text === undefined) return undefined;
  const ms = Math.round(Number(text) * 1000);
  if (text.trim() !== "" && ms > 0 && ms < MAX_TIMEOUT_MS) return ms;
  throw usage(`--timeout is "${text}", and has to be a number of seconds`, "--timeout 30");
}

/**
 * @param {{code: string, text: string}} outcome @param {string} advice
 * @param {AbortSignal} ending by the user @param {AbortSignal | undefined} late
 */
function createFailure({ code, text }, advice, ending, late) {
  if (ending.aborted) return new Failure(text, { code, exit: EXIT.interrupted });
  if (late?.aborted) {
    return new Failure("there was no result in time, and the call was cancelled", {
      code: "TIMEOUT",
      advice: "ask for less, or give it more time with --timeout",
    });
  }
  return new Failure(text, { code, advice });
}

/** @param {string | Attachment} result @param {string} file */
function save(result, file) {
  const content = typeof result === "string" ? result : Buffer.from(result.data, "base64");
  try {
    fs.writeFileSync(file, content);
  } catch (error) {
    throw new Failure(`${file} cannot be written: ${/** @type {Error} */ (error).message}`, {
      advice: "name another file; the tool has run",
      code: "NOT_WRITTEN",
    });
  }
}

/** @param {Output} output @param {string | Attachment} result @param {string | undefined} file */
function show(output, result, file) {
  if (typeof result === "string") return file ? undefined : output.printText(result);
  if (result.text) output.printText(result.text);
  const size = Buffer.from(result.data, "base64").length;
  if (!file) output.print(`(${result.mimeType}, ${size} bytes: --output <file> writes them)`);
}

/** @param {unknown} error */
function withoutGateway(error) {
  if (!(error instanceof Failure) || error.exit !== EXIT.noGateway) return error;
  const { message, code, exit, advice } = error;
  const dev = "without Copilot, use copilot-tap dev -- <the provider's program>";
  return new Failure(message, { code, exit, advice: `${advice}; ${dev}` });
}

/** @param {CallOptions} given */
async function run(given) {
  const output = new Output(given);
  const { tool, session, output: file } = given;
  const words = await readWords(given);
  const timeoutMs = parseTimeout(given.timeout);
  const outcome = await runInterruptible((ending) =>
    withGateway(getGatewayFiles(given), async (control) => {
      const known = arePairs(words) ? await listOfferedTools(control, given) : [];
      const parameters = known.find(({ name }) => name === tool)?.parameters;
      const args = withUsageErrors(() => parseArguments(words, parameters));
      const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
      const signal = late ? AbortSignal.any([ending, late]) : ending;
      const id = await resolveSessionId(control, session);
      const result = await control.call({ tool, args, session: id, signal });
      if (typeof result !== "object" || !("code" in result)) return result;
      const { code, text } = result;
      const advice = OF_A_PROVIDER.test(text) ? "" : await adviceFor(control, given, code);
      throw createFailure(result, advice, ending, late);
    }),
  ).catch((error) => {
    throw withoutGateway(error);
  });
  if (file !== undefined) save(outcome, file);
  output.result({ tool, result: outcome }, () => show(output, outcome, file));
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "call <tool> [args] [more..]",
  describe: "call a tool without a model",
  usages: ["call <tool> [key=value…]", "call <tool> [JSON]"],
  about:
    "Calls a tool of a provider as a session would, and prints the result. The arguments are " +
    "key=value pairs, whose types follow from the tool, or a JSON object. Rules and gates do " +
    "not apply. Ctrl-C cancels the call.",
  positionals: {
    tool: { describe: "its name" },
    args: { describe: "key=value pairs, or a JSON object; default: {}" },
    more: { describe: "more pairs" },
  },
  options: {
    session: {
      describe:
        "its id or label, or the beginning of one; default: the one last used that has the tool",
    },
    timeout: { describe: "in seconds; default: that of the tool" },
    stdin: { describe: "read the arguments from stdin", type: "boolean" },
    output: { short: "o", describe: "a file for the result" },
  },
  examples: [
    ["$0 call roll sides=6", "as you type it"],
    [`$0 call roll '{"sides":6}'`, "as JSON"],
    ["$0 call screenshot -o page.png", "a result that is not text"],
  ],
  handler: run,
};
