// `check`: finds mistakes of a provider's program. The program runs with a private gateway and a pretend session,
// and the checks run in sequence.

import { sleep } from "../../lib/timers.mjs";
import { findNearest } from "../../lib/suggestion.mjs";
import { startTap } from "../testing.mjs";
import { parseArguments, BadArguments } from "../tool-arguments.mjs";
import { refusesBadArguments, settlesCancelled } from "./call-checks.mjs";
import { connects, describesTools } from "./connection-checks.mjs";
import { endsBySignal, servesNextSession, survivesRestart } from "./lifecycle-checks.mjs";
import { Subject } from "./subject.mjs";

/** @typedef {import("./findings.mjs").Finding} Finding */
/** @typedef {"ok" | "wrong" | "not applicable"} Verdict */
/** @typedef {{findings: Finding[], seen?: string, notApplicable?: undefined} | {notApplicable: string}} Answer */
/** @typedef {{tool: string, args: object}} NamedCall */
/** @typedef {{id: string, title: string}} Title */
/** `printed`: the program's last lines, if a check fails. @typedef {Title & {verdict: Verdict, seen: string, findings: Finding[], printed: string[]}} CheckResult */
/**
 * `printedBytes`: total output of the program.
 * @typedef {{well: boolean, checks: CheckResult[], printedBytes: number}} Report
 *
 * @typedef {object} CheckRequest
 * @property {{tool: string, words: string[]}[]} calls to be made unchanged
 * @property {string[]} skipped tools that are not called with bad arguments
 * @property {number} waitMs longest wait for the program to be in the session, each time
 * @property {AbortSignal} ending
 * @property {(title: Title, number: number, of: number) => void} onBegin
 * @property {(checked: CheckResult) => void} onDone
 */

/** The inputs of a check. @typedef {{subject: Subject, wanted: CheckRequest, isServing: () => Promise<boolean>}} Bench */

/** Time to read the last output of a program that has ended. */
const PRINT_MS = 100;
/** From the binding to its tools. */
const TOOLS_MS = 2_000;

/** The calls that the author names. @param {Bench} bench @returns {NamedCall[]} @throws {BadArguments} */
function namedCalls({ subject, wanted }) {
  return wanted.calls.map(({ tool, words }) => {
    const { parameters } = subject.tap.session.tools.get(tool) ?? {};
    return { tool, args: parseArguments(words, parameters) };
  });
}

/** @type {(Title & {run: (bench: Bench) => Promise<Answer>})[]} */
const CHECKS = [
  {
    id: "connect",
    title: "connects, authenticates and sends hello",
    run: ({ subject, wanted }) => connects(subject, wanted.waitMs),
  },
  {
    id: "tools",
    title: "describes its tools, with schemas that the CLI accepts",
    run: ({ subject }) => describesTools(subject),
  },
  {
    id: "bad-arguments",
    title: "answers bad arguments with a failure",
    run: ({ subject, wanted, isServing }) =>
      refusesBadArguments(subject, isServing, wanted.skipped),
  },
  {
    id: "cancel",
    title: "settles a cancelled call",
    run: (bench) => settlesCancelled(bench.subject, bench.isServing, namedCalls(bench)),
  },
  {
    id: "clear",
    title: "serves the next session (/clear)",
    run: ({ subject, wanted }) => servesNextSession(subject, wanted.waitMs),
  },
  {
    id: "restart",
    title: "comes back when the gateway restarts",
    run: ({ subject, wanted }) => survivesRestart(subject, wanted.waitMs),
  },
  { id: "end", title: "ends by SIGTERM", run: ({ subject }) => endsBySignal(subject) },
];

/** Finds calls of unknown tools, and arguments that do not fit. @param {Bench} bench @throws {BadArguments} */
function verifyCalls(bench) {
  const { tools } = bench.subject;
  for (const tool of [...bench.wanted.calls.map((call) => call.tool), ...bench.wanted.skipped]) {
    if (tools.includes(tool)) continue;
    const meant = findNearest(tool, tools);
    const guess = meant === undefined ? "" : `; did you mean "${meant}"?`;
    throw new BadArguments(
      `the provider has no tool "${tool}"; it has: ${tools.join(", ")}${guess}`,
    );
  }
  namedCalls(bench);
}

/** @param {Title} title @param {Answer} answer @param {Subject} subject @returns {Promise<CheckResult>} */
async function toCheckResult({ id, title }, answer, subject) {
  if (answer.notApplicable !== undefined) {
    const seen = answer.notApplicable;
    return { id, title, verdict: "not applicable", seen, findings: [], printed: [] };
  }
  const { findings, seen = "" } = answer;
  if (findings.length === 0) return { id, title, verdict: "ok", seen, findings, printed: [] };
  await sleep(PRINT_MS);
  return { id, title, verdict: "wrong", seen, findings, printed: subject.lastLines };
}

/**
 * Runs the checks in sequence. A program that has ended is restarted for the next check. If the program cannot connect,
 * the other checks are skipped.
 * @param {Bench} bench @returns {Promise<CheckResult[]>}
 */
async function checkAll(bench) {
  const { subject, wanted, isServing } = bench;
  /** @type {CheckResult[]} */
  const all = [];
  let hasConnected = false;
  for (const [at, check] of CHECKS.entries()) {
    if (wanted.ending.aborted) break;
    wanted.onBegin(check, at + 1, CHECKS.length);
    subject.forgetPrinted();
    const isThere = at === 0 || (hasConnected && (await isServing()));
    const answer = isThere
      ? await check.run(bench)
      : { notApplicable: "the provider is not in the session" };
    const checked = await toCheckResult(check, answer, subject);
    if (wanted.ending.aborted) break; // the interruption may be the cause of a failure
    all.push(checked);
    wanted.onDone(checked);
    if (at > 0) continue;
    hasConnected = await subject.serves([], 0);
    if (hasConnected) verifyCalls(bench);
  }
  return all;
}

/** @param {Subject} subject @param {CheckRequest} wanted @returns {() => Promise<boolean>} restarts it if it has ended */
function createServingCheck(subject, wanted) {
  let isLost = false;
  /** @type {string[]} */
  let usual = [];
  return async () => {
    if (isLost) return false;
    if (subject.ended === undefined && (await subject.serves([], 0))) {
      usual = subject.tools;
      return true;
    }
    await subject.startAgain();
    isLost = !(await subject.serves([], wanted.waitMs));
    await subject.serves(usual, TOOLS_MS);
    return !isLost;
  };
}

/**
 * @param {string[]} command of the provider @param {CheckRequest} wanted
 * @returns {Promise<Report>}
 * @throws {BadArguments} if a named call cannot be made
 */
export async function checkProvider(command, wanted) {
  const tap = await startTap({ session: "check-1" });
  const subject = new Subject(tap, command);
  try {
    await subject.listen();
    const stopped = new Promise((resolve) => {
      wanted.ending.addEventListener("abort", () => resolve([]), { once: true });
    });
    const bench = { subject, wanted, isServing: createServingCheck(subject, wanted) };
    const checks = /** @type {CheckResult[]} */ (await Promise.race([checkAll(bench), stopped]));
    const well = checks.every(({ verdict }) => verdict !== "wrong");
    return { well, checks, printedBytes: subject.printedBytes };
  } finally {
    await subject.close();
    await tap.stop();
  }
}
