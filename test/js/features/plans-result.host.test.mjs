// What a plan has in its result, and says of it: where its host is killed, or it is canceled, between the merge of a
// leaf and its landing, and where its checks run again before it lands.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { faultFiles } from "../../support/fixtures/plans/faulty-plans.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { faultyRig } from "./plan-faults.mjs";
import { typeCommand, flagFile, plansRig } from "./plans-rig.mjs";

const LANDED = "phase-ended one merge-ri succeeded";

/** @param {"before" | "after"} when @param {string} at @param {number} [nth] */
const killed = (when, at, nth = 1) =>
  /** @type {const} */ ({ when, at, nth, whom: "feature-host" });

/** Hosts that obey orders, and what a person types. @param {import("node:test").TestContext} t @param {any[]} orders */
async function makeRig(t, orders) {
  const rig = await faultyRig(t, orders);
  const { repo, git } = rig;
  const flag = (/** @type {string} */ name) => flagFile(repo, name);
  const until = (/** @type {string} */ name) => `until test -f ${flag(name)}; do sleep 0.05; done`;
  const open = (/** @type {string} */ name) => fs.writeFileSync(flag(name), "");
  const has = (/** @type {string} */ name) =>
    waitFor(() => fs.existsSync(flag(name)), { what: name });
  const typed = (/** @type {object} */ what) => typeCommand(rig, what);
  const status = (/** @type {string} */ planId) => rig.ask("get_copilot_plan_status", { planId });
  /** Names of files. @param {string} ref @returns {string[]} none where it does not exist */
  const files = (ref) =>
    git("for-each-ref", ref) === "" ? [] : git("ls-tree", "--name-only", ref).split("\n");
  const wasKilled = () => waitFor(() => fs.readFileSync(faultFiles(rig.home).kills, "utf8") !== "");
  /** The target is checked out with changes. */
  const checkOut = () => {
    git("checkout", "--quiet", "-b", "feature/x");
    fs.writeFileSync(path.join(repo, "a.txt"), "mine\n");
  };
  return {
    ...rig,
    ask: rig.ask,
    flag,
    until,
    open,
    has,
    typed,
    status,
    files,
    wasKilled,
    checkOut,
  };
}

describe(
  "a plan that is canceled after its host was killed while a leaf landed",
  { concurrency: 2 },
  () => {
    /** Killed when the leaf is merged, and canceled before it goes on. */
    async function makeCanceled(t, { checkedOut }) {
      const rig = await makeRig(t, [killed("before", LANDED)]);
      if (checkedOut) rig.checkOut();
      const nodes = [{ id: "one", work: `${rig.until("may")}; echo one > one.txt` }];
      const planId = await rig.create({ nodes, targetBranch: "feature/x" });
      await rig.ask("pause_copilot_plan", { planId });
      rig.open("may");
      await rig.wasKilled();
      const { nodes: seen } = await rig.status(planId);
      assert.deepEqual([seen[0].status, seen[0].phase], ["ready", "merge-ri"]);
      await rig.ask("cancel_copilot_plan", { planId });
      await rig.ended(planId);
      const closed = async () => (await rig.control.request("holds.list", {})).length === 0;
      await waitFor(closed);
      return { ...rig, planId };
    }

    test("has it in no result; a retry lands it", async (t) => {
      const rig = await makeCanceled(t, { checkedOut: true });
      const { planId, git, repo, files, status, ask, ended } = rig;
      const seen = await status(planId);
      assert.deepEqual([seen.status, seen.nodes[0].status], ["canceled", "canceled"]);
      assert.equal(files(`refs/tap/${planId}/result`).includes("one.txt"), false);
      git("checkout", "--quiet", "a.txt");
      await ask("retry_copilot_plan", { planId });
      assert.equal((await ended(planId)).status, "succeeded");
      assert.ok(fs.existsSync(path.join(repo, "one.txt")));
    });

    test("says that it has landed, where it had", async (t) => {
      const { planId, files, status } = await makeCanceled(t, { checkedOut: false });
      assert.ok(files("refs/heads/feature/x").includes("one.txt"));
      const seen = await status(planId);
      assert.deepEqual([seen.status, seen.nodes[0].status], ["canceled", "succeeded"]);
      assert.deepEqual(seen.landed, { files: 1, insertions: 1, deletions: 0 });
    });
  },
);

