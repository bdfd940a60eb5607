// docs/records.md names each field that a record may have (native/protocol/records.h).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { root } from "../../../tools/commands.mjs";

const read = (file) => readFileSync(path.join(root, file), "utf8");

/** Sizes and digests of what was cut have a rule of their own; these are columns, too. */
const OTHERS = /^(?:arguments|result|event|prompt)(?:Bytes|Digest)$|^at$/;

test("the page on records names the fields of each collection", () => {
  const rows = [
    ...read("native/protocol/records.h").matchAll(
      /\{Collection::\w+, "(\w+)", \d+,\s*((?:"[^"]*"\s*)+)\}/g,
    ),
  ];
  assert.ok(rows.length >= 16, String(rows.length));
  const page = read("docs/records.md");
  for (const [, collection, texts] of rows) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${collection}\``)) ?? "";
    const [item] = new RegExp(`^- \`${collection}\`: (?:.*\\n)+?(?=- |\\n)`, "m").exec(page) ?? [
      "",
    ];
    const fields = texts.replaceAll('"', " ").trim().split(/\s+/);
    const missing = fields.filter(
      (name) => !OTHERS.test(name) && !`${row}${item}`.includes(`\`${name}\``),
    );
    assert.deepEqual(missing, [], collection);
  }
});
