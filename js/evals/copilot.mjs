// Runs the Copilot CLI with a single prompt.

import { isLoginMissing } from "../lib/values.mjs";
import { runProgram } from "../process/run.mjs";
import { TranscriptReader } from "./transcript.mjs";

/** @typedef {import("./scratch.mjs").Scratch} Scratch */

/** A run that did not finish. `interrupted`: by the user. `code`: the cause, if tap knows it. */
export class RunFailed extends Error {
  interrupted = false;
  /** @type {"NO_LOGIN" | undefined} */
  code;
}

/** @param {Scratch} scratch @param {TranscriptReader} reader @param {string} symptom */
function createFailure(scratch, reader, symptom) {
  const reasons = [...new Set([...reader.errors, scratch.logTail])].filter(Boolean);
  const failed = new RunFailed([symptom, ...reasons].join(": "));
  if (reasons.some(isLoginMissing)) failed.code = "NO_LOGIN";
  return failed;
}

/**
 * Runs a prompt to its end, and ends all processes that it started, except the gateway.
 * @param {object} run
 * @param {string} run.cli the program @param {string[]} run.args in addition to those of every run
 * @param {string} run.prompt @param {Scratch} run.scratch @param {number} run.timeout @param {AbortSignal} run.ending
 * @returns {Promise<import("./transcript.mjs").Transcript & {usage: unknown}>}
 * @throws {RunFailed}
 */
export async function runPrompt({ cli, args, prompt, scratch, timeout, ending }) {
  const reader = new TranscriptReader();
  const always = ["--output-format", "json", "--no-color", "--no-auto-update"];
  const decoder = new TextDecoder();
  const end = await runProgram(cli, [...always, ...args, "-p", prompt], {
    ...{ cwd: scratch.workspace, env: scratch.env, stderr: scratch.log, isGuarded: true },
    ...{ ms: timeout, signal: ending },
    onOutput: (bytes) => reader.feed(decoder.decode(bytes, { stream: true })),
  });
  if (end.why === "cancelled") throw createInterruption();
  if (end.why === "late") {
    throw createFailure(scratch, reader, `the CLI did not end within ${timeout / 1000} s`);
  }
  if (end.error) throw new RunFailed(`${cli} does not start: ${end.error.message}`);
  if (end.code !== 0 || !reader.ended || reader.errors.length > 0) {
    const how = end.signal ? `was ended by ${end.signal}` : `ended with exit code ${end.code}`;
    throw createFailure(
      scratch,
      reader,
      `the CLI ${how}${reader.ended ? "" : " before it was done"}`,
    );
  }
  return { ...reader.read(), usage: reader.usage };
}

export function createInterruption() {
  const failed = new RunFailed("interrupted");
  failed.interrupted = true;
  return failed;
}
