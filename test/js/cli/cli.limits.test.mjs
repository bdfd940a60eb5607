// copilot-tap limits: the addon's own table, with what variables make of it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { InTerminal, place, served, tap, tapJson } from "../../support/cli-process.mjs";

/** Without what this machine may have set. */
function plain(t) {
  const at = place(t);
  for (const { env } of addon.limits) delete at.env[env];
  return { ...at, env: { ...at.env, TAP_GATEWAY_PORT: "1" } };
}

describe("copilot-tap limits", () => {
  test("has every limit of the table", async (t) => {
    const { code, value } = await tapJson(["limits"], plain(t));
    assert.equal(code, 0);
    assert.equal(value.from, "environment");
    assert.deepEqual(
      value.limits.map((limit) => [limit.name, limit.value, limit.unit, limit.env]),
      addon.limits.map((limit) => [limit.name, limit.value, limit.unit, limit.env]),
    );
  });

  test("shows what a variable makes of it, and one that is ignored", async (t) => {
    const extra = {
      TAP_MAX_TOOLS: "1",
      TAP_MAX_CALLS: "0",
      TAP_GRACE_MS: "soon",
      TAP_MAX_RESULT_BYTES: "268435457",
    };
    const { code, out, err } = await tap(["limits"], plain(t), extra);
    assert.equal(code, 0);
    assert.match(out, /^tools-per-provider +1 +count +TAP_MAX_TOOLS$/m);
    assert.match(out, /^calls-per-session +1024 +count +TAP_MAX_CALLS$/m);
    assert.match(err, /TAP_MAX_CALLS is "0", which is no whole number of at least 1: it is ign/);
    assert.match(
      err,
      /TAP_MAX_RESULT_BYTES is "268435457", which is more than 268435456: it is ig/,
    );
    assert.match(err, /TAP_GRACE_MS is "soon"/);
    const { value } = await tapJson(["limits"], plain(t), extra);
    const tools = value.limits.find(({ name }) => name === "tools-per-provider");
    assert.deepEqual([tools.value, tools.default], [1, 100]);
  });

  test("shows the reason of every limit with --why", async (t) => {
    const { code, out } = await tap(["limits", "--why"], plain(t));
    assert.equal(code, 0);
    const lines = out.split("\n").map((line) => line.replaceAll(/ {2,}/g, " "));
    for (const { name, value, why } of addon.limits)
      assert.ok(lines.includes(`${name} ${value} ${why}`), name);
  });

  test("fits a terminal of 80 columns", async (t) => {
    const terminal = new InTerminal(t, ["limits"], plain(t));
    assert.equal(await terminal.end(), 0);
    const lines = terminal.text.split("\n");
    assert.equal(lines.length, addon.limits.length + 2);
    assert.match(lines[1], /^limit +value {2}unit +variable$/);
  });

  test("are those of the gateway, where one runs", async (t) => {
    const { at } = await served(t);
    const { value } = await tapJson(["limits"], at, { TAP_MAX_TOOLS: "1" });
    assert.equal(value.from, "gateway");
    const valueOf = (wanted) => value.limits.find(({ name }) => name === wanted).value;
    assert.equal(valueOf("tools-per-provider"), 100);
    assert.equal(valueOf("debounce-ms"), 20);
    assert.match((await tap(["limits"], at)).out, /^of the gateway that runs\n/);
  });
});
