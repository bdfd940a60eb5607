// A long command is decided on at once: the process that reads it has others to serve.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { createBounds, decidePermission } from "../../../../js/agents/job-run.mjs";
import { cpuMs } from "../../../support/cost.mjs";
import { temporaryFolder } from "../../../support/temporary.mjs";

const LONGEST = 60_000;
/** When reading took time by the square of the length, each of these took longer than this. */
const MOST_MS = 2000;

/** @param {string} part @param {string} [head] @param {string} [tail] */
const long = (part, head = "", tail = "") =>
  head + part.repeat(Math.floor((LONGEST - head.length - tail.length) / part.length)) + tail;

const DOWN = "cd a; cd b; cd c; cd d; cd e; ";
const LONG = {
  "moves again and again": [long("cd a; "), long("cd .; ", DOWN), long("cd a && ")],
  "has many words in many folders": [long("x ", `${DOWN}ls `), long("x ", `${DOWN}mv `)],
  "has braces without an end, or many": [long(",", "echo {"), long("{,}{,}{,}{,}{,}{,}{,} ")],
  "calls git by each of its words": [long("git "), long("git -C x "), long("env git ")],
  "names a deep folder": [long("a/", "ls "), long("a/../", "ls "), long("../", "ls ")],
  "names many": [long("a/b ", "ls "), long("a/b:", "ln -s ", " src/x"), long("/*a ", "ls ")],
  "has a pattern of many stars": [long("*", "ls /", "x"), long("*[a]", "ls /", "x")],
  "has a word of many signs": [long("-", "ls "), long("*", "ls .", "x"), long("x-[")],
  "nests substitutions": [long("$("), long("$(("), long("${"), long('"$('), long("$(a) ")],
  "has many here-documents": [
    Array.from({ length: 5000 }, (_, at) => `cat <<a${at}\n`).join(""),
    long("{ cat <<X\nX\n"),
    long("cat <<X\n$("),
  ],
};

for (const [what, texts] of Object.entries(LONG)) {
  describe(`a long command that ${what} is decided on at once`, () => {
    for (const text of texts) {
      test(JSON.stringify(text.slice(0, 50)), (t) => {
        const bounds = createBounds(
          /** @type {any} */ ({ cwd: fs.realpathSync(temporaryFolder(t)), allowedFolders: [] }),
        );
        const before = cpuMs();
        const why = decidePermission({ kind: "shell", fullCommandText: text }, bounds);
        assert.ok(cpuMs() - before < MOST_MS, why.slice(0, 200));
      });
    }
  });
}

test("a long command of everyday parts is allowed", (t) => {
  const tree = fs.realpathSync(temporaryFolder(t));
  fs.mkdirSync(path.join(tree, "src"));
  const bounds = createBounds(/** @type {any} */ ({ cwd: tree, allowedFolders: [] }));
  const ask = (/** @type {string} */ text) =>
    decidePermission({ kind: "shell", fullCommandText: text }, bounds);
  assert.equal(ask(`cat > a.txt <<'EOF'\n${"it's a line of src/text\n".repeat(2000)}EOF`), "");
  assert.equal(ask(`node -e '${"const a = {b: [1, 2]};\n".repeat(2000)}'`), "");
  assert.equal(ask("(cd src && cat ../a)\n".repeat(200)), "");
  assert.equal(ask("git add src/a.c && git commit -m 'it is done'\n".repeat(200)), "");
});
