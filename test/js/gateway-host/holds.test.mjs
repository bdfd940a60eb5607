// Holds: kept for the next gateway host, and read as if anybody had written the file.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { Holds, holdsFile } from "../../../js/gateway-host/shutdown.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const FEATURES = ["builtin:plans"];
const hold = (fields) => ({ id: "plan-1", feature: "builtin:plans", what: "a plan", ...fields });

/** @param {import("node:test").TestContext} t @param {unknown} [content] of the file */
function place(t, content, mode = 0o600) {
  const files = { home: temporaryFolder(t) };
  const file = holdsFile(files);
  if (content !== undefined) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content), {
      mode,
    });
    fs.chmodSync(file, mode);
  }
  return { files, file };
}

test("a hold is kept for the next host, and gone once it is released", (t) => {
  const { files, file } = place(t);
  let changes = 0;
  const holds = new Holds(files, FEATURES, () => (changes += 1));
  holds.set(hold());
  holds.set(hold({ what: "a longer plan" }));
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  const next = new Holds(files, FEATURES);
  assert.deepEqual(
    next.list().map(({ id, what }) => [id, what]),
    [["plan-1", "a longer plan"]],
  );
  holds.release("plan-1");
  holds.release("plan-1");
  assert.deepEqual([holds.list(), changes, fs.existsSync(file)], [[], 3, false]);
});

test("a hold that cannot be saved is refused, and one that cannot be taken from the file is released", (t) => {
  const { files, file } = place(t);
  let changes = 0;
  const holds = new Holds(files, FEATURES, () => (changes += 1));
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  assert.throws(() => holds.set(hold()));
  assert.deepEqual([holds.list(), changes], [[], 0]);
  fs.rmSync(file, { recursive: true });
  holds.set(hold());
  holds.set(hold({ id: "plan-2" }));
  fs.rmSync(file);
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  holds.release("plan-1");
  assert.equal(holds.list().length, 1);
  assert.equal(holds.releaseAll().length, 1);
  assert.deepEqual([holds.list(), changes], [[], 4]);
  assert.match(holds.trouble, /holds\.json names work that has ended: /);
});

test("a file that stays unwritten is said once, and does not say that nothing goes on", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { files, file } = place(t);
  const said = /** @type {string[]} */ ([]);
  const holds = new Holds(files, FEATURES, () => holds.trouble && said.push(holds.trouble));
  holds.set(hold());
  holds.set(hold({ id: "plan-2" }));
  fs.rmSync(file);
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  holds.release("plan-1");
  for (let second = 0; second < 10; second += 1) t.mock.timers.tick(1000);
  assert.equal(said.length, 1, said.join("\n"));
  assert.equal(holds.ignored?.problem, undefined, "which of the doctor's fixes deletes the file");
  fs.rmSync(file, { recursive: true });
  t.mock.timers.tick(1000);
  assert.deepEqual([new Holds(files, FEATURES).list().length, holds.trouble], [1, ""]);
});

test("a file that could not be written is written again, for the next host", async (t) => {
  const { files, file } = place(t);
  const holds = new Holds(files, FEATURES);
  holds.set(hold());
  holds.set(hold({ id: "plan-2" }));
  fs.renameSync(file, `${file}.old`);
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  holds.release("plan-1");
  fs.rmSync(file, { recursive: true });
  fs.renameSync(`${file}.old`, file);
  const ids = () => new Holds(files, FEATURES).list().map(({ id }) => id);
  assert.deepEqual(ids(), ["plan-1", "plan-2"]);
  await waitFor(() => ids().length === 1, { what: ids });
  assert.deepEqual(ids(), ["plan-2"]);
  holds.releaseAll();
});

test("a host that ends writes nothing over what the next one has written", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { files, file } = place(t);
  const former = new Holds(files, FEATURES);
  former.set(hold());
  former.set(hold({ id: "plan-2" }));
  fs.rmSync(file);
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  former.release("plan-1");
  former.close();
  fs.rmSync(file, { recursive: true });
  new Holds(files, FEATURES).set(hold({ id: "plan-3" }));
  t.mock.timers.tick(5000);
  assert.deepEqual(
    new Holds(files, FEATURES).list().map(({ id }) => id),
    ["plan-3"],
  );
});

