// The texts about a watcher, for the model and the user. Names, messages and paths come from programs: the gateway
// puts the text for the model into a fence.

import { inLine, shortenText, visible } from "../lib/visible.mjs";
import { shortenFile } from "./state.mjs";

/** @typedef {import("./state.mjs").Report} Report */
/** @typedef {import("./state.mjs").Failure} Failure */

const MAX_LINES = 20;
const MAX_TEXT = 2400;
const MAX_LINE = 240;
/** Of a text for the user. */
const MAX_SHOWN = 120;
const MAX_FILES = 5;
const MAX_MENDED = 5;
const MAX_IDENTITY = 80;

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** @param {number} ms */
export function formatSpan(ms) {
  if (ms < 100 * SECOND) return `${Math.max(1, Math.round(ms / SECOND))} s`;
  if (ms < 100 * MINUTE) return `${Math.round(ms / MINUTE)} min`;
  return `${Math.round(ms / (60 * MINUTE))} h`;
}

/** Local, with the day if it is not today. @param {number} at Unix ms @param {number} now */
export function formatTime(at, now) {
  const [then, today] = [new Date(at), new Date(now)];
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const time = [then.getHours(), then.getMinutes(), then.getSeconds()].map(two).join(":");
  if (then.toDateString() === today.toDateString()) return time;
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`;
}

/** @param {number} count @param {string} noun */
const formatCount = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** @param {Failure} failure @param {string} folder */
function formatPlace({ file, line, col }, folder) {
  if (!file) return "";
  return [shortenFile(file, folder), line, col].filter(Boolean).join(":");
}

/** The place and the message. @param {Failure} failure @param {string} folder */
export function formatFailure(failure, folder) {
  const { id, part, code, name, what, lines } = failure;
  const message = what ?? (name ? undefined : lines[0]);
  return [
    part && id.startsWith(`${part}: `) && `[${part}]`,
    formatPlace(failure, folder),
    code,
    name,
    message,
  ]
    .filter(Boolean)
    .map((one) => visible(String(one)))
    .join("  ");
}

/** Its lines without those that the first line repeats. @param {Failure} failure @param {string} folder */
function listLines(failure, folder) {
  const first = formatFailure(failure, folder);
  const lines = failure.lines
    .map((line) => line.trimEnd())
    .filter((line) => line !== "" && !first.includes(line.trim()));
  const indent = Math.min(...lines.map((line) => line.search(/\S/)));
  return lines.map((line) => visible(line.slice(indent)));
}

/**
 * Failures as lines: each its first line, and an equal share of the rest.
 * @param {Failure[]} failures @param {string} folder @param {number} [most] lines @param {number} [room] characters
 */
export function formatFailures(failures, folder, most = MAX_LINES, room = MAX_TEXT) {
  const shown = failures.slice(0, most);
  const share = Math.floor((most - shown.length) / Math.max(shown.length, 1));
  const texts = [];
  let [lines, left] = [0, 0];
  for (const failure of failures) {
    const first = shortenText(formatFailure(failure, folder), MAX_LINE);
    if (lines >= most || first.length > room) {
      left += 1;
      continue;
    }
    texts.push(first);
    [room, lines] = [room - first.length, lines + 1];
    for (const line of listLines(failure, folder).slice(0, share)) {
      const text = `    ${shortenText(line, MAX_LINE - 4)}`;
      if (text.length > room || lines >= most) break;
      texts.push(text);
      [room, lines] = [room - text.length, lines + 1];
    }
  }
  return { texts, left: failures.slice(failures.length - left) };
}

/** @param {Failure[]} failures @param {string} folder */
function formatFiles(failures, folder) {
  const counts = new Map();
  for (const { file } of failures) {
    const name = file ? shortenFile(file, folder) : undefined;
    if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, MAX_FILES);
  const names = most.map(([name, count]) => `${visible(name)} ${count}`);
  return names.length > 0 ? ` (${names.join(", ")})` : "";
}

/** An identity as people read it: the file, and its code or message. @param {string} id */
function formatIdentity(id) {
  const [file, code, ...own] = id.split("|");
  return visible(
    shortenText([file, code || own.join("|")].filter(Boolean).join(" "), MAX_IDENTITY),
  );
}

/** @param {string} title @param {string[]} ids */
function formatIdentities(title, ids) {
  if (ids.length === 0) return "";
  const names = [...new Set(ids.map(formatIdentity))];
  const more = names.length > MAX_MENDED ? ` and ${names.length - MAX_MENDED} more` : "";
  return `${title}: ${names.slice(0, MAX_MENDED).join("; ")}${more}`.replace(/\.?$/, ".");
}

/** @param {Report} report @param {number} now */
function formatState({ state, why, since, before, isGuess, exitCode }, now) {
  const at = formatTime(since, now);
  const exit = exitCode ? `, exit code ${exitCode}` : "";
  if (why === "ended") return `has ENDED at ${at}${exit}: it watches no more`;
  if (why === "no tests") return `ran NO TESTS at ${at}${exit}`;
  if (state === "green") {
    const again = before.state === "red" ? " again" : "";
    return `is ${isGuess ? "presumably " : ""}GREEN${again} since ${at}${exit}`;
  }
  if (state === "unknown") return `has no result yet`;
  return why === "crash" ? `CRASHED at ${at}${exit}` : `is RED since ${at}${exit}`;
}

/** @param {Report} report @param {number} now */
function formatBefore({ state, since, before, over }, now) {
  const span = formatSpan(since - before.since);
  const was = before.state !== "unknown" && before.state !== state;
  const past = over.map(({ from, to }) => `${formatTime(from, now)} to ${formatTime(to, now)}`);
  return [
    was ? `${before.state === "red" ? "Red" : "Green"} for ${span} before.` : "",
    past.length > 0 ? `Red in between, and over: ${past.join(", ")}.` : "",
  ].filter(Boolean);
}

/** @param {Report} report */
function formatCounts({ state, added, changed, same, mended, leftOut }) {
  const total = added.length + changed.length + same.length + leftOut;
  if (state !== "red" || total === 0) return "";
  const hasOthers = same.length + changed.length > 0;
  const counts = [
    formatCount(total, "failure"),
    added.length > 0 && hasOthers && `${added.length} new`,
    changed.length > 0 && `${changed.length} changed`,
    mended.length > 0 && `${mended.length} mended`,
  ];
  return `${counts.filter(Boolean).join(", ")}.`;
}

/** Of a program that runs several tools. @param {Report} report */
function formatParts({ state, redParts }) {
  if (state !== "red" || redParts.length === 0) return "";
  const more = redParts.length > MAX_MENDED ? ` and ${redParts.length - MAX_MENDED} more` : "";
  return `Red: ${redParts.slice(0, MAX_MENDED).map(inLine).join(", ")}${more}.`;
}

/**
 * The failures, in at most 20 lines.
 * @param {Report} report @param {Pick<Watched, "name" | "folder" | "tool" | "lastLines" | "most">} watcher
 */
function formatBody({ added, changed, same, leftOut }, watcher) {
  const { name, folder, tool, lastLines = [], most } = watcher;
  const { texts, left } = formatFailures([...added, ...changed], folder, MAX_LINES, most);
  const missing = left.length + leftOut;
  const known = same.map(({ id }) => id);
  const more = `Left out: ${missing}${formatFiles(left, folder)}; copilot-tap watch show ${inLine(name)} has them.`;
  const hasFailures = texts.length + known.length > 0;
  if (hasFailures || lastLines.length === 0) {
    return [...texts, formatIdentities("As before", known), missing > 0 ? more : ""];
  }
  const isKnown = tool !== undefined && tool !== "general";
  const whose = isKnown ? `, since the entry ${tool} did not recognize this output` : "";
  const lines = lastLines.slice(-MAX_LINES);
  return [
    `No failure was found${whose}. The last lines:`,
    ...lines.map((line) => `    ${shortenText(visible(line), MAX_LINE - 4)}`),
  ];
}

/**
 * @typedef {object} Watched
 * @property {string} name @property {string} command @property {string} folder
 * @property {number} now Unix ms
 * @property {string} [tool] the entry that reads it
 * @property {string[]} [lastLines] of its output, for a red without a failure
 * @property {number} [awaySince] no session was there to hear of it
 * @property {{count: number, span: number}} [flaps] it changes too often for a text of each change
 * @property {number} [most] characters of the text
 * @property {boolean} [isCarried] it may be read much later
 */

/** The changes while no session was there. @param {Report} report @param {Watched} watcher */
function formatAway({ history, changes }, { awaySince, now }) {
  if (awaySince === undefined || changes === 0) return "";
  const last = history.at(-1);
  const all = history.map((one) => {
    const over = one === last ? "" : " (over)";
    return `${one.state} ${formatTime(one.at, now)}${over}`;
  });
  const more = changes > history.length ? `${changes - history.length} before these, then ` : "";
  const away = `${formatTime(awaySince, now)} to ${formatTime(now, now)}`;
  return `While you were away (${away}), ${formatCount(changes, "change")}: ${more}${all.join(", ")}.`;
}

/** @param {Watched} watcher */
const formatFlaps = ({ flaps }) =>
  flaps
    ? `It flaps: ${flaps.count} changes in ${formatSpan(flaps.span)}. No more texts until it is calm for 30 s.`
    : "";

/** The text for the model. @param {Report} report @param {Watched} watcher */
export function formatReport(report, watcher) {
  const { state, mended, run, firstLine, lastLine } = report;
  const { name, command, now, most = MAX_TEXT } = watcher;
  const who = `Watcher ${inLine(name)} (${shortenText(visible(command), MAX_LINE)})`;
  const seen = watcher.isCarried ? "" : `, now ${formatTime(now, now)}`;
  const head = `${who} ${formatState(report, now)}${seen}.`;
  const away = formatAway(report, watcher);
  const isOver = state !== "unknown" ? formatIdentities("Mended", mended) : "";
  const source =
    run > 0 && lastLine > 0 ? `Source: run ${run}, lines ${firstLine}-${lastLine}.` : "";
  const before = away === "" ? formatBefore(report, now) : [];
  const counts = [formatCounts(report), formatParts(report), formatFlaps(watcher)];
  const first = [head, ...before, ...counts];
  const body = state === "red" ? formatBody(report, watcher) : [];
  const lines = [first.filter(Boolean).join(" "), away, ...body, isOver, source];
  return shortenText(lines.filter(Boolean).join("\n"), most + MAX_LINE);
}

/** The place and the code of a failure, or its message. @param {Failure} failure @param {string} folder */
function formatShort({ file, line, code, name, what, lines }, folder) {
  const place = file ? [shortenFile(file, folder), line].filter(Boolean).join(":") : "";
  const parts = [place, code ?? name ?? what ?? lines[0]].filter(Boolean);
  return shortenText(visible(parts.join(" ")), MAX_SHOWN);
}

/** @param {Report} report */
function formatWhy({ state, why, since, before, added, changed, exitCode }) {
  if (why !== "verdict" && exitCode) return `exit code ${exitCode}`;
  if (before.state === "red") {
    const count = (/** @type {number} */ number, /** @type {string} */ word) =>
      number > 0 ? [`${number} ${word}`] : [];
    return [...count(added.length, "new"), ...count(changed.length, "changed")].join(", ") || state;
  }
  const span = formatSpan(since - before.since);
  return before.state === "green" ? `${state} after ${span} green` : "its first result";
}

/** The line for the user. @param {Report} report @param {Pick<Watched, "name" | "folder" | "flaps">} watcher */
export function formatShown(report, { name, folder, flaps }) {
  const { state, why, since, before, added, changed, leftOut, isGuess } = report;
  const who = inLine(name);
  const how = `/tap-quiet ${who}`;
  if (flaps) {
    return `${who} flaps: ${flaps.count} changes in ${formatSpan(flaps.span)}, last ${state} (${how})`;
  }
  if (state === "green") {
    const again = before.state === "red" ? ` again (${formatSpan(since - before.since)})` : "";
    return `${who} is ${isGuess ? "presumably " : ""}green${again}`;
  }
  const because = `(why: ${formatWhy(report)}; ${how})`;
  if (why === "ended") return `${who} has ended ${because}`;
  if (why === "no tests") return `${who} ran no tests ${because}`;
  const [first, ...others] = [...added, ...changed];
  const more = others.length + leftOut;
  const place = first ? `: ${formatShort(first, folder)}` : "";
  const what = why === "crash" ? "has crashed" : "is red";
  return `${who} ${what}${place}${more > 0 ? ` and ${more} more` : ""} ${because}`;
}
