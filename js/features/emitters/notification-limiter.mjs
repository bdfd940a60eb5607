// What emitters say: lines in the timeline, and texts for the model. The feature's sinks bound both for all emitters
// together; what finds no room is counted, and the count is shown within two seconds.

import { shortenRedacted } from "../../lib/redact.mjs";
import { inLine } from "../../lib/visible.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { formatTime } from "../../watch/text.mjs";
import { createRandomHex, toTraceparent } from "./run.mjs";

/** @typedef {import("../../feature-host/installation.mjs").Context} Context */

/** Until the count of the lines that were not shown: the sink has room for it again. */
const COUNT_MS = 1500;
/** Of a text for the model: the sink's limit, and room for how many lines are missing. */
const MAX_TEXT = 3000;
const MORE_ROOM = 80;
/** Of a line that is cut, with its mark. */
const MIN_LINE = 300;
const MARK_ROOM = 20;
/** Of a digest; the others are counted. */
const MAX_LINES = 100;
/** Emitters that are named in one count. */
const MAX_NAMED = 3;

/** @typedef {"info" | "warning" | "error"} Level */
/** @typedef {{number: number, at: number, run: number, line: number, text: string}} Line */

const byNumber = (/** @type {number} */ a, /** @type {number} */ b) => a - b;

/** @param {Line} line @returns {string} with where it comes from; an entry of the emitter's own says that itself */
function formatLine({ at, run, line, text }) {
  if (line === 0 && text.startsWith(`run ${run} `)) return text;
  const place = [run > 0 && `run ${run}`, line > 0 && `line ${line}`].filter(Boolean);
  return `[${[...place, formatTime(at, Date.now())].join(", ")}] ${text}`;
}

/** What each text may have, so that all fit: short ones leave their rest to long ones. @param {string[]} texts @param {number} room */
function computeShare(texts, room) {
  let left = room;
  for (const [index, length] of texts
    .map((text) => text.length + 1)
    .sort(byNumber)
    .entries()) {
    const share = Math.floor(left / (texts.length - index));
    if (length > share) return Math.max(share, MIN_LINE);
    left -= length;
  }
  return room;
}

/** Whole, or its begin and how much more there is. @param {string} text @param {number} most */
const cut = (text, most) =>
  text.length < most ? text : shortenRedacted(text, Math.max(0, most - MARK_ROOM));

/**
 * Entries of the emitter's own, such as the end of a run, come before lines. Long lines are cut; those for which there
 * is no room even so are left out.
 * @param {Line[]} lines @param {number} most characters
 */
function fitLines(lines, most) {
  const texts = lines.map(formatLine);
  let room = most - MORE_ROOM;
  const isIn = lines.map(() => false);
  const addLines = (/** @type {boolean} */ own) => {
    const ofKind = lines.flatMap(({ line }, index) => (own === (line === 0) ? [index] : []));
    const share = computeShare(
      ofKind.map((index) => texts[index]),
      room,
    );
    for (const index of ofKind) {
      if (Math.min(texts[index].length, share - 2 * MARK_ROOM) >= room) continue; // nor does it when it is cut
      const text = cut(texts[index], share);
      if (text.length + 1 > room) continue;
      room -= text.length + 1;
      texts[index] = text;
      isIn[index] = true;
    }
  };
  addLines(true);
  addLines(false);
  const body = texts.filter((_, index) => isIn[index]);
  return { body, left: texts.length - body.length };
}

export class NotificationLimiter {
  #context;
  /** Lines that were not shown, by session and emitter. @type {Map<string, Map<string, number>>} */
  #counts = new Map();
  /** What may wait still, by session and emitter. @type {Map<string, {lines: Line[], leftOut: number}>} */
  #sent = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {Pick<Context, "events" | "notify" | "prompts" | "services">} context */
  constructor(context) {
    this.#context = context;
  }

  /**
   * A line in the timeline of a session.
   * @param {string | undefined} session undefined: nobody is there to read it
   * @param {string} name of the emitter @param {string} text hostile @param {Level} [level]
   */
  show(session, name, text, level = "info") {
    if (session === undefined) return;
    if (this.#timer) return this.#count(session, name); // it would take the room of the count
    this.#emit(session, `${inLine(name)}: ${text}`, level).catch(() => this.#count(session, name));
  }

  /** @param {string} session @param {string} summary @param {Level} level */
  async #emit(session, summary, level) {
    await this.#context.events.emit("lines", { level, summary, session });
  }

