// Renders the screen of `copilot-tap top`: the gateway's state and the user's choices, as lines of the terminal's size.

import stringWidth from "fast-string-width";
import { connectedProviders } from "../../lib/inspection.mjs";
import { visible } from "../../lib/visible.mjs";
import { bad, faint, strong, styled, warning } from "../output.mjs";
import { cut, foldText, tableLines } from "../table.mjs";
import { clock, formatCount, duration } from "../wording.mjs";
import { IN_OVERVIEW, OVERVIEW, PANELS, PLACES } from "./panels.mjs";
import { findMarked } from "./state.mjs";

/** @typedef {import("../output.mjs").Part} Part */
/** @typedef {import("./panel.mjs").Panel} Panel */
/** @typedef {import("./panel.mjs").Row} Row */
/** @typedef {import("./panel.mjs").Snapshot} Snapshot */
/** @typedef {import("./state.mjs").State} State */
/** @typedef {import("./state.mjs").Viewport} Viewport */
/** @typedef {{columns: number, rows: number}} Size */
/** @typedef {{lines: Part[][], note?: string} & Viewport} Body */

const NARROWEST = 30;
const LOWEST = 8;
const MARK = "> ";
const INDENT = MARK.length;
const KEYS = "q quit  tab panel  ↑↓ row  enter details  p pause  / filter  ? help";

const HELP = [
  ["q, Ctrl-C", "quits"],
  ["tab, →", "the next panel; shift-tab, ←: the previous panel"],
  ["↑ ↓, j k", "the previous row, the next row; page up, page down, home, end"],
  ["enter", "the details of a row; in the overview: the panel"],
  [
    "esc",
    "closes the details; without details drops the filter; without a filter opens the overview",
  ],
  ["p", "pauses: the screen stays as it is until p is pressed again"],
  ["/", "shows only rows with a text; enter keeps it, esc drops it"],
  ["?", "this help; any key closes it"],
];
const ABOUT =
  "It reads the gateway's state every second and changes no state. copilot-tap status, calls, records and spans show the same for scripts.";

/** @param {Part} part */
const partText = (part) => visible(typeof part === "string" ? part : part.text);

/** Cuts to a width. @param {Part[]} parts @param {number} width @returns {Part[]} */
function fit(parts, width) {
  /** @type {Part[]} */
  const fitting = [];
  let room = width;
  for (const part of parts) {
    const whole = partText(part);
    const text = cut(whole, room);
    fitting.push(typeof part === "string" ? text : { ...part, text });
    room -= stringWidth(text);
    if (text !== whole || room <= 0) break;
  }
  return fitting;
}

/** @param {Part[]} parts */
const measureWidth = (parts) => parts.reduce((sum, part) => sum + stringWidth(partText(part)), 0);

/** @param {Part[]} left @param {Part[]} right never cut @param {number} width @returns {Part[]} */
function apart(left, right, width) {
  const fitting = fit(left, width - measureWidth(right) - 1);
  return [...fitting, " ".repeat(width - measureWidth(fitting) - measureWidth(right)), ...right];
}

// ---- head and foot ---------------------------------------------------------------------------------

/** In minutes, since a line that changes each second distracts. @param {number} ms */
const upTime = (ms) => (ms < 60_000 ? "< 1 min" : duration(ms - (ms % 60_000)));

/** @param {Snapshot} seen @returns {Part[]} */
function formatHead({ gateway, trouble, port }) {
  if (trouble) return [bad(trouble.message), trouble.advice && `: ${trouble.advice}`];
  if (!gateway) return [strong("tap"), ` looks for a gateway on port ${port}`];
  const running = gateway.providers.reduce((sum, provider) => sum + provider.callsInFlight, 0);
  const counts = [
    formatCount(gateway.sessions.length, "session"),
    formatCount(connectedProviders(gateway).length, "provider"),
    `${formatCount(running, "call")} running`,
  ];
  return [
    strong(`tap ${gateway.version}`),
    `  port ${gateway.port}  up ${upTime(gateway.now - gateway.startedAt)}  `,
    counts.join(", "),
    ...(gateway.draining ? ["  ", warning("it makes room for a newer gateway")] : []),
  ];
}

