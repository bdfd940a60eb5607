// The panels of `copilot-tap top` for calls: those that run, the last ones, and the slowest with their spans.

import { spanOf, inTreeOrder } from "../../base/span.mjs";
import { connectedProviders } from "../../base/inspection.mjs";
import { bad, good, strong, warning } from "../output.mjs";
import { spanTime } from "../spans-view.mjs";
import { nameOf } from "../status-view.mjs";
import { clock, counted, duration, latency, shortId } from "../wording.mjs";
import { detailsOf, labelsOf, MOST_ROWS, recordsOf, short } from "./panel.mjs";

/** @typedef {import("./panel.mjs").Panel} Panel */
/** @typedef {import("./panel.mjs").Row} Row */
/** @typedef {import("./panel.mjs").Seen} Seen */
/** @typedef {import("./panel.mjs").ShownCall} ShownCall */
/** @typedef {import("../../base/span.mjs").Span} Span */

/** @param {Seen} seen @returns {Row[]} one for each provider that has calls to answer */
const runningRows = ({ gateway }) =>
  (gateway ? connectedProviders(gateway) : [])
    .filter(({ callsInFlight }) => callsInFlight > 0)
    .map((provider) => {
      const { connection, callsInFlight, waitedMs } = provider;
      const waits = `${counted(callsInFlight, "call")} running`;
      const oldest = waitedMs > 0 ? `for ${duration(waitedMs)}` : "";
      return {
        key: `running ${connection}`,
        cells: ["now", "", short(nameOf(provider)), warning(waits), "", oldest],
        details: () =>
          detailsOf([
            ["provider", nameOf(provider)],
            ["running", callsInFlight],
            ["the oldest waits", oldest],
          ]),
      };
    });

/** @param {ShownCall} call @param {Seen} seen @param {(id: string) => string} labels @returns {Row} */
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
      detailsOf([
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
    const labels = labelsOf(seen);
    const last = seen.calls.slice(-MOST_ROWS).toReversed();
    return [...runningRows(seen), ...last.map((call) => callRow(call, seen, labels))];
  },
  empty: "No call yet since the gateway has started.",
};

/** Calls, and the work for them: other spans last as long as a session. */
const OF_CALLS = /^(?:execute_tool|provider) /;

/** @param {Span} span @param {Span[]} all */
const treeText = ({ traceId }, all) =>
  inTreeOrder(all.filter((one) => one.traceId === traceId && OF_CALLS.test(one.name)))
    .slice(-MOST_ROWS)
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
    const labels = labelsOf(seen);
    const all = recordsOf(seen, "span").flatMap((record) => spanOf(record) ?? []);
    const slowest = all
      .filter(({ name }) => OF_CALLS.test(name))
      .toSorted((a, b) => b.durationUs - a.durationUs);
    return slowest.slice(0, MOST_ROWS).map((span) => ({
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
        detailsOf([
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
  empty: "No span of a call yet. The user's config may say spans: false.",
};
