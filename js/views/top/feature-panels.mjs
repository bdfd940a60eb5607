// The panels of `copilot-tap top` for tap's own parts: goals, the feature host with holds and the store, emitters.

import { hostLine } from "../features-view.mjs";
import { bad, faint, good, strong, warning } from "../output.mjs";
import { bytes, clock, formatCount, latency } from "../wording.mjs";
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
/** @typedef {import("../output.mjs").Part} Part */

// ---- goals -----------------------------------------------------------------------------------------

/** @param {StoredRecord} record */
function eventLine({ at, body }) {
  const { goal: _goal, event, ...rest } = body;
  return `${clock(at)} ${toText(event)} ${JSON.stringify(rest)}`;
}

/** @param {StoredRecord[]} events of a goal, the oldest first @param {import("./panel.mjs").Labels} labels @param {Snapshot} seen @returns {Row} */
function goalRow(events, labels, seen) {
  const of = (/** @type {string} */ name) => events.filter(({ body }) => body.event === name);
  const last = events[events.length - 1];
  const [set = last] = of("set");
  const ended = of("closed").length > 0 ? "closed" : of("dropped").length > 0 ? "dropped" : "open";
  const ran = new Map(of("ran").map(({ body }) => [body.n, body.met === true])); // the last of each
  const met = [...ran.values()].filter(Boolean);
  return {
    key: toText(last.body.goal),
    cells: [
      strong(short(last.body.goal)),
      ended === "open" ? warning(ended) : ended === "closed" ? good(ended) : faint(ended),
      short(labels(set.session)),
      `${met.length} of ${of("evidence").length}`,
      clock(last.at, seen.at),
      short(set.body.statement ?? ""),
    ],
    details: () =>
      listDetails([
        ["goal", last.body.goal],
        ["statement", set.body.statement],
        ["state", ended],
        ["set by", set.body.by],
        ["folder", set.body.cwd],
        ["session", describeSession(labels, set.session)],
        ["events", events.map(eventLine).join("\n")],
      ]),
  };
}

/** @type {Panel} */
export const goals = {
  id: "goals",
  title: "Goals",
  columns: [
    { title: "goal" },
    { title: "state" },
    { title: "session", flexible: true },
    { title: "commands" },
    { title: "last" },
    { title: "statement", flexible: true },
  ],
  rows: (seen) => {
    const labels = createLabelLookup(seen);
    const records = listRecords(seen, "goal").filter(({ body }) => body.goal !== undefined);
    return [...groupBy(records, ({ body }) => toText(body.goal)).values()]
      .sort((a, b) => b[b.length - 1].id - a[a.length - 1].id)
      .slice(0, MAX_ROWS)
      .map((events) => goalRow(events, labels, seen));
  },
  remarks: () => ["commands: evidence whose last run ended as required, of all evidence"],
  empty: "No goal. To set a goal, in a session: /tap-goal <statement>",
};

// ---- the feature host, holds, the store, features --------------------------------------------------

/** @param {string} key @param {Part} state @param {string} says @param {[string, unknown][]} [more] @returns {Row} */
const partRow = (key, state, says, more = []) => ({
  key,
  cells: [strong(short(key)), state, short(says)],
  details: () => listDetails([["part", key], ["says", says], ...more]),
});

/** @param {import("../../gateway-host/records.mjs").RecordsState} store @returns {Row} */
function storeRow({ recording, rows, bytes: size, file, dropped, trouble, diagnostics }) {
  const lost = Object.entries(dropped).map(([name, count]) => `${count} of ${name}`);
  const facts = [
    formatCount(rows, "record"),
    bytes(size),
    lost.length > 0 && `dropped ${lost.join(", ")}`,
  ];
  const state = recording === "all" ? good("on") : warning(recording);
  return partRow("record store", state, trouble?.text ?? facts.filter(Boolean).join(", "), [
    ["file", file],
    ["lately", diagnostics.map(({ at, text }) => `${clock(at)} ${text}`).join("\n")],
  ]);
}

/** @param {import("../../feature-host/report.mjs").Report} report @returns {Row} */
function featureRow({ id, enabled, runtime, tools, commands, denied, skipped, diagnostics }) {
  const missing = [
    ...denied.map(({ capability, reason }) => `not granted ${capability}: ${reason}`),
    ...skipped.map(({ what: name, reason }) => `skipped ${name}: ${reason}`),
  ];
  const last = diagnostics.at(-1)?.text;
  const has = [...tools, ...commands.map((name) => `/${name}`)].join(", ");
  const state = !enabled ? faint("off") : missing.length > 0 ? warning("on") : good("on");
  return partRow(id, state, last ?? (has || "no tools"), [
    ["runs", runtime],
    ["has", has],
    ["lacks", missing.join("\n")],
    ["lately", diagnostics.map(({ at, text }) => `${at} ${text}`).join("\n")],
  ]);
}

/** @type {Panel} */
export const features = {
  id: "features",
  title: "Features",
  columns: [{ title: "part", flexible: true }, { title: "state" }, { title: "", flexible: true }],
  rows: ({ parts, at }) => {
    if (!parts) return [];
    const { featureHost, holds, records, features: reports } = parts;
    const state = featureHost.trouble ? bad(short(featureHost.state)) : short(featureHost.state);
    return [
      partRow("feature host", state, hostLine(featureHost, at), [["trouble", featureHost.trouble]]),
      ...holds.map((hold) =>
        partRow(`hold ${hold.id}`, warning("holds"), `${hold.feature}: ${hold.what}`, [
          ["since", hold.at],
        ]),
      ),
      storeRow(records),
      ...reports.map(featureRow),
    ];
  },
  empty: "This older gateway does not report its features.",
};