test("what is not a hold is not set", (t) => {
  const holds = new Holds(place(t).files, FEATURES);
  for (const bad of [
    { id: "a b" },
    { id: "" },
    { feature: "builtin:other" },
    { what: undefined },
  ]) {
    assert.throws(() => holds.set(/** @type {any} */ (hold(bad))), TypeError);
  }
  for (let i = 0; i < 100; i += 1) holds.set(hold({ id: `plan-${i}` }));
  assert.throws(() => holds.set(hold({ id: "one-more" })), /100 holds/);
});

test("as many holds as there may be are there for the next host, whatever their texts are", (t) => {
  const { files } = place(t);
  const holds = new Holds(files, FEATURES);
  for (let i = 0; i < 100; i += 1) {
    holds.set(hold({ id: `${i}-`.padEnd(128, "x"), what: "計".repeat(1000) }));
  }
  assert.equal(new Holds(files, FEATURES).list().length, 100);
});

const at = new Date(0).toISOString();
const good = hold({ at });
/** @type {Record<string, [unknown, number?]>} */
const hostile = {
  nothing: [""],
  "half a file": ['{"version":1,"holds":['],
  "another version": [{ version: 2, holds: [good] }],
  "no list": [{ version: 1, holds: { length: 1 } }],
  "holds of strangers": [{ version: 1, holds: [hold({ at, feature: "builtin:other" }), 7, null] }],
  "a time that is none": [{ version: 1, holds: [hold({ at: "soon" })] }],
  "too much": [`${JSON.stringify({ version: 1, holds: [good] })}${" ".repeat(300_000)}`],
  "a file that others can write": [{ version: 1, holds: [good] }, 0o622],
};
for (const [what, [content, mode]] of Object.entries(hostile)) {
  test(`${what} holds nothing, and that is said`, (t) => {
    const { files, file } = place(t, content, mode);
    const holds = new Holds(files, FEATURES);
    assert.deepEqual(holds.list(), []);
    assert.ok(holds.trouble.includes(file) && /ignored/.test(holds.trouble), holds.trouble);
  });
}

test("the log of a gateway says what of the file it ignores", async (t) => {
  for (const [content, said] of /** @type {const} */ ([
    [{ version: 99, holds: [good] }, /holds\.json is ignored, .*unexpected form/],
    [{ version: 1, holds: [hold({ at, feature: "builtin:other" })] }, /holds of builtin:other in /],
  ])) {
    const { files } = place(t, content);
    const host = await LocalHost.elected(t, { COPILOT_HOME: files.home });
    await waitFor(() => said.test(host.log), { what: () => host.log });
  }
});

test("a host that cannot remove its holds from their file ends when the user stops it", async (t) => {
  const { files, file } = place(t, { version: 1, holds: [hold({ at, feature: "builtin:goals" })] });
  const host = await Host.elected(t, { COPILOT_HOME: files.home });
  const control = await openControl(host.files);
  t.after(() => control.close());
  fs.rmSync(file);
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  assert.equal((await control.request("host.stop", {})).released.length, 1);
  await host.gone;
  assert.equal(host.process.exitCode, 0, host.log);
  assert.match(host.log, /holds\.json names work that has ended/);
});

test("a good file, and none, is no trouble", (t) => {
  assert.equal(new Holds(place(t).files, FEATURES).trouble, "");
  const { files } = place(t, { version: 1, holds: [good] });
  assert.equal(new Holds(files, FEATURES).trouble, "");
});

test("a good one among bad ones counts, and its text is made safe", (t) => {
  const evil = hold({ at, what: `\u001b[2J${"x".repeat(1000)}` });
  const [read] = new Holds(place(t, { version: 1, holds: [{}, evil] }).files, FEATURES).list();
  assert.match(read.what, /^\\x1b\[2Jx+… \(\d+ more\)$/);
});
