// A command is read as bash reads it: what bash runs is seen, and what may be read in two ways is refused.
/* eslint no-template-curly-in-string: "off" */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { createBounds, decidePermission } from "../../../../js/agents/job-run.mjs";
import { temporaryFolder } from "../../../support/temporary.mjs";

/** @param {import("node:test").TestContext} t */
function place(t) {
  const tree = path.join(fs.realpathSync(temporaryFolder(t)), "up", "tree");
  fs.mkdirSync(path.join(tree, "src", "deep"), { recursive: true });
  const bounds = createBounds(/** @type {any} */ ({ cwd: tree, allowedFolders: [] }));
  return (/** @type {string} */ text) =>
    decidePermission({ kind: "shell", fullCommandText: text }, bounds);
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
  "git -c sequence.editor='git push;' rebase -i HEAD~1",
  "git -c merge.x.driver='git push' merge x",
  "VISUAL='git push;' git commit",
  "export GIT_EDITOR='git push;'; git commit",
  "git difftool --extcmd 'git push'",
  "git grep --open-files-in-pager='git push' x",
  "git rebase -x'git push' HEAD~1",
  "git grep -O'git push' x",
  "env -S'git push'",
  "tar cf a.tar --checkpoint=1 --checkpoint-action=exec='git push' src",
  "tar xf a.tar --to-c 'cat ../x'",
  "tar -cf a.tar --use-compress-program='cat ../x' src",
  "tar cIf 'cat ../x' a.tar src",
  "tar -c -I'cat ../x' -f a.tar src",
  "export PS4='$(git push)'; set -x; ls",
  "PROMPT_COMMAND='cat ../x'",
  "export BASH_ENV='$(git push)'; src/run",
  "/usr/bin/env -S 'git push'",
  'cat "$(pwd)/../x"',
  "cat .`true`./x",
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
  "tar -I 'zstd -19' -cf a.tar 'src/my file' && tar xf a.tar --info=x && tar cFz a b",
  "export PS4='+ ${BASH_SOURCE}:${LINENO} $(date +%s) '; set -x; make",
  "git -c user.name='A B' commit -m 'do not git push; x'",
  'ls "$(pwd)/src" && cut -d/ -f2 a | tr / _ | sort -t / -k2',
  "awk -F/ '{ print $NF }' a",
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