describe("a result whose target has moved", { concurrency: 2 }, () => {
  /** It waits, the target has another commit, and its checks run once `may` is there. */
  async function makeMoved(t, orders = []) {
    const rig = await makeRig(t, orders);
    const { git, repo, flag, until } = rig;
    rig.checkOut();
    const again = `if test -f other; then touch ${flag("runs")}; ${until("may")}; fi`;
    const nodes = [{ id: "one", work: "echo one > one.txt", postchecks: again }];
    const planId = await rig.create({ nodes, targetBranch: "feature/x" });
    assert.equal((await rig.ended(planId)).status, "partial");
    fs.writeFileSync(path.join(repo, "other"), "y\n");
    git("add", "--all");
    git("commit", "--quiet", "--message=mine");
    const tip = git("rev-parse", "feature/x");
    const isUnmoved = () => {
      assert.equal(git("rev-parse", "feature/x"), tip);
      assert.equal(rig.files(`refs/tap/${planId}/result`).includes("one.txt"), false);
    };
    const hasLanded = async () => {
      await waitFor(async () => (await rig.status(planId)).status === "succeeded", {
        what: async () => JSON.stringify(await rig.status(planId)),
      });
      assert.equal(git("rev-list", "--count", `${tip}..feature/x`), "1");
      assert.equal(git("show", "feature/x:one.txt"), "one");
      assert.equal(git("status", "--porcelain"), "");
      const isGone = () => fs.readdirSync(path.join(repo, ".worktrees")).length === 0;
      const what = async () =>
        `no worktree is left: ${fs.readdirSync(path.join(repo, ".worktrees"))} ${(await rig.status(planId)).notes}\n${rig.host.log}`;
      await waitFor(isGone, { what });
    };
    return { ...rig, planId, isUnmoved, hasLanded };
  }

  test("lands once its checks have passed, also where they are canceled in their middle", async (t) => {
    const rig = await makeMoved(t);
    const { planId, typed, has, ask, ended, status } = rig;
    assert.deepEqual(await typed({ do: "land", planId }), { checks: ["one"] });
    assert.deepEqual(await typed({ do: "land", planId }), { checks: ["one"] }, "it is on its way");
    await has("runs");
    await ask("cancel_copilot_plan", { planId });
    assert.equal((await ended(planId)).status, "canceled");
    rig.isUnmoved();
    assert.deepEqual((await status(planId)).leftToLand, ["one"]);
    rig.open("may");
    assert.deepEqual(await typed({ do: "land", planId }), { checks: ["one"] });
    await rig.hasLanded();
  });

  test("is as it was after a host that is killed in the middle of its checks, and goes on", async (t) => {
    const rig = await makeMoved(t);
    const { planId, typed, has, hostPid } = rig;
    await typed({ do: "land", planId });
    await has("runs");
    fs.rmSync(rig.flag("runs"));
    process.kill(await hostPid(), "SIGKILL");
    rig.isUnmoved();
    await has("runs");
    rig.isUnmoved();
    assert.deepEqual(await typed({ do: "land", planId }), { checks: ["one"] });
    rig.open("may");
    await rig.hasLanded();
  });

  const writes = [
    killed("before", "land"),
    killed("after", "land"),
    killed("after", "began one", 2),
    killed("after", "phase-ended one postchecks succeeded", 2),
    killed("before", LANDED, 2),
    killed("after", LANDED, 2),
  ];
  for (const order of writes) {
    test(`lands once, with a host that is killed ${order.when} "${order.at}"`, async (t) => {
      const rig = await makeMoved(t, [order]);
      rig.open("may");
      // What has not begun is asked for again, as a person would.
      await rig.typed({ do: "land", planId: rig.planId }).catch(() => {});
      await rig.wasKilled();
      await waitFor(() =>
        rig.typed({ do: "land", planId: rig.planId }).then(
          () => true,
          ({ code }) => code === "WRONG_STATE",
        ),
      );
      await rig.hasLanded();
    });
  }
});

test("a target that only the remote has is created from it, and a base behind its remote is noted", async (t) => {
  const { ask, ended, git, repo } = await plansRig(t);
  const remote = temporaryFolder(t);
  git("init", "--quiet", "--bare", remote);
  git("remote", "add", "origin", remote);
  git("checkout", "--quiet", "-b", "release");
  git("commit", "--quiet", "--allow-empty", "--message=theirs");
  const tip = git("rev-parse", "HEAD");
  git("push", "--quiet", "origin", "release", "release:main");
  git("checkout", "--quiet", "main");
  git("branch", "--quiet", "-D", "release");
  const nodes = [{ id: "a", work: "echo x > new.txt" }];
  const made = await ask("create_copilot_plan", { name: "x", targetBranch: "release", nodes });
  const fields = made.notes.map((/** @type {string} */ one) => one.split(":")[0]);
  assert.deepEqual(fields, ["baseBranch", "targetBranch"]);
  assert.equal((await ended(made.planId)).status, "succeeded");
  assert.equal(git("rev-parse", "release~"), tip);
  assert.ok(!fs.existsSync(path.join(repo, "new.txt")));
  const fetched = await ask("create_copilot_plan", { name: "y", fetch: true, nodes });
  const { notes = [] } = fetched;
  assert.deepEqual(notes, []);
  await ended(fetched.planId);
  assert.equal(git("rev-parse", `refs/tap/${fetched.planId}/a/1~`), tip);
});
