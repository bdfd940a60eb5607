// Sums of a shell: $((1 << 2)), ((i++)).

/** A longer one is read as commands. */
export const MAX_SUM = 1024;

/** @param {string} text @param {number} at of (( @returns {string} a sum, with its parentheses; "": it may be something else */
export function sumAt(text, at) {
  let depth = 0;
  for (let end = at; end < Math.min(text.length, at + MAX_SUM); end += 1) {
    if (!/[\w\s+\-*/%<>=!&|^~?:,()$;#[\].]/.test(text[end])) return "";
    if (text[end] === "$" && /[({]/.test(text[end + 1] ?? "")) return "";
    if (text[end] === "(") depth += 1;
    if (text[end] !== ")") continue;
    depth -= 1;
    if (depth === 1 && text[end + 1] === ")") return text.slice(at, end + 2);
    if (depth === 1) return ""; // a subshell in a subshell
  }
  return "";
}
