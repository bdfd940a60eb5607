// The checks of a provider's connection to a session, and of its declarations.

import { sleep } from "../../lib/timers.mjs";
import { finding } from "./findings.mjs";
import { schemaProblems } from "./tool-schema.mjs";

/** @typedef {import("./findings.mjs").Finding} Finding */
/** @typedef {import("./subject.mjs").Subject} Subject */
/** @typedef {import("./checks.mjs").Answer} Answer */

/** For a second connection, and for tools that are declared after `hello`. */
const SETTLE_MS = 700;
const MAX_REFUSED = 3;
/** The gateway cuts longer descriptions. */
const MAX_DESCRIPTION_BYTES = 4096;

/** @param {number} ms */
export const formatDuration = (ms) =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`;

/** @param {import("./subject.mjs").Frame} error */
const formatError = ({ code, text }) => `${code}: ${text}`;

/** Why it is not in the session. @param {Subject} subject @param {number} waitMs @returns {Finding} */
function explainAbsence(subject, waitMs) {
  const within = `within ${formatDuration(waitMs)}`;
  if (!subject.isStarted) {
    return finding("NOT_STARTED", `"${subject.command[0]}" does not start: ${subject.ended}`);
  }
  const hasAsked = subject.listFrames("received", "auth").length > 0;
  // A program that sends no `auth` also gets AUTH_FAILED, after its time limit.
  const isLate = (/** @type {string} */ code) => code === "AUTH_FAILED" && !hasAsked;
  const errors = subject.listFrames("sent", "error").filter(({ code }) => !isLate(code));
  const wrongToken = errors.find(({ code }) => code === "AUTH_FAILED");
  if (wrongToken) return finding("AUTH_REFUSED", `The gateway answered ${formatError(wrongToken)}`);
  const refused = errors.findLast(({ replyTo, code }) => replyTo === "hello" || code !== "");
  if (refused) return finding("HELLO_REFUSED", `The gateway answered ${formatError(refused)}`);
  if (subject.ended !== undefined) {
    const opened = subject.listFrames("opened").length > 0;
    const until = opened ? "before it was bound to the session" : "before it connected";
    return finding("ENDED_EARLY", `The program ended (${subject.ended}) ${until}.`);
  }
  const closed = subject.listFrames("closed").at(-1)?.text;
  if (subject.listFrames("opened").length === 0) {
    return finding("NEVER_CONNECTED", `The program opened no WebSocket ${within}.`);
  }
  if (!hasAsked) {
    const end = closed ? `, and the connection was closed (${closed})` : "";
    return finding("NO_AUTH", `The program connected and sent no \`auth\` ${within}${end}.`);
  }
  return finding("NO_HELLO", `The program authenticated and sent no \`hello\` ${within}.`);
}

/** @param {Subject} subject @returns {Promise<Finding[]>} */
async function findConnectionProblems(subject) {
  if (subject.ended !== undefined) {
    return [finding("ENDED_EARLY", `The program connected and ended at once (${subject.ended}).`)];
  }
  const errors = subject.listFrames("sent", "error");
  const twice = errors.find(({ code }) => code === "DUPLICATE_INSTANCE");
  if (twice) {
    return [
      finding("CONNECTS_TWICE", `A second connection was refused with ${formatError(twice)}`),
    ];
  }
  const idle = (await subject.connections()).filter(({ name }) => name === "").length;
  if (idle > 0) {
    const happened =
      "In addition to the bound connection, the program holds a connection without `hello`.";
    return [finding("CONNECTS_TWICE", happened)];
  }
  return errors.slice(0, MAX_REFUSED).map((error) => {
    const to = error.replyTo ? `\`${error.replyTo}\`` : "a message";
    return finding("MESSAGE_REFUSED", `The gateway answered ${to} with ${formatError(error)}`);
  });
}

/** @param {Subject} subject @param {number} waitMs @returns {Promise<Answer>} */
export async function connects(subject, waitMs) {
  const begin = performance.now();
  subject.start();
  if (!(await subject.serves([], waitMs))) {
    await sleep(0); // reads the last messages
    return { findings: [explainAbsence(subject, waitMs)] };
  }
  const ms = performance.now() - begin;
  await sleep(SETTLE_MS);
  const findings = await findConnectionProblems(subject);
  const names = [...new Set(await subject.boundAs())].map((name) => `"${name}"`).join(", ");
  return {
    findings,
    seen: `${names || "the program"} was in the session after ${formatDuration(ms)}`,
  };
}

/** @param {import("./subject.mjs").DeclaredTool} tool @returns {Finding[]} */
function findToolProblems({ name, description = "", parameters }) {
  const found = [];
  if (typeof description !== "string" || description.trim() === "") {
    found.push(finding("NO_DESCRIPTION", `The tool "${name}" has no description.`));
  } else if (Buffer.byteLength(description) > MAX_DESCRIPTION_BYTES) {
    const size = Buffer.byteLength(description);
    found.push(finding("LONG_DESCRIPTION", `The description of "${name}" has ${size} bytes.`));
  }
  const problems = schemaProblems(parameters).slice(0, MAX_REFUSED);
  return [
    ...found,
    ...problems.map((problem) => finding("BAD_SCHEMA", `In the tool "${name}", ${problem}.`)),
  ];
}

/** @param {Subject} subject @returns {Promise<Answer>} */
export async function describesTools(subject) {
  const tools = [...subject.declared.values()];
  if (tools.length === 0) return { notApplicable: "the provider declares no tools" };
  const seen = tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  return { findings: tools.flatMap(findToolProblems), seen };
}
