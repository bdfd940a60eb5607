// The checks of calls: calls with bad arguments, and cancelled calls.

import { setTimeout as wait } from "node:timers/promises";
import { badArguments } from "./tool-schema.mjs";
import { formatDuration } from "./connection-checks.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./findings.mjs").Finding} Finding */
/** @typedef {import("./subject.mjs").Subject} Subject */
/** @typedef {import("./checks.mjs").Answer} Answer */
/** @typedef {import("./checks.mjs").NamedCall} NamedCall */
/** @typedef {import("../../lib/addon.js").CallOutcome} CallOutcome */

const ANSWER_MS = 5_000;
/** A crashing program has ended by then. */
const CRASH_MS = 300;
/** A call that is answered sooner cannot be cancelled. */
const BEFORE_CANCEL_MS = 200;
/** The trace arrives on a separate link. */
const TRACE_MS = 1_000;
/** After this many failures the others would add no information, and each takes time. */
const MAX_WRONG = 3;

/**
 * @param {Promise<CallOutcome>} result @param {number} ms
 * @returns {Promise<CallOutcome | undefined>} undefined: too late
 */
async function withTimeout(result, ms) {
  const timer = new AbortController();
  const late = wait(ms, undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    return await Promise.race([result, late]);
  } finally {
    timer.abort(); // a timer keeps the process alive
  }
}

/** @param {Subject} subject @param {string} happened @returns {Promise<Finding>} */
async function createCrashFinding(subject, happened) {
  await subject.until(() => subject.ended !== undefined, CRASH_MS);
  const how =
    subject.ended === undefined
      ? "the connection was closed"
      : `the program ended (${subject.ended})`;
  return finding("CRASHES", `${happened}, ${how}.`);
}

/**
 * @param {Subject} subject @param {string} tool @param {import("./tool-schema.mjs").BadCall} bad
 * @returns {Promise<Finding | undefined>}
 */
async function tryBad(subject, tool, { problem, args }) {
  const { session } = subject.tap;
  const { id, result } = session.start(tool, args);
  const outcome = await withTimeout(result, ANSWER_MS);
  const called = `"${tool}" ${problem}`;
  if (outcome === undefined) {
    session.cancel(id);
    return finding(
      "NO_ANSWER",
      `A call of ${called} had no answer within ${formatDuration(ANSWER_MS)}.`,
    );
  }
  if (typeof outcome === "string" || !("code" in outcome)) {
    return finding("ACCEPTS_BAD_ARGUMENTS", `A call of ${called} succeeded.`);
  }
  if (outcome.code === "DISCONNECTED")
    return createCrashFinding(subject, `After a call of ${called}`);
  if (outcome.code === "INVALID_JSON" || outcome.code === "PAYLOAD_TOO_LARGE") {
    const happened = `The gateway could not use the answer to a call of ${called}: ${outcome.text}`;
    return finding("BAD_ANSWER", happened);
  }
  return undefined;
}

/**
 * @param {Subject} subject @param {() => Promise<boolean>} isServing
 * @param {string[]} skipped tools that are not called
 * @returns {Promise<Answer>}
 */
export async function refusesBadArguments(subject, isServing, skipped) {
  const calls = [...subject.declared.values()]
    .filter(({ name }) => !skipped.includes(name))
    .flatMap(({ name, parameters }) =>
      badArguments(parameters).map((bad) => ({ tool: name, bad })),
    );
  if (calls.length === 0) return { notApplicable: "no tool has arguments that can be wrong" };
  const findings = [];
  let made = 0;
  for (const { tool, bad } of calls) {
    if (findings.length === MAX_WRONG || !(await isServing())) break;
    if (!subject.tools.includes(tool)) continue;
    made += 1;
    const found = await tryBad(subject, tool, bad);
    if (found) findings.push(found);
  }
  const left = calls.length - made;
  const rest = left > 0 ? `, ${left} more not made` : "";
  return { findings, seen: `${made} ${made === 1 ? "call" : "calls"} with bad arguments${rest}` };
}

