// Random commands, run by bash: none that is allowed leaves its folders. TAP_RANDOM_COMMANDS: how many.
/* eslint no-template-curly-in-string: "off" */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { boundsOf, decided } from "../../../js/workers/run.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const COUNT = Number(process.env.TAP_RANDOM_COMMANDS ?? 120);
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
const SIMPLE = ["see", "see", "see ../x", "see ../../x", "see ../src/x", "see src/x", "true"]
  .concat(["false", "A=1", "export B=2", "[[ -d src ]]", "[[ -d src || -d none && -d x ]]"])
  .concat(["[[ a == a ]]", "[ -d src ]", "echo ../x", "grep -q '../x' here", "x=$(cd .. && see)"])
  .concat(["x=$(cd src; see ../x)", 'y="$(cd src && see)"', "see `cd src && see`", "set -e"])
  .concat(["set -e", "set +e", "set -u", "cd src >/dev/null", "cd src 2>&1", "cd src >none/x"])
  .concat(["! cd src", "{ cd src; }", "if cd src; then cd ..; fi", "for i in 1 2; do cd ..; done"])
  .concat(["sh -c 'cd src && see'", "eval 'cd ..'", "cd -", "pushd src >/dev/null", "cat here"])
  .concat(["see <<X\n'\nX\n", "see # '", "see $IFS#", 'see "$(see ")")"', "see ${x:-a b}", "((0))"])
  .concat(["see $((1 << 2))", "see {../,./}x", "env see", "see ~+/x", "for i in 1; do see; done"]);
const JOINS = [" && ", " && ", " && ", " && ", "; ", "\n", " || ", " | ", " & ", " &&\n", " |\n"];

/** @param {(below: number) => number} random @param {number} depth @returns {string} */
function command(random, depth) {
  const one = (/** @type {string[]} */ from) => from[random(from.length)];
  const count = 1 + random(depth > 0 ? 3 : 6);
  let text = depth === 0 && random(4) === 0 ? "set -e; " : "";
  for (let at = 0; at < count; at += 1) {
    const kind = random(12);
    const join = at === 0 ? "" : one(JOINS);
    if (kind < 6) text += join + one(MOVES);
    else if (kind < 10 || depth > 1) text += join + one(SIMPLE);
    else text += `${join}(${command(random, depth + 1)})`;
  }
  return text;
}

/** @param {import("node:test").TestContext} t */
function place(t) {
  const root = fs.realpathSync(temporaryFolder(t));
  const at = (/** @type {string[]} */ ...parts) => path.join(root, ...parts);
  for (const name of ["tree/src/deep", "tree/new/src", "lent/a", "home"]) {
    fs.mkdirSync(at(name), { recursive: true });
  }
  fs.writeFileSync(at("tree", "here"), "../x\n");
  fs.symlinkSync(at("tree", "src", "deep"), at("tree", "way-in"));
  fs.symlinkSync(at("lent"), at("tree", "lent"));
  const job = { cwd: at("tree"), allowedFolders: [at("lent")] };
  return { root, at, bounds: boundsOf(/** @type {any} */ (job)) };
}

// It tells where it is, and what it is given.
const SEE = '() { printf "%s|" "$(command pwd -P)" "$@" >>"$LOG"; echo >>"$LOG"; }';

test(
  "no random command that is allowed leaves its folders in bash",
  { skip: process.platform === "win32" },
  (t) => {
    const { root, at, bounds } = place(t);
    const random = randomFrom(SEED);
    const env = {
      PATH: process.env.PATH,
      HOME: at("home"),
      LOG: at("log"),
      "BASH_FUNC_see%%": SEE,
    };
    let allowed = 0;
    for (let count = 0; count < COUNT;) {
      const text = command(random, 0).replaceAll("ROOT", root);
      if (decided({ kind: "shell", fullCommandText: text }, bounds) !== "") {
        count += 0.2;
        continue;
      }
      count += 1;
      allowed += 1;
      fs.writeFileSync(at("log"), "");
      spawnSync("bash", ["-c", `${text}\nsee`], {
        cwd: at("tree"),
        env,
        stdio: "ignore",
        timeout: 10_000,
      });
      for (const line of fs.readFileSync(at("log"), "utf8").split("\n").filter(Boolean)) {
        const [folder, ...files] = line.split("|");
        for (const file of ["", ...files.filter((one) => one.includes("/"))]) {
          const real = bounds.resolve(path.resolve(folder, file));
          const isIn = [at("tree"), at("lent")].some((one) => `${real}/`.startsWith(`${one}/`));
          assert.ok(isIn, `${JSON.stringify(text)} is at ${real}`);
        }
      }
    }
    assert.ok(allowed > COUNT / 10, `${allowed} were allowed`);
  },
);
