// Numbers and times, in few characters.

/** @param {number} count @param {string} what in the singular @returns {string} */
export const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

const UNITS = /** @type {const} */ ([
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
]);

/** The two largest units. @param {number} ms @returns {string} */
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
