// Posts spans to the receiver of the user's choice, soon after they were recorded. The record store is the source, so
// that a slow receiver costs neither a call nor the store anything. Nothing waits for the receiver.

import { encodeSpans } from "../../lib/otlp.mjs";
import { parseSpan } from "../../lib/span.mjs";
import { readExportTarget } from "./export-target.mjs";

/** @typedef {import("../../lib/span.mjs").Span} Span */
/** @typedef {import("./export-target.mjs").Target} Target */
/** @typedef {import("../../feature-host/network.mjs").Answer} Answer */
/**
 * @typedef {object} ExportOptions
 * @property {import("../../feature-host/service-access.mjs").Services} services
 * @property {(problem: string) => void} diagnose
 * @property {string} version tap's
 * @property {() => number} [now] Unix ms
 * @property {number} [everyMs] how often it looks for new spans
 * @property {number} [retryMs] before the second attempt
 * @property {number} [finishMs] for the last spans, at the end
 */

const EVERY_MS = 2000;
const BATCH = 512;
/** Spans that wait for the receiver. */
export const MAX_PENDING_SPANS = 8192;
/** A record may be stored that much later than its time says. */
const LATE_MS = 60_000;
/** The gateway ends meanwhile, and its host kills the feature host after 3 s. */
const FINISH_MS = 1000;
const RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** What a receiver may ask for with Retry-After. */
const MAX_PAUSE_MS = 300_000;
const MAX_PROBLEMS = 10;
const REPORT_INTERVAL_MS = 60_000;
/** https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const RETRYABLE_STATUSES = new Set([429, 502, 503, 504]);
const TRACE_ID = /^(?!0+$)[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0+$)[0-9a-f]{16}$/;

/** @param {number} ms @param {AbortSignal} signal ends it early @returns {Promise<void>} */
const pause = (ms, signal) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });

/** @param {number} count */
const spansText = (count) => (count === 1 ? "1 span" : `${count} spans`);

/** @param {{id: number}} record */
const getId = ({ id }) => id;

/** A record as a span that a receiver can take. @param {any} record @returns {Span[]} none where it is not one */
function readSpan(record) {
  const span = parseSpan(record);
  if (!span || !TRACE_ID.test(span.traceId) || !SPAN_ID.test(span.spanId)) return [];
  const { parentSpanId, startUs, durationUs } = span;
  if (![startUs, durationUs].every((us) => Number.isFinite(us) && us >= 0 && us < 2 ** 53))
    return [];
  return [{ ...span, parentSpanId: SPAN_ID.test(parentSpanId) ? parentSpanId : "" }];
}

/**
 * How long a receiver wants to be left alone.
 * @param {string | undefined} header a number of seconds, or a date of HTTP @param {number} now Unix ms
 * @returns {number} ms; 0 where it says nothing that can be read
 */
export function parseRetryAfter(header, now) {
  if (header === undefined || header.length > 40) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? 0 : Math.min(MAX_PAUSE_MS, Math.max(0, ms));
}

