// The checks of a provider's life cycle: sessions and gateways end, and so does the provider.

import { formatDuration } from "./connection-checks.mjs";
import { finding } from "./findings.mjs";

/** @typedef {import("./findings.mjs").Finding} Finding */
/** @typedef {import("./findings.mjs").Code} Code */
/** @typedef {import("./subject.mjs").Subject} Subject */
/** @typedef {import("./checks.mjs").Answer} Answer */

/** From SIGTERM to the end: tap's own time limit before SIGKILL. */
const END_MS = 3_000;

/** The state of a provider that has not come back. @param {Subject} subject */
async function describeState(subject) {
  const refused = subject.listFrames("sent", "error").at(-1);
  if (refused) return `; the gateway last answered ${refused.code}: ${refused.text}`;
  const connections = await subject.connections();
  if (connections.length === 0) return "; it runs and has no connection";
  const isIn = connections.some(({ trust }) => trust !== "none");
  return isIn ? "; it is connected and sent no `hello`" : "; it is connected and sent no `auth`";
}

/**
 * Waits until it is back.
 * @param {Subject} subject @param {string[]} tools that it had @param {number} waitMs
 * @param {{when: string, ends: Code, absent: Code}} words
 * @returns {Promise<Answer>}
 */
async function checkReturn(subject, tools, waitMs, { when, ends, absent }) {
  const begin = performance.now();
  if (await subject.serves(tools, waitMs)) {
    return { findings: [], seen: `back after ${formatDuration(performance.now() - begin)}` };
  }
  if (subject.ended !== undefined) {
    return { findings: [finding(ends, `The program ended (${subject.ended}) ${when}.`)] };
  }
  const within = `within ${formatDuration(waitMs)} ${when}`;
  if ((await subject.boundAs()).length > 0) {
    const missing = tools
      .filter((name) => !subject.tools.includes(name))
      .map((name) => `"${name}"`);
    const happened = `The provider was back ${within}, without ${missing.join(", ")}.`;
    return { findings: [finding("TOOLS_MISSING", happened)] };
  }
  const happened = `The provider was not back ${within}${await describeState(subject)}.`;
  return { findings: [finding(absent, happened)] };
}

/** @param {Subject} subject @param {number} waitMs @returns {Promise<Answer>} */
export async function servesNextSession(subject, waitMs) {
  const { tools, tap } = subject;
  subject.forget();
  tap.session.end();
  tap.session = await tap.addSession("check-2");
  return checkReturn(subject, tools, waitMs, {
    when: "after the session's end",
    ends: "ENDS_WITH_SESSION",
    absent: "NOT_IN_NEXT_SESSION",
  });
}

/** @param {Subject} subject @param {number} waitMs @returns {Promise<Answer>} */
export async function survivesRestart(subject, waitMs) {
  const { tools, tap } = subject;
  subject.forget();
  await tap.restartGateway();
  await subject.listen();
  return checkReturn(subject, tools, waitMs, {
    when: "after the gateway's restart",
    ends: "ENDS_WITH_GATEWAY",
    absent: "NOT_BACK",
  });
}

/** @param {Subject} subject @returns {Promise<Answer>} */
export async function endsBySignal(subject) {
  if (process.platform === "win32") return { notApplicable: "Windows has no SIGTERM" };
  const begin = performance.now();
  subject.signal("SIGTERM");
  if (await subject.until(() => !subject.signal(0), END_MS)) {
    return {
      findings: [],
      seen: `ended ${formatDuration(performance.now() - begin)} after SIGTERM`,
    };
  }
  const happened =
    subject.ended === undefined
      ? `The program still ran ${formatDuration(END_MS)} after SIGTERM.`
      : `The program ended, and a process that it had started still ran ${formatDuration(END_MS)} after SIGTERM.`;
  return { findings: [finding("IGNORES_SIGTERM", happened)] };
}
