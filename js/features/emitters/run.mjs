// One run of an emitter, and what is recorded of it.

import { errorMessage } from "../../lib/values.mjs";
import { shortenRedacted } from "../../lib/redact.mjs";

/**
 * @typedef {object} Run
 * @property {number} number
 * @property {number} at Unix ms
 * @property {string} trace
 * @property {string} span
 * @property {string} [session]
 * @property {{kept: number, dropped: number, injected: number}} before
 * @property {string} [stopped] why it was ended
 *
 * @typedef {{status: "ok" | "failed" | "stopped", exitCode?: number, signal?: string, error?: string}} Outcome
 */

/** Of one that goes on, for a process that follows. @typedef {Pick<Run, "number" | "at" | "trace" | "session">} RunSnapshot */

/** Of a text in the record of a run. */
export const MAX_RECORD_TEXT = 500;

/** @param {Uint8Array} bytes */
const toHex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** At random. @param {number} bytes */
export const createRandomHex = (bytes) => toHex(crypto.getRandomValues(new Uint8Array(bytes)));

/** What a run gives to what it begins. @param {Pick<Run, "trace" | "span">} of */
export const toTraceparent = ({ trace, span }) => `00-${trace}-${span}-01`;

export const createEmitterId = () => `e-${crypto.randomUUID().slice(0, 8)}`;

/** @param {string} text @returns {Promise<string>} */
export async function computeDigest(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toHex(new Uint8Array(bytes));
}

/** A text of others in a line of ours. @param {string} text */
export const toOneLine = (text) => text.replace(/\s*[\r\n\u2028\u2029]+\s*/g, " ");

/** @param {Run} run @returns {RunSnapshot} */
export const toRunSnapshot = ({ number, at, trace, session }) => ({
  ...{ number, at, trace },
  ...(session !== undefined && { session }),
});

/** The file is read as if anybody had written it. @param {any} run @returns {run is RunSnapshot} */
export const isRunSnapshot = (run) =>
  [run?.number, run?.at].every(Number.isSafeInteger) &&
  /^[0-9a-f]{32}$/.test(run.trace) &&
  ["undefined", "string"].includes(typeof run.session);

/** @param {import("../../config/emitter-spec.mjs").EmitterSpec} spec */
function toCommandField({ command, argv }) {
  const text = command ?? argv?.join(" ");
  return text !== undefined && { command: shortenRedacted(text, MAX_RECORD_TEXT) };
}

/**
 * The work is the agent's wherever it comes from: the rules and gates for such a tool hold.
 * @param {Pick<import("./emitter.mjs").Emitter, "owner" | "allowed">} emitter
 * @param {string} tool @param {object} args @param {import("./streams.mjs").Parts} parts
 */
export async function requirePermission({ owner, allowed: byUser }, tool, args, parts) {
  const session = await parts.target(owner);
  if (session === undefined) {
    if (byUser) return; // in the background
    throw new Error("no session is there whose rules would say whether it may run");
  }
  const { permissions } = parts.services;
  const { allowed, reason, by } = await permissions.check({ session: session.id, tool, args });
  if (allowed) return;
  throw new Error(`denied${by ? ` by ${by}` : ""}: ${reason ?? `a rule for ${tool}`}`);
}

/**
 * A run that has ended with its process: when, and what its lines were worth, nobody knows.
 * @param {Pick<import("./emitter.mjs").Emitter, "id" | "spec" | "owner">} emitter @param {RunSnapshot} run
 * @param {Pick<import("../../feature-host/installation.mjs").Context, "services" | "diagnostics">} context
 */
export function recordInterruptedRun(
  { id, spec, owner },
  { number, at, ...run },
  { services, diagnostics },
) {
  const session = owner.session ?? run.session;
  const body = {
    ...{ emitter: spec.name, id, run: number, start: at, status: "interrupted" },
    ...toCommandField(spec),
  };
  const whose = { trace: run.trace, ...(session !== undefined && { session }) };
  services.records
    .append({ collection: "emitter_run", ...whose, body })
    .catch((/** @type {unknown} */ failed) =>
      diagnostics.add(`a run was not recorded: ${errorMessage(failed)}`),
    );
}

/**
 * @param {Pick<import("./emitter.mjs").Emitter, "id" | "spec" | "feed" | "owner" | "nextRuns">} emitter
 * @param {Run} run @param {Outcome} outcome @param {import("./streams.mjs").Parts} parts
 */
export function recordRun(emitter, run, outcome, parts) {
  const { id, spec, feed, owner } = emitter;
  const [nextAt] = emitter.nextRuns(1);
  const { status, exitCode, signal, error } = outcome;
  const { kept, dropped, injected } = feed.counters();
  const body = {
    ...{ emitter: spec.name, id, run: run.number, start: run.at, status },
    durationMs: Math.max(0, parts.now() - run.at),
    ...toCommandField(spec),
    ...(exitCode !== undefined && { exitCode }),
    ...(signal !== undefined && { signal }),
    ...(error !== undefined && { error: shortenRedacted(error, MAX_RECORD_TEXT) }),
    ...(nextAt !== undefined && { nextAt }),
    kept: kept - run.before.kept,
    dropped: dropped - run.before.dropped,
    injected: injected - run.before.injected,
  };
  const session = owner.session ?? run.session;
  const whose = { trace: run.trace, ...(session !== undefined && { session }) };
  const append = (/** @type {string} */ collection, /** @type {object} */ what) =>
    parts.services.records
      .append({ collection, ...whose, body: what })
      .catch((failed) => parts.onDiagnostic(`a run was not recorded: ${errorMessage(failed)}`));
  void append("emitter_run", body);
  void append("span", {
    ...{ traceId: run.trace, spanId: run.span, parentSpanId: "", name: `emitter ${spec.name}` },
    ...{ kind: "internal", status: status === "failed" ? "error" : "ok" },
    ...{ startUs: run.at * 1000, durationUs: body.durationMs * 1000 },
    ...{ emitter: spec.name, run: run.number },
  });
}
