// What was thrown, which may be anything.

/** @param {unknown} thrown @returns {string} as it was said: visible() makes it safe to print */
export const messageOf = (thrown) => (thrown instanceof Error ? thrown.message : String(thrown));
