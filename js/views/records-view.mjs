// Records of the store for people.

import stringWidth from "fast-string-width";
import { visible } from "../lib/visible.mjs";
import { bad, faint, strong, warning } from "./output.mjs";
import { cut, table } from "./table.mjs";
import { bytes, clock, formatCount, shortId } from "./wording.mjs";

/** @typedef {import("./output.mjs").Output} Output */
/**
 * A record of the store. `id` grows; `v`: the version of its body's schema.
 * @typedef {{id: number, collection: string, at: number, session?: string, source?: string, trace?: string,
 *   v: number, body: Record<string, unknown>}} StoredRecord
 */

/** Outcomes that are failures. */
const BAD_OUTCOMES = new Set(["failed", "denied", "refused", "error", "dropped"]);

/** @param {unknown} value */
function short(value) {
  if (typeof value === "string")
    return /[\s"=]/.test(value) || value === "" ? JSON.stringify(value) : value;
  return JSON.stringify(value);
}

/** A single line, cut to the width of the terminal. @param {Output} output @param {StoredRecord} record */
export function showRecord(output, { at, session, source, body }) {
  const head = `${clock(at)}  ${session ? shortId(session) : "-".padEnd(8)}  ${source || "tap"}  `;
  const failed = BAD_OUTCOMES.has(String(body.outcome ?? body.status ?? ""));
  const text = Object.entries(body)
    .map(([name, value]) => `${name}=${short(value)}`)
    .join(" ");
  const room = Math.max(20, output.width - stringWidth(head));
  const line = cut(visible(text), room);
  output.print(faint(head), failed ? bad(line) : line);
}

/**
 * The collections with records, and the state of the store.
 * @param {Output} output
 * @param {{file: string, bytes: number, rows: number, diagnostics?: {text: string}[],
 *   collections: {name: string, rows: number, dropped: number, oldest: number, newest: number}[]}} stats
 */
export function showCollections(output, stats) {
  const filled = stats.collections.filter(({ rows, dropped }) => rows > 0 || dropped > 0);
  if (filled.length === 0) output.print("No record yet.");
  else {
    table(
      output,
      [
        { title: "collection" },
        { title: "records", right: true },
        { title: "oldest" },
        { title: "newest" },
        { title: "dropped", right: true },
      ],
      filled.map(({ name, rows, oldest, newest, dropped }) => [
        strong(name),
        String(rows),
        rows > 0 ? clock(oldest) : "",
        rows > 0 ? clock(newest) : "",
        dropped > 0 ? bad(dropped) : "",
      ]),
    );
  }
  output.print(
    faint(`${formatCount(stats.rows, "record")}, ${bytes(stats.bytes)}, in ${stats.file}`),
  );
  for (const { text } of stats.diagnostics ?? []) output.print(bad(text));
}

const RECORDING = {
  all: "",
  notify: ", only texts of features for the model",
  off: ", recording is off",
};

/**
 * For a status: a line about the store, and its problems.
 * @param {Output} output @param {import("../gateway-host/records.mjs").RecordsState} state
 */
export function showStore(output, { rows, bytes: size, file, ...state }) {
  const { recording, dropped, trouble, diagnostics } = state;
  const summary = `records: ${formatCount(rows, "record")}, ${bytes(size)}${RECORDING[recording]}`;
  output.print(recording === "off" ? warning(summary) : summary, faint(`  ${file}`));
  if (trouble) output.print("  ", warning(trouble.text));
  const damaged = diagnostics.findLast(({ code }) => code === "corrupt");
  if (damaged) output.print("  ", warning(damaged.text));
  const lost = Object.entries(dropped).map(([name, count]) => `${count} of ${name}`);
  if (lost.length > 0) output.print("  ", warning(`dropped: ${lost.join(", ")}`));
}

/** The answer to SQL. @param {Output} output @param {{columns: string[], rows: unknown[][]}} answer */
export function showRows(output, { columns, rows }) {
  table(
    output,
    columns.map((title) => ({ title, flexible: true })),
    rows.map((row) => row.map((value) => (value === null ? "" : String(value)))),
  );
}