  /** @param {string} session @param {string} name */
  #count(session, name) {
    const counts = this.#counts.get(session) ?? new Map();
    this.#counts.set(session, counts.set(name, (counts.get(name) ?? 0) + 1));
    this.#timer ??= setTimeout(() => this.#reportCounts(), COUNT_MS);
  }

  #reportCounts() {
    this.#timer = undefined;
    const all = [...this.#counts];
    this.#counts.clear();
    for (const [session, counts] of all) {
      const most = [...counts].sort(([, a], [, b]) => b - a);
      const named = most.slice(0, MAX_NAMED).map(([name, count]) => `${count} of ${inLine(name)}`);
      const others = most.length - named.length;
      const more = others > 0 ? [`those of ${others} more emitters`] : [];
      const what = [...named, ...more].join(", ");
      const text = `too many lines, not shown: ${what}; tap_stream_history has them`;
      this.#emit(session, text, "warning").catch(() => {});
    }
  }

  /**
   * One text for the model. It says where each line comes from. A former one that waits still is a part of it.
   * @param {string} session @param {{name: string, stream: string, traceparent?: string}} of @param {Line[]} added @param {number} more lines
   */
  async inject(session, { name, stream, traceparent }, added, more) {
    const key = `lines ${name}`;
    const { lines, leftOut } = await this.#gather(session, key, added, more);
    const head = `Emitter ${inLine(name)}, stream ${inLine(stream)}:`;
    const { body, left } = fitLines(lines, MAX_TEXT - head.length);
    const missing = leftOut + left;
    const rest = missing > 0 ? [`[${missing} more lines: tap_stream_history has them]`] : [];
    const span = this.#startSpan(session, name, lines, traceparent);
    try {
      const text = [head, ...body, ...rest].join("\n");
      await this.#context.notify.model(text, { session, key, traceparent: span?.traceparent });
      span?.end("ok");
    } catch (error) {
      span?.end("error");
      const count = lines.length === 1 ? "a line" : `${lines.length} lines`;
      this.show(
        session,
        name,
        `${count} not put before the model: ${errorMessage(error)}`,
        "warning",
      );
    }
  }

  /** @param {string} session @param {string} key @param {Line[]} added @param {number} more lines */
  async #gather(session, key, added, more) {
    const id = `${session} ${key}`;
    const former = this.#sent.get(id);
    this.#sent.delete(id);
    const waits = former && this.#context.notify.withdraw(key, { session }).catch(() => false);
    const all = (await waits) ? [...(former?.lines ?? []), ...added] : added;
    const leftOut = all.length > added.length ? (former?.leftOut ?? 0) + more : more;
    const lines = all.slice(-Math.max(added.length, MAX_LINES));
    const gathered = { lines, leftOut: leftOut + all.length - lines.length };
    this.#sent.set(id, gathered);
    return gathered;
  }

  /** Its texts have been read, or nobody is there to read them. @param {string} session */
  forget(session) {
    for (const id of [...this.#sent.keys()])
      if (id.startsWith(`${session} `)) this.#sent.delete(id);
  }

  /**
   * Of the lines of one text, between their run and the push.
   * @param {string} session @param {string} name @param {Line[]} lines @param {string} [traceparent] of the run
   */
  #startSpan(session, name, [{ run, line }, ...others], traceparent) {
    if (traceparent === undefined) return undefined;
    const [, trace, parentSpanId] = traceparent.split("-");
    const [spanId, at] = [createRandomHex(8), Date.now()];
    const what = line > 0 ? `line ${line}` : "end of run";
    /** @param {"ok" | "error"} status */
    const end = (status) => {
      const body = {
        ...{ traceId: trace, spanId, parentSpanId, name: what, kind: "internal", status },
        ...{ startUs: at * 1000, durationUs: (Date.now() - at) * 1000 },
        ...{ emitter: name, run, lines: 1 + others.length },
      };
      const record = { collection: "span", session, trace, body };
      // Where records are off, there are no spans.
      this.#context.services.records.append(record).catch(() => {});
    };
    return { traceparent: toTraceparent({ trace, span: spanId }), end };
  }

  /**
   * Starts a turn.
   * @param {string} session @param {string} name @param {number} run @param {string} prompt
   * @param {string} [traceparent] of the run
   */
  async prompt(session, name, run, prompt, traceparent) {
    const text = `Prompt of emitter ${inLine(name)}, run ${run}:\n${prompt}`;
    await this.#context.prompts.start(text, { session, traceparent });
  }

  close() {
    clearTimeout(this.#timer);
  }
}
