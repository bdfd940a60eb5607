// The log files of tap.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openLog } from "../../../js/lib/log.mjs";
import { temporaryFolder } from "../../support/harness.mjs";
import { waitFor } from "../../support/wait.mjs";

test("a log is rotated, shows control characters, and keeps its level", async (t) => {
  const folder = temporaryFolder(t);
  const log = openLog(folder, "test.log", { TAP_LOG_LEVEL: "warning" });
  log("info", "not this");
  log("warning", "a\u001b[2J\nb\u0085\u2028\u202ec");
  const read = () => {
    const file = path.join(folder, "test.log");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  };
  await waitFor(() => read().includes("\n"));
  assert.match(read(), /^\S+ warning a\\x1b\[2J\\x0ab\\u\{85\}\\u\{2028\}\\u\{202e\}c\n$/);
  const line = "x".repeat(10_000);
  for (let i = 0; i < 600; ++i) log("error", line);
  const sizes = () =>
    fs
      .readdirSync(folder)
      .map((name) => ({ name, size: fs.statSync(path.join(folder, name)).size }));
  const total = () => sizes().reduce((sum, { size }) => sum + size, 0);
  log.end();
  await waitFor(() => sizes().length > 2 && total() < 5 * 1024 * 1024, {
    what: () => JSON.stringify(sizes()),
  });
});

test("of a log three old files are kept, the newest with the smallest number", async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, "test.log");
  const names = ["test.log", "test.log.1", "test.log.2", "test.log.3"];
  for (const [n, name] of names.entries()) fs.writeFileSync(path.join(folder, name), `${n}\n`);
  fs.appendFileSync(file, "x".repeat(1024 * 1024));
  const log = openLog(folder, "test.log", {});
  log("info", "new");
  log.end();
  await waitFor(() => fs.readFileSync(file, "utf8").endsWith("info new\n"));
  assert.deepEqual(fs.readdirSync(folder).sort(), names);
  const first = (n) => fs.readFileSync(`${file}.${n}`, "utf8").split("\n")[0];
  assert.deepEqual([1, 2, 3].map(first), ["0", "1", "2"]);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
});

test("two that write to one log rotate it once", async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, "test.log");
  fs.writeFileSync(file, "x".repeat(1024 * 1024));
  const logs = [openLog(folder, "test.log", {}), openLog(folder, "test.log", {})];
  for (const [n, log] of logs.entries()) {
    log("info", `of ${n}`);
    await waitFor(() => fs.readFileSync(file, "utf8").endsWith(`of ${n}\n`));
  }
  for (const log of logs) log.end();
  assert.deepEqual(fs.readdirSync(folder).sort(), ["test.log", "test.log.1"]);
  assert.match(fs.readFileSync(file, "utf8"), /^\S+ info of 0\n\S+ info of 1\n$/);
});

test("where a log cannot be written, lines are dropped and nobody waits", async (t) => {
  const folder = temporaryFolder(t);
  execFileSync("mkfifo", [path.join(folder, "pipe.log")]);
  fs.mkdirSync(path.join(folder, "folder.log"));
  for (const name of ["pipe.log", "folder.log"]) {
    const log = openLog(folder, name, {});
    log("error", "x");
    log.end();
  }
  const log = openLog(folder, "gone.log", {});
  fs.rmSync(folder, { recursive: true });
  for (let i = 0; i < 300; ++i) log("error", "x".repeat(10_000));
  await new Promise((resolve) => setTimeout(resolve, 200));
  log("error", "x");
  log.end();
  assert.ok(!fs.existsSync(folder), "no folder is made again");
});
