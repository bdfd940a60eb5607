// The user's own config: his by its mode and owner, and read whole or not at all.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { StampTracker, userConfigFile } from "../../../js/config/file.mjs";
import { NO_CONFIG, readUserConfig } from "../../../js/config/user-config.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const posix = { skip: process.platform === "win32" };

/** @param {import("node:test").TestContext} t @param {string} content */
function written(t, content, mode = 0o600) {
  const files = { home: temporaryFolder(t) };
  const file = userConfigFile(files);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
  fs.chmodSync(file, mode);
  return { files, file };
}

test("has settings that a project's has not", async (t) => {
  const { files } = written(t, '{"records": false, "features": {"builtin:records": false}}');
  const { records, features, problems } = await readUserConfig(files);
  assert.deepEqual([records, features, problems], [false, { "builtin:records": false }, []]);
});

test("that is empty has no mistake", async (t) => {
  const { files } = written(t, "{}");
  assert.deepEqual(await readUserConfig(files), { ok: true, ...NO_CONFIG });
});

test("one that others can write is not read, and says so", posix, async (t) => {
  const { files, file } = written(t, '{"records": false}', 0o622);
  const { records, problems } = await readUserConfig(files);
  assert.equal(records, undefined);
  assert.deepEqual(problems.length, 1);
  assert.ok(problems[0].startsWith(file), problems[0]);
  assert.match(problems[0], /nobody else can write/);
});

test("with one mistake nothing of it counts", async (t) => {
  const { files } = written(t, '{"records": false, "recrods": true, "providers": []}');
  const { problems, ...config } = await readUserConfig(files);
  const { problems: _, ...none } = NO_CONFIG;
  assert.deepEqual(config, none);
  assert.match(problems[0], /"recrods"/);
});

test("has gone with the second look in a row, and is new with the first", () => {
  const stamps = new StampTracker("a");
  const looks = (/** @type {string[]} */ ...all) => all.map((stamp) => stamps.update(stamp));
  assert.deepEqual(looks("a", "", "a", "", "b", "b"), [false, false, false, false, true, false]);
  assert.deepEqual(looks("", "", "", "b"), [false, true, false, true]);
  assert.deepEqual(new StampTracker("").update(""), false);
});
