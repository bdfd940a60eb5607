// The panels of `copilot-tap top` for events: streams, the pushes of each provider against its budgets, and texts
// for the model.

import { bad, faint, strong, warning } from "../output.mjs";
import { clock } from "../wording.mjs";
import {
  listDetails,
  groupBy,
  createLabelLookup,
  describeSession,
  MAX_ROWS,
  listRecords,
  short,
  toText,
} from "./panel.mjs";

/** @typedef {import("./panel.mjs").Panel} Panel */
/** @typedef {import("./panel.mjs").Row} Row */
/** @typedef {import("./panel.mjs").Snapshot} Snapshot */
/** @typedef {import("./panel.mjs").StoredRecord} StoredRecord */

const LAST_LINES = 20;
const MINUTE_MS = 60_000;

/** @param {StoredRecord} record @returns {string} */
const getEventText = ({ body }) => toText(body.event) || toText(body.prompt) || toText(body.text);

/** @param {unknown} outcome */
const outcomePart = (outcome) =>
  outcome === "over budget" || outcome === "refused" ? bad(outcome) : faint(short(outcome));

// ---- streams ---------------------------------------------------------------------------------------

/** Events of providers, and entries of features. @param {Snapshot} seen */
function listEntries(seen) {
  const pushed = listRecords(seen, "push").filter((record) => getEventText(record) !== "");
  return [...pushed, ...listRecords(seen, "stream_entry")].sort((a, b) => a.id - b.id);
}

/** @param {StoredRecord[]} entries of the same stream @param {Snapshot} seen @param {import("./panel.mjs").Labels} labels @returns {Row} */
function streamRow(entries, seen, labels) {
  const last = entries[entries.length - 1];
  const name = toText(last.body.stream);
  const from = last.source || toText(last.body.emitter) || "tap";
  const lines = entries.slice(-LAST_LINES).map((entry) => {
    const { at, body } = entry;
    const how = toText(body.outcome) && ` [${toText(body.outcome)}]`;
    return `${clock(at, seen.at)}${how} ${short(getEventText(entry))}`;
  });
  return {
    key: `${last.source} ${name} ${last.session}`,
    cells: [
      strong(short(name)),
      short(from),
      short(labels(last.session)),
      String(entries.length),
      clock(last.at, seen.at),
      short(getEventText(last)),
    ],
    details: () =>
      listDetails([
        ["stream", name],
        ["from", from],
        ["session", describeSession(labels, last.session)],
        ["last lines", lines.join("\n")],
      ]),
  };
}

/** @type {Panel} */
export const streams = {
  id: "streams",
  title: "Streams",
  columns: [
    { title: "stream", flexible: true },
    { title: "from", flexible: true },
    { title: "session", flexible: true },
    { title: "new", right: true },
    { title: "last" },
    { title: "last line", flexible: true },
  ],
  rows: (seen) => {
    const labels = createLabelLookup(seen);
    const all = listEntries(seen);
    const streamKey = (/** @type {StoredRecord} */ { source, session, body }) =>
      `${source}\0${toText(body.stream)}\0${session}`;
    return [...groupBy(all, streamKey).values()]
      .sort((a, b) => b[b.length - 1].id - a[a.length - 1].id)
      .slice(0, MAX_ROWS)
      .map((entries) => streamRow(entries, seen, labels));
  },
  empty: "No event in a stream yet.",
};

// ---- pushes and their budgets ----------------------------------------------------------------------

/** @param {Snapshot} seen @returns {string[]} */
function budgetRemarks({ gateway }) {
  const limit = (/** @type {string} */ name) =>
    gateway?.limits.find((row) => row.name === name)?.value;
  const perSecond = limit("pushes-per-second");
  if (perSecond === undefined) return [];
  return [
    `the gateway takes ${perSecond} pushes a second of a provider, ${limit("inject-cycles")} injects ` +
      `in a row, and lets all of a session start ${limit("session-inject-cycles")} turns`,
  ];
}