/** @param {Subject} subject @param {string} call */
const isAnswered = (subject, call) =>
  subject.listFrames("received", "tool.result").some(({ id }) => id === call);

/** Waits until a call has reached the provider. @param {Subject} subject @param {string} tool @returns {Promise<string | undefined>} the call's id */
async function waitForCall(subject, tool) {
  const sent = () => subject.listFrames("sent", "tool.call").find((call) => call.tool === tool);
  await subject.until(sent, TRACE_MS);
  return sent()?.id;
}

/** @typedef {{seen?: string, found?: Finding, isCancelled?: boolean}} CancelAttempt */

/**
 * Describes a call that ended before it could be cancelled.
 * @param {Subject} subject @param {string} tool @param {CallOutcome | undefined} outcome
 * @param {number} ms its duration
 * @returns {Promise<CancelAttempt>}
 */
async function notCancelled(subject, tool, outcome, ms) {
  if (outcome === undefined) return { seen: `the call of "${tool}" did not reach the provider` };
  if (typeof outcome === "string" || !("code" in outcome)) {
    return { seen: `"${tool}" answered after ${formatDuration(ms)}, too soon to be cancelled` };
  }
  if (outcome.code === "DISCONNECTED") {
    return { found: await createCrashFinding(subject, `After a call of "${tool}"`) };
  }
  return { seen: `"${tool}" failed before it could be cancelled: ${outcome.text}` };
}

/**
 * @param {Subject} subject @param {string} tool @param {string} call the provider's id of it
 * @returns {Promise<CancelAttempt>}
 */
async function afterCancel(subject, tool, call) {
  const begin = performance.now();
  await subject.until(() => isAnswered(subject, call) || subject.ended !== undefined, ANSWER_MS);
  if (isAnswered(subject, call)) {
    const ms = performance.now() - begin;
    return {
      seen: `"${tool}" was settled ${formatDuration(ms)} after \`tool.cancel\``,
      isCancelled: true,
    };
  }
  if (subject.ended !== undefined || subject.listFrames("closed").length > 0) {
    return { found: await createCrashFinding(subject, `After \`tool.cancel\` for "${tool}"`) };
  }
  const within = `within ${formatDuration(ANSWER_MS)} of \`tool.cancel\``;
  return { found: finding("IGNORES_CANCEL", `"${tool}" sent no \`tool.result\` ${within}.`) };
}

/** @param {Subject} subject @param {NamedCall} call @returns {Promise<CancelAttempt>} */
async function cancelOne(subject, { tool, args }) {
  const { session } = subject.tap;
  subject.forget();
  const begin = performance.now();
  const { id, result } = session.start(tool, args);
  const call = await waitForCall(subject, tool);
  const early = await withTimeout(result, BEFORE_CANCEL_MS);
  if (early !== undefined || call === undefined) {
    return notCancelled(subject, tool, early, performance.now() - begin);
  }
  session.cancel(id);
  return afterCancel(subject, tool, call);
}

/**
 * @param {Subject} subject @param {() => Promise<boolean>} isServing @param {NamedCall[]} calls
 * @returns {Promise<Answer>}
 */
export async function settlesCancelled(subject, isServing, calls) {
  if (calls.length === 0) {
    return { notApplicable: "name a call that takes a while, with --call <tool> key=value" };
  }
  const findings = [];
  const seen = [];
  let isTried = false;
  for (const call of calls) {
    if (!(await isServing())) break;
    const attempt = await cancelOne(subject, call);
    isTried ||= attempt.isCancelled === true;
    if (attempt.found) findings.push(attempt.found);
    if (attempt.seen) seen.push(attempt.seen);
  }
  const text = seen.join("; ");
  if (!isTried && findings.length === 0) return { notApplicable: text };
  return { findings, seen: text };
}
