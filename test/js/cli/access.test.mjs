// By what a provider has access: one word in tables and in JSON, and null where nothing is set.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { getAccess, inspectionForPrograms, pairedForPrograms } from "../../../js/views/access.mjs";
import { served, tapJson } from "../../support/cli-process.mjs";

describe("the access of a provider", () => {
  test("is one word for each kind of token", () => {
    for (const [trust, onlySession, word] of /** @type {const} */ ([
      ["none", "", "none"],
      ["external", "s-1", "paired"],
      ["project", "", "token"],
      ["project", "s-1", "project"],
      ["internal", "", "internal"],
    ])) {
      assert.equal(getAccess({ trust, onlySession }), word);
    }
  });

  test("is in status --json as in its text, and what is not set is null", async (t) => {
    const { at } = await served(t);
    const { value } = await tapJson(["status"], at);
    const weather = value.gateway.providers.find(({ name }) => name === "weather");
    assert.equal(weather.trust, "token");
    assert.deepEqual([weather.instance, weather.onlySession, weather.origin], [null, null, null]);
    assert.equal(value.gateway.sessions[0].label, "test");
  });

  test("leaves nothing empty in JSON", () => {
    const none = { id: "", name: "", instance: "", onlySession: "", trust: "none" };
    const seen = { sessions: [{ id: "s", label: "", cwd: "" }], providers: [none] };
    const shown = inspectionForPrograms(/** @type {any} */ (seen));
    assert.ok(!JSON.stringify(shown).includes('""'));
    const paired = [{ name: "page", origin: "", sessionId: "s", label: "" }];
    assert.deepEqual(pairedForPrograms(paired), [
      { name: "page", origin: null, sessionId: "s", label: null },
    ]);
  });
});
