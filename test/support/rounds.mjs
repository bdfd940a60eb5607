// How much a comparison with random inputs compares: in a file of the gate a single round, always the same. A file
// *.long.test.mjs has more rounds, and so has a run with TAP_TEST_ROUNDS.

export const ROUNDS = Number(process.env.TAP_TEST_ROUNDS ?? 1);
