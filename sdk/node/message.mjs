// Any program can have the gateway's port: what it sends may be no message at all.

/** Why a connection ends whose other end sends something else. */
export const NOT_TAP = "the program on this port is not a tap gateway";

/** @param {string} text @returns {import("./connection.mjs").Message | undefined} */
export function parseMessage(text) {
  try {
    const message = JSON.parse(text);
    return typeof message?.type === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}
