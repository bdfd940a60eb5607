// `replay`: a recording as a test (docs/recordings.md).

import { once } from "node:events";
import { EXIT, Failure, usage, runInterruptible } from "../exit.mjs";
import { bad, faint, good, Output, strong } from "../../views/output.mjs";
import { callsOf, COMPARISONS, replay } from "../../develop/replay.mjs";
import { readTrace } from "../../develop/trace.mjs";

/** @typedef {import("../../develop/replay.mjs").Replayed} Replayed */
/** @typedef {import("../options.mjs").CommandOptions & {file: string, rest: string[], provider?: string, compare: import("../../develop/replay.mjs").Comparison}} ReplayOptions */

/** @param {ReplayOptions} given */
function readCalls({ file, provider }) {
  let trace;
  try {
    trace = readTrace(file);
  } catch (error) {
    throw new Failure(/** @type {Error} */ (error).message, {
      advice: "copilot-tap trace FILE makes a recording",
    });
  }
  const calls = callsOf(trace.events, { provider });
  if (calls.length > 0) return calls;
  const whose = provider === undefined ? "" : ` of the provider "${provider}"`;
  throw new Failure(`${file} has no answered call${whose}`, {
    advice: "record one while the provider's tools are called",
  });
}

/** @param {Output} output @param {Replayed} done */
function show(output, { call, ok, skipped, detail }) {
  const sign = skipped ? faint("-") : ok ? good("✓") : bad("✗");
  output.print(sign, " ", strong(call.tool), ` ${JSON.stringify(call.args)}: ${detail}`);
}

/**
 * Rejects when nobody is left to be called.
 * @param {import("node:child_process").ChildProcess} provider @param {string[]} program
 * @returns {Promise<never>}
 */
function rejectOnExit(provider, program) {
  const advice = `try it by itself: copilot-tap dev -- ${program.join(" ")}`;
  return once(provider, "exit").then(
    ([code, signal]) => {
      const how = `(${signal ?? `exit code ${code}`})`;
      throw new Failure(`the provider has ended ${how} before all calls were made`, { advice });
    },
    (error) => {
      throw new Failure(`the provider does not start: ${error.message}`, { advice });
    },
  );
}

/**
 * The provider's output is not the command's result, so it goes to stderr.
 * @param {import("node:child_process").ChildProcess} provider
 * @returns {() => void} stops this: the provider's output about its own end does not matter to the user
 */
function forwardOutput({ stdout, stderr }) {
  const streams = [stdout, stderr].filter((stream) => stream !== null);
  for (const stream of streams) stream.pipe(process.stderr, { end: false });
  return () => {
    for (const stream of streams) stream.unpipe(process.stderr).resume();
  };
}

/** @param {ReplayOptions} given */
async function run(given) {
  const output = new Output(given);
  const program = given.rest;
  if (program.length === 0) {
    throw usage("expected the provider's program", "copilot-tap replay ci.jsonl -- node ci.mjs");
  }
  const calls = readCalls(given);
  const { startTap } = await import("../../develop/testing.mjs");
  const { endProvider, startProvider } = await import("../../develop/provider-process.mjs");
  const tap = await startTap();
  const provider = startProvider(tap, program, () => {}, "pipe");
  const hush = forwardOutput(provider);
  let isOver = false;
  try {
    const results = await runInterruptible((ending) => {
      const stopped = new Promise((_resolve, reject) => {
        ending.addEventListener("abort", () => reject(new Failure("interrupted", { exit: 130 })));
      });
      const gone = rejectOnExit(provider, program);
      const onCall = (/** @type {Replayed} */ done) => {
        if (!isOver) show(output, done);
      };
      const all = replay(tap, calls, { compare: given.compare, onCall });
      return Promise.race([all, stopped, gone]);
    });
    return report(output, /** @type {Replayed[]} */ (results));
  } finally {
    isOver = true; // callbacks that still wait for a tool do nothing
    hush();
    await endProvider(provider);
    await tap.stop();
  }
}

/** @param {Output} output @param {Replayed[]} results @returns {number} the exit code */
function report(output, results) {
  const failed = results.filter(({ ok }) => !ok).length;
  const skipped = results.filter((one) => one.skipped).length;
  const all = results.map(({ call: { tool, args }, ...rest }) => ({ tool, args, ...rest }));
  output.result({ calls: results.length, failed, skipped, results: all }, () => {
    const same = results.length - failed - skipped;
    const notMade = skipped > 0 ? `, ${skipped} not made` : "";
    output.print(`${same} of ${results.length} calls matched the recording${notMade}`);
  });
  return failed > 0 ? EXIT.notDone : EXIT.done;
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "replay <file>",
  describe: "replay the calls of a recording",
  usages: ["replay <file> -- program…"],
  about:
    "Starts the provider with a gateway of its own, makes the calls of the recording, and " +
    "compares the answers: a recording as a test. Sessions and providers that run are not " +
    "affected.",
  positionals: { file: { describe: "made by copilot-tap trace" } },
  options: {
    provider: { describe: "only its calls" },
    compare: {
      describe:
        "equal: the data (default); shape: its names and types; outcome: success or the error code",
      choices: COMPARISONS,
      default: "equal",
    },
  },
  examples: [
    ["$0 replay ci.jsonl -- node ci.mjs", "does ci still answer as it did?"],
    ["$0 replay ci.jsonl --compare shape -- python3 ci.py", "where values differ from day to day"],
  ],
  handler: run,
  takesRest: true,
};
