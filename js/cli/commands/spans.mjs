// `spans`: where the time of a call, a session or a trace went.

import { writeFileSync } from "node:fs";
import { Failure, usage } from "../exit.mjs";
import { withRecords } from "../gateway.mjs";
import { getEnvironment, getGatewayFiles } from "../options.mjs";
import { newestRecords, sessionCondition } from "../record-query.mjs";
import { version } from "../../lib/paths.mjs";
import { parseSpan } from "../../lib/span.mjs";
import { toChromeTrace, byTrace, showSpans } from "../../views/spans-view.mjs";
import { faint, Output, strong } from "../../views/output.mjs";
import { clock, formatCount } from "../../views/wording.mjs";

/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {import("../../lib/span.mjs").Span} Span */
/** @typedef {import("../../views/records-view.mjs").StoredRecord} StoredRecord */
/** @typedef {import("../options.mjs").CommandOptions & {of?: string, session?: string, last: string, export?: string[]}} SpansOptions */

const TRACE_ID = /^[0-9a-f]{32}$/;
/** Of a session, or of one trace. */
const MAX_SPANS = 10_000;
/** Of one id that are looked for, and of those that are named. */
const MAX_CALLS = 100;
const MAX_OTHERS = 5;
const FORMATS = ["chrome", "otlp"];

/** @param {Control} control @param {object} where @param {number} [count] @returns {Promise<Span[]>} */
async function querySpans(control, where, count = MAX_SPANS) {
  const records = await newestRecords(control, { collection: "span", where }, count);
  return records.flatMap((record) => parseSpan(record) ?? []);
}

/**
 * The ids of the last traces, as far as the newest spans are of so many.
 * @param {Control} control @param {number} count
 */
async function lastTraceIds(control, count) {
  for (let known = -1, look = count * 8; ; look *= 8) {
    const spans = await querySpans(control, {}, Math.min(look, Math.max(MAX_SPANS, count * 8)));
    const traces = [...byTrace(spans).keys()];
    // There are no more of them, or this is far enough.
    if (traces.length >= count || spans.length === known || look >= MAX_SPANS) {
      return traces.slice(-count);
    }
    known = spans.length;
  }
}

/** Whole traces, the last ones. @param {Control} control @param {number} count */
async function lastTraces(control, count) {
  /** @type {Span[]} */
  const all = [];
  if (count === 0) return all;
  // One after another: the store takes a few questions at a time.
  for (const trace of await lastTraceIds(control, count)) {
    all.push(...(await querySpans(control, { trace })));
  }
  return all;
}

/** The call's, those above it and those below it. @param {Span[]} spans of its trace @param {string} callId */
function spansAround(spans, callId) {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const isOfCall = (/** @type {Span} */ { attributes }) => attributes.callId === callId;
  /** @type {Set<Span>} */
  const around = new Set();
  for (const one of spans) {
    /** @type {Set<Span>} */
    const line = new Set(); // a parent may be named in a circle
    for (let at = byId.get(one.spanId); at && !line.has(at); at = byId.get(at.parentSpanId)) {
      line.add(at);
    }
    if ([...line].some(isOfCall)) for (const span of line) around.add(span);
  }
  return spans.filter((span) => around.has(span));
}

/** @typedef {{spans: Span[], others?: StoredRecord[]}} SpanMatches `others`: one call of that id in each further trace */

/**
 * The spans of a trace, a session or a call: `of` may be the id that tap has given to the call, or the model.
 * Ids of calls are a session's own: the last call of that id is meant.
 * @param {Control} control @param {string} of @param {{session?: unknown}} within @returns {Promise<SpanMatches>}
 */
async function findSpans(control, of, within) {
  if (TRACE_ID.test(of)) return { spans: await querySpans(control, { ...within, trace: of }) };
  for (const field of ["callId", "toolCallId"]) {
    const query = { collection: "tool_call", where: { ...within, [field]: of } };
    const calls = await newestRecords(control, query, MAX_CALLS);
    const call = calls.at(-1);
    if (!call) continue;
    const ofTrace = await querySpans(control, { trace: call.trace });
    const others = new Map(calls.map((one) => [one.trace, one]));
    others.delete(call.trace);
    return {
      spans: spansAround(ofTrace, String(call.body.callId)),
      others: [...others.values()].toReversed(),
    };
  }
  return { spans: await querySpans(control, await sessionCondition(control, of)) };
}

