// Where a command's shell goes: cd after cd is followed, and refused once it could be outside.
/* eslint no-template-curly-in-string: "off" */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { createBounds, decidePermission } from "../../../../js/agents/job-run.mjs";
import { temporaryFolder } from "../../../support/temporary.mjs";

/** A worktree with links: to a folder of its own, to an allowed one, and out. @param {import("node:test").TestContext} t */
function place(t) {
  const root = fs.realpathSync(temporaryFolder(t));
  const at = (/** @type {string[]} */ ...parts) => path.join(root, ...parts);
  for (const name of ["tree/src/deep", "tree/new", "shared/a/b", "secret"]) {
    fs.mkdirSync(at(name), { recursive: true });
  }
  fs.symlinkSync(at("secret"), at("tree", "way-out"));
  fs.symlinkSync(at("secret"), at("tree", "src", "out"));
  fs.symlinkSync(at("tree", "src", "deep"), at("tree", "way-in"));
  fs.symlinkSync(at("shared"), at("tree", "lent"));
  fs.symlinkSync(at("shared", "a", "b"), at("tree", "lent-deep"));
  const job = { cwd: at("tree"), allowedFolders: [at("shared")] };
  const bounds = createBounds(/** @type {any} */ (job));
  const ask = (/** @type {string} */ text) =>
    decidePermission({ kind: "shell", fullCommandText: text.replaceAll("ROOT", root) }, bounds);
  return { ask, bounds, at };
}

const INSIDE = [
  "cd src && cd ..",
  "cd src && cd .. && ls",
  "cd src && npm test && cd .. && npm run lint",
  "cd src/deep && make && cd ../.. && ls",
  "cd src && cd ../new && cd ../src/deep && cd ../..",
  "cd src/ && cd ../ && cd ./src && cd ..",
  "cd src &&\n  cd ..",
  "cd src && cd .. # cd ..",
  "make; cd src && make && cd ..",
  "cd src && make 2>&1 && cd .. && cd new && cd ..",
  "cd ROOT/tree/src && cd ..",
  "cd ROOT/shared/a && cd .. && cd a/b && cd ../..",
  "cd way-in && cd ..",
  "cd lent-deep && cd ..",
  "cd src && FOO=1 make && cd ..",
  'cd "src" && git commit -m "fix (x); y" && cd ..',
  "cd src && cd -",
  "(cd src && make)",
  "grep '\\\\../x' src/a",
  "cd $DIR && make",
  "for d in src new; do make -C $d; done && cd src && ls",
  "cd src && true | true && cd ..",
  "cd src && npm test 2>&1 | tail -5 && cd ..",
  "cd src && (npm test || true) && cd ..",
  "cd src/deep && (cd .. && cd ..) && cd ../..",
  "cd src && (cat ../a; ls ../new)",
  "cd src && X=$(pwd) && cd ..",
  "cd src && export A=1 && echo ${x:-y} && cd ..",
  "cd src && [[ -f a && ( -f b || -f c ) ]] && cd ..",
  "cd src >/dev/null && cd ..",
  "set -e; cd src; make; cd ..; make",
  "set -euo pipefail\ncd src\nmake | tail -5\ncd ..\nmake",
  "cd src && cat ../a",
  "cd src && npx tsc -p ../tsconfig.json",
  "cd src && make -C .. all",
  "cd src && npm --prefix .. test",
  "cd src && make -f ../Makefile -j4 all && make -k -f ../a.mk || true",
  "cd src && make -f../Makefile && make --file=../Makefile test-all",
  "cd src && cargo build --manifest-path ../Cargo.toml --release -p app",
  "cd src && cargo test --manifest-path=../Cargo.toml a_test",
  "cd src && go test ../... && go vet ../new/... .. && go build -v ./... ../new",
  "cd src && go test -v -race -count=1 ../...",
  "cd src && tar -C .. -cf a.tar src",
  "mkdir -p build && cd build && cmake .. && make && cd ..",
  "cd src && sh ../build.sh && node --test ../test && npx eslint ../a.js",
  "cd src && git add ../a .. && git diff -- ../b && find .. -name x | head",
  "cd src && FOO=1 cat ../a && cp -r ../new . && rm -rf ../new/x && jq . ../a.json",
  "set -eu -o pipefail; cd src; cat ../a",
  "cd src && grep -C 3 -E 'x' ../a && sed -E -n p ../a && git diff --diff-filter=M -- ../a",
  "find . -name x -execdir rm a ';' && find src -execdir ls ';'",
  "cat $DIR/usr/a $DIR/home/a && GIT_EDITOR='sed -i s/pick/edit/' git rebase -i HEAD~1",
  "git log -p | awk '{n += $1} END {print n / NR}' && git diff main@{u}..",
  "find . -name '.*' | sed 's/.*/.*/' && ls .[a-z]* .??* .git*",
  "set -o errexit; cd src; cat ../a",
  "cd src && mv a.txt b.txt && cat ../a && cd ..",
  "cd src && mv ../a.txt . && mv b ../new/ && mv *.js deep && cat ../a && cd ..",
  "mv *.ts new/ && cd src && npx tsc -p ../tsconfig.json",
  "cd src && grep -rn mv ../new && git mv a b && cat ../a",
  "ln -s ../new src/new",
  'mv "$f" "${f%.ts}.js" && cp src/a new/${f%.*}.js && ls ${dir%/} ${d%/*}/a ${f/src/new}/a',
  'ls "$PWD"/src ${PWD}/src ${DIR:-src} ${a}/${b} ${x:+src/$x} && cat "${1:-src/a}" $PWDX/a',
  'X=$(dirname "$f") && export PATH=$PWD/bin:$PATH && npm i @a/b && git diff @{u}..HEAD',
  "cd src && ln -s ../new new && cd ..",
  "grep -rn '../lib' src",
  "git log -S'../foo' --grep=../x --oneline",
  'git commit -m "fix: ../a, ../../b and ../../../c"',
  "echo '../x' >> new/list; npm test",
  "printf '%s\\n' '../a' > new/list",
];

