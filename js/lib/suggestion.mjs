// What somebody may have meant by a word that is not known.

const MAX_WORD = 64;

/** Steps from one to the other: a letter more, less, another, or two that are swapped. @param {string} one @param {string} other */
function measureDistance(one, other) {
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

/** @param {string} typed @param {readonly string[]} names @returns {string | undefined} undefined: none is near */
export function findNearest(typed, names) {
  const word = typed.slice(0, MAX_WORD).toLowerCase();
  const part = names.find((name) => word.length > 2 && name.toLowerCase().includes(word));
  if (part !== undefined) return part;
  const far = Math.max(1, Math.floor(word.length / 3));
  return names
    .map((name) => ({ name, steps: measureDistance(word, name.toLowerCase()) }))
    .filter(({ steps }) => steps <= far)
    .sort((a, b) => a.steps - b.steps)[0]?.name;
}

/** @param {string} name @param {readonly string[]} known not empty */
export function formatSuggestion(name, known) {
  const meant = findNearest(name, known);
  return meant === undefined ? `known are ${known.join(", ")}` : `did you mean "${meant}"?`;
}
