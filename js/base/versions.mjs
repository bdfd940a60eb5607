// Which of two versions is the later one.

/** Whether version a is later than b, by their numbers. @param {string} a @param {string} b */
export function isNewer(a, b) {
  const [left, right] = [a, b].map((text) =>
    text.split(/[.+-]/, 3).map((part) => Number(part) || 0),
  );
  for (let i = 0; i < 3; ++i) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
