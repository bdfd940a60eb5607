// A reporter of node:test: a line of JSON for each test that has ended, for conformance.mjs and the
// end of run.mjs.

import path from "node:path";
import { root } from "./commands.mjs";

/** @param {any} data of an event */
function toOutcome({ skip, todo }, type) {
  if (skip !== undefined || todo !== undefined) return "skipped";
  return type === "test:pass" ? "passed" : "failed";
}

/** How much of a failure's message is kept: it may end with whole logs. */
const WHY_LENGTH = 400;

/** @param {any} data of an event @returns {string} the error's message, or how the file's process ended */
function describeFailure({ details }) {
  const { cause, message = "", exitCode, signal } = details?.error ?? {};
  if (signal) return `the process was ended by ${signal}`;
  if (exitCode) return `the process ended with exit code ${exitCode}`;
  return String(cause?.message ?? message).slice(0, WHY_LENGTH);
}

/** @param {AsyncIterable<{type: string, data: any}>} events */
export default async function* results(events) {
  /** The names of the tests that contain the current test, by file. @type {Map<string, string[]>} */
  const open = new Map();
  for await (const { type, data } of events) {
    const file = data?.file ?? "";
    const outer = (open.get(file) ?? []).slice(0, data?.nesting);
    if (type === "test:start") open.set(file, [...outer, data.name]);
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details?.type === "suite") continue;
    const where = path.relative(root, file).split(path.sep).join("/");
    const title = [...outer, data.name].join(" > ");
    const outcome = toOutcome(data, type);
    const why = outcome === "failed" ? { why: describeFailure(data) } : {};
    yield `${JSON.stringify({ file: where, title, outcome, ...why })}\n`;
  }
}
