// Any program can have the gateway's port, and may send any text.

/** The reason of a connection's end if the other end is not a gateway. */
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
