// Lines of Markdown have at most 100 columns. `npm run format` rewraps a paragraph or list item with a
// longer line; tables, code, headings and paragraphs that fit stay as they are.

const WIDTH = 100;
/** A broken line must not begin with these: they would begin a list, a quote, a heading or a table. */
const STARTS_A_BLOCK = /^(?:[-+*>#|]|#+|\d+[.)]|[-=]+)$/;

/**
 * Words; text in backquotes is not broken, and a word that would begin a block stays with the word before.
 * @param {string} text
 */
function splitWords(text) {
  /** @type {string[]} */
  const words = [];
  for (const [word] of text.matchAll(/(?:(`+)(?:(?!\1).)+\1(?!`)|\S)+/g)) {
    if (words.length > 0 && STARTS_A_BLOCK.test(word)) words.push(`${words.pop()} ${word}`);
    else words.push(word);
  }
  return words;
}

/** @param {string[]} words @param {string} first the start of the first line @param {string} rest */
function fill(words, first, rest) {
  const lines = [];
  let line = first;
  let empty = true;
  for (const word of words) {
    const fits = line.length + word.length + (empty ? 0 : 1) <= WIDTH;
    if (empty || fits) {
      line += (empty ? "" : " ") + word;
    } else {
      lines.push(line);
      line = rest + word;
    }
    empty = false;
  }
  return [...lines, line];
}

/** Whether a line is no part of a paragraph. @param {string} line */
const standsAlone = (line) =>
  line.trim() === "" || /^\s*(?:\||#|<|```|~~~|\[[^\]]+\]:|[-*_]{3,}\s*$)/.test(line);

const ITEM = /^(\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+)/;

/** The lines of a paragraph, or of an item's first paragraph, broken where a line is too long. @param {string[]} lines */
function wrapParagraph(lines) {
  const hardBreak = lines.slice(0, -1).some((line) => /(?: {2}|\\)$/.test(line));
  if (hardBreak || lines.every((line) => line.length <= WIDTH)) return lines;
  const [, item] = ITEM.exec(lines[0]) ?? [];
  const first = item ?? /^\s*(?:>\s?)*/.exec(lines[0])?.[0] ?? "";
  const rest = item ? first.replace(/[^\s>]/g, " ") : first;
  const text = lines.map((line, at) => (at === 0 ? line.slice(first.length) : line)).join(" ");
  return fill(splitWords(text.replace(/\s>\s/g, " ")), first, rest);
}

/** @param {string} markdown @returns {string} the same with lines of at most 100 columns */
export function wrap(markdown) {
  const [yaml] = /^---\n[^]*?\n---\n/.exec(markdown) ?? [""];
  const out = [];
  /** @type {string[]} */
  let paragraph = [];
  let fence = "";
  const flush = () => {
    out.push(...wrapParagraph(paragraph));
    paragraph = [];
  };
  for (const line of markdown.slice(yaml.length).split("\n")) {
    const [, mark = ""] = /^\s*(```+|~~~+)/.exec(line) ?? [];
    if (fence) {
      out.push(line);
      if (mark.startsWith(fence)) fence = "";
      continue;
    }
    const indentedCode = paragraph.length === 0 && /^ {4,}/.test(line) && !ITEM.test(line);
    if (standsAlone(line) || indentedCode) {
      flush();
      out.push(line);
      fence = mark;
      continue;
    }
    if (ITEM.test(line) || (line.startsWith(">") && !paragraph[0]?.startsWith(">"))) flush();
    paragraph.push(line);
  }
  flush();
  return yaml + out.join("\n");
}
