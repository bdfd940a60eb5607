// The words of copilot-tap trace: each message of the protocol has some, and none can be tripped by what
// a provider sends.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { RECEIVED, SENT, TraceFormatter } from "../../../js/cli/trace-formatter.mjs";
import { programFolder } from "../../../js/lib/paths.mjs";

const protocol = fs.readFileSync(path.join(programFolder, "docs", "protocol.md"), "utf8");

/** The types that a chapter has headings or examples for. @param {string} title @returns {string[]} */
function typesIn(title) {
  const [, chapter] = protocol.split(`\n## ${title}\n`);
  const text = chapter.split("\n## ")[0];
  const headings = [...text.matchAll(/^### (.*)$/gm)].flatMap(([, heading]) =>
    heading
      .replace(/^Pairing: /, "")
      .split(", ")
      .filter((name) => /^[a-z]+(\.[a-z]+)?$/.test(name)),
  );
  return [...new Set(headings)].sort();
}

const ID = "0d6f7c1e-6a3b-4f6e-9f0e-5d8a3c1b2a40";

/** @param {"sent" | "received"} kind @param {unknown} message @param {number} [at] */
const event = (kind, message, at = 0) => ({ at, connection: 1, provider: "p", kind, message });

describe("the words of a trace", () => {
  test("are there for each type of the protocol, and for no other", () => {
    assert.deepEqual(typesIn("Messages from provider to gateway"), Object.keys(RECEIVED).sort());
    assert.deepEqual(typesIn("Messages from gateway to provider"), Object.keys(SENT).sort());
  });

  test("say what was called and what came of it, and when", () => {
    const words = new TraceFormatter();
    const call = { type: "tool.call", id: "1", sessionId: ID, tool: "set_timer" };
    const args = { label: "egg", seconds: 1 };
    assert.equal(
      words.format(event("sent", { ...call, args }, 100)),
      'call set_timer {"label":"egg","seconds":1}',
    );
    const progress = { type: "tool.progress", id: "1", message: "half" };
    assert.equal(words.format(event("received", progress, 101)), 'progress "half"');
    const result = { type: "tool.result", id: "1", data: "egg: in 1 seconds" };
    assert.equal(words.format(event("received", result, 101)), 'result 1 ms "egg: in 1 seconds"');
    // It is answered: whatever comes by that id is of no call.
    assert.equal(words.format(event("received", result, 105)), 'result "egg: in 1 seconds"');
    words.format(event("sent", { ...call, id: "2", args: {} }, 200));
    const failed = { type: "tool.result", id: "2", error: "no egg", errorCode: "NOT_FOUND" };
    assert.equal(
      words.format(event("received", failed, 212)),
      'result 12 ms failed NOT_FOUND "no egg"',
    );
    const push = { type: "push", stream: "alarms", level: "inject", event: "egg is ready" };
    assert.equal(words.format(event("received", push)), 'push alarms inject "egg is ready"');
  });

  test("tell two connections with calls of one id apart", () => {
    const words = new TraceFormatter();
    const call = { type: "tool.call", id: "1", tool: "a", args: {} };
    words.format({ ...event("sent", call, 10), connection: 1 });
    words.format({ ...event("sent", { ...call, tool: "b" }, 50), connection: 2 });
    const cancel = event("sent", { type: "tool.cancel", id: "1", reason: "timeout" });
    assert.equal(words.format({ ...cancel, connection: 1 }), 'cancel a "timeout"');
    assert.equal(words.format({ ...cancel, connection: 2 }), 'cancel b "timeout"');
  });

  test("show 8 characters of an id, or all where that is wanted", () => {
    const sessions = event("sent", {
      type: "sessions",
      active: [{ id: ID, label: "shop (main)" }],
    });
    assert.equal(new TraceFormatter().format(sessions), 'sessions 0d6f7c1e "shop (main)"');
    assert.equal(
      new TraceFormatter({ full: true }).format(sessions),
      `sessions ${ID} "shop (main)"`,
    );
    const hello = { type: "hello", name: "ci", session: ID, tools: [{ name: "a" }, { name: "b" }] };
    assert.equal(
      new TraceFormatter().format(event("received", hello)),
      "hello ci session 0d6f7c1e tools a, b",
    );
  });

  test("of a type that is not known are the message", () => {
    const words = new TraceFormatter();
    for (const message of [{ type: "x" }, { type: "constructor" }, [], null, "x", { a: 1 }]) {
      for (const kind of /** @type {const} */ (["sent", "received"])) {
        assert.equal(words.format(event(kind, message)), JSON.stringify(message));
      }
    }
  });

  test("are found for whatever a provider sends", () => {
    const junk = [undefined, null, 0, "x", [], {}, [null], [{}], ["a"], true];
    const fields =
      "id mode name session tools instance subscribe hooks message data file error errorCode stream level event prompt sessionId rules streams last remove onPreToolUse transforms context gateId decision reason content".split(
        " ",
      );
    for (const type of Object.keys(RECEIVED)) {
      for (const value of junk) {
        const message = Object.fromEntries(fields.map((field) => [field, value]));
        assert.equal(
          typeof new TraceFormatter().format(event("received", { ...message, type })),
          "string",
        );
      }
    }
  });

  test("of a connection say that it opens, and why it closes", () => {
    const about = { at: 0, connection: 1, provider: "" };
    const words = new TraceFormatter();
    assert.equal(words.format({ ...about, kind: "opened", text: "" }), "connected");
    assert.equal(
      words.format({ ...about, kind: "closed", text: "1000 goodbye" }),
      "closed 1000 goodbye",
    );
  });
});