/** The names of all places, in as many lines as needed. @param {State} state @param {number} width @returns {Part[][]} */
function formatTabs({ place }, width) {
  /** @type {Part[][]} */
  const lines = [[]];
  let used = 0;
  for (const name of PLACES) {
    const text = name === place ? `[${name}]` : ` ${name} `;
    if (used + text.length > width) {
      lines.push([]);
      used = 0;
    }
    lines[lines.length - 1].push(name === place ? strong(text) : faint(text));
    used += text.length;
  }
  return lines;
}

/** @param {State} state @param {Snapshot | undefined} seen @param {string} note @param {number} width @returns {Part[]} */
function formatFoot({ typing, filter, paused }, seen, note, width) {
  if (typing) return [strong(`/${filter}_`), faint("  enter keeps the filter, esc drops it")];
  const state = [
    ...(filter === "" ? [] : [warning(`/${cut(filter, 12)} `)]),
    ...(note === "" ? [] : [`${note} `]),
    ...(paused ? [warning("paused ")] : []),
    faint(seen ? clock(seen.at, seen.at) : ""),
  ];
  return apart([faint(KEYS)], state, width);
}

// ---- the body --------------------------------------------------------------------------------------

/** @param {Row} row @param {string} filter */
const fits = ({ cells }, filter) =>
  cells.map(partText).join(" ").toLowerCase().includes(filter.toLowerCase());

/** @param {Panel} panel @param {Snapshot} seen @param {State} state */
const filterRows = (panel, seen, { filter }) =>
  panel.rows(seen).filter((row) => filter === "" || fits(row, filter));

/** @param {Part[]} line with INDENT spaces in front @param {boolean} marked @param {number} width @returns {Part[]} */
function markedLine([indent, ...rest], marked, width) {
  if (!marked) return [indent, ...rest];
  const text = rest.map(partText).join("");
  return [styled("inverse", cut(`${MARK}${text}`.padEnd(width), width))];
}

/** Some rows of each panel that has rows, as many as fit. @param {State} state @param {Snapshot} seen @param {Size} size @returns {Body} */
function overview(state, seen, { columns, rows: height }) {
  const all = IN_OVERVIEW.map((panel) => ({ panel, rows: filterRows(panel, seen, state) }))
    .filter(({ rows }) => rows.length > 0)
    .slice(0, Math.floor(height / 2))
    .map((panel) => ({ ...panel, count: 1 }));
  let room = height - 2 * all.length;
  while (room > 0 && all.some(({ rows, count }) => count < rows.length)) {
    for (const panel of all) {
      if (room === 0 || panel.count >= panel.rows.length) continue;
      panel.count += 1;
      room -= 1;
    }
  }
  const keys = all.map(({ panel }) => panel.id);
  const marked = keys[findMarked(state, keys)];
  const lines = all.flatMap(({ panel, rows, count }) => {
    const more = rows.length > count ? ` (${count} of ${rows.length})` : "";
    const [first, ...others] = panel.columns;
    const titled = [{ ...first, title: `${panel.title}${more}` }, ...others];
    const cells = rows.slice(0, count).map((row) => row.cells);
    const [head, ...below] = tableLines(titled, cells, columns, INDENT);
    const [, title, ...titles] = head;
    const sign = panel.id === marked ? MARK : " ".repeat(INDENT);
    return [[strong(sign), strong(partText(title)), ...titles], ...below];
  });
  const empty = state.filter === "" ? "Nothing is connected yet." : "No row has the filter's text.";
  return { lines: lines.length > 0 ? lines : [[empty]], keys, page: 1, most: 0 };
}