/** @param {Control} control @param {SpansOptions} given @param {number} count of traces @returns {Promise<SpanMatches>} */
async function find(control, { of, session }, count) {
  const within = session === undefined ? {} : await sessionCondition(control, session);
  if (of !== undefined) return findSpans(control, of, within);
  if (session !== undefined) return { spans: await querySpans(control, within) };
  return { spans: await lastTraces(control, count) };
}

/**
 * @param {Output} output @param {string} of @param {StoredRecord[]} others @param {Map<string, string>} labels
 */
function printOtherCalls(output, of, others, labels) {
  if (others.length === 0) return;
  output.print(faint(`This is the last call ${of}. Others have the same id:`));
  for (const { at, session = "", trace = "" } of others.slice(0, MAX_OTHERS)) {
    const whose = labels.get(session) ?? "session";
    output.print(faint(`  ${clock(at)}  ${whose} ${session}  trace ${trace}`));
  }
  const more = others.length - MAX_OTHERS;
  if (more > 0) output.print(faint(`  and ${more} more`));
  output.print(faint(`copilot-tap spans ${of} --session S shows that of another session.`));
}

/** @param {SpansOptions} given @returns {{format: string, file: string} | undefined} */
function parseExport({ export: asked }) {
  if (!asked) return undefined;
  const [format, file] = asked;
  if (FORMATS.includes(format) && file) return { format, file };
  throw usage(
    "--export takes a format and a file",
    `copilot-tap spans --export chrome trace.json; formats: ${FORMATS.join(", ")}`,
  );
}

/** @param {Span[]} spans @param {string} format @param {Map<string, string>} labels */
async function encodeTrace(spans, format, labels) {
  if (format === "chrome") return toChromeTrace(spans, labels);
  const { encodeSpans } = await import("../../lib/otlp.mjs");
  return encodeSpans(spans, { "service.name": "copilot-tap" }, version);
}

/** @param {SpansOptions} given */
async function run(given) {
  const output = new Output(given);
  const target = parseExport(given);
  const count = /^\d{1,4}$/.test(given.last) ? Number(given.last) : undefined;
  if (count === undefined) throw usage(`--last must be a number of traces (got "${given.last}")`);
  await withRecords(getGatewayFiles(given), getEnvironment(given), async (control) => {
    const { spans, others = [] } = await find(control, given, count);
    const { sessions } = await control.inspect();
    const labels = new Map(sessions.map(({ id, label }) => [id, label]));
    if (target) {
      if (spans.length === 0)
        throw new Failure("there are no spans to export", { code: "NOT_FOUND" });
      const text = JSON.stringify(await encodeTrace(spans, target.format, labels));
      writeFileSync(target.file, `${text}\n`);
      return output.result({ file: target.file, spans: spans.length }, () =>
        output.print(`${formatCount(spans.length, "span")} in `, strong(target.file)),
      );
    }
    output.result(spans, () => {
      if (spans.length > 0) {
        showSpans(output, spans, labels);
        return printOtherCalls(output, given.of ?? "", others, labels);
      }
      const of = given.of ?? given.session;
      output.print(of ? `No span of ${of} is in the record store.` : "No span yet.");
      output.print(faint("Spans are recorded unless the user's config says spans: false."));
    });
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "spans [of]",
  describe: "show where the time of calls went",
  usages: ["spans [call, session or trace]"],
  about:
    "Shows spans as a tree with times: the turns of a session, the calls in them, the work of " +
    "providers. Without an argument, it shows the last traces.",
  positionals: {
    of: { describe: "a call's id, a session's id or label, or a trace's id" },
  },
  options: {
    session: { describe: "only of this session: its id or label" },
    last: { short: "n", describe: "at most this many traces; default: 5", default: "5" },
    export: {
      describe: "write them to a file: chrome (for Perfetto) or otlp, then the name of the file",
      values: 2,
    },
  },
  examples: [
    ["$0 spans", "the last traces"],
    ["$0 spans shop --export chrome trace.json", "a session, for https://ui.perfetto.dev"],
  ],
  handler: run,
};
