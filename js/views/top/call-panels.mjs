// The panels of `copilot-tap top` for calls: running calls, the last calls, and the slowest with their spans.

import { parseSpan, sortAsTree } from "../../lib/span.mjs";
import { connectedProviders } from "../../lib/inspection.mjs";
import { bad, good, strong, warning } from "../output.mjs";
import { spanTime } from "../spans-view.mjs";
import { formatName } from "../status-view.mjs";
import { clock, formatCount, duration, latency, shortId } from "../wording.mjs";
import { listDetails, createLabelLookup, MAX_ROWS, listRecords, short } from "./panel.mjs";

/** @typedef {import("./panel.mjs").Panel} Panel */
/** @typedef {import("./panel.mjs").Row} Row */
/** @typedef {import("./panel.mjs").Snapshot} Snapshot */
/** @typedef {import("./panel.mjs").FormattedCall} FormattedCall */
/** @typedef {import("../../lib/span.mjs").Span} Span */

/** @param {Snapshot} seen @returns {Row[]} one row for each provider with pending calls */
const runningRows = ({ gateway }) =>
  (gateway ? connectedProviders(gateway) : [])
    .filter(({ callsInFlight }) => callsInFlight > 0)
    .map((provider) => {
      const { connection, callsInFlight, waitedMs } = provider;
      const waits = `${formatCount(callsInFlight, "call")} running`;
      const oldest = waitedMs > 0 ? `for ${duration(waitedMs)}` : "";
      return {
        key: `running ${connection}`,
        cells: ["now", "", short(formatName(provider)), warning(waits), "", oldest],
        details: () =>
          listDetails([
            ["provider", formatName(provider)],
            ["running", callsInFlight],
            ["the oldest waits", oldest],
          ]),
      };
    });

/** @param {FormattedCall} call @param {Snapshot} seen @param {(id: string) => string} labels @returns {Row} */
function callRow(call, { at: now }, labels) {
  const { sequence, at, ms, session, provider, tool, by, args, whole, code, message } = call;
  const asked = JSON.stringify(args);
  return {
    key: `call ${sequence}`,
    cells: [
      clock(at, now),
      short(call.label || labels(session)),
      short(provider || "nobody"),
      strong(short(tool)),
      code ? bad(short(code)) : good("ok"),
      latency(ms),
    ],
    details: () =>
      listDetails([
        ["tool", tool],
        ["provider", provider || "nobody"],
        ["session", `${call.label || labels(session)} ${session}`],
        ["ended", clock(at, now)],
        ["took", latency(ms)],
        ["asked by", by === "command" ? "copilot-tap call" : "the model"],
        ["arguments", whole ? asked : `${asked} …`],
        ["outcome", code ?? "ok"],
        ["message", message],
      ]),
  };
}

/** @type {Panel} */
export const calls = {
  id: "calls",
  title: "Calls",
  columns: [
    { title: "at" },
    { title: "session", flexible: true },
    { title: "provider", flexible: true },
    { title: "tool", flexible: true },
    { title: "outcome", flexible: true },
    { title: "took", right: true },
  ],
  rows: (seen) => {
    const labels = createLabelLookup(seen);
    const last = seen.calls.slice(-MAX_ROWS).toReversed();
    return [...runningRows(seen), ...last.map((call) => callRow(call, seen, labels))];
  },
  empty: "No call yet since the gateway has started.",
};

/** Calls and their work. Other spans last as long as a session. */
const OF_CALLS = /^(?:execute_tool|provider) /;

/** @param {Span} span @param {Span[]} all */
const treeText = ({ traceId }, all) =>
  sortAsTree(all.filter((other) => other.traceId === traceId && OF_CALLS.test(other.name)))
    .slice(-MAX_ROWS)
    .map(({ span, depth }) => `${"  ".repeat(depth)}${span.name}  ${spanTime(span.durationUs)}`)
    .join("\n");

/** @type {Panel} */
export const spans = {
  id: "spans",
  title: "Slowest spans",
  columns: [
    { title: "took", right: true },
    { title: "span", flexible: true },
    { title: "from", flexible: true },
    { title: "session", flexible: true },
    { title: "at" },
    { title: "status" },
  ],
  rows: (seen) => {
    const labels = createLabelLookup(seen);
    const all = listRecords(seen, "span").flatMap((record) => parseSpan(record) ?? []);
    const slowest = all
      .filter(({ name }) => OF_CALLS.test(name))
      .toSorted((a, b) => b.durationUs - a.durationUs);
    return slowest.slice(0, MAX_ROWS).map((span) => ({
      key: `${span.traceId} ${span.spanId}`,
      cells: [
        spanTime(span.durationUs),
        strong(short(span.name)),
        short(span.source),
        short(labels(span.session)),
        clock(Math.floor(span.startUs / 1000), seen.at),
        span.status === "error" ? bad("error") : "ok",
      ],
      details: () =>
        listDetails([
          ["span", span.name],
          ["took", spanTime(span.durationUs)],
          ["trace", span.traceId],
          ["session", `${labels(span.session)} ${shortId(span.session)}`],
          ["attributes", span.attributes],
          ["last of its trace", treeText(span, all)],
        ]),
    }));
  },
  remarks: () => ["of the last 200 spans; copilot-tap spans shows whole traces"],
  empty: "No span of a call yet. The user's config may have spans: false.",
};
