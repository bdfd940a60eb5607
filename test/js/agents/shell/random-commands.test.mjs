// Random commands, run by bash: none that is allowed leaves its folders. TAP_RANDOM_COMMANDS: how many.
/* eslint no-template-curly-in-string: "off" */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { createBounds, decidePermission } from "../../../../js/agents/job-run.mjs";
import { ROUNDS } from "../../../support/rounds.mjs";
import { temporaryFolder } from "../../../support/temporary.mjs";

const COUNT = Number(process.env.TAP_RANDOM_COMMANDS ?? 20 * ROUNDS);
const SEED = Number(process.env.TAP_RANDOM_SEED ?? 1);

/** @param {number} seed @returns {(below: number) => number} */
function randomFrom(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

const MOVES = ["src", "src", "deep", "src/deep", "new", "none", "..", "..", "..", "../..", "../src"]
  .concat(["../new", "./src/..", "../none", "way-in", "lent", "ROOT/tree/src", "ROOT/tree"])
  .map((folder) => `cd ${folder}`);
const SIMPLE = ["cat", "cat", "cat ../x", "cat ../../x", "cat ../src/x", "cat src/x", "true"]
  .concat(["false", "A=1", "export B=2", "[[ -d src ]]", "[[ -d src || -d none && -d x ]]"])
  .concat(["[[ a == a ]]", "[ -d src ]", "echo ../x", "grep -q '../x' here", "x=$(cd .. && cat)"])
  .concat(["x=$(cd src; cat ../x)", 'y="$(cd src && cat)"', "cat `cd src && cat`", "set -e"])
  .concat(["set -e", "set +e", "set -u", "cd src >/dev/null", "cd src 2>&1", "cd src >none/x"])
  .concat(["! cd src", "{ cd src; }", "if cd src; then cd ..; fi", "for i in 1 2; do cd ..; done"])
  .concat(["sh -c 'cd src && cat'", "eval 'cd ..'", "cd -", "pushd src >/dev/null", "cat here"])
  .concat(["cat <<X\n'\nX\n", "cat # '", "cat $IFS#", 'cat "$(cat ")")"', "cat ${x:-a b}", "((0))"])
  .concat(["cat $((1 << 2))", "cat {../,./}x", "env cat", "cat ~+/x", "for i in 1; do cat; done"]);
/** What moves a program or a folder, or gives a name another meaning. */
const HARD = ["mv ../deep ../../c", "mv deep ../c", "mv src c", "mv ../src ../new/c", "mv here new"]
  .concat(["mv ../here .", "mv none x", "mv ../d* ../../new", "mv ../../src/deep ../../new/d"])
  .concat(["set pipefail -e", "set - -e", "set -- -e", "set -e </none", "set -eu -o pipefail"])
  .concat(["set -o errexit", "set +o errexit", "set -e x", "set -e 2>none/x", "set '-e -u'"])
  .concat(['grep() { cat "$@"; }', "alias grep=cat", 'cat() { cat "$@"; }', "grep -q ../x here"])
  .concat(["shopt -s expand_aliases\nalias grep=cat\ngrep ../x", 'grep() { cat "$@"; }; grep ../x'])
  .concat(["env -C .. pwd", "env --ch=.. bash -c cat", "env -C src bash -c 'cat ../x'"])
  .concat(["bash -c 'cd ROOT/tree; cat $0' ../../x", "make -C .. -f ../x", "tar cCf .. x.tar here"])
  .concat([
    "find . -maxdepth 1 -execdir bash -c 'cat $0' ../x ';'",
    "command cd ..",
    "builtin cd ..",
  ])
  .concat(["popd", "dirs", "cd ~-", "cd ~+", 'cd "$OLDPWD"', "CDPATH=src:..", "CDPATH=.. cd src"])
  .concat([
    "cat .?/x",
    "cat .*/x",
    "cd .?",
    "cd .*",
    "cat {.,}./x",
    "cat $'\\x2e\\x2e'/x",
    "cat ..*/x",
  ])
  .concat([
    "echo ../x | xargs bash -c 'cat $0'",
    "true | (cd ..; cat)",
    "(cd ..; cat) | cat",
    "exec 3>here",
  ])
  .concat([
    "trap 'cd ..' DEBUG",
    "ln -s .. l",
    "ln -s ROOT/tree/new src/l",
    "cat src/l/../../x",
    "cat l/x",
  ])
  .concat([
    "rm -r ../src",
    "rm -rf deep",
    "mkdir -p ../src/deep",
    "coproc cd ..",
    "cat <(cd ..; cat)",
  ])
  .concat([
    "bash <<X\ncd ..\nsee\nX\n",
    "echo 'cat ../x' | bash",
    "while cat ../x; do break; done",
  ]);
const JOINS = [" && ", " && ", " && ", " && ", "; ", "\n", " || ", " | ", " & ", " &&\n", " |\n"];

/** @param {(below: number) => number} random @param {number} depth @returns {string} */
function command(random, depth) {
  const one = (/** @type {string[]} */ from) => from[random(from.length)];
  const count = 1 + random(depth > 0 ? 3 : 6);
  let text = depth === 0 && random(4) === 0 ? "set -e; " : "";
  for (let at = 0; at < count; at += 1) {
    const kind = random(15);
    const join = at === 0 ? "" : one(JOINS);
    if (kind < 6) text += join + one(MOVES);
    else if (kind < 10 || (kind < 12 && depth > 1)) text += join + one(SIMPLE);
    else if (kind < 12) text += `${join}(${command(random, depth + 1)})`;
    else text += join + one(HARD);
  }
  return text;
}

/** @param {import("node:test").TestContext} t */
function place(t) {
  const root = fs.realpathSync(temporaryFolder(t));
  const at = (/** @type {string[]} */ ...parts) => path.join(root, ...parts);
  const job = { cwd: at("tree"), allowedFolders: [at("lent")] };
  const renew = () => {
    for (const name of ["tree", "lent"]) fs.rmSync(at(name), { recursive: true, force: true });
    for (const name of ["tree/src/deep", "tree/new/src", "lent/a", "home"]) {
      fs.mkdirSync(at(name), { recursive: true });
    }
    fs.writeFileSync(at("tree", "here"), "../x\n");
    fs.symlinkSync(at("tree", "src", "deep"), at("tree", "way-in"));
    fs.symlinkSync(at("lent"), at("tree", "lent"));
  };
  renew();
  return { root, at, renew, bounds: createBounds(/** @type {any} */ (job)) };
}

// It tells where it is, and what it is given.
const CAT = '() { { command pwd -P; command realpath -m -- "$@"; } >>"$LOG" 2>/dev/null; }';

test(
  "no random command that is allowed leaves its folders in bash",
  { skip: process.platform === "win32" },
  (t) => {
    const { root, at, renew, bounds } = place(t);
    const random = randomFrom(SEED);
    const env = {
      PATH: process.env.PATH,
      HOME: at("home"),
      LOG: at("log"),
      "BASH_FUNC_cat%%": CAT,
    };
    let allowed = 0;
    for (let count = 0; count < COUNT;) {
      const text = command(random, 0).replaceAll("ROOT", root);
      if (decidePermission({ kind: "shell", fullCommandText: text }, bounds) !== "") {
        count += 0.2;
        continue;
      }
      count += 1;
      allowed += 1;
      fs.writeFileSync(at("log"), "");
      spawnSync("bash", ["-c", `${text}\ncat`], {
        cwd: at("tree"),
        env,
        stdio: "ignore",
        timeout: 10_000,
      });
      for (const real of fs.readFileSync(at("log"), "utf8").split("\n").filter(Boolean)) {
        const isIn = [at("tree"), at("lent")].some((one) => `${real}/`.startsWith(`${one}/`));
        assert.ok(isIn, `${JSON.stringify(text)} is at ${real}`);
      }
      renew();
    }
    assert.ok(allowed > COUNT / 10, `${allowed} were allowed`);
  },
);
