// What a user types to mean a session or a provider: whole, or the beginning of it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findProvider, providerToCome, findSession } from "../../../js/cli/reference.mjs";
import { served, tap, tapJson } from "../../support/cli-process.mjs";

const SESSIONS = [
  { id: "0d6f7c1e-6a3b", label: "shop (main)" },
  { id: "0d6f9999-0000", label: "shop (fix)" },
  { id: "77777777-0000", label: "work" },
  { id: "88888888-0000", label: "work (main)" },
];

describe("a session is meant", () => {
  test("by its id, its label, or a beginning that no other has", () => {
    for (const [given, id] of [
      ["0d6f7c1e-6a3b", "0d6f7c1e-6a3b"],
      ["0d6f7", "0d6f7c1e-6a3b"],
      ["7", "77777777-0000"],
      ["shop (f", "0d6f9999-0000"],
      ["SHOP (M", "0d6f7c1e-6a3b"],
      ["work", "77777777-0000"], // whole, so the longer label does not count
      ["work ", "88888888-0000"],
    ]) {
      assert.equal(findSession(SESSIONS, given).id, id, given);
    }
  });

  test("not by one that several have: they are listed", () => {
    assert.throws(() => findSession(SESSIONS, "0d6f"), {
      code: "AMBIGUOUS",
      message: '"0d6f" means 2 sessions',
      advice:
        "give more of the one that you mean:\n  0d6f7c1e  shop (main)\n  0d6f9999  shop (fix)",
    });
  });

  test("not by one that none has, nor by nothing: all are listed", () => {
    for (const given of ["nope", ""]) {
      assert.throws(() => findSession(SESSIONS, given), {
        code: "INVALID_SESSION",
        message: `unknown session "${given}"`,
        advice: /^known sessions:\n {2}0d6f7c1e {2}shop \(main\)\n[^]*88888888 {2}work \(main\)$/,
      });
    }
    assert.throws(() => findSession([], "a"), {
      advice: "no session is connected; start copilot",
    });
    const many = Array.from({ length: 30 }, (_, at) => ({ id: `a${at}`, label: "" }));
    assert.throws(() => findSession(many, "x"), { advice: /\n {2}and 10 more$/ });
  });
});

describe("a provider is meant", () => {
  test("by its name or a beginning of it", () => {
    assert.equal(findProvider(["ci", "ci", "ci-gate"], "ci", ""), "ci");
    assert.equal(findProvider(["ci", "ci-gate"], "ci-", ""), "ci-gate");
    assert.throws(() => findProvider(["ci-a", "ci-b"], "ci", ""), { code: "AMBIGUOUS" });
    assert.throws(() => findProvider(["a"], "b", ""), { code: "NOT_FOUND", advice: /\n {2}a$/ });
    assert.throws(() => findProvider([], "b", "none at all"), { advice: "none at all" });
  });

  test("that may still come: by a name that nobody has", () => {
    assert.equal(providerToCome(["weather"], "wea"), "weather");
    assert.equal(providerToCome(["weather"], "ci"), "ci");
    assert.throws(() => providerToCome(["ci-a", "ci-b"], "ci"), { code: "AMBIGUOUS" });
  });
});

describe("copilot-tap", () => {
  test("takes the beginning of an id or label, and shows 8 characters", async (t) => {
    const { kit, at } = await served(t);
    await kit.addSession("0d6f7c1e-6a3b-4f6e");
    const pushed = await tap(["push", "hi", "--session", "0d6f"], at);
    assert.deepEqual([pushed.code, pushed.out], [0, "surfaced in session 0d6f7c1e\n"], pushed.err);
    const { out } = await tap(["call", "forecast", '{"city":"Bern"}', "--session", "te"], at);
    assert.equal(out, "rain in Bern\n");
    const tools = await tapJson(["tools", "--session", "tes"], at);
    assert.deepEqual([...new Set(tools.value.map(({ session }) => session))], ["test"]);
  });

  test("fails at once where a session is unknown, and lists those that there are", async (t) => {
    const { at } = await served(t);
    for (const args of [
      ["push", "hi", "--session", "nope"],
      ["call", "forecast", "--session", "nope"],
      ["tools", "--session", "nope"],
      ["trace", "--session", "nope"],
    ]) {
      const { code, err } = await tap(args, at);
      assert.equal(code, 1);
      assert.match(err, /^copilot-tap: unknown session "nope"\nknown sessions:\n {2}test/);
    }
  });
});
