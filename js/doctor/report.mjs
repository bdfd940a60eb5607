// The report for people: the findings and their fixes; with `verbose` also a line for each check.

import { bad, faint, good, strong, warning } from "../views/output.mjs";
import { formatCount, wrapWords } from "../views/wording.mjs";

/** @typedef {import("../views/output.mjs").Output} Output */
/** @typedef {import("./checks.mjs").Result} Result */

const MARKS = {
  warning: warning("!"),
  failed: bad("✗"),
};
const INDENT = "  ";
const MIN_WIDTH = 30;

/** @param {Output} output @param {Result} result */
function showFinding(output, { status, finding }) {
  if (!finding || (status !== "failed" && status !== "warning")) return;
  const width = Math.max(MIN_WIDTH, output.width - INDENT.length);
  const [first, ...others] = wrapWords(finding.problem, width);
  output.print(MARKS[status], " ", strong(first));
  for (const line of others) output.print(INDENT, strong(line));
  for (const line of wrapWords(`Fix: ${finding.fix}`, width)) output.print(INDENT, line);
  if (finding.command !== undefined) output.print(INDENT, INDENT, strong(finding.command));
  output.print(INDENT, faint(finding.code));
}

/** @param {Output} output @param {Result[]} results @param {boolean} verbose */
function showPassed(output, results, verbose) {
  const passed = results.filter(({ status }) => status === "passed");
  if (!verbose) {
    if (passed.length === 0) return;
    const session = passed.find(({ id }) => id === "session")?.seen;
    const where = session ? [faint(`  session ${session}`)] : [];
    output.print(good("✓"), ` ${formatCount(passed.length, "check")}`, ...where);
    return;
  }
  for (const { title, seen } of passed) {
    output.print(good("✓"), ` ${title}`, ...(seen ? [faint(`  ${seen}`)] : []));
  }
}

/** @param {Result[]} results @param {string} [tool] */
function verdict(results, tool) {
  if (results.some(({ status }) => status === "failed")) {
    return "Fix this first, then run `copilot-tap doctor` again.";
  }
  const warnings = results.filter(({ status }) => status === "warning").length;
  if (warnings > 0) return `Tools work. ${formatCount(warnings, "warning")}.`;
  return tool === undefined ? "All is well." : `All is well: the model has ${tool}.`;
}

/**
 * Errors come first, then warnings, then passed checks.
 * @param {Output} output @param {Result[]} results @param {{tool?: string, verbose?: boolean}} asked
 */
export function show(output, results, { tool, verbose = false }) {
  for (const wanted of ["failed", "warning"]) {
    for (const result of results) if (result.status === wanted) showFinding(output, result);
  }
  showPassed(output, results, verbose);
  output.print(verdict(results, tool));
}