// ---- emitters --------------------------------------------------------------------------------------

/**
 * An emitter in a feature's report, if it has one.
 * @typedef {{name?: unknown, emitter?: unknown, state?: unknown, next?: unknown, nextAt?: unknown, lines?: unknown}}
 *   EmitterReport
 */

/** @param {unknown} value a time, or a text @param {number} now */
const timeText = (value, now) => (typeof value === "number" ? clock(value, now) : toText(value));

/** @param {Snapshot} seen @returns {Map<string, EmitterReport>} by name; a report may have fields that this version does not know */
function readEmitterReports({ parts }) {
  const all = (parts?.features ?? []).flatMap((report) => {
    const { emitters } = /** @type {{emitters?: unknown}} */ (/** @type {unknown} */ (report));
    return Array.isArray(emitters) ? emitters : [];
  });
  return new Map(
    all
      .filter((report) => typeof report === "object" && report !== null)
      .map((report) => [toText(report.name ?? report.emitter ?? report.id), report]),
  );
}

/** @param {StoredRecord} record of a run, or a line @returns {string} */
const getEmitterName = ({ body }) => toText(body.emitter || body.name);

/** @param {StoredRecord} record */
const getEmitterKey = (record) => `${getEmitterName(record)}\0${record.session}`;

/** @param {StoredRecord} record of a run @param {number} now */
function runLine({ at, body }, now) {
  const { run, status, outcome, durationMs, exitCode, error, kept, dropped, injected } = body;
  const facts = [
    typeof durationMs === "number" && latency(durationMs),
    exitCode !== undefined && `exit code ${toText(exitCode)}`,
    kept !== undefined && `${toText(kept)} lines kept`,
    dropped !== undefined && `${toText(dropped)} dropped`,
    injected !== undefined && `${toText(injected)} injected`,
    toText(error),
  ];
  return `${clock(at, now)} run ${toText(run)} ${toText(status ?? outcome)}: ${facts.filter(Boolean).join(", ")}`;
}

/** The state according to its records: a running emitter has a line after its last run. @param {StoredRecord[]} runs @param {StoredRecord[]} lines */
function getEmitterState(runs, lines) {
  const last = runs.at(-1)?.body;
  const ended = Number(last?.run ?? 0);
  if (Number(lines.at(-1)?.body.run ?? 0) > ended) return "running";
  return toText(last?.status ?? last?.outcome);
}

/** Its next run, from the report or its last run. @param {EmitterReport} report @param {StoredRecord | undefined} last @param {number} now */
function formatNextRun(report, last, now) {
  const planned = Number(last?.body.nextAt) > now ? last?.body.nextAt : undefined;
  return timeText(report.nextAt ?? report.next ?? planned, now);
}

/**
 * @param {string} name @param {EmitterReport} report @param {StoredRecord[]} runs @param {StoredRecord[]} lines
 * @param {Snapshot} seen @returns {Row}
 */
function emitterRow(name, report, runs, lines, seen) {
  const labels = createLabelLookup(seen);
  const last = runs.at(-1);
  const session = (last ?? lines.at(-1))?.session;
  const state = toText(report.state) || getEmitterState(runs, lines);
  const next = formatNextRun(report, last, seen.at);
  const given = Array.isArray(report.lines) ? report.lines.map(toText) : [];
  const texts = given.length > 0 ? given : lines.map(({ body }) => toText(body.text));
  const part = /fail|error/.test(state) ? bad : state === "running" ? good : faint;
  return {
    key: `${name}\0${session}`,
    cells: [
      strong(short(name)),
      short(labels(session)),
      part(short(state)),
      String(runs.length),
      last ? clock(last.at, seen.at) : "",
      short(next),
      short(texts.at(-1) ?? ""),
    ],
    details: () =>
      listDetails([
        ["emitter", name],
        ["session", describeSession(labels, session)],
        ["state", state],
        ["next run", next],
        [
          "last runs",
          runs
            .slice(-10)
            .map((run) => runLine(run, seen.at))
            .join("\n"),
        ],
        ["command", last?.body.command],
        ["last lines", texts.slice(-20).join("\n")],
      ]),
  };
}

/** @type {Panel} */
export const emitters = {
  id: "emitters",
  title: "Emitters",
  columns: [
    { title: "emitter", flexible: true },
    { title: "session", flexible: true },
    { title: "state" },
    { title: "runs", right: true },
    { title: "last run" },
    { title: "next" },
    { title: "last line", flexible: true },
  ],
  rows: (seen) => {
    const reports = readEmitterReports(seen);
    const named = (/** @type {StoredRecord[]} */ all) =>
      all.filter((record) => getEmitterName(record) !== "");
    const runs = groupBy(named(listRecords(seen, "emitter_run")), getEmitterKey);
    const lines = groupBy(named(listRecords(seen, "stream_entry")), getEmitterKey);
    const keys = new Set([...runs.keys(), ...lines.keys()]);
    const names = new Set([...keys].map((key) => key.split("\0")[0]));
    const silent = [...reports.keys()].filter((name) => name !== "" && !names.has(name));
    return [...keys, ...silent].slice(0, MAX_ROWS).map((key) => {
      const [name] = key.split("\0");
      return emitterRow(
        name,
        reports.get(name) ?? {},
        runs.get(key) ?? [],
        lines.get(key) ?? [],
        seen,
      );
    });
  },
  empty: "No emitter.",
};
