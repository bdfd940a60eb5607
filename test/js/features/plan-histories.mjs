// Random histories of plans: edits by a person, retries, takes, kills of the feature host, and landings. Whatever
// happens, each edit and each commit can be found again, and what has landed has passed its checks in a clean checkout.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { flagsFolder, gitIn, makeRepository, plansRig, typeCommand } from "./plans-rig.mjs";

const NODES = ["a", "b", "c"];
const ACTIONS = 10;
/** The feature host is killed once in so many of them, with all histories that it has. */
const KILL_ONCE_IN = 60;
const DEEDS =
  "edit,edit,edit,edit any,commit,mend,mend,retry,retry,start,take,take,land,check out".split(",");
/** Why a person's wish may be refused. Anything else is a fault. */
const REFUSALS = new Set(
  `WRONG_STATE WORKTREE_GONE WORKTREE_IN_USE NOTHING_TO_TAKE UNMERGED BROKEN_WORKTREE DIRTY MOVED MERGE_CONFLICT
  TARGET_GONE REF_CHANGED LOST NOTHING_TO_LAND UNKNOWN_PLAN`.split(/\s+/),
);

/** A host that was killed, and is not there again. */
const AWAY = /^DISCONNECTED|^UNAVAILABLE|the feature host/;

/** Numbers below another, the same for a seed. @param {number} seed @returns {(below: number) => number} */
function makeRandom(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** One plan in a repository of its own. */
class History {
  /** What a person has written. @type {string[]} */
  edits = [];
  /** @type {string[]} */
  commits = [];
  /** @type {string[]} */
  told = [];
  planId = "";

  /** @param {import("node:test").TestContext} t @param {{control: () => any, kill: () => Promise<void>}} rig @param {number} seed */
  constructor(t, rig, seed) {
    this.random = makeRandom(seed);
    Object.assign(this, makeRepository(t));
    this.control = rig.control;
    this.kill = rig.kill;
    this.seed = seed;
    const { repo, git } = /** @type {any} */ (this);
    /** @type {string} */ this.repo = repo;
    /** @type {ReturnType<typeof gitIn>} */ this.git = git;
    this.flags = flagsFolder(repo);
    this.tested = path.join(this.flags, "tested");
    fs.writeFileSync(this.tested, "");
    fs.writeFileSync(path.join(repo, ".gitignore"), "*.log\n.worktrees\n");
    git("add", "--all");
    git("commit", "--quiet", "--message=ignore");
    git("branch", "out");
  }

  /** @param {string} name */
  flag(name) {
    return path.join(this.flags, name);
  }

  /** @param {object} what @returns {Promise<any>} undefined: it was refused */
  async type(what) {
    /** @type {any} */
    let last;
    const answer = await waitFor(
      () =>
        typeCommand({ control: this.control(), repo: this.repo }, what).then(
          (value) => ({ value }),
          (error) => {
            const isAway = error.code === undefined || AWAY.test(`${error.code} ${error.message}`);
            last = error;
            return isAway ? undefined : { error };
          },
        ),
      { what: () => `${JSON.stringify(what)}: ${last?.message}` },
    );
    if (!answer.error) return answer.value;
    this.told.push(`  refused: ${answer.error.code} ${answer.error.message}`);
    if (!REFUSALS.has(answer.error.code)) throw answer.error;
    return undefined;
  }

  async create() {
    const link = (/** @type {number} */ at) =>
      at > 0 && this.random(3) > 0 ? { dependencies: [NODES[this.random(at)]] } : {};
    const nodes = NODES.map((id, at) => ({
      id,
      ...link(at),
      work: `echo ${id} >> ${this.random(4) === 0 ? "a" : id}.txt; test ! -e ${this.flag(`${id}-fails`)}`,
      postchecks: `test -z "$(git status --porcelain)" && test ! -e ${this.flag(`${id}-bad`)} && git rev-parse HEAD^{tree} >> ${this.tested}`,
    }));
    for (const id of NODES) {
      if (this.random(3) === 0) fs.writeFileSync(this.flag(`${id}-fails`), "");
      if (this.random(3) === 0) fs.writeFileSync(this.flag(`${id}-bad`), "");
    }
    const as = `p${String(this.seed % 100_000_000).padStart(8, "0")}`;
    await this.type({
      do: "create",
      as,
      plan: { name: "random", targetBranch: "out", allowedFolders: [this.flags], nodes },
    });
    this.planId = as;
  }

  async settled() {
    return waitFor(
      async () => {
        const seen = await this.type({ do: "show", planId: this.planId });
        return seen?.endedAt !== undefined && seen;
      },
      { what: () => this.told.join("\n") },
    );
  }

  worktrees() {
    const folder = path.join(this.repo, ".worktrees");
    const all = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
    return all
      .filter((name) => !name.endsWith("-checks") && !name.startsWith("."))
      .map((name) => path.join(folder, name));
  }

  /** @param {string} place a worktree that may go, or become another node's, at any time */
  edit(place) {
    const text = `edit ${this.seed} ${this.edits.length}\n`;
    const name = ["a.txt", "b.txt", `new-${this.edits.length}.txt`, `x-${this.edits.length}.log`][
      this.random(4)
    ];
    const file = path.join(place, name);
    const before = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
    fs.writeFileSync(file, before + text);
    this.edits.push(text);
    this.told.push(`edit ${path.relative(this.repo, file)}: ${text.trim()}`);
  }

  /** @param {string} place */
  commit(place) {
    const git = gitIn(place);
    fs.writeFileSync(path.join(place, `own-${this.commits.length}.txt`), `own ${this.seed}\n`);
    git("add", "--all");
    git("commit", "--quiet", "--no-verify", `--message=by hand ${this.commits.length}`);
    this.commits.push(git("rev-parse", "HEAD"));
    this.told.push(`commit in ${path.basename(place)}`);
  }

  async act() {
    const { nodes } = await this.settled();
    const failed = nodes.filter((/** @type {any} */ { status }) => status === "failed");
    const isKill = this.random(KILL_ONCE_IN) === 0;
    const name = isKill ? "kill" : DEEDS[this.random(DEEDS.length)];
    this.told.push(name);
    if (isKill) return this.kill();
    if (name === "mend") return this.mend();
    if (name === "land") return this.type({ do: "land", planId: this.planId });
    if (name === "check out") return this.checkOut();
    if (name === "edit any")
      return this.worktrees()
        .slice(0, 1)
        .forEach((one) => this.edit(one));
    if (failed.length > 0) return this.#repair(failed[this.random(failed.length)].id, name);
  }

  /** @param {string} nodeId that has failed @param {string} how */
  async #repair(nodeId, how) {
    const { planId } = this;
    this.told.push(`  of ${nodeId}`);
    if (how === "retry" || how === "start") {
      const args = { planId, nodeId, from: how === "start" ? how : "failed-phase" };
      return this.type({ do: "retry_copilot_node", args });
    }
    if (how === "take") return this.type({ do: "take", planId, nodeId });
    const { worktreePath } = (await this.type({ do: "node", planId, nodeId })) ?? {};
    if (!worktreePath || !fs.existsSync(worktreePath)) return;
    if (how === "commit") this.commit(worktreePath);
    else this.edit(worktreePath);
  }

  /** What has failed would not fail again. */
  mend() {
    for (const name of fs.readdirSync(this.flags)) {
      if (name !== "tested" && this.random(2) === 0) fs.rmSync(this.flag(name));
    }
  }

  /** The target in the user's checkout, with changes or without; or something else. */
  checkOut() {
    const file = path.join(this.repo, "c.txt");
    if (fs.readFileSync(file, "utf8") !== "c\n" && this.git("status", "--porcelain") !== "") {
      this.git("checkout", "--quiet", "c.txt");
      return;
    }
    const isOut = this.git("branch", "--show-current") === "out";
    this.git("checkout", "--quiet", isOut ? "main" : "out");
    if (!isOut && this.random(2) === 0) fs.writeFileSync(file, "mine\n");
  }

  async run() {
    await this.create();
    for (let left = ACTIONS; left > 0; --left) await this.act();
    return this.settled();
  }

  /** What follows from its end is done. */
  async waitUntilClosed() {
    await waitFor(async () => {
      const held = /** @type {any[]} */ (await this.control().request("holds.list", {}));
      return !JSON.stringify(held).includes(this.planId);
    });
  }

  async check() {
    await this.waitUntilClosed();
    const { git, repo } = this;
    const reachable = (/** @type {string} */ cwd, /** @type {string[]} */ ...from) =>
      gitIn(cwd)("rev-list", "--objects", ...from)
        .replaceAll(/ .*$/gm, "")
        .split("\n");
    const all = new Set(reachable(repo, "--all"));
    let text = "";
    for (const place of this.worktrees()) {
      for (const name of reachable(place, "HEAD")) all.add(name);
      for (const name of fs.readdirSync(place)) {
        const file = path.join(place, name);
        if (fs.statSync(file, { throwIfNoEntry: false })?.isFile())
          text += fs.readFileSync(file, "latin1");
      }
    }
    const input = [...all].join("\n");
    const options = { cwd: repo, input, encoding: /** @type {const} */ ("latin1") };
    text += execFileSync("git", ["cat-file", "--batch"], options);
    for (const edit of this.edits) assert.ok(text.includes(edit), `lost: ${edit}`);
    for (const name of this.commits) assert.ok(all.has(name), `lost: the commit ${name}`);
    const tested = new Set(fs.readFileSync(this.tested, "utf8").split("\n"));
    const landed = git("log", "--format=%T", "main..out").split("\n").filter(Boolean);
    for (const tree of landed) assert.ok(tested.has(tree), `untested: ${tree}`);
    const changed = git("status", "--porcelain").split("\n").filter(Boolean);
    for (const line of changed) assert.equal(line.trim(), "M c.txt", "the user's checkout");
    git("fsck", "--no-dangling");
  }
}