/** @param {StoredRecord[]} pushes of a provider in a session @param {Snapshot} seen @param {import("./panel.mjs").Labels} labels @returns {Row} */
function budgetRow(pushes, seen, labels) {
  const last = pushes[pushes.length - 1];
  const count = (/** @type {string} */ outcome) =>
    pushes.filter(({ body }) => body.outcome === outcome).length;
  const [over, refused] = [count("over budget"), count("refused")];
  const lastMinute = pushes.filter(({ at }) => at > seen.at - MINUTE_MS).length;
  const outcomes = [...new Set(pushes.map(({ body }) => toText(body.outcome)))];
  return {
    key: `${last.source} ${last.session}`,
    cells: [
      strong(short(last.source)),
      short(labels(last.session)),
      String(lastMinute),
      String(count("injected")),
      String(count("queued")),
      over > 0 ? bad(over) : "0",
      refused > 0 ? bad(refused) : "0",
      clock(last.at, seen.at),
    ],
    details: () =>
      listDetails([
        ["provider", last.source],
        ["session", describeSession(labels, last.session)],
        ["outcomes", outcomes.map((outcome) => `${outcome}: ${count(outcome)}`).join("\n")],
        ["the last push", `${toText(last.body.outcome)} ${toText(last.body.code)}`],
      ]),
  };
}

/** @type {Panel} */
export const pushes = {
  id: "pushes",
  title: "Pushes",
  columns: [
    { title: "provider", flexible: true },
    { title: "session", flexible: true },
    { title: "in 1 min", right: true },
    { title: "injected", right: true },
    { title: "queued", right: true },
    { title: "over budget", right: true },
    { title: "refused", right: true },
    { title: "last" },
  ],
  rows: (seen) => {
    const labels = createLabelLookup(seen);
    const all = listRecords(seen, "push");
    return [...groupBy(all, ({ source, session }) => `${source}\0${session}`).values()]
      .sort((a, b) => b[b.length - 1].id - a[a.length - 1].id)
      .map((those) => budgetRow(those, seen, labels));
  },
  remarks: budgetRemarks,
  empty: "No push yet.",
};

// ---- texts for the model ---------------------------------------------------------------------------

/** The push whose text was held until now. @param {StoredRecord} record @param {StoredRecord[]} all pushes */
const heldText = ({ id, source, session, body }, all) =>
  all.findLast(
    (push) =>
      push.id < id &&
      push.source === source &&
      push.session === session &&
      push.body.stream === body.stream &&
      push.body.outcome === "queued",
  );

/** @param {Snapshot} seen @returns {{record: StoredRecord, text: string}[]} with the texts, oldest first */
function listInjected(seen) {
  const notified = listRecords(seen, "notify");
  const key = (/** @type {StoredRecord} */ { source, session, trace }) =>
    `${source}\0${session}\0${trace}`;
  const withNotice = new Set(notified.map(key));
  const pushed = listRecords(seen, "push");
  const others = pushed.filter(
    (record) => record.body.outcome === "injected" && !withNotice.has(key(record)),
  );
  const all = [...notified, ...others].sort((a, b) => a.id - b.id);
  return all.map((record) => {
    const own = toText(record.body.prompt) || toText(record.body.event);
    const held = own === "" ? heldText(record, pushed) : undefined;
    return { record, text: own || (held ? getEventText(held) : "") };
  });
}

/** @type {Panel} */
export const injected = {
  id: "injected",
  title: "Injected",
  columns: [
    { title: "at" },
    { title: "session", flexible: true },
    { title: "from", flexible: true },
    { title: "record" },
    { title: "text", flexible: true },
  ],
  rows: (seen) => {
    const labels = createLabelLookup(seen);
    return listInjected(seen)
      .slice(-MAX_ROWS)
      .toReversed()
      .map(({ record, text }) => {
        const { id, at, session, source, collection, body } = record;
        const from = [source || "tap", toText(body.stream)].filter(Boolean).join("/");
        return {
          key: String(id),
          cells: [
            clock(at, seen.at),
            short(labels(session)),
            strong(short(from)),
            collection === "notify" ? warning(`notify ${id}`) : outcomePart(`push ${id}`),
            short(text),
          ],
          details: () =>
            listDetails([
              ["from", from],
              ["session", describeSession(labels, session)],
              ["at", clock(at, seen.at)],
              ["record", `${collection} ${id}`],
              ["text", text || "its record has no text"],
            ]),
        };
      });
  },
  empty: "No text was added for the model.",
};
