// copilot-tap push, with a real gateway and a pretend session.

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { WebSocketServer } from "ws";
import { place, Running, served, tap, tapJson } from "../../support/cli-process.mjs";

describe("copilot-tap push", () => {
  test("surfaces a text, and says what became of it", async (t) => {
    const { kit, at } = await served(t);
    const { code, out } = await tap(["push", "build 5 is red"], at);
    assert.equal(code, 0);
    assert.equal(out, "surfaced in session test\n");
    assert.ok(kit.session.timeline.includes("tap: shell/events: build 5 is red"));
  });

  test("injects what comes on stdin, into the session, stream and name that are given", async (t) => {
    const { kit, at } = await served(t);
    const other = await kit.addSession("other");
    const args = ["push", "-l", "inject", "--session", "other", "--stream", "ci", "--name", "make"];
    const running = new Running([...args, "--json"], at, { input: "it is red\n" });
    const { code, out } = await running.end();
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), { outcome: "injected", session: "other" });
    const [injected] = other.told.filter(({ type }) => type === "inject");
    assert.match(injected.text, /provider "make", stream "ci".*\n```\nit is red\n```/);
    assert.deepEqual(
      kit.session.told.filter(({ type }) => type === "inject"),
      [],
    );
  });

  test("keeps what is neither shown nor injected, also a text that begins with a dash", async (t) => {
    const { kit, at } = await served(t);
    const { code, out } = await tap(["push", "--level", "keep", "--", "--red"], at);
    assert.equal(code, 0);
    assert.equal(out, "stored in session test\n");
    assert.ok(!kit.session.timeline.some((text) => text.includes("--red")));
  });

  test("gives its token to no other program that has the port", async (t) => {
    const opened = [];
    const foreign = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    t.after(() => foreign.close());
    foreign.on("connection", (socket) => opened.push(socket));
    await once(foreign, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (foreign.address());
    const { code } = await tap(["push", "x"], place(t), { TAP_GATEWAY_PORT: String(port) });
    assert.equal(code, 4);
    assert.equal(opened.length, 0);
  });

  test("several at once do not stand in each other's way", async (t) => {
    const { at } = await served(t);
    const all = await Promise.all(["a", "b", "c"].map((text) => tap(["push", text], at)));
    assert.deepEqual(
      all.map(({ code }) => code),
      [0, 0, 0],
    );
  });

  test("without a session of that id says so", async (t) => {
    const { at } = await served(t);
    const { code, value } = await tapJson(["push", "x", "--session", "nope"], at);
    assert.equal(code, 1);
    assert.equal(value.error.code, "INVALID_SESSION");
    assert.equal(value.error.message, 'unknown session "nope"');
    assert.match(value.error.advice, /^known sessions:\n {2}test/);
  });

  test("what the gateway refuses is said once, with what to do", async (t) => {
    const { at } = await served(t);
    const { code, err } = await tap(["push", "x", "--stream", "a\nb"], at);
    assert.equal(code, 1);
    assert.match(err, /^copilot-tap: INVALID_JSON: push\.stream: .*\n.*needs a fix\.\n$/);
  });

  test("without a gateway, or without a text, does not try", async (t) => {
    const nobody = await tap(["push", "x"], place(t), { TAP_GATEWAY_PORT: "1" });
    assert.equal(nobody.code, 3);
    assert.match(nobody.err, /no gateway runs on port 1\none starts with/);
    const empty = await new Running(["push"], place(t), { input: " \n" }).end();
    assert.equal(empty.code, 2);
    assert.match(empty.err, /there is no text to push\n/);
    assert.equal((await tap(["push", "x", "-l", "loud"], place(t))).code, 2);
  });
});
