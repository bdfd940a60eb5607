// Makes text of other parties safe to print: control characters and hidden characters are escaped.

const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\p{VS}]/gu;

/** Keeps lines. Escapes an emoji's joiners, too. @param {string} text */
export const visible = (text) =>
  text.replace(HIDDEN, (character) => {
    const digits = Number(character.codePointAt(0)).toString(16);
    return character < "\x80" ? `\\x${digits.padStart(2, "0")}` : `\\u{${digits}}`;
  });
