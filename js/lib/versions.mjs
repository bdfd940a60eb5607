// Compares versions (semver.org, section 11).

/** @param {string} text */
function parseVersion(text) {
  const [, numbers, before = ""] = /^v?([\d.]*)(?:-([^+]*))?/.exec(text.slice(0, 256)) ?? ["", ""];
  return {
    numbers: numbers.split(".", 3).map((part) => Number(part) || 0),
    before: before === "" ? [] : before.split("."),
  };
}

/** Whether an identifier of a pre-release is greater. @param {string} a @param {string} b */
function isAfter(a, b) {
  const [left, right] = [a, b].map((text) => /^\d+$/.test(text));
  if (left && right) return Number(a) > Number(b);
  return left === right ? a > b : right; // numbers come before words
}

/** Whether version a is later than b. @param {string} a @param {string} b */
export function isNewer(a, b) {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  for (let i = 0; i < 3; ++i) {
    const difference = (left.numbers[i] ?? 0) - (right.numbers[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  // A pre-release comes before its release.
  if (left.before.length === 0 || right.before.length === 0) {
    return left.before.length === 0 && right.before.length > 0;
  }
  const at = left.before.findIndex((part, i) => part !== right.before[i]);
  if (at < 0) return false;
  return right.before[at] === undefined || isAfter(left.before[at], right.before[at]);
}
