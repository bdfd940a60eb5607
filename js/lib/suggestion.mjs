// Suggests a known word for an unknown word.

const MAX_WORD = 64;

/** Edits between two words: an inserted, removed or changed letter, or two swapped letters. @param {string} typed @param {string} known */
function measureDistance(typed, known) {
  let [before, last] = [
    /** @type {number[]} */ ([]),
    Array.from({ length: known.length + 1 }, (_, i) => i),
  ];
  for (let i = 1; i <= typed.length; ++i) {
    const row = [i];
    for (let j = 1; j <= known.length; ++j) {
      const isSame = typed[i - 1] === known[j - 1];
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (isSame ? 0 : 1));
      const isSwap =
        i > 1 && j > 1 && typed[i - 1] === known[j - 2] && typed[i - 2] === known[j - 1];
      if (isSwap) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[known.length];
}

/** @param {string} typed @param {readonly string[]} names @returns {string | undefined} undefined: no near name */
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
