// How much a comparison with random inputs compares: in a file of the gate one round, always the same one. A file
// *.long.test.mjs has more of them; so has whoever sets TAP_TEST_ROUNDS.

export const ROUNDS = Number(process.env.TAP_TEST_ROUNDS ?? 1);
