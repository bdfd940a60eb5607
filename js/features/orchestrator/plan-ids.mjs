// What names a plan, and what it marks its worktrees with.

const PLAN_ID = 8;
const ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";

/** Of the worktrees of a plan: that tap has made them. */
export const newNonce = () => crypto.randomUUID().replaceAll("-", "");

/** Short, and read without a mistake: no i, l, o, 0 or 1. */
export const newId = () => {
  const letters = crypto.getRandomValues(new Uint8Array(PLAN_ID));
  return `p${[...letters].map((one) => ID_LETTERS[one % ID_LETTERS.length]).join("")}`;
};
