// The log files of tap.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openLog } from "../../../js/base/log.mjs";
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
