// What a word is where a variable of it is empty, or a command of it prints nothing.

/** Of braces in braces. */
const MAX_LEVELS = 4;
/** They are known, and stay. */
const FOLDERS = "(?:HOME|PWD|OLDPWD|DIRSTACK)\\b";
const BRACES = new RegExp(`\\$\\{(?!${FOLDERS}\\W)[^{}]*\\}`, "g");
const PLAIN = new RegExp(`\\$(?!${FOLDERS})(\\w+|[@*!-]|\\(\\))`, "g");

/** @param {string} text */
function withoutBraces(text) {
  let left = text;
  for (let level = 0; level < MAX_LEVELS && left.includes("${"); level += 1) {
    // In front of a slash it names a folder: that of the shell.
    left = left.replace(/^\$\{[^{}]*\}(?=\/)/, ".").replace(BRACES, "");
  }
  return left;
}

/** @param {string} text @returns {string[]} with the value that stands in braces, as in ${x:-a}, and without it */
export function emptied(text) {
  const plain = text
    .replace(/\$\{(HOME|PWD|OLDPWD|DIRSTACK)\}/g, (_, name) => `$${name}`)
    .replace(/^\$\{HOME\W[^}]*\}?/, "~")
    .replace(/^\$(?!(HOME|PWD|OLDPWD|DIRSTACK)\b)(\w+|\{\w+\}|\(\))(?=\/)/, ".");
  const kept = plain.replace(/\$\{\w+:?[-=+?]/g, "");
  return [...new Set([kept, plain])].map((one) =>
    withoutBraces(one).replace(/\}/g, "").replace(PLAIN, ""),
  );
}
