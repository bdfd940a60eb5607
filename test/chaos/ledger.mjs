// Every call of a run: who asked for it, and what became of it. Each settles exactly once, with the
// right answer or a failure that says which, within its deadline.

export const TIMEOUT_MS = 2000;
/** The session's own deadline is the tool's timeout and 5 s; the rest is a busy machine's. */
const PATIENCE_MS = TIMEOUT_MS + 5000 + 5000;

/** Failures that a call may have while things are killed around it. */
const DISTURBED = new Set([
  "DISCONNECTED",
  "TIMEOUT",
  "NOT_FOUND",
  "CANCELLED",
  "RATE_LIMITED",
  "INTERNAL",
]);

/** @param {{name: string, mode: string, say: string}} call */
function expected({ name, mode, say }) {
  if (mode === "big") return `${name}: ${say}${"x".repeat(300_000)}`;
  return `${name}: ${say}`;
}

export class Ledger {
  #calls = new Map();
  #last = 0;
  /** @type {string[]} */
  problems = [];
  counts = { calls: 0, answered: 0, failed: 0, lost: 0 };
  /** @type {Record<string, number>} failures by code */
  codes = {};
  slowestMs = 0;
  /** The longest that a session's process did not run, stopped or starved. */
  latestMs = 0;

  /** @param {{owner: object, name: string, mode: string}} call @returns {number} its id */
  open(call) {
    const id = ++this.#last;
    this.counts.calls += 1;
    this.#calls.set(id, { ...call, id, say: `say ${id}`, startedAt: performance.now() });
    return id;
  }

  of(id) {
    return this.#calls.get(id);
  }

  /** @param {object} owner @returns {number | undefined} one of its open calls */
  anyOpen(owner) {
    for (const call of this.#calls.values()) if (call.owner === owner && !call.done) return call.id;
    return undefined;
  }

  /** @param {number} id @param {any} outcome @param {number} stoppedMs for how long the session could not listen */
  settle(id, outcome, stoppedMs) {
    const call = this.#calls.get(id);
    if (call.done) return this.problems.push(`call ${id} has settled twice`);
    call.done = true;
    const ms = performance.now() - call.startedAt - stoppedMs;
    this.slowestMs = Math.max(this.slowestMs, ms);
    if (ms > PATIENCE_MS) this.problems.push(`call ${id} has taken ${Math.round(ms)} ms`);
    call.say = "";
    return outcome?.code ? this.#failed(call, outcome) : this.#answered(call, id, outcome);
  }

  #failed(call, { code, text }) {
    this.counts.failed += 1;
    this.codes[code] = (this.codes[code] ?? 0) + 1;
    if (!DISTURBED.has(code)) this.problems.push(`call ${call.id} failed with ${code}: ${text}`);
    if (!text) this.problems.push(`call ${call.id} failed with ${code} and no text`);
  }

  #answered(call, id, outcome) {
    this.counts.answered += 1;
    const wanted = expected({ ...call, say: `say ${id}` });
    const right = call.mode !== "silent" && call.mode !== "fail" && outcome === wanted;
    if (!right) {
      this.problems.push(`call ${id} (${call.mode}) got ${JSON.stringify(outcome).slice(0, 200)}`);
    }
  }

  /** The session's process was killed: nobody waits for its calls any more. @param {object} owner */
  lose(owner) {
    for (const call of this.#calls.values()) {
      if (call.owner !== owner || call.done) continue;
      call.done = true;
      this.counts.lost += 1;
    }
  }

  get openCalls() {
    return [...this.#calls.values()].filter(({ done }) => !done);
  }
}
