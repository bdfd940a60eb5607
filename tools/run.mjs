// npm test: the tests, with their set-up. `npm test -- --help` lists the parts, their names are arguments:
// `npm test -- lint js`. A word behind native, js, python, e2e or long chooses among its tests:
// `npm test -- js gateway.calls`, `npm test -- native Hooks`.

import "../js/lib/require-node.mjs";
import { begin, CommandFailed, printLine, seconds } from "./commands.mjs";
import { readResults } from "./conformance.mjs";
import { repeatAlone, resultFile } from "./node-tests.mjs";
import { conformance, GATE, PARTS, RELEASE, TESTS } from "./parts.mjs";
import { setUp } from "./setup.mjs";

/** @typedef {import("./parts.mjs").Outcome} Outcome */

/** At the end, where a reader looks first; the rest of a failure is far above. */
const MAX_SHOWN_FAILURES = 3;

/** @param {number} count */
const duration = (count) => (count < 90 ? `${count} s` : `${Math.round(count / 60)} min`);

function showHelp() {
  const line = (/** @type {string} */ name) => {
    const { about, when, seconds: usual } = PARTS[name];
    return `  ${name.padEnd(12)}${duration(usual).padStart(7)}  ${about}${when ? `\n${" ".repeat(23)}(${when})` : ""}`;
  };
  const all = Object.keys(PARTS);
  const total = (/** @type {string[]} */ names) =>
    names.reduce((sum, name) => sum + (PARTS[name].beside ? 0 : PARTS[name].seconds), 0);
  printLine("npm test                runs js, native, python, e2e, package, conformance");
  printLine("npm test -- PART …      runs these parts");
  printLine("npm test -- PART WORD   runs the tests of a part with this in their names or titles");
  printLine("npm run release-check   runs everything\n");
  printLine(
    `The parts that a change has to pass (.ci/run, about ${duration(total(GATE))} and the set-up), with usual durations on two cores:`,
  );
  printLine(GATE.map(line).join("\n"));
  printLine("\nOther parts, and when to run them:");
  printLine(
    all
      .filter((name) => !GATE.includes(name))
      .map(line)
      .join("\n"),
  );
}

/** @param {string} problem @returns {never} */
function refuse(problem) {
  printLine(problem);
  process.exit(2);
}

/** @param {string[]} words @returns {Map<string, string | undefined>} the parts, with their filters */
function parseWords(words) {
  /** @type {Map<string, string | undefined>} */
  const chosen = new Map();
  let last = "";
  for (const word of words) {
    if (Object.hasOwn(PARTS, word)) {
      chosen.set(word, undefined);
      last = word;
    } else if (PARTS[last]?.filtered && chosen.get(last) === undefined) {
      chosen.set(last, word);
    } else {
      refuse(`No such part: ${word}. npm test -- --help lists them.`);
    }
  }
  return chosen.size > 0 ? chosen : new Map(TESTS.map((name) => [name, undefined]));
}

/** Of each part. @type {Map<string, {ok: boolean, text: string, time: string, detail: string}>} */
const summary = new Map();
/** Files that failed, then passed alone. @type {string[]} */
const flaky = [];

/** @param {string} name @param {"passed" | "FAILED" | "flaky"} verdict @param {string} time @param {string} detail */
function report(name, verdict, time, detail) {
  const text = `${name.padEnd(12)}${verdict.padEnd(6)}  ${time.padStart(8)}  ${detail}`;
  printLine(`==== ${text}`);
  summary.set(name, { ok: verdict !== "FAILED", text, time, detail });
}

/** @param {string} name @param {() => Promise<Outcome>} work @returns {Promise<Outcome>} */
async function perform(name, work) {
  printLine(`\n==== ${name} ${"=".repeat(Math.max(4, 72 - name.length))}`);
  const { outcome, time } = await measure(work);
  report(name, outcome.ok ? "passed" : "FAILED", time, outcome.detail);
  return outcome;
}

