// The panels of `copilot-tap top` for tap's own parts: goals, the feature host with holds and the store, emitters.

import { hostLine } from "../features-view.mjs";
import { bad, faint, good, strong, warning } from "../output.mjs";
import { bytes, clock, counted, shortId } from "../wording.mjs";
import { detailsOf, grouped, labelsOf, MOST_ROWS, recordsOf, short, textOf } from "./panel.mjs";

/** @typedef {import("./panel.mjs").Panel} Panel */
/** @typedef {import("./panel.mjs").Row} Row */
/** @typedef {import("./panel.mjs").Seen} Seen */
/** @typedef {import("./panel.mjs").StoredRecord} StoredRecord */
/** @typedef {import("../output.mjs").Part} Part */

// ---- goals -----------------------------------------------------------------------------------------

/** @param {StoredRecord} record */
function eventLine({ at, body }) {
  const { goal: _goal, event, ...rest } = body;
  return `${clock(at)} ${textOf(event)} ${JSON.stringify(rest)}`;
}

/** @param {StoredRecord[]} events of one goal, the oldest first @param {(id: string) => string} labels @param {Seen} seen @returns {Row} */
function goalRow(events, labels, seen) {
  const of = (/** @type {string} */ name) => events.filter(({ body }) => body.event === name);
  const last = events[events.length - 1];
  const [set = last] = of("set");
  const ended = of("closed").length > 0 ? "closed" : of("dropped").length > 0 ? "dropped" : "open";
  const met = new Set(of("supplied").map(({ body }) => body.met === true && body.n));
  met.delete(false);
  return {
    key: textOf(last.body.goal),
    cells: [
      strong(short(last.body.goal)),
      ended === "open" ? warning(ended) : ended === "closed" ? good(ended) : faint(ended),
      short(labels(set.session)),
      `${met.size} of ${of("evidence").length}`,
      clock(last.at, seen.at),
      short(set.body.statement ?? ""),
    ],
    details: () =>
      detailsOf([
        ["goal", last.body.goal],
        ["statement", set.body.statement],
        ["state", ended],
        ["set by", set.body.by],
        ["folder", set.body.cwd],
        ["session", `${labels(set.session)} ${set.session}`],
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
    { title: "supplied" },
    { title: "last" },
    { title: "statement", flexible: true },
  ],
  rows: (seen) => {
    const labels = labelsOf(seen);
    return [...grouped(recordsOf(seen, "goal"), ({ body }) => textOf(body.goal)).values()]
      .sort((a, b) => b[b.length - 1].id - a[a.length - 1].id)
      .slice(0, MOST_ROWS)
      .map((events) => goalRow(events, labels, seen));
  },
  remarks: () => ["supplied: outcomes of commands that the model has passed"],
  empty: "No goal. Set one in a session: /tap-goal <statement>",
};

// ---- the feature host, holds, the store, features --------------------------------------------------

/** @param {string} key @param {Part} state @param {string} says @param {[string, unknown][]} [more] @returns {Row} */
const partRow = (key, state, says, more = []) => ({
  key,
  cells: [strong(short(key)), state, short(says)],
  details: () => detailsOf([["part", key], ["says", says], ...more]),
});

/** @param {import("../../host/records.mjs").RecordsState} store @returns {Row} */
function storeRow({ recording, rows, bytes: size, file, dropped, trouble, diagnostics }) {
  const lost = Object.entries(dropped).map(([name, count]) => `${count} of ${name}`);
  const said = [
    counted(rows, "record"),
    bytes(size),
    lost.length > 0 && `dropped ${lost.join(", ")}`,
  ];
  const state = recording === "all" ? good("on") : warning(recording);
  return partRow("record store", state, trouble?.text ?? said.filter(Boolean).join(", "), [
    ["file", file],
    ["lately", diagnostics.map(({ at, text }) => `${clock(at)} ${text}`).join("\n")],
  ]);
}

/** @param {import("../../registry/report.mjs").Report} report @returns {Row} */
function featureRow({ id, enabled, runtime, tools, commands, denied, skipped, diagnostics }) {
  const missing = [
    ...denied.map(({ capability, reason }) => `not granted ${capability}: ${reason}`),
    ...skipped.map(({ what, reason }) => `skipped ${what}: ${reason}`),
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
  empty: "The gateway does not say: it is of an older version.",
};

// ---- emitters --------------------------------------------------------------------------------------

/**
 * What a report says of one, if it says anything.
 * @typedef {{name?: unknown, emitter?: unknown, state?: unknown, next?: unknown, nextAt?: unknown, lines?: unknown}} Told
 */

/** @param {unknown} value a time, or what else it is @param {number} now */
const timeText = (value, now) => (typeof value === "number" ? clock(value, now) : textOf(value));

/** @param {Seen} seen @returns {Map<string, Told>} by name: a report may say more than this version knows */
function toldOf({ parts }) {
  const all = (parts?.features ?? []).flatMap((report) => {
    const { emitters } = /** @type {{emitters?: unknown}} */ (/** @type {unknown} */ (report));
    return Array.isArray(emitters) ? emitters : [];
  });
  return new Map(
    all
      .filter((one) => typeof one === "object" && one !== null)
      .map((one) => [textOf(one.name ?? one.emitter ?? one.id), one]),
  );
}

const runName = (/** @type {StoredRecord} */ { body, source }) =>
  textOf(body.emitter || body.name) || source;

/** @param {string} name @param {Seen} seen @returns {string[]} */
function linesOf(name, seen) {
  const ofIt = recordsOf(seen, "stream_entry").filter(
    ({ body }) =>
      body.emitter === name || body.stream === name || body.stream === `emitter:${name}`,
  );
  return ofIt.slice(-20).map(({ body }) => textOf(body.text ?? body.event));
}

/** @param {string} name @param {Told} told @param {StoredRecord[]} runs @param {Seen} seen @returns {Row} */
function emitterRow(name, told, runs, seen) {
  const last = runs.at(-1);
  const outcome = textOf(last?.body.outcome ?? last?.body.status ?? last?.body.event);
  const state = textOf(told.state) || outcome;
  const next = timeText(told.nextAt ?? told.next ?? last?.body.nextAt, seen.at);
  const given = Array.isArray(told.lines) ? told.lines.map(textOf) : [];
  const lines = given.length > 0 ? given : linesOf(name, seen);
  return {
    key: name,
    cells: [
      strong(short(name)),
      /fail|error/.test(state) ? bad(short(state)) : short(state),
      String(runs.length),
      last ? clock(last.at, seen.at) : "",
      short(next),
      short(lines.at(-1) ?? ""),
    ],
    details: () =>
      detailsOf([
        ["emitter", name],
        ["state", state],
        ["next run", next],
        ["last lines", lines.join("\n")],
        [
          "last runs",
          runs
            .slice(-10)
            .map(({ at, body }) => `${clock(at)} ${textOf(body)}`)
            .join("\n"),
        ],
        ["session", last?.session ? shortId(last.session) : ""],
      ]),
  };
}

/** @type {Panel} */
export const emitters = {
  id: "emitters",
  title: "Emitters",
  columns: [
    { title: "emitter", flexible: true },
    { title: "state" },
    { title: "runs", right: true },
    { title: "last run" },
    { title: "next run" },
    { title: "last line", flexible: true },
  ],
  rows: (seen) => {
    const told = toldOf(seen);
    const runs = grouped(recordsOf(seen, "emitter_run"), runName);
    const names = [...new Set([...told.keys(), ...runs.keys()])].filter(Boolean);
    return names
      .slice(0, MOST_ROWS)
      .map((name) => emitterRow(name, told.get(name) ?? {}, runs.get(name) ?? [], seen));
  },
  empty: "No emitter.",
};
