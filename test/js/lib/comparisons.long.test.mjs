// Every comparison with random inputs, at length: those with json_oracle, pattern_oracle, lines_oracle and
// frames_oracle.

process.env.TAP_TEST_ROUNDS ??= "8";
await import("./json.differential.test.mjs");
await import("./pattern.differential.test.mjs");
await import("../lines/lines.differential.test.mjs");
await import("../websocket/frames.differential.test.mjs");