/** @param {Panel} panel @param {State} state @param {Snapshot} seen @param {Size} size @returns {Body} */
function panelBody(panel, state, seen, { columns, rows: height }) {
  const rows = filterRows(panel, seen, state);
  const keys = rows.map(({ key }) => key);
  if (rows.length === 0) {
    const empty = state.filter === "" ? panel.empty : `No row has "${state.filter}".`;
    return { lines: [[strong(panel.title)], [empty]], keys, page: 1, most: 0 };
  }
  const remarks = (panel.remarks?.(seen) ?? []).slice(0, Math.floor(height / 3));
  const page = Math.max(1, height - 1 - remarks.length);
  const marked = findMarked(state, keys);
  const top = Math.max(0, Math.min(marked - Math.floor(page / 2), rows.length - page));
  const visibleRows = rows.slice(top, top + page);
  const cells = visibleRows.map((row) => row.cells);
  const [head, ...below] = tableLines(panel.columns, cells, columns, INDENT);
  const lines = [
    head,
    ...below.map((line, at) => markedLine(line, top + at === marked, columns)),
    ...remarks.map((text) => [" ".repeat(INDENT), warning(text)]),
  ];
  return { lines, keys, page, most: 0, note: `${marked + 1}/${rows.length}` };
}

/** @param {Panel} panel @param {State} state @param {Snapshot} seen @param {Size} size @returns {Body} */
function detailsBody(panel, state, seen, { columns, rows: height }) {
  const rows = filterRows(panel, seen, state);
  const keys = rows.map(({ key }) => key);
  const row = rows.find(({ key }) => key === state.chosen[state.place]);
  if (!row) return { lines: [["The row no longer exists: press esc."]], keys, page: 1, most: 0 };
  const labels = row.details();
  const wide = Math.min(20, Math.max(...labels.map(([label]) => label.length)));
  const lines = labels.flatMap(([label, text]) =>
    foldText(text, Math.max(8, columns - wide - 2)).map((line, at) => [
      strong((at === 0 ? label : "").padEnd(wide)),
      `  ${line}`,
    ]),
  );
  const most = Math.max(0, lines.length - height);
  const top = Math.min(state.line, most);
  const note = most > 0 ? `line ${top + 1}/${lines.length}` : "";
  return { lines: lines.slice(top, top + height), keys, page: height, most, note };
}

/** @param {number} columns @returns {Part[][]} */
const helpLines = (columns) => [
  [strong("copilot-tap top")],
  ...HELP.map(([keys, effect]) => [strong(keys.padEnd(12)), effect]),
  [],
  ...foldText(ABOUT, columns).map((line) => [line]),
];

/** @param {State} state @param {Snapshot | undefined} seen @param {Size} size of the body @returns {Body} */
function renderBody(state, seen, size) {
  const noRows = { keys: [], page: 1, most: 0 };
  if (state.help) return { lines: helpLines(size.columns), ...noRows };
  if (!seen?.gateway) return { lines: [["It retries every second."]], ...noRows };
  if (state.place === OVERVIEW) return overview(state, seen, size);
  const panel = /** @type {Panel} */ (PANELS.find(({ id }) => id === state.place));
  return state.open ? detailsBody(panel, state, seen, size) : panelBody(panel, state, seen, size);
}

/**
 * @param {State} state @param {Snapshot | undefined} seen undefined: before the first read @param {Size} size
 * @returns {Body} exactly size.rows lines of at most size.columns columns
 */
export function renderFrame(state, seen, size) {
  const { columns, rows } = size;
  if (columns < NARROWEST || rows < LOWEST) {
    const text = `The terminal is too small: ${NARROWEST} x ${LOWEST} at least.`;
    const small = Array.from({ length: rows }, (_, at) => (at === 0 ? fit([text], columns) : []));
    return { lines: small, keys: [], page: 1, most: 0 };
  }
  const bar = formatTabs(state, columns);
  const head = seen ? formatHead(seen) : [strong("tap"), " looks for a gateway"];
  const height = rows - 2 - bar.length;
  const body = renderBody(state, seen, { columns, rows: height });
  const blank = Array.from({ length: Math.max(0, height - body.lines.length) }, () => []);
  const foot = formatFoot(state, seen, body.note ?? "", columns);
  const lines = [head, ...bar, ...body.lines.slice(0, height), ...blank, foot];
  return { ...body, lines: lines.map((line) => fit(line, columns)) };
}
