// 100 nodes of `true`, 8 at a time, each in a worktree of a repository of 5,000 files: `copilot-tap plan run`, from the
// command to its end, compared with a shell script and an engine that polls, which take exactly the git steps of a
// node. In memory where there is such a folder: figures of a disk do not repeat. `node tools/bench/worktrees.mjs` runs
// this part alone, and tap's worktrees without an engine, with and without a pool; `--smoke` shows that it works.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { commitWork } from "../../js/git/commit-work.mjs";
import { WorktreePool } from "../../js/git/worktree-pool.mjs";
import { removeWorktree } from "../../js/git/cleanup.mjs";
import { openRepository } from "../../js/git/repository.mjs";
import { Worktrees } from "../../js/git/worktrees.mjs";
import { CommandFailed, printLine } from "../commands.mjs";
import { PollingEngine, readPlan } from "./js-plans.mjs";
import { ended, Home } from "./plan-hosts.mjs";
import { spread } from "./statistics.mjs";

const MEMORY = "/dev/shm";
const NONCE = "0123456789abcdef";
const FILE_BYTES = 8000;
/** Shows that it works. */
export const SMALL = { rounds: 1, nodes: 9, wide: 3, files: 50 };

/**
 * The steps of a node: a worktree without files, in turn; its files; `true`; whether it has a ref; its changes, by
 * files and by lines; the other files there; with CHECKS a second checkout for `true`; its removal, in turn. With
 * WALL, arguments of bwrap, the steps that tap runs in a sandbox run in such a sandbox, too.
 */
const SCRIPT = `
set -e
cd "$1"
inside() {
  if [ -z "$WALL" ]; then "$@"; return; fi
  bwrap $WALL --bind "$PWD/.git/worktrees/s-$id" "$PWD/.git/worktrees/s-$id" --bind "$PWD/$tree" "$PWD/$tree" -- "$@"
}
run_node() {
  id=$1
  tree=".worktrees/s-$1"
  flock .git/turn git worktree add --quiet --no-checkout --detach "$tree" HEAD
  inside git -C "$tree" reset --hard --quiet HEAD
  inside true
  git for-each-ref "refs/tap/s/$1"
  inside git -C "$tree" add --all
  git -C "$tree" diff-index --cached --raw -z HEAD
  git diff --numstat -z -M HEAD HEAD
  test -z "$(inside git -C "$tree" status --porcelain=v2 -z --ignored)"
  if [ -n "$CHECKS" ]; then
    flock .git/turn git worktree add --quiet --no-checkout --detach "$tree-checks" HEAD
    id="$id-checks" tree="$tree-checks"
    inside git -C "$tree" reset --hard --quiet HEAD
    inside true
    flock .git/turn git worktree remove --force "$tree"
    id=$1 tree=".worktrees/s-$1"
  fi
  flock .git/turn git worktree remove --force "$tree"
}
if [ -n "$4" ]; then run_node "$4"; exit; fi
seq "$2" | xargs -P "$3" -I{} sh "$0" "$1" "$2" "$3" {}
`;

/** @param {string} root @param {number} files */
export function makeRepository(root, files) {
  fs.mkdirSync(root);
  const git = (/** @type {string[]} */ ...args) => execFileSync("git", args, { cwd: root });
  git("init", "--quiet", "--initial-branch=main");
  for (let i = 0; i < files; ++i) {
    const folder = path.join(root, `d${i % 71}`);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, `f${i}`), `${i}\n`.repeat(FILE_BYTES / `${i}\n`.length));
  }
  git("add", "--all");
  git("-c", "user.name=b", "-c", "user.email=b@b", "commit", "--quiet", "-m", "bench");
  fs.appendFileSync(path.join(root, ".git", "info", "exclude"), "/.worktrees/\n");
}

/** @param {number} count @param {number} wide @param {(index: number) => Promise<void>} work */
async function inParallel(count, wide, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(++next);
  };
  await Promise.all(Array.from({ length: wide }, worker));
}

/** @param {import("../../js/git/cleanup.mjs").Removal} removal */
function mustBe({ removed, message }, wanted = true) {
  if (removed !== wanted) throw new CommandFailed(message ?? "a worktree is still there");
}

/** @typedef {Record<string, () => Promise<void>>} Rivals */

/** Of the script's bwrap: the folders are private or read-only as in a node of tap. @param {string} root */
const formatWall = (root) =>
  `WALL=--unshare-all --die-with-parent --cap-drop ALL --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run ` +
  `--tmpfs ${os.homedir()} --ro-bind ${root} ${root} --bind ${root}/.git/objects ${root}/.git/objects --tmpfs ${root}/.worktrees`;

const TRUE = { type: "process", executable: "true" };

/** @param {string} repo @param {number} nodes @param {number} wide @param {object} [more] of each node */
const makePlan = (repo, nodes, wide, more = {}) => ({
  ...{ name: "bench", repo, maxParallel: wide },
  nodes: Array.from({ length: nodes }, (_, index) => ({
    ...{ id: `n${index}`, dependencies: [], expectsNoChanges: true },
    ...{ work: TRUE, ...more },
  })),
});

