// docs/configuration.md is held to the program: every variable that it reads, and where its files lie.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { CONFIG_NAME } from "../../../js/config/file.mjs";
import { consentFile } from "../../../js/config/consent.mjs";
import { REPO_ROOT } from "../../support/cli.mjs";

const page = readFileSync(path.join(REPO_ROOT, "docs", "configuration.md"), "utf8");
const firstCells = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("`")[1]);

/** What tap's own programs read; the limits have a table of their own. */
function variablesOfTheCode() {
  const folders = ["js", "native", "sdk", "extension.mjs", "binding.gyp"];
  const files = execFileSync("git", ["ls-files", "-z", "--", ...folders], { cwd: REPO_ROOT })
    .toString()
    .split("\0")
    .filter((file) => file && !/(^|\/)tests?\/|\.test\.|templates\//.test(file));
  const text = files.map((file) => readFileSync(path.join(REPO_ROOT, file), "utf8")).join("\n");
  // As it is read, in JavaScript or Python, or given to a child.
  const use =
    /(?:\benv\.|\benviron(?:\.get\(|\[)["'])(TAP_[A-Z0-9_]+)|^\s*(TAP_[A-Z0-9_]+): (?![["{])|^\s*variable: "(TAP_[A-Z0-9_]+)"/gm;
  const names = [...text.matchAll(use)].map(([, read, given, named]) => read ?? given ?? named);
  const limits = new Set(addon.limits.map(({ env }) => env));
  return [...new Set(names)].filter((name) => !limits.has(name)).sort();
}

test("docs/configuration.md has every variable that tap reads, and no other", () => {
  const stated = firstCells.filter((name) => name.startsWith("TAP_")).sort();
  assert.deepEqual(stated, variablesOfTheCode());
});

test("docs/configuration.md has the files where they are", () => {
  const files = gatewayFiles({});
  const places = [files.folder, files.token, files.descriptor, files.link, files.logs].concat(
    consentFile(files),
  );
  const missing = places
    .map((file) => `~/${path.relative(os.homedir(), file)}`)
    .filter((file) => !firstCells.includes(file) && !firstCells.includes(`${file}/`));
  assert.deepEqual(missing, []);
  assert.ok(firstCells.includes(`<project>/${CONFIG_NAME}`));
});