/** Of one pair of hosts: a feature host that ends too often is started later and later. */
const GROUP = 10;
const MAX_KILLS = 3;

/** @param {import("node:test").TestContext} t @param {any} rig @param {number} seed */
async function checkHistory(t, rig, seed) {
  const one = new History(t, rig, seed);
  try {
    const before = await one.run();
    await one.check();
    if (one.random(4) === 0) await one.kill();
    assert.deepEqual(await one.settled(), before, "replay");
    await one.type({ do: "delete_copilot_plan", args: { planId: one.planId } });
    await one.check();
  } catch (/** @type {any} */ error) {
    error.message = `seed ${seed}: ${error.message}\n${one.told.join("\n")}`;
    throw error;
  }
}

/**
 * @param {number} count @param {number} from the first seed; the others follow
 * @param {{together?: number}} [options] together: so many at a time
 */
export function testHistories(count, from, { together = 4 } = {}) {
  for (let first = from; first < from + count; first += GROUP) {
    const seeds = Math.min(GROUP, from + count - first);
    test(`${seeds} random histories lose nothing, and land nothing untested`, async (t) => {
      const rig = await plansRig(t, { processes: true });
      const left = Array.from({ length: seeds }, (_, at) => first + at);
      let kills = 0;
      const kill = async () => {
        if ((kills += 1) <= MAX_KILLS) process.kill(await rig.hostPid(), "SIGKILL");
      };
      const at = { kill, control: () => rig.control };
      const work = async () => {
        for (let seed; (seed = left.shift()) !== undefined;) await checkHistory(t, at, seed);
      };
      await Promise.all(Array.from({ length: together }, work));
    });
  }
}
