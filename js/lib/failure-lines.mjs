// Chooses the lines of a long output that show why it failed: the summary at its end often has only numbers.

const TAIL = 5;
const BEFORE = 1;
const AFTER = 3;
const FAILURE =
  /\b(?:errors?|fail(?:ed|ure|s)?|fatal|panic|exception|traceback|not ok)\b|\w(?:Error|Exception)\b|[✖✗✘]/i;
const SUCCESS = /^\s*(?:ok\b|[✔✓#]|PASS\b)/i;
const NO_FAILURES = /\b0 (?:errors?|fail\w*)/gi;

/** @param {string} line */
const isFailure = (line) => !SUCCESS.test(line) && FAILURE.test(line.replaceAll(NO_FAILURES, ""));

/**
 * The last lines, and the lines around the first failures.
 * @param {string[]} lines @param {number} most @returns {string[]} with "…" for omitted lines
 */
export function selectFailureLines(lines, most) {
  if (lines.length <= most) return lines;
  const end = lines.length - TAIL;
  /** @type {Set<number>} */
  const chosen = new Set();
  const choose = (/** @type {number} */ from, /** @type {number} */ to) => {
    for (let at = from; at < to && chosen.size < most; ++at) chosen.add(at);
  };
  choose(end, lines.length);
  for (const [at, line] of lines.entries()) {
    if (at >= end || chosen.size >= most) break;
    if (isFailure(line)) choose(Math.max(0, at - BEFORE), Math.min(end, at + AFTER + 1));
  }
  for (let at = end - 1; chosen.size < most; --at) chosen.add(at);
  const places = [...chosen].sort((a, b) => a - b);
  return places.flatMap((at, index) =>
    index > 0 && at - places[index - 1] > 1 ? ["…", lines[at]] : [lines[at]],
  );
}
