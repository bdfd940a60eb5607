// A session's calls as the CLI sees them, with a link that does what the test says.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { SessionCalls } from "../../../js/extension/calls.mjs";

/** A handler, and what its link was told. @param {(settle: (outcome: any) => void) => number} call */
function handled(call) {
  const cancelled = [];
  const link = {
    call: (_tool, _args, _timeoutMs, settle) => call(settle),
    cancel: (id, reason) => cancelled.push([id, reason]),
  };
  const calls = new SessionCalls(link);
  const { handler } = calls.toTool({ name: "greet" });
  return { calls, handler, cancelled };
}

const listeners = (/** @type {AbortSignal} */ signal) => getEventListeners(signal, "abort").length;

test("a call that fails at once leaves nothing behind", async () => {
  const { calls, handler } = handled((settle) => {
    settle({ code: "DISCONNECTED", text: "no gateway" });
    return 0;
  });
  const { signal } = new AbortController();
  const result = await handler({}, { signal });
  assert.deepEqual([result.resultType, result.error], ["failure", "no gateway"]);
  assert.deepEqual([calls.inFlight, listeners(signal)], [0, 0]);
});

test("a call is in flight until it settles, and then listens to nobody", async () => {
  let settle;
  const { calls, handler, cancelled } = handled((settles) => {
    settle = settles;
    return 1;
  });
  const controller = new AbortController();
  const result = handler({}, { signal: controller.signal });
  assert.deepEqual([calls.inFlight, listeners(controller.signal)], [1, 1]);
  settle("done");
  assert.equal((await result).textResultForLlm, "done");
  assert.deepEqual([calls.inFlight, listeners(controller.signal)], [0, 0]);
  controller.abort();
  assert.deepEqual(cancelled, []);
});

test("an abort cancels the call, also one that came before it", async () => {
  for (const when of ["before", "during"]) {
    let settle;
    const { handler, cancelled } = handled((settles) => {
      settle = settles;
      return 7;
    });
    const controller = new AbortController();
    if (when === "before") controller.abort();
    const result = handler({}, { signal: controller.signal });
    controller.abort();
    assert.deepEqual(cancelled, [[7, "aborted by the user"]], when);
    settle({ code: "CANCELLED", text: "cancelled" });
    assert.equal((await result).resultType, "failure");
  }
});

test("arguments of which no JSON can be made fail the call at once", async () => {
  const { calls, handler } = handled(() => {
    throw new TypeError("Do not know how to serialize a BigInt");
  });
  const { signal } = new AbortController();
  const result = await handler({ big: 1n }, { signal });
  assert.equal(result.resultType, "failure");
  // In the gateway's own words (native/protocol/provider/refused_requests.cc).
  assert.equal(
    result.error,
    'Tool "greet" failed with INVALID_JSON: its arguments are not JSON: Do not know how to serialize a BigInt. Call it again with a JSON object that is at most 127 levels deep.',
  );
  assert.deepEqual([calls.inFlight, listeners(signal)], [0, 0]);
});
