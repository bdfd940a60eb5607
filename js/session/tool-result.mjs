// What a tool's handler returns to the SDK for an outcome of a call.

/**
 * @typedef {object} ToolResult
 * @property {string} textResultForLlm
 * @property {"success" | "failure"} resultType
 * @property {string} [error]
 * @property {{data: string, mimeType: string, type: "image" | "resource"}[]} [binaryResultsForLlm]
 */

/** @param {import("../base/addon.js").CallOutcome} outcome @returns {ToolResult} */
export function toToolResult(outcome) {
  if (typeof outcome === "string") return { textResultForLlm: outcome, resultType: "success" };
  if ("code" in outcome) {
    return { textResultForLlm: outcome.text, resultType: "failure", error: outcome.text };
  }
  const { text, data, mimeType } = outcome;
  const type = mimeType.startsWith("image/") ? "image" : "resource";
  return {
    textResultForLlm: text || `The result is attached: ${mimeType}.`,
    resultType: "success",
    binaryResultsForLlm: [{ data, mimeType, type }],
  };
}
