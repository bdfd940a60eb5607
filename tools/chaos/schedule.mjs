// The events of a run of chaos, and their times: only the seed decides them.

import { Random } from "./random.mjs";

/**
 * @typedef {{at: number, kind: string, session: number, provider: number, mode: string, verdict: string, ms: number,
 *   count: number}} Step at: milliseconds from the start; values that a kind does not need are drawn all the same
 */

/** How often each comes, in parts of the sum. @type {Record<string, number>} */
const WEIGHTS = {
  call: 600,
  query: 60,
  burst: 30,
  cancel: 30,
  check: 150,
  killProvider: 10,
  stopProvider: 10,
  deafProvider: 5,
  killSession: 3,
  stopSession: 4,
  reloadSession: 4,
  halfOpen: 8,
  rawStorm: 3,
  reconnectStorm: 3,
  stopHost: 3,
  hangHost: 2,
  busyHost: 2,
  hangUnlinked: 1,
  killHost: 3,
  killFeatures: 4,
  stopFeatures: 4,
  fullDisk: 2,
  noDescriptors: 3,
  clockJump: 6,
  plan: 8,
};

/** The answers of a gate. */
const VERDICTS = ["allow", "allow", "deny", "silent"];
const MODES = ["echo", "echo", "echo", "echo", "late", "big", "fail", "silent"];

/** @param {Random} random */
function pickKind(random) {
  const sum = Object.values(WEIGHTS).reduce((total, weight) => total + weight, 0);
  let left = random.below(sum);
  for (const [kind, weight] of Object.entries(WEIGHTS)) {
    if (left < weight) return kind;
    left -= weight;
  }
  return "call";
}

/** @param {{seed: number, durationMs: number, sessions: number, providers: number}} options @returns {Step[]} */
export function makeSchedule({ seed, durationMs, sessions, providers }) {
  const random = new Random(seed);
  /** @type {Step[]} */
  const steps = [];
  for (let at = 0; at < durationMs; at += random.between(5, 75)) {
    steps.push({
      at,
      kind: pickKind(random),
      session: random.below(sessions),
      provider: random.below(providers),
      mode: MODES[random.below(MODES.length)],
      verdict: VERDICTS[random.below(VERDICTS.length)],
      ms: random.between(50, 2500),
      count: random.between(5, 40),
    });
  }
  return steps;
}
