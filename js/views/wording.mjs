// Formats numbers and times in few characters.

/** @param {number} count @param {string} noun in the singular @returns {string} */
export const formatCount = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

const UNITS = /** @type {const} */ ([
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
]);

/** In its two largest units. @param {number} ms @returns {string} */
export function duration(ms) {
  let rest = Math.max(0, ms);
  const parts = UNITS.map(([size, unit]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return { count, unit };
  });
  const first = parts.findIndex(({ count }) => count > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(({ count }) => count > 0)
    .map(({ count, unit }) => `${count} ${unit}`)
    .join(" ");
}

/** @param {number} ms @returns {string} */
export const latency = (ms) => (ms < 10_000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

/** @param {number} rate @returns {string} */
export const perSecond = (rate) => (rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1));

/** A text's first line. @param {string} text */
export const firstLine = (text) => text.split("\n", 1)[0];

/** @param {number} value @param {number} [width] */
const digits = (value, width = 2) => String(value).padStart(width, "0");

/** @param {Date} date */
const formatDay = (date) =>
  `${digits(date.getFullYear(), 4)}-${digits(date.getMonth() + 1)}-${digits(date.getDate())}`;

/** @param {Date} date */
const formatTime = (date) =>
  `${digits(date.getHours())}:${digits(date.getMinutes())}:${digits(date.getSeconds())}`;

/** Local time, to the millisecond. @param {number | string} at */
export function localTime(at) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  return `${formatDay(date)} ${formatTime(date)}.${digits(date.getMilliseconds(), 3)}`;
}

/** Local time, short; with the day if it is not today. @param {number} at */
export function clock(at, now = Date.now()) {
  const date = new Date(at);
  const today = formatDay(date) === formatDay(new Date(now));
  return today ? formatTime(date) : `${formatDay(date)} ${formatTime(date)}`;
}

/** Short, but still distinct for sessions and calls. @param {string} id */
export const shortId = (id) => id.slice(0, 8);

const UUIDS = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

/** Shortens the ids in a text. @param {string} text */
export const withShortIds = (text) => text.replace(UUIDS, "$1");

/** Splits into lines of whole words. A word that is too long gets its own line. @param {string} text @param {number} width */
export function wrapWords(text, width) {
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

/** @param {number} size */
export function bytes(size) {
  if (size < 1000) return `${size} bytes`;
  const [unit, count] = size < 1_000_000 ? ["kB", size / 1000] : ["MB", size / 1_000_000];
  return `${count < 10 ? count.toFixed(1) : Math.round(count)} ${unit}`;
}