/** @param {() => Promise<Outcome>} work @returns {Promise<{outcome: Outcome, time: string}>} */
async function measure(work) {
  const startedAt = performance.now();
  try {
    const outcome = await work();
    return { outcome, time: outcome.time ?? seconds(startedAt) };
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    return { outcome: { ok: false, detail: error.message }, time: seconds(startedAt) };
  }
}

/** Starts a part that runs during a second part; its duration is its own. @param {string} name */
const beginPart = (name) =>
  begin(async () => {
    const { outcome, time } = await measure(() => PARTS[name].run());
    return { ...outcome, time };
  });

/** @param {string} name of a part @param {import("./node-tests.mjs").NodeRun} run its files that failed */
async function repeat(name, run) {
  printLine(`\n==== ${name}, once more ${"=".repeat(Math.max(4, 60 - name.length))}`);
  const passed = await repeatAlone(run);
  flaky.push(...passed);
  const { time = "", detail = "" } = summary.get(name) ?? {};
  const again = `${passed.length} of ${run.files.length} files passed alone`;
  const verdict = passed.length === run.files.length ? "flaky" : "FAILED";
  report(name, verdict, time, `${detail}; ${again}`);
}

/** The parts in their order; conformance judges the others, and so comes last. @param {Map<string, string | undefined>} filters */
async function performAll(filters) {
  const chosen = [...filters.keys()].filter((name) => name !== "conformance");
  /** The parts that have begun already. @type {Map<string, () => Promise<Outcome>>} */
  const begun = new Map();
  /** @type {[string, import("./node-tests.mjs").NodeRun][]} */
  const repeatable = [];
  for (const [at, name] of chosen.entries()) {
    for (const later of chosen.slice(at + 1))
      if (PARTS[later].beside === name && filters.get(later) === undefined)
        begun.set(later, beginPart(later));
    const outcome = await perform(
      name,
      begun.get(name) ?? (() => PARTS[name].run(filters.get(name))),
    );
    if (outcome.repeatable) repeatable.push([name, outcome.repeatable]);
  }
  for (const [name, run] of repeatable) await repeat(name, run);
  if (filters.has("conformance")) await perform("conformance", () => conformance(chosen));
  return chosen;
}

/** @param {string[]} chosen */
function showFailures(chosen) {
  const failures = chosen
    .flatMap((part) => readResults(resultFile(part)))
    .filter(({ outcome }) => outcome === "failed");
  for (const { file, title, why = "" } of failures.slice(0, MAX_SHOWN_FAILURES))
    printLine(
      `\nfailed: ${file || "native"}: ${title}\n${why.slice(0, 400).replaceAll(/^/gm, "  ")}`,
    );
}

async function main() {
  const words = process.argv.slice(2);
  if (words.some((word) => word === "--help" || word === "-h")) return showHelp();
  const startedAt = performance.now();
  const isRelease = words.length === 1 && words[0] === "--release";
  const filters = isRelease ? new Map(RELEASE.map((name) => [name, undefined])) : parseWords(words);
  await perform("set-up", async () => {
    await setUp({ for: [...filters.keys()] });
    return { ok: true, detail: "" };
  });
  const chosen = summary.get("set-up")?.ok ? await performAll(filters) : [];
  printLine(`\nsummary\n${[...summary.values()].map(({ text }) => `  ${text}`).join("\n")}`);
  if (flaky.length > 0) printLine(`  flaky: ${flaky.join(", ")}`);
  const ok = [...summary.values()].every((part) => part.ok);
  if (!ok) showFailures(chosen);
  if (flaky.length > 0)
    printLine(`\nflaky: a race to be found in\n${flaky.map((file) => `  ${file}`).join("\n")}`);
  printLine(
    `\n${ok ? "PASSED" : "FAILED"}: ${[...filters.keys()].join(", ")} in ${seconds(startedAt)}`,
  );
  process.exitCode = ok ? 0 : 1;
}

await main();
