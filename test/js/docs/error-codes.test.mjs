// A code of native/protocol/errors.h has more places. This says which of them lacks it, before anything is
// compiled: CONTRIBUTING.md, "Where to add things".

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { ADVICE } from "../../../sdk/node/errors.mjs";
import { root } from "../../../tools/commands.mjs";
import { errorTable } from "../../support/error-table.mjs";
import { tableIn } from "../../support/markdown.mjs";

/** @param {string} file */
const read = (file) => readFileSync(path.join(root, file), "utf8");

const TABLE = errorTable();
const NAMES = TABLE.map(({ name }) => name);
const FATAL = TABLE.filter(({ fatal }) => fatal).map(({ name }) => name);
/** What a tool fails with; what only the gateway can know is not for a tool to say. */
const OF_TOOLS = NAMES.slice(NAMES.indexOf("INVALID_ARGUMENTS")).filter(
  (name) => name !== "DISCONNECTED",
);

/** The codes that a text names, in the order of the table. @param {string} text */
const namedIn = (text) => NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(text));

/** A rule of docs/protocol.md. @param {string} number */
function rule(number) {
  const [text] =
    read("docs/protocol.md")
      .split(`**${number}**`)[1]
      ?.split(/\n- \*\*|\n#/) ?? [];
  assert.ok(text, `docs/protocol.md has ${number}`);
  return text;
}

/** What a file says between two words. @param {string} file @param {RegExp} part with one group */
function partOf(file, part) {
  const [, text] = part.exec(read(file)) ?? [];
  assert.ok(text, `${file} has ${part.source}`);
  return text;
}

/** The places of a code. @type {Record<string, () => [unknown[], unknown[]]>} what is there, and what should be */
const PLACES = {
  "the table of errors in docs/protocol.md": () => [
    tableIn(read("docs/protocol.md"), ["code", "fatal", "advice"]),
    TABLE.map(({ name, fatal, advice }) => [name, fatal ? "yes" : "no", advice]),
  ],
  "rule P-ERROR-2 of docs/protocol.md": () => [namedIn(rule("P-ERROR-2")), NAMES],
  "rule P-ERROR-3 of docs/protocol.md, if it is fatal": () => [namedIn(rule("P-ERROR-3")), FATAL],
  "ADVICE of sdk/node/errors.mjs": () => [
    Object.entries(ADVICE),
    TABLE.map(({ name, advice }) => [name, advice]),
  ],
  "FINAL of both SDKs, if a provider must not try again": () => [
    namedIn(partOf("sdk/python/copilot_tap/connection.py", /^FINAL = ((?:.*\nFINAL \|=)?.*)/m)),
    namedIn(partOf("sdk/node/connection.mjs", /^const FINAL = ([^;]*);/m)),
  ],
  "ToolError of sdk/node/types.d.ts, if a tool may fail with it": () => [
    namedIn(partOf("sdk/node/types.d.ts", /class ToolError [^}]*?code:([^;]*?)\(string & /)),
    OF_TOOLS,
  ],
  "ToolError of sdk/python/copilot_tap/errors.py, if a tool may fail with it": () => [
    namedIn(partOf("sdk/python/copilot_tap/errors.py", /class ToolError[^]*?"""([^]*?)"""/)),
    OF_TOOLS,
  ],
};

for (const [place, compare] of Object.entries(PLACES)) {
  test(`an error code is in ${place}`, () => {
    const [there, wanted] = compare();
    const lacks = (/** @type {unknown[]} */ some, /** @type {unknown[]} */ others) =>
      some.filter((one) => !others.some((other) => isDeepStrictEqual(one, other)));
    const [added, removed] = [lacks(wanted, there), lacks(there, wanted)];
    const said = [
      ...added.map((one) => `add ${JSON.stringify(one)}`),
      ...removed.map((one) => `remove ${JSON.stringify(one)}`),
    ].join(", ");
    assert.ok(said === "", `${place}: ${said}`);
    assert.deepEqual(there, wanted, "in the order of errors.h");
  });
}

test("advice of the SDKs is for codes that there are", () => {
  for (const [file, part] of /** @type {[string, RegExp][]} */ ([
    ["sdk/node/errors.mjs", /^const OWN_ADVICE = \{([^}]*)\}/m],
    ["sdk/python/copilot_tap/errors.py", /^ADVICE = \{([^}]*)\}/m],
  ])) {
    const codes = [...partOf(file, part).matchAll(/^\s*"?([A-Z_]+)"?:/gm)].map(([, code]) => code);
    assert.ok(codes.length > 0, file);
    assert.deepEqual(
      codes.filter((code) => !NAMES.includes(code)),
      [],
      file,
    );
  }
});
