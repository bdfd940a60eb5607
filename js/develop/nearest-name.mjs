// A name that was perhaps meant.

/** Steps from one to the other: a letter more, less, another, or two that are swapped. @param {string} one @param {string} other */
function distance(one, other) {
  let [before, last] = [
    /** @type {number[]} */ ([]),
    Array.from({ length: other.length + 1 }, (_, i) => i),
  ];
  for (let i = 1; i <= one.length; ++i) {
    const row = [i];
    for (let j = 1; j <= other.length; ++j) {
      const isSame = one[i - 1] === other[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (isSame ? 0 : 1));
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwap) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[other.length];
}

/** @param {string} typed @param {string[]} names @returns {string | undefined} undefined: none is near */
export function findNearest(typed, names) {
  const part = names.filter((name) => typed.length > 2 && name.includes(typed));
  if (part.length > 0) return part[0];
  const far = Math.max(1, Math.floor(typed.length / 3));
  return names
    .map((name) => ({ name, steps: distance(typed, name) }))
    .filter(({ steps }) => steps <= far)
    .sort((a, b) => a.steps - b.steps)[0]?.name;
}