/** What a receiver took of a request, by its answer. @param {Answer} answer @returns {number} spans that it refused */
export function countRejectedSpans({ text, cut }) {
  try {
    const count = cut ? 0 : Number(JSON.parse(text).partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}

class SpanExport {
  #target;
  #options;
  #now;
  /** The oldest first. @type {Span[]} */
  #pendingSpans = [];
  /** The id of the last record that was read. */
  #after = 0;
  /** Records from before this time are not exported. */
  #floor;
  #lastPollAt = Infinity;
  #attempts = 0;
  /** On the clock that nobody sets. */
  #notBefore = 0;
  /** A request was cut off: nobody knows what the receiver has taken of it. */
  #isInterrupted = false;
  #lostCount = 0;
  /** Of lost spans, as was last said. */
  #reportedLostCount = 0;
  /** What was last said of each, and when; none while it works. @type {Map<"store" | "receiver", {text: string, at: number}>} */
  #troubles = new Map();

  /** @param {Target} target @param {ExportOptions} means @param {number} since Unix ms */
  constructor(target, means, since) {
    this.#target = target;
    this.#options = means;
    this.#now = means.now ?? Date.now;
    this.#floor = since;
  }

  /** @param {AbortSignal} signal @returns {Promise<void>} when it says so */
  async run(signal) {
    const { everyMs = EVERY_MS } = this.#options;
    for (; !signal.aborted; await pause(everyMs, signal)) {
      await this.#poll(signal);
      while (
        this.#pendingSpans.length > 0 &&
        performance.now() >= this.#notBefore &&
        !signal.aborted
      ) {
        await this.#send(signal);
      }
    }
    if (!this.#isInterrupted) await this.#finish();
  }

  /** Posts what was recorded since the last look, unless the receiver is in trouble. */
  async #finish() {
    const { finishMs = FINISH_MS } = this.#options;
    const late = AbortSignal.timeout(finishMs);
    const posted = async () => {
      await this.#poll(late);
      while (
        this.#pendingSpans.length > 0 &&
        performance.now() >= this.#notBefore &&
        !late.aborted
      ) {
        await this.#send(late);
      }
    };
    if (performance.now() < this.#notBefore) return;
    await Promise.race([posted(), pause(finishMs, late)]);
  }

  // ---- from the store ------------------------------------------------------------------------------

  /** Reads what is new. @param {AbortSignal} signal */
  async #poll(signal) {
    const now = this.#now();
    this.#floor = Math.min(this.#floor, now); // the clock may have been set back
    const since = Math.max(this.#floor, Math.min(this.#lastPollAt, now) - LATE_MS);
    try {
      const { newest, isAll } = await this.#readPages(
        { collection: "span", since, where: { id: { gt: this.#after } } },
        signal,
      );
      if (newest === 0) await this.#detectNewFile();
      else this.#after = newest;
      if (isAll) this.#lastPollAt = now;
      this.#troubles.delete("store");
    } catch (error) {
      // Such as a store that is not open, or a gateway that ends. It is read from the same place next time.
      const { message } = /** @type {Error} */ (error);
      if (!signal.aborted) this.#reportTrouble("store", `Spans cannot be read: ${message}`);
    }
  }

  /**
   * The store gives the newest first. What it gets meanwhile is left for the next look: a page may have one of these,
   * by its time, while another has come too late for the pages before.
   * @param {object} query @param {AbortSignal} signal
   * @returns {Promise<{newest: number, isAll: boolean}>} newest: the largest id, 0: there was none; isAll: nothing is left
   */
  async #readPages(query, signal) {
    /** @type {Span[]} */
    const found = [];
    let [newest, left, wrong, isAll] = [0, 0, 0, true];
    /** @type {string | undefined} */
    let cursor;
    do {
      const page = await this.#options.services.records.query({ ...query, limit: BATCH, cursor });
      if (cursor === undefined) newest = Math.max(0, ...page.records.map(getId));
      const records = page.records.filter((/** @type {any} */ { id }) => id <= newest);
      isAll &&= records.length === page.records.length;
      for (const record of records) {
        const [span] = readSpan(record);
        if (!span) wrong += 1;
        else if (found.length < MAX_PENDING_SPANS) found.push(span);
        else left += 1;
      }
      cursor = page.cursor;
    } while (cursor && !signal.aborted);
    if (cursor) signal.throwIfAborted(); // the last look reads them all again
    const all = [...this.#pendingSpans, ...found.toReversed()];
    this.#pendingSpans = all.slice(-MAX_PENDING_SPANS);
    const over = left + all.length - this.#pendingSpans.length;
    if (over > 0) this.#recordLoss(over, "Spans come faster than the receiver takes them");
    if (wrong > 0)
      this.#recordLoss(wrong, "The store has spans without the ids or times of a span");
    return { newest, isAll };
  }

  /** A store that was replaced lacks the record that was read last, and counts from 1 again. */
  async #detectNewFile() {
    if (this.#after === 0) return;
    const query = { collection: "span", where: { id: this.#after }, limit: 1 };
    const { records } = await this.#options.services.records.query(query);
    if (records.length === 0) this.#after = 0;
  }

  // ---- to the receiver -----------------------------------------------------------------------------

  /** @param {AbortSignal} signal */
  async #send(signal) {
    const { url, headers, timeoutMs, compress, resource } = this.#target;
    const batch = this.#pendingSpans.slice(0, BATCH);
    const body = JSON.stringify(encodeSpans(batch, resource, this.#options.version));
    const json = { ...headers, "content-type": "application/json" };
    try {
      const { network } = this.#options.services;
      this.#handleResponse(
        await network.post({ url, headers: json, body, compress, timeoutMs, signal }),
        batch.length,
      );
    } catch (error) {
      this.#isInterrupted = signal.aborted;
      if (signal.aborted) return;
      const why = /** @type {Error} */ (error).message.replace(/^unavailable: /, "");
      this.#scheduleRetry(`does not answer (${why})`, 0);
    }
  }

  /** @param {Answer} answer @param {number} count */
  #handleResponse(answer, count) {
    const { status, headers } = answer;
    if (status >= 200 && status < 300) {
      const refused = Math.min(count, countRejectedSpans(answer));
      this.#drop(count);
      this.#troubles.delete("receiver");
      if (refused > 0)
        this.#recordLoss(refused, `The receiver at ${this.#target.shown} refuses spans`);
    } else if (RETRYABLE_STATUSES.has(status)) {
      this.#scheduleRetry(
        `answers ${status}`,
        parseRetryAfter(headers["retry-after"], this.#now()),
      );
    } else {
      this.#drop(count);
      const why = `The receiver at ${this.#target.shown} answers ${status}`;
      this.#recordLoss(count, `${why}; check OTEL_EXPORTER_OTLP_ENDPOINT and the headers`);
    }
  }

  /** The first spans are dealt with. @param {number} count */
  #drop(count) {
    this.#pendingSpans.splice(0, count);
    this.#attempts = 0;
    this.#notBefore = 0;
  }

  /** Another attempt, later. @param {string} what @param {number} askedMs */
  #scheduleRetry(what, askedMs) {
    const { retryMs = RETRY_MS } = this.#options;
    const backoff = Math.min(MAX_RETRY_MS, retryMs * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#notBefore = performance.now() + Math.max(askedMs, backoff * (0.5 + Math.random() / 2));
    this.#reportTrouble(
      "receiver",
      `The receiver at ${this.#target.shown} ${what}; tap tries again, and keeps the last ${MAX_PENDING_SPANS} spans.`,
    );
  }

  // ---- what is said --------------------------------------------------------------------------------

  /** Once until it works again; another reason is said after a while. @param {"store" | "receiver"} of @param {string} text */
  #reportTrouble(of, text) {
    const at = performance.now();
    const last = this.#troubles.get(of);
    if (last && (last.text === text || at - last.at < REPORT_INTERVAL_MS)) return;
    this.#troubles.set(of, { text, at });
    this.#options.diagnose(text);
  }

  /** Said of the first, and whenever there are twice as many. @param {number} count @param {string} why */
  #recordLoss(count, why) {
    this.#lostCount += count;
    if (this.#lostCount < 2 * this.#reportedLostCount) return;
    this.#reportedLostCount = this.#lostCount;
    this.#options.diagnose(`${why}; ${spansText(this.#lostCount)} not exported so far.`);
  }
}

/**
 * The task of the feature. Problems with the variables are said once.
 * @param {ExportOptions} means @param {AbortSignal} signal @returns {Promise<void>} when it says so, or where nothing can be sent
 */
export async function exportSpans(means, signal) {
  const { variables, since } = await means.services.telemetry.settings();
  const { target, problems } = readExportTarget(variables);
  problems.slice(0, MAX_PROBLEMS).forEach(means.diagnose);
  if (target) await new SpanExport(target, means, since).run(signal);
}
