// The record store as JavaScript sees it (js/lib/addon.d.ts).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { addon } from "../../../js/lib/addon.mjs";
import { PATIENCE_MS } from "../../support/wait.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-records-"));
after(() => fs.rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newFile = () => path.join(folder, `records-${++files}.sqlite`);
const module = new URL("../../../js/lib/addon.mjs", import.meta.url);

/** @param {string} code what a process of its own runs, with `records` and `file` */
function runApart(code, file = newFile()) {
  const program = `
    import { addon } from ${JSON.stringify(module)};
    const file = ${JSON.stringify(file)};
    const records = new addon.Records({ file });
    ${code}`;
  const args = ["--input-type=module", "-e", program];
  const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: PATIENCE_MS });
  return { ...run, file };
}

/** @param {string} file */
async function countIn(file) {
  const records = new addon.Records({ file });
  const { rows } = JSON.parse(await records.sql("SELECT count(*) AS n FROM records"));
  await records.close();
  return rows[0][0];
}

test("docs/records.md names fields that a query may name before a record has them", async () => {
  const page = fs.readFileSync(new URL("../../../docs/records.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` +\|[^|]+\|([^|]+)\|$/gm)];
  assert.ok(rows.length >= 15, `${rows.length} collections`);
  const records = new addon.Records({ file: newFile() });
  for (const [, collection, fields] of rows) {
    assert.ok(await records.commit(collection, { body: '{"another":0}' }), collection);
    const where = Object.fromEntries([...fields.matchAll(/`(\w+)`/g)].map(([, name]) => [name, 1]));
    assert.ok(Object.keys(where).length > 0, collection);
    const answer = await records.query(JSON.stringify({ collection, where }));
    assert.deepEqual(JSON.parse(answer), { records: [] }, collection);
  }
  await records.close();
});

describe("Records", () => {
  test("what is appended and committed can be queried", async () => {
    const records = new addon.Records({ file: newFile() });
    const at = Date.now();
    records.append("tool_call", { body: '{"tool":"build"}', session: "s1", source: "p", at });
    assert.equal(await records.commit("notify", { body: "{}", trace: "0a".repeat(16) }), true);
    const { records: found, cursor } = JSON.parse(
      await records.query('{"collection":"tool_call"}'),
    );
    assert.equal(cursor, undefined);
    assert.deepEqual(found, [
      {
        id: 1,
        at,
        collection: "tool_call",
        session: "s1",
        source: "p",
        v: 1,
        body: { tool: "build" },
      },
    ]);
    const stats = records.stats();
    assert.equal(stats.open, true);
    assert.equal(stats.rows, 2);
    assert.equal(stats.written, 2);
    assert.deepEqual(stats.dropped, {});
    assert.match(stats.sqlite, /^3\.\d+/);
    await records.close();
  });

  test("a query that is refused says why", async () => {
    const records = new addon.Records({ file: newFile() });
    await assert.rejects(records.query('{"collection":"x"}'), /there is no collection "x"; there/);
    await assert.rejects(records.sql("DELETE FROM rows"), /Only statements that read records/);
    await records.close();
    await assert.rejects(records.query("{}"), /The store is closed/);
    assert.equal(await records.commit("notify", { body: "{}" }), false);
  });

  test("arguments of a wrong type are refused", () => {
    const records = new addon.Records({ file: newFile() });
    const any = /** @type {any} */ (records);
    assert.throws(() => new addon.Records(/** @type {any} */ ({})), TypeError);
    assert.throws(() => any.append("calls", { body: "{}" }), /the name of a collection/);
    assert.throws(() => any.append("gate", { body: "[]" }), /JSON text of an object/);
    assert.throws(() => any.append("gate", { body: "{}", at: 1.5 }), TypeError);
    assert.throws(() => any.append("gate"), TypeError);
    assert.throws(() => any.query(5), TypeError);
  });

  test("a diagnostic is told", async () => {
    const file = newFile();
    fs.writeFileSync(file, "garbage".repeat(200));
    /** @type {string[]} */
    const codes = [];
    const records = new addon.Records({ file, onDiagnostic: (code) => codes.push(code) });
    assert.equal(await records.commit("notify", { body: "{}" }), true);
    assert.deepEqual(codes, ["corrupt"]);
    assert.equal(records.stats().diagnostics[0].code, "corrupt");
    await records.close();
  });

  test("only notify is kept where that is wanted", async () => {
    const records = new addon.Records({ file: newFile() });
    records.keepOnlyNotify(true);
    records.append("gate", { body: "{}" });
    assert.equal(await records.commit("notify", { body: "{}" }), true);
    assert.equal(records.stats().rows, 1);
    await records.close();
  });

  test("a process ends while a store is open, and goes on while something is awaited", async () => {
    const idle = runApart("");
    assert.equal(idle.status, 0, idle.stderr);
    const awaited = runApart(`
      records.append("gate", { body: "{}" });
      console.log(await records.commit("notify", { body: "{}" }));
      console.log(JSON.parse(await records.query("{}")).records.length);`);
    assert.equal(awaited.stdout, "true\n2\n", awaited.stderr);
  });

  test("close writes what was appended, and flush does so at once", async () => {
    const append = 'for (let i = 0; i < 500; i++) records.append("gate", { body: "{}" });';
    const closed = runApart(`${append} await records.close(); process.exit();`);
    assert.equal(closed.status, 0, closed.stderr);
    assert.equal(await countIn(closed.file), 500);
    const flushed = runApart(`${append} console.log(records.flush(20_000)); process.exit();`);
    assert.equal(flushed.stdout, "true\n");
    assert.equal(await countIn(flushed.file), 500);
  });

  test("close settles each time, also when the store is closed", async () => {
    const records = new addon.Records({ file: newFile() });
    records.append("gate", { body: "{}" });
    await Promise.all([records.close(), records.close()]);
    await records.close();
    assert.equal(records.stats().written, 1);
    const twice = runApart('await records.close(); await records.close(); console.log("closed");');
    assert.equal(twice.stdout, "closed\n", twice.stderr);
  });

  test("a worker that ends takes its store along", async () => {
    const file = newFile();
    const code = `
      import(${JSON.stringify(module)}).then(({ addon }) => {
        globalThis.records = new addon.Records({ file: ${JSON.stringify(file)} });
        for (let i = 0; i < 100; i++) records.append("gate", { body: "{}" });
        require("node:worker_threads").parentPort.postMessage("ready");
      });`;
    const worker = new Worker(code, { eval: true });
    await new Promise((resolve) => worker.once("message", resolve));
    await worker.terminate();
    assert.equal(await countIn(file), 100);
  });
});
