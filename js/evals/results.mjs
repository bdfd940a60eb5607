// The results of a run of cases: as JSON in a file, and as Markdown for people.

import fs from "node:fs";
import path from "node:path";
import { makePrivateFolder, writePrivate } from "../lib/host-files.mjs";
import { redact } from "../lib/redact.mjs";
import { shortenText, visible } from "../lib/visible.mjs";

/** @typedef {import("./case-runner.mjs").CaseResult} CaseResult */
/** @typedef {"passed" | "failed" | "error" | "broken"} Status */
/**
 * @typedef {object} Results
 * @property {1} version of this format
 * @property {string} tap its version
 * @property {string} cli
 * @property {string} file of the cases
 * @property {string} startedAt
 * @property {number} ms
 * @property {Record<Status, number>} counts
 * @property {CaseResult[]} cases
 */

const MAX_ROWS = 100;
const MAX_DETAILS = 20;
const MAX_LINE = 400;
const MAX_RESULTS = 20;
const MAX_VERDICTS = 500;

/** @param {string} home @returns {{folder: string, verdicts: string}} the default places for results */
export function resultsPlace(home) {
  const folder = path.join(home, "tap", "evals");
  return { folder, verdicts: path.join(folder, "verdicts") };
}

/** @param {string} folder @param {number} count */
function keepNewest(folder, count) {
  if (!fs.existsSync(folder)) return;
  const files = fs
    .readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => path.join(folder, name))
    .map((file) => ({ file, at: fs.statSync(file).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { file } of files.slice(count)) fs.rmSync(file, { force: true });
}

/**
 * Writes them without secrets.
 * @param {Results} results @param {string} home @param {string | undefined} output a file instead of the default
 * @returns {string} the file
 */
export function writeResults(results, home, output) {
  const { folder, verdicts } = resultsPlace(home);
  const text = `${JSON.stringify(redact(results), null, 2)}\n`;
  if (output !== undefined) {
    fs.writeFileSync(output, text, { mode: 0o600 });
    return path.resolve(output);
  }
  makePrivateFolder(folder);
  const file = path.join(folder, `${results.startedAt.replaceAll(":", "-")}.json`);
  writePrivate(file, text);
  keepNewest(folder, MAX_RESULTS);
  keepNewest(verdicts, MAX_VERDICTS);
  return file;
}

/** In a record's body; the file has all. */
const MAX_REASONS = 3;
const MAX_REASON = 200;
const MAX_BYTES = 4096;

/** Escapes a control character first, since that makes it longer. @param {string} text */
const toRecordText = (text) => shortenText(visible(text), MAX_REASON);

/** @param {unknown} body */
const countBytes = (body) => Buffer.byteLength(JSON.stringify(body));

/**
 * The records of a run: a body for each case.
 * @param {Results} results @returns {Record<string, unknown>[]} without secrets, and of at most 4 KB
 */
export const toRecords = ({ startedAt, file, tap, cases }) =>
  cases.map(({ name, status, ms, problems, checks, calls }) => {
    const failed = checks.filter(({ passed }) => !passed);
    const reasons = [...problems, ...failed.map(({ check, why }) => `${check}: ${why}`)];
    // Redact first: a part of a secret is not recognized.
    const clean = redact({ name, file, reasons: reasons.slice(0, MAX_REASONS) });
    const body = {
      ...{ case: toRecordText(clean.name), status, ms, run: startedAt, tap },
      file: toRecordText(clean.file),
      ...{ checks: checks.length, failed: failed.length, calls: calls.length },
      reasons: clean.reasons.map(toRecordText),
    };
    while (countBytes(body) > MAX_BYTES && body.reasons.length > 0) body.reasons.pop();
    return body;
  });

/** @param {CaseResult[]} cases @returns {Record<Status, number>} */
export function countByStatus(cases) {
  const counts = { passed: 0, failed: 0, error: 0, broken: 0 };
  for (const { status } of cases) counts[status] += 1;
  return counts;
}

/** Escapes text of the model or a tool for Markdown. @param {string} text */
const toCode = (text) => `\`${shortenText(text, MAX_LINE).replaceAll("`", "'")}\``;

/** @param {CaseResult} result @returns {string[]} */
function details({ name, status, problems, checks }) {
  const failed = checks.filter(({ passed }) => !passed);
  return [
    "",
    `## ${name}: ${status}`,
    "",
    ...problems.map((problem) => `- ${toCode(problem)}`),
    ...failed.map(({ check, why }) => `- ${toCode(check)}: ${toCode(why)}`),
  ];
}

/** @param {Results} results @param {string} file with all results @returns {string[]} lines of Markdown */
export function reportLines({ cases, counts, ms }, file) {
  const rows = cases.slice(0, MAX_ROWS);
  const bad = cases.filter(({ status }) => status !== "passed");
  const others = Object.entries(counts).filter(
    ([status, count]) => status !== "passed" && count > 0,
  );
  const seconds = (/** @type {number} */ time) => `${(time / 1000).toFixed(1)} s`;
  const rest = others.map(([status, count]) => `, ${count} ${status}`).join("");
  return [
    `# Evals: ${counts.passed} of ${cases.length} passed${rest} (${seconds(ms)})`,
    "",
    "| case | result | time |",
    "| --- | --- | --- |",
    ...rows.map(({ name, status, ms: time }) => `| ${name} | ${status} | ${seconds(time)} |`),
    ...(rows.length < cases.length ? [`| ${cases.length - rows.length} more | | |`] : []),
    ...bad.slice(0, MAX_DETAILS).flatMap(details),
    ...(bad.length > MAX_DETAILS ? ["", `${bad.length - MAX_DETAILS} more did not pass.`] : []),
    "",
    `All results: ${file}`,
  ];
}
