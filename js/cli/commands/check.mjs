// `check`: what a provider's program gets wrong (docs/testing.md, "Mistakes of a provider: check").

import { EXIT, Failure, usage, runInterruptible } from "../exit.mjs";
import { BadArguments, splitWords } from "../../develop/tool-arguments.mjs";
import { bad, faint, good, Output, strong } from "../../views/output.mjs";
import { formatCount, wrapWords } from "../../views/wording.mjs";

/** @typedef {import("../../develop/check/checks.mjs").CheckResult} CheckResult */
/** @typedef {import("../../develop/check/checks.mjs").Report} Report */
/** @typedef {import("../options.mjs").CommandOptions & {pairs?: string[], call: string[], skip: string[], wait?: string, rest: string[]}} CheckOptions */

const EXAMPLE = "copilot-tap check -- node provider.mjs";
const INDENT = "    ";
const INNER = `${INDENT}  `;
const MIN_WIDTH = 30;
const MAX_WAIT_S = 600;
/** More of it would fill a log, and hide what matters. */
const MUCH_PRINTED = 1024 * 1024;

/** @param {string} line such as: slow seconds=5 @returns {{tool: string, words: string[]}} */
function parseCall(line) {
  const [, tool = "", rest = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(line) ?? [];
  if (tool === "") throw usage("--call needs a tool", "--call slow seconds=5");
  try {
    return { tool, words: rest.startsWith("{") ? [rest] : splitWords(rest) };
  } catch (error) {
    throw usage(/** @type {Error} */ (error).message, EXAMPLE);
  }
}

/** @param {CheckOptions} given */
function parseCalls({ call, pairs = [] }) {
  const calls = call.map(parseCall);
  if (pairs.length === 0) return calls;
  if (calls.length !== 1) {
    const advice =
      calls.length === 0
        ? `the provider's program goes after --: ${EXAMPLE}`
        : "quote each call with its arguments: --call 'slow seconds=5' --call 'other n=1'";
    throw usage(`"${pairs[0]}" does not belong to a call`, advice);
  }
  return [{ tool: calls[0].tool, words: [...calls[0].words, ...pairs] }];
}

/** @param {CheckOptions["wait"]} given in seconds @returns {number} in ms */
function parseWait(given) {
  const text = given ?? "10";
  const value = Number(text);
  if (text.trim() !== "" && value > 0 && value <= MAX_WAIT_S) return value * 1000;
  throw usage(`--wait is "${text}", and has to be a number of seconds`, "--wait 30");
}

/** @param {Output} output @param {import("../../develop/check/findings.mjs").Finding} finding */
function showFinding(output, { happened, why, fix, rules, code }) {
  const width = Math.max(MIN_WIDTH, output.width - INNER.length);
  const cited = rules.length > 0 ? `, docs/protocol.md ${rules.join(", ")}` : "";
  const [first, ...others] = wrapWords(`wrong: ${happened}`, width);
  output.print(INDENT, bad("✗ "), strong(first));
  for (const line of others) output.print(INNER, strong(line));
  for (const text of [`Why it matters: ${why}`, `Fix: ${fix}`]) {
    for (const line of wrapWords(text, width)) output.print(INNER, line);
  }
  output.print(INNER, faint(`${code}${cited}`));
}

/** @param {Output} output @param {CheckResult} checked */
function showCheckResult(output, { verdict, seen, findings, printed }) {
  const width = Math.max(MIN_WIDTH, output.width - INNER.length);
  if (verdict === "not applicable") {
    const [first, ...others] = wrapWords(`- not applicable: ${seen}`, width);
    output.print(INDENT, faint(first));
    for (const line of others) output.print(INNER, faint(line));
  }
  if (verdict === "ok") output.print(INDENT, good("✓ ok"), ...(seen ? [`: ${seen}`] : []));
  for (const finding of findings) showFinding(output, finding);
  if (printed.length > 0) output.print(INNER, "The program printed last:");
  for (const line of printed) output.print(INNER, "  ", faint(line));
}

/** @param {Output} output @param {Report} report */
function showSummary(output, { well, checks, printedBytes }) {
  if (printedBytes > MUCH_PRINTED) {
    const size = (printedBytes / MUCH_PRINTED).toFixed(1);
    output.print(`The program printed ${size} MB; a log of that size hides what matters.`);
  }
  const wrong = checks.filter(({ verdict }) => verdict === "wrong").length;
  const open = checks.filter(({ verdict }) => verdict === "not applicable").length;
  const rest = open > 0 ? `, ${open} not applicable` : "";
  const verdict = well
    ? "Nothing is wrong"
    : `${formatCount(wrong, "check")} found something wrong`;
  output.print(strong(`${verdict} (${formatCount(checks.length, "check")}${rest}).`));
}

/** @param {Output} output @param {string[]} program @param {boolean} hasCalls */
function showPlan(output, program, hasCalls) {
  output.print(
    `Checking ${strong(program.join(" ")).text} with a gateway and a session of its own.`,
  );
  const named = hasCalls ? ", and those that --call names" : "";
  output.print(faint(`Tools may have effects: only calls with bad arguments are made${named}.`));
}

/** @param {CheckOptions} given */
async function run(given) {
  const output = new Output(given);
  const program = given.rest;
  if (program.length === 0) throw usage("expected the provider's program", EXAMPLE);
  const calls = parseCalls(given);
  const waitMs = parseWait(given.wait);
  const { checkProvider } = await import("../../develop/check/checks.mjs");
  showPlan(output, program, calls.length > 0);
  const report = await runInterruptible(async (ending) => {
    const wanted = {
      ...{ calls, waitMs, ending, skipped: given.skip },
      onBegin: (
        /** @type {{title: string}} */ { title },
        /** @type {number} */ at,
        /** @type {number} */ of,
      ) => output.print(faint(`${at}/${of} `), title),
      onDone: (/** @type {CheckResult} */ checked) => showCheckResult(output, checked),
    };
    const done = await checkProvider(program, wanted).catch((error) => {
      if (!(error instanceof BadArguments)) throw error;
      throw new Failure(error.message, { advice: "correct --call or --skip", code: "BAD_CALL" });
    });
    if (ending.aborted) throw new Failure("interrupted", { exit: EXIT.interrupted });
    return done;
  });
  output.result(report, () => showSummary(output, report));
  return report.well ? EXIT.done : EXIT.notDone;
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "check [pairs..]",
  describe: "find what a provider's program gets wrong",
  usages: ["check [--call <tool> [key=value…]] -- program…"],
  about:
    "Starts the program with a gateway and a pretend session of its own, and tests what " +
    "providers often get wrong: connecting, schemas, bad arguments, a cancelled call, /clear, " +
    "a restart of the gateway, SIGTERM. Each finding says what to do. Since tools may have " +
    "effects, it calls them with bad arguments only, but for those that --call names.",
  positionals: {
    pairs: { describe: "arguments of the tool of --call, if there is one --call" },
  },
  options: {
    call: {
      describe: "a tool that may be called and cancelled; quote several: 'slow seconds=5'",
      multiple: true,
    },
    skip: { describe: "a tool that is not called with bad arguments", multiple: true },
    wait: { describe: "seconds that the program has to join the session, each time; default: 10" },
  },
  examples: [
    ["$0 check -- node provider.mjs", "everything but the cancelled call"],
    ["$0 check --call slow seconds=5 -- python3 provider.py", "the cancelled call, too"],
  ],
  handler: run,
  takesRest: true,
};
