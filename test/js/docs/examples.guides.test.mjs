// The programs of the how-to guides (docs/how-to), where the guides' own tests do not run them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { waitFor } from "../../support/wait.mjs";
import { begin, example, languages } from "./examples-rig.mjs";

example("ci-runs", "tells of red and green, and has the log of red", async (place) => {
  const file = path.join(place.gateway.home, "runs.json");
  const runs = (conclusion, databaseId, status = "completed") =>
    writeFileSync(file, JSON.stringify([{ databaseId, status, conclusion, url: "https://ci" }]));
  runs("success", 1);
  const { session, program } = await begin(place, {
    CI_LIST: `cat ${file}`,
    CI_LOG: "echo the log of",
    CI_EVERY_MS: "20",
  });
  await place.gateway.tools(session, "ci_status");
  assert.equal(await session.call("ci_status"), "run 1 is success: https://ci");
  runs("failure", 2);
  await waitFor(() => session.injected.length === 1, { what: () => program.output });
  assert.match(session.injected[0], /"ci", stream "runs"[^]*run 2 is failure/);
  await place.gateway.tools(session, "ci_log", "ci_status");
  assert.equal(await session.call("ci_log"), "the log of 2\n");
  runs("failure", 3);
  runs("", 4, "in_progress");
  writeFileSync(file, "this is not JSON");
  await program.says(/JSON|Expecting value/);
  runs("success", 5);
  await session.shows("tap: ci/runs: run 5 is success");
  await place.gateway.tools(session, "ci_status");
  assert.equal(session.injected.length, 1, "only the first red run of a row is loud");
});

example("ask-before-push", "a push is denied until a person has said yes, once", async (place) => {
  const { session, program } = await begin(place);
  await waitFor(() => session.hooks?.wanted, { what: "hooks" });
  const shell = (command) => session.check("bash", { command });
  assert.deepEqual(await shell("git status"), {});
  for (const notAPush of ["git pull", "cd push\ngit status"]) {
    assert.deepEqual(await shell(notAPush), {}, notAPush);
  }
  assert.match((await shell("git -C . push")).deny, /A person is being asked\. Do other work/);
  await program.says('The agent wants to run "git -C . push"');
  for (const other of ["git push --force", "cd .\ngit push origin main", "git \\\n push"]) {
    assert.match((await shell(other)).deny, /earlier push/, other);
  }
  program.type("yes");
  const told = (text) => waitFor(() => session.injected.at(-1)?.includes(text), { what: text });
  await told("The push is allowed");
  assert.match(
    (await shell("git push --force")).deny,
    /A person is being asked/,
    "another command",
  );
  program.type("no");
  session.become("idle");
  await told("The push is refused");
  assert.deepEqual(await shell("git -C . push"), {});
  assert.match((await shell("git -C . push")).deny, /A person/, "once");
});

example("database", "reads, with limits, and does nothing else", async (place) => {
  const file = path.join(place.gateway.home, "shop.db");
  const rows = "UNION ALL SELECT id + 1, customer, status, total FROM many WHERE id < 60";
  const make = `import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("CREATE TABLE orders (id INTEGER, customer TEXT, status TEXT, total REAL)")
    db.execute("WITH many AS (SELECT 1 id, 'Ada' customer, 'open' status, 9.5 total ${rows}) INSERT INTO orders SELECT * FROM many")
    db.execute("INSERT INTO orders VALUES (99, 'Eve''s', 'shipped', 1)")`;
  execFileSync(languages.py.command, ["-c", make, file]);
  const { session } = await begin(place, { DATABASE: file });
  await place.gateway.tools(session, "describe_tables", "find_orders", "select");
  const read = async (tool, args) => JSON.parse(await session.call(tool, args));
  const all = await read("find_orders", { status: "open" });
  assert.deepEqual([all.rows.length, all.rows[0].id, all.more], [50, 60, true]);
  const one = await read("find_orders", { status: "shipped", customer: "Eve's" });
  assert.deepEqual([one.rows.length, one.more], [1, false]);
  const none = await read("find_orders", { status: "open", customer: "' OR 1 = 1 --" });
  assert.equal(none.rows.length, 0);
  assert.match((await read("describe_tables")).rows[0].sql, /CREATE TABLE orders/);
  assert.equal((await read("select", { sql: "SELECT sum(total) s FROM orders" })).rows[0].s, 571);

  const fails = async (sql, why) => assert.match((await session.call("select", { sql })).text, why);
  await fails("DELETE FROM orders", /not authorized/);
  await fails("ATTACH '/tmp/other.db' AS other", /not authorized/);
  await fails("PRAGMA query_only = 0", /not authorized/);
  await fails("SELECT 1; DELETE FROM orders", /one statement/);
  await fails("SELECT hex(zeroblob(200000)) x", /too much|too big/);
  await fails("WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r", /2 s/);
  assert.equal((await read("select", { sql: "SELECT count(*) n FROM orders" })).rows[0].n, 61);
});
