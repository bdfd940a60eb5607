// Spans of plans: a trace for each plan, in it the plan, each attempt of a node and each phase. The ids of plan and
// attempts follow from the plan's id: what goes on after a crash is in the same trace.

/** @typedef {import("../../registry/services.mjs").Services} Services */
/** @typedef {{id: string, facts: Record<string, any>}} PlanOf */

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

/** @param {Uint8Array} bytes */
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text @param {number} digits */
async function derived(text, digits) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hex(new Uint8Array(bytes)).slice(0, digits);
}

/** @param {PlanOf} plan @returns {Promise<string>} 32 hexadecimal digits */
export const traceOf = ({ id, facts }) =>
  derived(`trace ${id} ${facts.repo} ${facts.baseCommit}`, TRACE_DIGITS);
/** @param {string} trace @param {string} node @param {number} attempt */
const attemptSpan = (trace, node, attempt) => derived(`${trace} ${node} ${attempt}`, SPAN_DIGITS);
/** @param {string} trace */
const planSpan = (trace) => derived(`${trace} plan`, SPAN_DIGITS);

export class Spans {
  #services;

  /** @param {Services} services */
  constructor(services) {
    this.#services = services;
  }

  /** @param {PlanOf} plan @param {string} trace @param {Record<string, any>} body with `start` and `end` in Unix ms */
  async #append({ id, facts }, trace, { start, end, status, ...body }) {
    const session = facts.session === "" ? undefined : facts.session;
    const span = {
      ...{ traceId: trace, kind: "internal", status: status === "succeeded" ? "ok" : "error" },
      ...{ startUs: start * 1000, durationUs: Math.max(0, end - start) * 1000, plan: id, ...body },
    };
    const record = { collection: "span", trace, ...(session && { session }), body: span };
    // Where records are off, there are no spans.
    await this.#services.records.append(record).catch(() => {});
  }

  /**
   * A phase begins.
   * @param {PlanOf} plan @param {{node: string, attempt: number, phase: string}} of
   * @returns {Promise<{traceparent: string, end: (status: string) => Promise<void>}>} `traceparent` for what it starts
   */
  async phase(plan, { node, attempt, phase }) {
    const trace = await traceOf(plan);
    const spanId = hex(crypto.getRandomValues(new Uint8Array(SPAN_DIGITS / 2)));
    const start = Date.now();
    const end = async (/** @type {string} */ status) =>
      this.#append(plan, trace, {
        ...{ spanId, parentSpanId: await attemptSpan(trace, node, attempt), name: phase },
        ...{ start, end: Date.now(), status, node, attempt },
      });
    return { traceparent: `00-${trace}-${spanId}-01`, end };
  }

  /**
   * A phase is over; perhaps its attempt is, too.
   * @param {PlanOf} plan @param {Record<string, any>} node its view @param {number} attempt @param {string} phase
   */
  async attempt(plan, { id: node, attempts }, attempt, phase) {
    const { scheduledAt, startedAt = scheduledAt, endedAt, status, phases } = attempts[attempt - 1];
    if (endedAt === undefined || phases.at(-1)?.phase !== phase) return;
    const trace = await traceOf(plan);
    await this.#append(plan, trace, {
      ...{ spanId: await attemptSpan(trace, node, attempt), parentSpanId: await planSpan(trace) },
      ...{ name: `node ${node}`, start: startedAt, end: endedAt, status, node, attempt },
    });
  }

  /** A plan has ended. @param {Record<string, any>} seen its view */
  async plan({ planId, name, facts, createdAt, endedAt, status }) {
    const plan = { id: planId, facts };
    const trace = await traceOf(plan);
    await this.#append(plan, trace, {
      ...{ spanId: await planSpan(trace), parentSpanId: "", name: `plan ${name}` },
      ...{ start: createdAt, end: endedAt, status },
    });
  }
}
