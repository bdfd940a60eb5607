// What quotes of a shell make of their text.

const ESCAPES = /** @type {Record<string, string>} */ ({ n: "\n", t: "\t", r: "\r" });
/** Of $'…'. @param {string} text */
export const unescaped = (text) =>
  text.replace(
    /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|U([0-9a-f]{1,8})|([0-7]{1,3})|([\s\S]))/gi,
    (_, x, u, long, octal, one) => {
      if (one !== undefined) return ESCAPES[one] ?? one;
      const point = parseInt(x ?? u ?? long ?? octal, octal === undefined ? 16 : 8);
      return point <= 0x10ffff ? String.fromCodePoint(point) : "";
    },
  );

const SIGNS = "{,}*?[";
/** What a shell does not expand stands for itself: as characters that nobody writes. @param {string} text */
export const literal = (text) =>
  text.replace(/[{,}*?[]/g, (one) => String.fromCharCode(0xe000 + SIGNS.indexOf(one)));
/** @param {string} text */
export const toPlainText = (text) =>
  text.replace(/[\uE000-\uE005]/g, (one) => SIGNS[one.charCodeAt(0) - 0xe000]);
