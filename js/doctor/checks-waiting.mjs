// Check of who keeps the model waiting: a provider with a call that it has not answered.

import { nameOf } from "./checks-session.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./place.mjs").Place} Place */

const LONG_WAIT_MS = 5000;
/** The gateway looks once a second while a ping has no answer. */
const LOOK_MS = 1000;

/**
 * After so long a wait, a ping has been sent and has had its time: the timer for it may have started just
 * before the call, so it is due twice.
 * @param {Place["inspection"]} inspection
 */
function pingJudgedMs(inspection) {
  const ping = inspection?.limits.find(({ name }) => name === "provider-ping-ms")?.value;
  return 2 * (ping ?? LONG_WAIT_MS) + 2 * LOOK_MS;
}

/** @param {Place} place */
function waiting({ inspection }) {
  const late = (inspection?.providers ?? [])
    .filter(({ waitedMs }) => waitedMs >= LONG_WAIT_MS)
    .sort((a, b) => (b.noPongMs ?? 0) - (a.noPongMs ?? 0) || b.waitedMs - a.waitedMs)[0];
  if (!late) return undefined;
  const seconds = Math.floor(late.waitedMs / 1000);
  const name = nameOf(late);
  if (late.noPongMs !== undefined) {
    return finding("PROVIDER_HANGS", {
      problem: `Provider ${name} has not answered a call for ${seconds} s, nor a ping: its process is stopped or hangs.`,
      fix: "Restart it, or if it was stopped, continue it with kill -CONT and its pid. Until then the model waits, at most until the call's timeout.",
    });
  }
  const known = late.waitedMs >= pingJudgedMs(inspection);
  return finding("PROVIDER_SLOW", {
    problem: `Provider ${name} has not answered a call for ${seconds} s. ${known ? "It answers pings, so its process is alive." : "The gateway does not know yet whether it answers pings."}`,
    fix: known
      ? "Wait for it, press Esc in the CLI, or look into what the provider waits for."
      : "Wait for it, or run the doctor again in some seconds: it then says whether the provider hangs.",
  });
}

/** @type {import("./checks.mjs").Check} */
export const WAITING = { id: "waiting", title: "providers answer", run: waiting };
