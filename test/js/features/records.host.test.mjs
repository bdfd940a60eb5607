// tap_query_records in the feature host, with the store of a real gateway host.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

/** A session with the tool, a query of it, and who may ask in SQL. @param {import("node:test").TestContext} t */
async function asking(t) {
  const home = temporaryFolder(t);
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  const config = JSON.stringify({ toolGroups: ["records"] });
  fs.writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const session = await host.withToken(t);
  const control = await openControl(host.files);
  t.after(() => control.close());
  const query = (args) => session.call("tap_query_records", args);
  const there = await waitFor(
    async () => {
      const answer = await query({ collection: "session" });
      return typeof answer === "string" && JSON.parse(answer);
    },
    { what: () => host.log },
  );
  assert.ok(there.records.length > 0);
  return { query, control, host };
}

test("a query that is refused is the model's mistake, and names what there is", async (t) => {
  const { query } = await asking(t);
  for (const [what, args, names] of [
    ["a collection", { collection: "secrets" }, /tool_call/],
    ["a field", { collection: "session", where: { colour: "red" } }, /no field "colour"/],
    ["an operator", { collection: "session", where: { event: { like: "o" } } }, /prefix/],
    ["a cursor", { collection: "session", cursor: "none" }, /cursor/],
    ["a time", { collection: "session", since: "tomorrow" }, /15m/],
  ]) {
    const { code, text } = await query(args);
    assert.equal(code, "INVALID_ARGUMENTS", `${what}: ${text}`);
    assert.match(text, names, what);
  }
});

test("a feature's id is the source of all its records, and no program can take it", async (t) => {
  const { query, control, host } = await asking(t);
  const where = { tool: "tap_query_records", outcome: "ok" };
  const { records } = JSON.parse(await query({ collection: "tool_call", where }));
  assert.deepEqual([...new Set(records.map(({ source }) => source))], ["builtin:records"]);
  const { columns, rows } = await control.request("records.sql", {
    sql: "SELECT DISTINCT source FROM records",
  });
  assert.deepEqual(columns, ["source"]);
  assert.ok(rows.flat().includes("builtin:records"));
  assert.ok(!rows.flat().some((source) => /^tap-/.test(source ?? "")), rows.join());
  const program = provider("builtin:records", {
    session: "all",
    url: `ws://127.0.0.1:${host.descriptor.port}`,
    token: host.token,
  });
  program.on("error", () => {});
  t.after(() => program.close());
  await assert.rejects(program.connect(), /UNAUTHORIZED|tap's own/);
});

test("a time may be that before now", async (t) => {
  const { query } = await asking(t);
  const since = async (time) =>
    JSON.parse(await query({ collection: "session", since: time })).records.length;
  assert.equal(await since("2h"), 1);
  assert.equal(await since(new Date(Date.now() + 60_000).toISOString()), 0);
});

test("an answer that would be too long goes on with its cursor, in any script", async (t) => {
  const { query } = await asking(t);
  const COUNT = 30;
  for (let n = 0; n < COUNT; ++n)
    await query({ collection: "session", where: { event: `long ${"雨".repeat(900)}` } });
  const where = { "arguments.where.event": { prefix: "long" } };
  const ids = [];
  let cursor;
  let pages = 0;
  do {
    const answer = await query({ collection: "tool_call", where, limit: 1000, cursor });
    assert.equal(typeof answer, "string", JSON.stringify(answer));
    assert.ok(Buffer.byteLength(answer) <= 32 * 1024, `${Buffer.byteLength(answer)} bytes`);
    const page = JSON.parse(answer);
    ids.push(...page.records.map(({ id }) => id));
    cursor = page.cursor;
    pages += 1;
  } while (cursor);
  assert.ok(pages > 1);
  assert.equal(new Set(ids).size, COUNT);
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => b - a),
  );
});
