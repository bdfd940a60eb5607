// Changes of lists and objects in JSON with comments. jsonc-parser's own changes write neighbours in another form, and
// take comments away that stand between two items; so only the item's own text and one comma are touched here.

import jsonc from "jsonc-parser";

/** @typedef {import("jsonc-parser").Node} Node */

const COMMA = 5;
/** Line breaks, blanks and comments. */
const TRIVIA = [12, 13, 14, 15];
const END = 17;

/** @param {string} text @param {import("jsonc-parser").JSONPath} path @returns {Node | undefined} */
function nodeAt(text, path) {
  const root = jsonc.parseTree(text, [], { allowTrailingComma: true });
  return root && jsonc.findNodeAtLocation(root, path);
}

/** The tokens from an offset on. @param {string} text @param {number} from */
function* tokens(text, from) {
  const scanner = jsonc.createScanner(text, false);
  scanner.setPosition(from);
  for (let kind = /** @type {number} */ (scanner.scan()); kind !== END; kind = scanner.scan()) {
    const offset = scanner.getTokenOffset();
    yield { kind, offset, end: offset + scanner.getTokenLength() };
  }
}

/** The comma that follows, if that is what follows. @param {string} text @param {number} from */
function commaAfter(text, from) {
  for (const token of tokens(text, from)) {
    if (token.kind === COMMA) return token.offset;
    if (!TRIVIA.includes(token.kind)) return undefined;
  }
  return undefined;
}

/** @param {string} text */
const lineEnd = (text) => (text.includes("\r\n") ? "\r\n" : "\n");

/** One step of indentation, as the text has it. @param {string} text */
function stepOf(text) {
  const [, step = "  "] = /^([\t ]+)\S/m.exec(text) ?? [];
  return step.startsWith("\t") ? "\t" : step.slice(0, 8);
}

/** The blanks in front of the line of an offset. @param {string} text @param {number} offset */
function indentAt(text, offset) {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[\t ]*/.exec(text.slice(start, offset))?.[0] ?? "";
}

/** @param {string} text @param {unknown} value @param {string} indent of its line */
const written = (text, value, indent) =>
  JSON.stringify(value, null, stepOf(text)).replaceAll("\n", lineEnd(text) + indent);

/**
 * Where a new item begins: behind the last one, its comma, and the comments of that line.
 * @param {string} text @param {number} from the end of the last item
 */
function behind(text, from) {
  let at = from;
  for (const { kind, end } of tokens(text, from)) {
    if (kind === 14 || (kind !== COMMA && !TRIVIA.includes(kind))) break;
    if (kind !== 15) at = end;
  }
  return at;
}

/**
 * @param {string} text of a config @param {string} list its name: a member of the root @param {unknown} item
 * @returns {string} with the item as the last one
 */
export function insertItem(text, list, item) {
  const node = nodeAt(text, [list]);
  const options = {
    insertSpaces: stepOf(text) !== "\t",
    tabSize: stepOf(text).length,
    eol: lineEnd(text),
  };
  if (!node) {
    const edits = jsonc.modify(text, [list], [item], { formattingOptions: options });
    return jsonc.applyEdits(text, edits);
  }
  const eol = lineEnd(text);
  const last = node.children?.at(-1);
  const base = indentAt(text, node.offset);
  const end = node.offset + node.length - 1;
  if (!last) {
    const inner = base + stepOf(text);
    const rest = text.slice(node.offset + 1, end).trimEnd();
    const before = `${text.slice(0, node.offset + 1)}${rest}${eol}${inner}`;
    return `${before}${written(text, item, inner)}${eol}${base}${text.slice(end)}`;
  }
  const isBlock = text.slice(node.offset, last.offset).includes("\n");
  const indent = isBlock ? indentAt(text, last.offset) : base + stepOf(text);
  const lastEnd = last.offset + last.length;
  const trailing = commaAfter(text, lastEnd) !== undefined;
  const at = behind(text, lastEnd);
  const added = `${eol}${indent}${written(text, item, indent)}${trailing ? "," : ""}`;
  const closing = /^[\t ]*\]/.test(text.slice(at)) ? eol + base : "";
  const rest = closing ? text.slice(at).trimStart() : text.slice(at);
  return `${text.slice(0, lastEnd)}${trailing ? "" : ","}${text.slice(lastEnd, at)}${added}${closing}${rest}`;
}

/** Without a part, and without its line where nothing else is on it. @param {string} text @param {number} from @param {number} to */
function cut(text, from, to) {
  const before = text.slice(0, from);
  const after = text.slice(to);
  const start = /(?:^|\n)([\t ]*)$/.exec(before);
  const rest = /^[\t ]*(?:\r?\n)/.exec(after);
  if (!start || !rest) return before + after;
  return before.slice(0, before.length - start[1].length) + after.slice(rest[0].length);
}

/**
 * @param {string} text @param {[list: string, index: number]} path
 * @returns {string} without the item; comments stay
 */
export function removeItem(text, [list, index]) {
  const item = nodeAt(text, [list, index]);
  const former = index > 0 ? nodeAt(text, [list, index - 1]) : undefined;
  if (!item) return text;
  const end = item.offset + item.length;
  const comma = commaAfter(text, end);
  if (comma !== undefined) {
    // From the back to the front, so that the offsets hold.
    const short = text.slice(end, comma).trim() === "";
    return short
      ? cut(text, item.offset, comma + 1)
      : cut(cut(text, comma, comma + 1), item.offset, end);
  }
  const without = cut(text, item.offset, end);
  const before = former && commaAfter(text, former.offset + former.length);
  return before === undefined ? without : without.slice(0, before) + without.slice(before + 1);
}

/**
 * Makes an object have exactly these members. Those that are equal stay as they are, with their comments.
 * @param {string} text @param {[list: string, index: number]} path @param {Record<string, unknown>} members
 */
export function setMembers(text, path, members) {
  const step = stepOf(text);
  const formattingOptions = {
    insertSpaces: step !== "\t",
    tabSize: step.length,
    eol: lineEnd(text),
  };
  const node = nodeAt(text, path);
  const former = new Map(
    (node?.children ?? []).map(({ children: [key, value] = [] }) => [String(key.value), value]),
  );
  const isSame = (/** @type {string} */ name) => {
    const value = former.get(name);
    return value && JSON.stringify(jsonc.getNodeValue(value)) === JSON.stringify(members[name]);
  };
  const names = [...new Set([...former.keys(), ...Object.keys(members)])];
  return names
    .filter((name) => !isSame(name))
    .reduce((changed, name) => {
      const edits = jsonc.modify(changed, [...path, name], members[name], { formattingOptions });
      return jsonc.applyEdits(changed, edits);
    }, text);
}
