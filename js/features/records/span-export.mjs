// Sends spans on as they are recorded, to the receiver that the standard variables of OpenTelemetry name.

import { setTimeout } from "node:timers/promises";
import { spanOf } from "../../base/span.mjs";
import { afterAnswer, encodeSpans } from "./otlp.mjs";

/** @typedef {import("./otlp.mjs").Target} Target */
/** @typedef {{records: any[], cursor?: string}} Page */
/**
 * @typedef {object} Means
 * @property {(query: object) => Promise<Page>} query the record store's
 * @property {(problem: string) => void} diagnose told once for each change
 * @property {string} version tap's
 * @property {number} [everyMs] how often it looks for new spans
 * @property {typeof fetch} [fetch]
 */

const EVERY_MS = 2000;
const BATCH = 512;
/** A receiver that is slower than the spans come loses the oldest, which is said. */
const MOST_BEHIND = 20_000;
/** What has ended before the end is still sent, if it takes no longer. */
const LAST_MS = 2000;

/** @param {number} ms @param {AbortSignal} signal that ends it early @returns {Promise<void>} */
const pause = (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => {});

/** @param {Target} target @param {string} body @param {typeof fetch} send @param {AbortSignal} signal */
async function post({ url, headers, timeoutMs }, body, send, signal) {
  try {
    const answer = await send(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await answer.body?.cancel();
    return { status: answer.status, retryAfter: answer.headers.get("retry-after") };
  } catch {
    return { status: 0, retryAfter: null };
  }
}

class SpanExport {
  #target;
  #means;
  #send;
  /** The id of the last record that was read. */
  #after = 0;
  #said = "";
  counts = { sent: 0, lost: 0 };

  /** @param {Target} target @param {Means} means */
  constructor(target, means) {
    this.#target = target;
    this.#means = means;
    this.#send = means.fetch ?? fetch;
  }

  async begin() {
    const { records } = await this.#means.query({ collection: "span", limit: 1 });
    this.#after = records[0]?.id ?? 0;
  }

  /** @param {string} problem empty: there is none any more */
  #say(problem) {
    if (problem && problem !== this.#said) this.#means.diagnose(problem);
    this.#said = problem;
  }

  /** The records since the last time, the oldest first. */
  async #news() {
    /** @type {any[]} */
    const found = [];
    /** @type {string | undefined} */
    let cursor;
    do {
      const query = { collection: "span", limit: BATCH, ...(cursor && { cursor }) };
      const page = await this.#means.query(query);
      const fresh = page.records.filter(({ id }) => id > this.#after);
      found.push(...fresh);
      cursor = fresh.length < page.records.length ? undefined : page.cursor;
    } while (cursor && found.length < MOST_BEHIND);
    this.#after = found[0]?.id ?? this.#after;
    if (cursor) this.#say("spans come faster than their receiver takes them: some were not sent");
    return found.toReversed();
  }

  /** @param {any[]} records @param {AbortSignal} signal */
  async #deliver(records, signal) {
    const spans = records.flatMap((record) => spanOf(record) ?? []);
    const { resource } = this.#target;
    const body = JSON.stringify(encodeSpans(spans, resource, this.#means.version));
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      const next = afterAnswer(await post(this.#target, body, this.#send, signal), attempt);
      if ("done" in next) {
        this.counts.sent += spans.length;
        return this.#say("");
      }
      if ("failed" in next) return this.#lose(spans.length, next.failed);
      await pause(next.retryMs, signal);
    }
    this.#lose(spans.length, "the receiver of spans did not answer in time");
  }

  /** @param {number} count @param {string} why */
  #lose(count, why) {
    this.counts.lost += count;
    this.#say(
      `${why}; ${this.counts.lost} ${this.counts.lost === 1 ? "span was" : "spans were"} not sent`,
    );
  }

  /** Sends what is new. @param {AbortSignal} signal */
  async round(signal) {
    const records = await this.#news();
    for (let at = 0; at < records.length; at += BATCH) {
      await this.#deliver(records.slice(at, at + BATCH), signal);
    }
  }
}

/**
 * Runs until the signal says so. Begins with the spans that end from now on.
 * @param {Target} target @param {Means} means @param {AbortSignal} signal
 * @returns {Promise<{sent: number, lost: number}>}
 */
export async function exportSpans(target, means, signal) {
  const work = new SpanExport(target, means);
  await work.begin();
  while (!signal.aborted) {
    await work.round(signal);
    await pause(means.everyMs ?? EVERY_MS, signal);
  }
  await work.round(AbortSignal.timeout(LAST_MS));
  return work.counts;
}
