// What somebody may have meant by a word that is not known.

/** @param {string} a @param {string} b the least number of edits from one to the other */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}

/** @param {string} name @param {readonly string[]} known not empty */
export function formatSuggestion(name, known) {
  const word = name.slice(0, 64).toLowerCase();
  const [nearest] = known
    .map((candidate) => ({ candidate, edits: distance(word, candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
  return nearest.edits <= Math.max(2, nearest.candidate.length / 3)
    ? `did you mean "${nearest.candidate}"?`
    : `known are ${known.join(", ")}`;
}
