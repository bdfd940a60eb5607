// A command is read as bash reads it: what bash runs is seen, and what may be read in two ways is refused.
/* eslint no-template-curly-in-string: "off" */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { boundsOf, decided } from "../../../js/workers/run.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {import("node:test").TestContext} t */
function place(t) {
  const tree = path.join(fs.realpathSync(temporaryFolder(t)), "up", "tree");
  fs.mkdirSync(path.join(tree, "src", "deep"), { recursive: true });
  const bounds = boundsOf(/** @type {any} */ ({ cwd: tree, allowedFolders: [] }));
  return (/** @type {string} */ text) => decided({ kind: "shell", fullCommandText: text }, bounds);
}

const HIDDEN = [
  ": $IFS#; git push",
  ": ${IFS}#; cd .. && touch x",
  `echo "it's $(git push)"`,
  'echo "$(echo ")" && git push)"',
  'echo "${x:-"$(git push)"}"',
  ": $(echo 'a)' # )\n git push)",
  "echo $(( ((1)) <<X ))\ngit push\nX",
  "echo $(( git push ) | ( x ))",
  "echo $[1<<X]\ngit push\nX]",
  "echo ${a:-${b}<<X}\ngit push\nX}",
  "cat <<X |\ngit push\nX\nsh",
  "{ cat <<X\ngit push\nX\n} | sh",
  "(cat <<X\ngit push\nX\n) | sh",
  'eval "$(cat <<X\ngit push\nX\n)"',
  "cat <<X\nit's $(git push)\nX",
  "{git,{push,}}",
  "diff <(git push) x",
  "echo 'git push' | sh",
  "printf 'cat ../x\n' | bash",
];

const UNCLEAR = [
  ": \u00a0#; git push",
  ": \r#; touch ../x",
  ": \v#; git push",
  "cd src\r && cd ..",
  "cd src\u00a0 && cd ..",
  ": `#`; git push",
  ": `# it's`; git push '`",
  "a[1<<X]=5\ngit push\nX]=5",
  "a[ 1 <<X ]=5\ngit push\nX ]=5",
  "a[ # ]=5; git push",
  ": @(#); git push",
  "echo $(case x in a) git push;; esac)",
  "[[ a; git push",
  'echo "${x%\'"\'}"; git push',
  "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
  "cat <<$X\ngit push\n$X",
  "cat <<X $(echo\ngit push\nX\n)",
];

const OUTSIDE = [
  ': "$(: " && cd src/deep && : ")" && cd ../.. && touch x',
  ': "`: " && cd src/deep && : "`" && cd ../.. && touch x',
  "'{cd,src/deep}' && cd ../.. && touch x",
  '{cd","src/deep} && cd ../.. && touch x',
  "touch {.,}./x",
  "touch {src,..}/x",
];

const ALLOWED = [
  `git commit -m "$(cat <<'EOF'\nfix: don't "git push"\n\nIt's (not) done. # no\nEOF\n)"`,
  'cd "$(git rev-parse --show-toplevel)" && ls',
  'cd "$(dirname "$0")" && ls',
  "for ((i = 0; i < 3; i++)); do echo $i; done",
  'x=$((16#ff << 2)); echo "$((x + 1))"',
  'echo "${x:-a b}" ${y//a/b} ${#z}',
  "[[ $x == a && ( -f b || -n c ) ]] && make",
  "[[ $x =~ ^(a|b)$ ]] || make",
  "cd src && [[ -f ../a ]]",
  "npx prettier --write 'src/**/*.{ts,tsx}' src/{a,b}.ts",
  "ls src/[a-z]*.ts x[0-9]",
  "make\r\nls\r\n",
  "echo it\\'s # don't",
  "a=(src/a src/b); ls ${a[0]}",
  "cat <<'EOF' > a.md\ngit push\nEOF\nls | cat",
];

describe("what bash runs is seen", () => {
  for (const text of HIDDEN) {
    test(JSON.stringify(text), (t) => assert.match(place(t)(text), /never pushes|outside of/));
  }
});

describe("what may be read in two ways is refused", () => {
  for (const text of UNCLEAR) {
    test(JSON.stringify(text), (t) =>
      assert.match(place(t)(text), /cannot be read for sure \(.+\)/),
    );
  }
});

describe("a path that stands in another reading is seen", () => {
  for (const text of OUTSIDE) {
    test(JSON.stringify(text), (t) =>
      assert.match(place(t)(text), /outside of this job's folders/),
    );
  }
});

describe("what is quoted, summed up or tested is no command", () => {
  for (const text of ALLOWED) {
    test(JSON.stringify(text), (t) => assert.equal(place(t)(text), ""));
  }
});
