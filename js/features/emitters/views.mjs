// What the tools of emitters answer: each emitter and line as JSON, and lists that fit into a result.

import { shownLine, shownLines } from "../../base/redact.mjs";
import { inLine, quoted, shortened } from "../../base/visible.mjs";
import { scheduleText } from "./schedule-text.mjs";

/** @typedef {import("./emitter.mjs").Emitter} Emitter */
/** @typedef {import("./feed.mjs").Feed} Feed */

/** Of a line in a result. */
const MOST_TEXT = 1000;
/** Bytes of a list in a result, whose limit is js/registry/results.mjs's. */
const MOST_LIST = 24_000;
/** Of a view in a list. @param {unknown} view */
const bytesOf = (view) => Buffer.byteLength(JSON.stringify(view)) + 1;
/** More are listed in short. */
export const MOST_IN_FULL = 40;

/** Of names in a message. */
const MOST_NAMED = 20;

export const timeText = (/** @type {number} */ at) => new Date(at).toISOString();

/** @param {import("../../feature-host/line-streams.mjs").ToldLine} line */
export const lineView = ({ number, at, run, line, outcome, source, text, metadata }) => ({
  ...{ number, at: timeText(at), outcome },
  ...(run > 0 && { run }),
  ...(line > 0 && { line }),
  ...(source === "stderr" && { source }),
  text: shortened(shownLines(text), MOST_TEXT),
  ...(metadata && { metadata }),
});

/** @param {Emitter} emitter */
export function stateText({ why, state, lastRun }) {
  if (!why) return state;
  const { status, exitCode, signal, error } = lastRun ?? {};
  if (why !== "ended") return `ended: ${why}`;
  if (status !== "failed") return "ended";
  return `ended: ${error ?? signal ?? `exit code ${exitCode}`}`;
}

/** @param {Emitter} emitter */
export function emitterView(emitter) {
  const { spec, feed, owner } = emitter;
  const { kept, dropped, surfaced, injected, leftOut } = feed.counters();
  const [last] = feed.history({ last: 1 });
  const next = emitter.nextRuns(5).map(timeText);
  return {
    name: spec.name,
    id: emitter.id,
    ...(spec.description && { description: spec.description }),
    state: stateText(emitter),
    does: scheduleText(spec),
    what: shortened(
      shownLine(
        spec.command ??
          spec.argv?.map((word) => quoted(word)).join(" ") ??
          spec.prompt ??
          spec.url ??
          "",
      ),
      300,
    ),
    stream: feed.stream,
    scope: spec.scope,
    managedBy: spec.managedBy,
    folder: owner.folder,
    runs: emitter.runs,
    ...(emitter.lastRun && { lastRun: emitter.lastRun }),
    ...(next.length > 0 && { next }),
    lines: { kept, dropped, surfaced, injected, leftOut },
    injector: feed.subscribe ? feed.delivery : "off",
    rules: feed.rules.length,
    ...(last && { last: lineView(last) }),
  };
}

/** @param {string[]} names of hostile origin @param {string} none */
export function knownText(names, none) {
  if (names.length === 0) return none;
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return `there are ${names.slice(0, MOST_NAMED).map(inLine).join(", ")}${more}`;
}

/**
 * A list that fits into a result: in full, else in short, else the begin of it.
 * @template T @param {T[]} all @param {(one: T) => object} full @param {(one: T) => object} brief
 * @returns {{list: object[], left: number}} `left`: how many had no room
 */
export function listed(all, full, brief) {
  if (all.length <= MOST_IN_FULL) {
    const list = all.map(full);
    if (bytesOf(list) <= MOST_LIST) return { list, left: 0 };
  }
  let room = MOST_LIST;
  const list = [];
  for (const one of all) {
    const view = brief(one);
    if ((room -= bytesOf(view)) < 0) break;
    list.push(view);
  }
  return { list, left: all.length - list.length };
}

/** @template T @param {T[]} views of lines @returns {T[]} the last of them, as many as fit into a result */
export function newestOf(views) {
  let room = MOST_LIST;
  const tooMany = views.findLastIndex((view) => (room -= bytesOf(view)) < 0);
  return views.slice(tooMany + 1);
}

/** @param {Feed[]} feeds */
export function lastOf(feeds) {
  const all = feeds.flatMap((feed) => feed.history({ last: 1 }));
  const last = all.sort((a, b) => b.at - a.at)[0];
  return last ? { last: lineView(last) } : {};
}
