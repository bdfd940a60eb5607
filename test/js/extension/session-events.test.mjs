// The CLI's events in the shapes that providers get.

import assert from "node:assert/strict";
import test from "node:test";
import { SessionEvents } from "../../../js/extension/session-events.mjs";

const nobodys = () => undefined;

/** A tool that begins and ends, as the CLI reports it. */
function complete(end, { findProvider = nobodys, args = {} } = {}) {
  const events = new SessionEvents();
  const started = {
    type: "tool.execution_start",
    data: { toolCallId: "1", toolName: "greet", ...args },
  };
  assert.equal(events.translate(started, findProvider), undefined);
  const ended = { type: "tool.execution_complete", data: { toolCallId: "1", ...end } };
  return {
    event: events.translate(ended, findProvider),
    again: events.translate(ended, findProvider),
  };
}

// shows: P-LIFE-9
test("user.message, assistant.message and assistant.intent keep what providers are promised", () => {
  const events = new SessionEvents();
  const given = (type, data) => events.translate({ type, data }, nobodys);
  assert.deepEqual(given("user.message", { content: "hi", attachments: [1] }), {
    event: "user.message",
    data: { content: "hi" },
  });
  assert.deepEqual(given("assistant.message", { content: "hello", model: "m" }), {
    event: "assistant.message",
    data: { content: "hello" },
  });
  const toolRequests = [
    { name: "greet", arguments: { name: "Ada" }, toolCallId: "1" },
    { name: "list" },
  ];
  assert.deepEqual(given("assistant.message", { toolRequests }).data, {
    content: "",
    toolRequests: [
      { name: "greet", args: { name: "Ada" } },
      { name: "list", args: {} },
    ],
  });
  assert.deepEqual(given("assistant.intent", { intent: "greeting" }), {
    event: "assistant.intent",
    data: { intent: "greeting" },
  });
});

// shows: P-LIFE-9
test("tool.execution_complete has name, arguments, outcome and duration; a provider's names it", () => {
  const { event, again } = complete(
    { success: true, result: { content: "Hello, Ada!" } },
    { args: { arguments: { name: "Ada" } }, findProvider: (tool) => `owner of ${tool}` },
  );
  const { durationMs, ...data } = event.data;
  assert.equal(event.event, "tool.execution_complete");
  assert.ok(durationMs >= 0);
  assert.deepEqual(data, {
    tool: "greet",
    provider: "owner of greet",
    args: { name: "Ada" },
    result: { type: "success", output: "Hello, Ada!" },
  });
  assert.equal(again, undefined, "an end is told once");
});

// shows: P-LIFE-9
test("a failed tool's event says why; where there is no output it says none", () => {
  const failed = complete({ success: false, error: { message: "no such person" } }).event.data;
  assert.deepEqual(failed.result, { type: "failure", output: "no such person" });
  assert.ok(!("provider" in failed));
  assert.deepEqual(complete({ success: true }).event.data.result, { type: "success" });
});

test("other events are nobody's, and of tools that never end only the latest are kept", () => {
  const events = new SessionEvents();
  const told = (type, data) => events.translate({ type, data }, nobodys);
  assert.equal(told("session.idle", {}), undefined);
  for (let i = 0; i <= 1000; i += 1) {
    told("tool.execution_start", { toolCallId: String(i), toolName: "t" });
  }
  assert.equal(told("tool.execution_complete", { toolCallId: "0", success: true }), undefined);
  assert.ok(told("tool.execution_complete", { toolCallId: "1000", success: true }));
});

test("a command of the CLI's shell has its exit code, where the CLI says one", () => {
  const end = (shellExecution) => complete({ success: true, shellExecution }).event.data;
  for (const exitCode of [0, 3, -1, 4_294_967_295]) {
    assert.equal(end({ exitCode }).exitCode, exitCode);
  }
  for (const none of [undefined, {}, { exitCode: "0" }, { exitCode: 1e300 }, { exitCode: null }]) {
    assert.ok(!("exitCode" in end(none)), JSON.stringify(none));
  }
});
