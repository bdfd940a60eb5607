// What people read: a line for each check that was done, and what to do.

import { bad, faint, good, strong, warning } from "../output.mjs";

/** @typedef {import("../output.mjs").Output} Output */
/** @typedef {import("./checks.mjs").Result} Result */

const MARKS = {
  passed: good("✓"),
  warning: warning("!"),
  failed: bad("✗"),
};
const INDENT = "    ";
const LEAST_WIDTH = 30;

/** Lines of whole words; a word that is longer has one of its own. @param {string} text @param {number} width */
function wrapped(text, width) {
  /** @type {string[]} */
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** @param {Output} output @param {Result} result */
function showResult(output, { title, status, seen, finding }) {
  if (status === "skipped") return;
  output.say(MARKS[status], ` ${title}`, ...(seen ? [faint(`  ${seen}`)] : []));
  if (!finding) return;
  const width = Math.max(LEAST_WIDTH, output.width - INDENT.length);
  for (const line of wrapped(finding.problem, width)) output.say(INDENT, line);
  for (const line of wrapped(`Fix: ${finding.fix}`, width)) output.say(INDENT, line);
  if (finding.command !== undefined) output.say(INDENT, "  ", strong(finding.command));
  output.say(INDENT, faint(finding.code));
}

/** @param {Result[]} results */
function verdict(results) {
  if (results.some(({ status }) => status === "failed")) {
    return "This is the first thing that is wrong. Mend it, and run the doctor again.";
  }
  const warnings = results.filter(({ status }) => status === "warning").length;
  if (warnings === 0) return "All is well.";
  return `Nothing keeps a tool away; ${warnings === 1 ? "one thing" : `${warnings} things`} could be better.`;
}

/** @param {Output} output @param {Result[]} results @param {string} [tool] */
export function show(output, results, tool) {
  for (const result of results) showResult(output, result);
  const text = verdict(results);
  const well = tool !== undefined && text === "All is well.";
  output.say(well ? `All is well: the model has ${tool}.` : text);
}