/** @param {string} root @param {number} nodes @param {number} wide @param {Home} home @returns {Rivals} */
function engines(root, nodes, wide, home) {
  const script = path.join(root, ".git", "script.sh");
  fs.writeFileSync(script, SCRIPT);
  const plan = makePlan(root, nodes, wide);
  const words = [root, String(nodes), String(wide)];
  return {
    "shell script": () => ended("sh", [script, ...words]),
    "shell script, bwrap": () => ended("env", [formatWall(root), "sh", script, ...words]),
    "tap, plan run": async () => void (await home.run(plan)),
    "js, polling": () => {
      const engine = new PollingEngine(readPlan(JSON.stringify(plan)), `${script}.json`);
      return engine.run(({ id }) => ended("sh", [script, ...words, id]));
    },
  };
}

/** The same where each node is checked. @param {string} root @param {number} nodes @param {number} wide @param {Home} home @returns {Rivals} */
function checked(root, nodes, wide, home) {
  const script = path.join(root, ".git", "script.sh");
  const words = [formatWall(root), "CHECKS=1", "sh", script, root, String(nodes), String(wide)];
  const plan = makePlan(root, nodes, wide, { postchecks: TRUE });
  return {
    "shell script, bwrap, checks": () => ended("env", words),
    "tap, plan run, checks": async () => void (await home.run(plan)),
  };
}

/** Tap's worktrees, and no engine. @param {string} root @param {number} nodes @param {number} wide @returns {Rivals} */
function layers(root, nodes, wide) {
  const open = async () => {
    const repository = await openRepository(root);
    const { commit } = await repository.resolveBase("HEAD");
    const wanted = (/** @type {number} */ index) => ({
      plan: "b",
      node: `n${index}`,
      attempt: 1,
      nonce: NONCE,
      commit,
    });
    return { repository, worktrees: new Worktrees(repository), wanted };
  };
  return {
    "worktrees, a pool": async () => {
      const { repository, worktrees, wanted } = await open();
      const pool = new WorktreePool(worktrees, { most: wide });
      await inParallel(nodes, wide, async (index) => {
        const worktree = await pool.acquire(wanted(index));
        await ended("true", [], worktree.path);
        await commitWork(repository, worktree, { message: "m" });
        const { pooled, message } = await pool.release(worktree);
        if (!pooled) throw new CommandFailed(message ?? "a worktree was not taken back");
      });
      for (const removal of await pool.drain()) mustBe(removal);
    },
    "worktrees, no pool": async () => {
      const { repository, worktrees, wanted } = await open();
      await inParallel(nodes, wide, async (index) => {
        const worktree = await worktrees.add(wanted(index));
        await ended("true", [], worktree.path);
        await commitWork(repository, worktree, { message: "m" });
        mustBe(await removeWorktree(worktrees, { ...worktree, known: [worktree.commit] }));
      });
    },
  };
}

/**
 * @param {{rounds: number, nodes?: number, wide?: number, files?: number, all?: boolean}} how `all`: without an engine, too
 * @returns {Promise<Record<string, {ms: number[]}>>} by rival, a value each round
 */
export async function worktrees({ rounds, nodes = 100, wide = 8, files = 5000, all: more }) {
  const parent = fs.existsSync(MEMORY) ? MEMORY : os.tmpdir();
  const root = fs.realpathSync(fs.mkdtempSync(path.join(parent, "tap-worktrees-")));
  /** @type {Record<string, {ms: number[]}>} */
  const all = {};
  try {
    const repository = path.join(root, "repository");
    makeRepository(repository, files);
    const home = await Home.make(path.join(root, "home"));
    const rivals = {
      ...engines(repository, nodes, wide, home),
      ...(more && {
        ...checked(repository, nodes, wide, home),
        ...layers(repository, nodes, wide),
      }),
    };
    for (let round = 0; round < rounds; ++round) {
      const order = Object.entries(rivals);
      if (round % 2) order.reverse();
      for (const [rival, work] of order) {
        const began = performance.now();
        await work();
        (all[rival] ??= { ms: [] }).ms.push(performance.now() - began);
      }
    }
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
  return all;
}

/** The script that a rival is compared with. @param {string} rival */
function findScript(rival) {
  if (rival.includes("checks")) return "shell script, bwrap, checks";
  return rival === "tap, plan run" ? "shell script, bwrap" : "shell script";
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values } = parseArgs({ options: { smoke: { type: "boolean", default: false } } });
  const how = values.smoke ? SMALL : { rounds: 3 };
  const all = await worktrees({ ...how, all: true });
  for (const [rival, { ms }] of Object.entries(all)) {
    const { median, min, max } = spread(ms);
    const script = spread(all[findScript(rival)].ms).median;
    const seconds = [median, min, max].map((value) => (value / 1000).toFixed(2));
    printLine(
      `${rival}: ${seconds[0]} s (${seconds[1]} to ${seconds[2]}), ${(median / script).toFixed(2)} x`,
    );
  }
}
