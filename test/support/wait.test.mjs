import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor, withTimeout } from "./wait.mjs";

test("waitFor gives the result of the predicate", async () => {
  let calls = 0;
  const value = await waitFor(() => (calls += 1) === 3 && "third", { intervalMs: 1 });
  assert.equal(value, "third");
});

test("waitFor names its condition and the last error", async () => {
  const predicate = () => {
    throw new Error("still closed");
  };
  await assert.rejects(
    waitFor(predicate, { timeoutMs: 10, intervalMs: 1, what: () => "the door" }),
    /not within 10 ms: the door\nlast error: still closed/,
  );
});

test("withTimeout passes results and fails in time", async () => {
  assert.equal(await withTimeout(Promise.resolve(1), "first"), 1);
  await assert.rejects(withTimeout(new Promise(() => {}), "never", 5), /not within 5 ms: never/);
});
