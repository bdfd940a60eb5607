// Durations as people write them: 30s, 5m, 2h, 1d.

/** Each with the words for it. @type {readonly [number, ...string[]][]} */
const UNITS = [
  [1, "ms"],
  [1000, "s", "sec", "secs", "second", "seconds"],
  [60_000, "m", "min", "mins", "minute", "minutes"],
  [3_600_000, "h", "hr", "hrs", "hour", "hours"],
  [86_400_000, "d", "day", "days"],
];
const MS = new Map(UNITS.flatMap(([ms, ...words]) => words.map((word) => [word, ms])));
const LONGEST_TEXT = 40;

/** @param {string} text such as "30s", "5 minutes" or "every 2h" @returns {number | undefined} ms */
export function durationOf(text) {
  if (text.length > LONGEST_TEXT) return undefined;
  const words = text
    .trim()
    .toLowerCase()
    .replace(/^every /, "");
  const [, digits, unit] = /^([0-9]{1,9}) ?([a-z]+)$/.exec(words.trim()) ?? [];
  const ms = MS.get(unit);
  return ms === undefined ? undefined : Number(digits) * ms;
}

/** @param {number} ms a whole number @returns {string} the shortest text that durationOf reads as it */
export function durationText(ms) {
  const [size, unit] = UNITS.findLast(([one]) => ms > 0 && ms % one === 0) ?? UNITS[0];
  return `${ms / size}${unit}`;
}
