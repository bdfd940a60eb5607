// Here-documents: where they begin and end, and whether a shell reads them.

/** A here-document that has begun. @typedef {{end: string, tabs: boolean, plain: boolean}} Here `plain`: nothing in it is replaced */

/** What reads its input as commands. */
export const READS_COMMANDS =
  /(?<![.\w-])((?:ba|da|z|k|mk|a|fi|rba|c|tc|pw)?sh|source|eval|xargs|su|sudo|busybox|at|batch|parallel)\b|stdin|(^|\s)\.\s/;

/** @param {string} text @param {number} at behind << @returns {{here: Here, next: number} | undefined} undefined: it is not clear */
export function hereAt(text, at) {
  const [whole, dash, word] = /^(-?)[ \t]*((?:\\.|'[^'\n]*'|"[^"\n]*"|[^ \t\n;&|<>()'"\\])*)/.exec(
    text.slice(at, at + 1024),
  ) ?? ["", "", ""];
  const next = at + whole.length;
  if (word === "" || /[$`]/.test(word) || /['"\\]/.test(text[next] ?? "")) return undefined;
  const end = word.replace(/\\(.)|['"]/g, "$1");
  return { here: { end, tabs: dash !== "", plain: end !== word }, next };
}

/** @param {string} text @param {number} at its first line @param {Here} here @returns {number} where the line begins that ends it; -1: nowhere */
export function endOfHere(text, at, { end, tabs }) {
  for (let line = at; line <= text.length;) {
    const next = text.indexOf("\n", line);
    const stop = next === -1 ? text.length : next;
    const found = text.slice(line, stop);
    if ((tabs ? found.replace(/^\t+/, "") : found) === end) return line;
    line = stop + 1;
  }
  return -1;
}