const OUTSIDE = {
  "goes further up than it went down": [
    "cd src && cd ../..",
    "cd src && cd .. && cd ..",
    "cd src/deep && cd ../../..",
    "cd src/../..",
    "cd src/deep && cd .. && cd .. && cd .. && ls",
    "cd ROOT/shared && cd ..",
    "cd ROOT/shared/a && cd ../..",
    'cd "src" && cd "../.."',
    'cd "../x y"',
  ],
  "may not have gone down": [
    "cd src; cd ..",
    "cd src\ncd ..",
    "cd src & cd ..",
    "cd src || cd ..",
    "cd a || cd ../..",
    "cd src | cd ..",
    "true || cd src && cd ..",
    "cd src && true || true && cd ..",
    "true | cd src && cd ..",
    "! cd src && cd ..",
    "! cd src || cd ..",
    "cd src new && cd ..",
    "false && cd src; cd ..",
    "cd src | cat && cd ..",
    "set -e; false && cd src; cd ..",
    "set -e; cd src || true; cd ..",
    "set -e; cd src & cd ..",
    "set -e; cd src | cat; cd ..",
    "set -e; (cd none; cd ..) || true",
    "set -e; set +e; cd src; cd ..",
    "set -e | cat; cd src; cd ..",
    "false && set -e; cd src; cd ..",
    "x=$(set -e; cd none; cd ..)",
    "set pipefail -e; cd none; cat ../secret/a",
    "set nounset -e; cd none; cat ../secret/a",
    "set - -e; cd none; cat ../secret/a",
    "set -- -e; cd none; cat ../secret/a",
    "set '-e -u'; cd none; cat ../secret/a",
    "set -o -e; cd none; cat ../secret/a",
    "set -u; cd none; cat ../secret/a",
    "set -e </none; cd none; cat ../secret/a",
    "set -e 2>/none/x; cd none; cat ../secret/a",
    "if cd src; then :; fi; cd ..",
    "if true && cd src; then :; fi && cd ..",
  ],
  "went down somewhere else": [
    "./cd src && cd ..",
    "/bin/cd src && cd ..",
    "src/cd src && cd ..",
    "(cd src) && cd ..",
    "(cd src && true) && cd ..",
    "(cd src; cd ..)",
    "cd src && (cd .. && true) && cd .. && cd ..",
    "cd src && (eval $X; cat ../a)",
    "case x in (a) cd src;; esac && cd ..",
    "IFS=; cd${IFS}src/deep && cd ../..",
    "cd src/deep &>/dev/null && cd ../..",
    "cd src && (cd ..; cd ..)",
    "echo $(cd src) && cd ..",
    "echo `cd src` && cd ..",
    "cat <(cd src) && cd ..",
    "sh -c 'cd src' && cd ..",
    "cat .?/secret/a",
    "cat .*/secret/a",
    "cat .[.]/secret/a",
    "cd .? && cat a",
    "sh -c 'cd src && cd ../..'",
    "cd src && sh -c 'cd ../..'",
    "eval 'cd src' && cd ..",
    "f() cd src/deep && cd ..",
    ": ${x:+ && cd src/deep && true } && cd ..",
    '"${x:+"a && cd src/deep && b"}" && cd ..',
    "[[ x && cd == src/deep && y ]] && cd ..",
    "cat <<EOF && true\ncd src && true\nEOF\ncd ..",
  ],
  "moves by what the text does not say": [
    "cd $X && cd ..",
    'cd "$X" && cd ..',
    "cd ${X:-src} && cd ..",
    "cd sr* && cd ..",
    "cd {src,new} && cd ..",
    "cd s?c && cd ..",
    "cd - && cd ..",
    "cd src && cd - && cd ..",
    "cd -P src && cd ..",
    "cd -- src && cd ..",
    "pushd src && cd ..",
    "pushd src && popd && cd ..",
    "cd src && popd && cd ..",
    "cd src/deep && pushd $X && cd ..",
    "cd src/deep && popd && cd ..",
    "cd src/deep && $CMD .. && cd ..",
    "cd src/deep && eval $X && cd ..",
    "cd src/deep && source x && cd ..",
    "cd src/deep && . ./x && cd ..",
    "cd src/deep && command cd $X && cd ..",
    "cd src/deep && builtin cd $X && cd ..",
    "cd src/deep && time cd $X && cd ..",
    "cd src/deep && trap x DEBUG && cd ..",
    "set -P && cd src && cd ..",
    "shopt -s cdable_vars && cd src && cd ..",
    "alias up=cd && cd src/deep && up x && cd ..",
    "cd() { true; } && cd src && cd ..",
    "function cd { true; }; cd src && cd ..",
    "CDPATH=$X cd src && cd ..",
    "CDPATH=$X && cd src && cd ..",
    "export CDPATH=src/deep && cd src && cd ..",
    "cd src/deep && CDPATH=../.. cd new && cd ../..",
    "cd src/deep && Set-Location x && cd ..",
    "cd src/deep && CD x && cd ..",
  ],
  "goes up again and again": [
    "cd src/deep && until true && cd .. && false; do :; done",
    "cd src/deep && while true && cd ..; do :; done",
    "cd src && while cd ..; do :; done",
    "cd src && until cd ..; do :; done",
    "cd src && for i in 1 2 3; do cd ..; done",
    "cd src && for i in 1 2 3\ndo\ncd ..\ndone",
    "cd src && { cd ..; cd ..; }",
    "up() { cd ..; } && cd src && up && up",
  ],
  "follows a link": [
    "cd way-out",
    "cd way-out && cat a",
    "cd src && cd out",
    "cd src && cat out/a",
    "cd way-out && cd ..",
    "cd lent && cd ..",
    "cd lent/..",
    "cat lent/../secret/a",
    "cd src && cd ../lent && cd ..",
  ],
  "names a path from a folder that another program may not be in": [
    "cd src/deep && env -C ../.. cat ../secret/a",
    "cd src/deep && make -C .. -C .. -C ..",
    "cd src/deep && make -kC ../.. X=../..",
    "cd src && npm test -- ../x",
    "cd src/deep && X=../.. && cd ../.. && cat $X/a",
    "cd src/deep && export X=../.. && cd ../.. && cat $X/a",
    "cd src/deep && printf -v X ../.. && cd ../.. && cat $X/a",
    "env -C .. cat a",
    "cd src && cat $PWD/../../secret/a",
    "cd src && tar cCf .. x",
    "cd src && tar -c --di=.. -f x",
    "cd src/deep && tar cCf ROOT/tree x -C ../.. a",
    "cd src/deep && unshare --wd=ROOT/tree cat ../../secret/a",
    "cd src/deep && make --di=ROOT/tree -f ../../secret/a",
    "cd src/deep && make -f ../../secret/a --di=ROOT/tree",
    "cd src/deep && env --ch=ROOT/tree cat ../../secret/a",
    "cd src/deep && env --ch=ROOT/tree make -C ../../secret",
    "cd src/deep && sudo --chd=ROOT/tree cat ../../secret/a",
    "cd src/deep && git bisect run cat ../../secret/a",
    "cd src/deep && git -C ROOT/tree diff --no-index a ../../secret/a",
    "cd src/deep && bash -c 'cd ROOT/tree; cat \"$0\"' ../../secret/a",
    "cd src/deep && find ROOT/tree -execdir cat ../../secret/a ';'",
    "cd src/deep && find . -exec env --ch=ROOT/tree cat ../../secret/a ';'",
    "find ROOT/tree -maxdepth 0 -execdir cat secret/a ';'",
    "cd src/deep && cp --par ../../new/x ROOT/tree/new",
    "cd src/deep && make -f ../../secret/a -C ROOT/tree",
    "cd src/deep && node --run see -- ../../secret/a",
    "cd src/deep && npx -w new cat ../../secret/a",
    "cd src/deep && cmake --build ROOT/tree -- -f ../../secret/a",
    "cd src/deep && timeout 5 cat ../../secret/a",
  ],
  "names a path for a program that may be told to go elsewhere": [
    ...["make -f ../../x", "make -f ../../tree/../x", "cd src; make -f ../x"],
    "cd src && make -f ../way-out/x",
    "cd src && make -f ../lent/../x",
    "cd src && cargo build --manifest-path ../../Cargo.toml",
    "cd src && cargo build --manifest-path ../way-out/Cargo.toml",
    ...["go test ../...", "cd src && go test ../../...", "cd src && go test ../way-out/..."],
    ...[
      ...["make -C ROOT/tree -f UP", "make -kC ROOT/tree -f UP", "make -f UP -CROOT/tree"],
      ...["make -f UP --dir=ROOT/tree", "make -f UP --directory ROOT/tree", "make -f UP -I ../.."],
      ...["make -f UP X=../..", "make -f UP MAKEFLAGS=-C..", "make -f UP $X", "make $X -f UP"],
      ...['make -f UP "$X"', "make -f UP `x`", "make -f UP {-C,new}", "make -f UP *", "make UP"],
      ...["MAKEFLAGS=-C make -f UP", "env --ch=ROOT/tree make -f UP", "xargs make -f UP"],
      ...["timeout 5 make -f UP", "time make -f UP", "sudo -D ROOT/tree make -f UP"],
      ...[
        "bash -c 'cd ROOT/tree; make -f UP'",
        "(cd ../..; make -f UP)",
        "find . -exec make -f UP \\;",
      ],
      ...[
        "make -f UP -- -C ROOT/tree",
        "make -f UP '-C ROOT/tree'",
        "make -f -C -f UP",
        "./make -f UP",
      ],
      ...["cargo -C ROOT/tree build --manifest-path UP", "cargo b --manifest-path UP"],
      ...["cargo build -C ROOT/tree --manifest-path UP", "cargo run --manifest-path UP -- UP"],
      ...["cargo test --manifest-path UP UP", "cargo +x build --manifest-path UP"],
      ...["cargo build --manifest-path UP --config UP", "cargo install --manifest-path UP x"],
      ...["cargo build --manifest-path UP $X", "X=1 cargo build --manifest-path UP"],
      ...["go test -C ROOT/tree ../../...", "go -C ROOT/tree test ../../...", "go run ../../x"],
      ...["go test ../../... -args UP", "go test ../../... -mine=UP", "go test -o UP ../../..."],
      ...[
        "go test -exec UP ../../...",
        "go test ../../...$X",
        "go test $X ../../...",
        "go tool ../../x",
      ],
    ].map((text) => `cd src/deep && ${text.replaceAll("UP", "../../x")}`),
    "make() { cat $2; }; cd src && make -f ../x",
    "alias make='make -C ROOT/tree'\ncd src && make -f ../x",
    "cd src && $X && make -f ../x",
    "ln -s ROOT/tree/new src/l && cd src && make -f l/../../x",
    "cd src/deep && mv ../deep ../../c && make -f ../../x",
  ],
  "names a path behind the name of a setting": [
    "git -c core.hooksPath=../secret commit -m x",
    "git -c include.path=/etc/x status",
    "git -c core.fsmonitor=~/x status",
  ],
  "makes a link that leads out, or goes up behind one that is new": [
    "ln -s ../../secret src/x",
    "cd src && ln -s .. ../up",
    "cd src && ln -s ../x ..",
    "cd src/deep && cp -s ../../secret ../x",
    "ln -s ROOT/tree/new src/deep/l && cat src/deep/l/../../a",
  ],
  "moves a folder, and goes up": [
    "cd src/deep && mv ../deep ../../c && cat ../../secret/a",
    "cd src/deep && mv ../../src/deep/ ../../c && cat ../../secret/a",
    "cd src/deep && mv -T ROOT/tree/src/deep ROOT/tree/c && cd .. && cd ..",
    "cd src/deep && (cd ../.. && mv src new) && cat ../../secret/a",
    "(sleep 1; mv src/deep c) & cd src/deep && sleep 2 && cat ../../secret/a",
    "cd src/deep && mv ../d* ../../c && cat ../../secret/a",
    "cd src/deep && (cd ../.. && mv s*/d?ep c) && cat ../../secret/a",
    "cd src/deep && mv $X ../../c && cat ../../secret/a",
    "cd src/deep && mv ../../way-in/../deep ../../c && cat ../../secret/a",
    "cd src/deep && git mv ../deep ../../c && cat ../../secret/a",
    "cd src/deep && rename deep c ../deep && cat ../../secret/a",
    "cd src/deep && ls -d ../deep | xargs -I% mv % ../../c && cat ../../secret/a",
    "cd src/deep && busybox mv ../deep ../../c && cat ../../secret/a",
  ],
  "names a path in words that another program reads": [
    'grep(){ cat "$@"; }; grep ../secret/a',
    'grep () ( cat "$@" ); grep ../secret/a',
    "function grep { cat $@; }; grep ../secret/a",
    "alias grep=cat\ngrep ../secret/a",
    "hash -p /bin/cat grep; grep ../secret/a",
    "eval 'grep() { cat $1; }'; grep ../secret/a",
    'git() { cat "$4"; }; git commit -a -m ../secret/a',
    "PATH=$PWD/bin:$PATH; grep ../secret/a",
    "env 'BASH_FUNC_grep%%=() { cat $1; }' bash -c 'grep ../secret/a'",
    "grep ../secret/*",
    "grep ../secret/a -5e .",
    "rg -r ../secret/a . b | xargs cat",
    "x=(../secret/a); cat ${x[0]}",
    "echo ../secret/a; cat $_",
    "echo ../secret/a > new/a; xargs cat < new/a",
    "echo ../secret/a > new/a; cat $(cat new/a)",
    "echo ../x | xargs cat",
    "{ echo ../x; } | xargs cat",
    "cat $(echo ../x)",
    "f() { echo ../x; }; cat $(f)",
    "echo ../x > >(xargs cat)",
    "echo ../*",
    "grep ../x -e y",
    "grep -- -y ../x",
    "grep -rne y ../x",
  ],
  "names a path by a blank, or by where the shell is": [
    'cp src/a "../../my project"',
    'cat "ROOT/secret/my file"',
    'cat "my file/../../secret/a"',
    "cat ~+/../secret/a",
    "cat ~-/a",
    "cat ${PWD%/*}/secret/a",
    "cat ${PWD::-5}/secret/a",
    "cat ${PWD:0:-4}secret/a",
    "cat ${x:-${PWD::-5}}/secret/a",
    "cd ${PWD::-5}",
    "cat $PWD*/../secret/a",
    "cat ${DIRSTACK%/*}/secret/a",
    "cat ${DIRSTACK[0]}/../secret/a",
    "cat $(dirname $PWD)/secret/a",
    'cd "$(dirname "${PWD}")" && cat secret/a',
    "gcc @../secret/a",
  ],
  "may name a path by a variable that is empty": [
    "cat ..$X/secret/a",
    "cat .$@./secret/a",
    "cat ${X:-..}/secret/a",
    'cat "${X:-../secret/a}"',
    "cat ${X-ROOT/secret/a}",
    "cat ${HOME:-x}/a",
    "cd src; cd $OLDPWD/..",
    "cat $X/../secret/a",
    ...["${x#y}", "${x%%y}", "${x/y/z}", "${x^}", "${x,,}", "${x:0:0}", "${x@Q}", "${x[0]}"]
      .concat(["${x[@]}", "${!x*}", "${*}", "${@:2}", "${x:+y}", "${x+y}", "${x#${y}}", "$!", "$-"])
      .map((variable) => `cat .${variable}./secret/a`),
    "cd .${x%y}. && cat secret/a",
    "cat $PWD$X/../secret/a",
    "cat $X$PWD/../secret/a",
    "cat ${x:-$PWD}/../secret/a",
    "cat $X$HOME/a",
    "cat $HOME${X}/a",
    "cat ${x:-$HOME}/a",
    "cd $X$HOME",
  ],
  "has git run a command": [
    "GIT_EXTERNAL_DIFF='cat ../secret/a' git diff",
    "git -c core.pager='cat ../secret/a' log",
    "PAGER='cat ../secret/a' git -p log",
  ],
  "goes home": ["cd src && cd", "cd src && cd ~", "cd src && cd ~root"],
};

