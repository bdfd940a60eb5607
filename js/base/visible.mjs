// Text from elsewhere, made safe to print: a terminal obeys control characters, a reader is misled
// by those that change direction or have no width. They are shown, not obeyed.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** @param {string} text @returns {string} one line */
export function visible(text) {
  return text.replace(HIDDEN, (c) => `\\u{${Number(c.codePointAt(0)).toString(16)}}`);
}

/** @param {string} text */
export const hasHidden = (text) => text.search(HIDDEN) >= 0;

/** Bounded, and says by how much it was cut. @param {string} text @param {number} max */
export function shortened(text, max) {
  return text.length <= max ? text : `${text.slice(0, max)}… (${text.length - max} more)`;
}

/**
 * A word as a shell takes it, so that a line can be copied; also what keeps the borders between
 * arguments visible.
 * @param {string} word
 */
export function quoted(word, platform = process.platform) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (platform === "win32") return `"${word.replaceAll('"', '""')}"`;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
