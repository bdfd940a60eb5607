// Helpers for thrown values, which may have any type.

/** @param {unknown} thrown @returns {string} as it was said: visible() makes it safe to print */
export const messageOf = (thrown) => (thrown instanceof Error ? thrown.message : String(thrown));