describe("a command that stays inside is allowed", () => {
  for (const text of INSIDE) {
    test(JSON.stringify(text), (t) => assert.equal(place(t).ask(text), ""));
  }
});

for (const [what, texts] of Object.entries(OUTSIDE)) {
  describe(`a command that ${what} is refused`, () => {
    for (const text of texts) {
      test(JSON.stringify(text), (t) => {
        assert.match(place(t).ask(text), /outside of this job's folders/);
      });
    }
  });
}

test("many folders cost no more than some, and many paths are refused", (t) => {
  const { ask } = place(t);
  const moves = Array.from({ length: 400 }, (_, at) => `cd d${at}`);
  assert.match(ask(moves.join("; ")), /too many folders\)\. .*, or put it into a file\.$/);
  assert.match(ask(`${moves.slice(0, 20).join("; ")}; cat d1/x`), /too many folders/);
  assert.equal(ask(moves.slice(0, 40).join(" && ")), "");
  const files = Array.from({ length: 1025 }, (_, at) => `a/${at}`);
  assert.match(ask(`cat ${files.join(" ")}`), /too many paths\)\. .*, or put it into a file\.$/);
  assert.equal(ask(`cat ${files.slice(1).join(" ")}`), "");
});

test("a file is held to where it really is: a link, and up from there", (t) => {
  const { bounds, at } = place(t);
  for (const file of ["lent/../secret/a", at("tree/lent/../secret/a")]) {
    const raw = file.startsWith("/") ? `${at("tree")}/lent/../secret/a` : file;
    for (const request of [
      { kind: "read", path: raw },
      { kind: "write", fileName: raw },
    ]) {
      assert.match(decidePermission(request, bounds), /outside of this job's folders/, raw);
    }
  }
});
