// A plan of twelve nodes whose hosts are killed at given writes of its journal, and what has to be so afterwards.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { faultFiles, workDone } from "../../support/fixtures/plans/faulty-plans.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { checkoutOf, gitIn, makeRepository, plansRig } from "./plans-rig.mjs";

/** @typedef {import("../../support/fixtures/plans/faulty-plans.mjs").Order} Order */
/** @typedef {{gateway?: number, when: string, what: string, succeeded: string[], done: Record<string, number>}} Kill */

const MAIN = fileURLToPath(
  new URL("../../support/fixtures/plans/gateway-host.mjs", import.meta.url),
);
const MARK = "PLAN_FAULTS";

/** @typedef {{id: string, dependencies?: string[], prechecks?: boolean, postchecks?: boolean, changesNothing?: boolean, isJoin?: boolean}} PlanNode */

/** Joins, merges, a join without work, checks, evidence in place of changes, and two leaves. @type {readonly PlanNode[]} */
const NODES = [
  { id: "r1", prechecks: true },
  { id: "r2" },
  { id: "a1", dependencies: ["r1"] },
  { id: "a2", dependencies: ["r1", "r2"] },
  { id: "a3", dependencies: ["r2"], postchecks: true },
  { id: "b1", dependencies: ["a1", "a2"] },
  { id: "b2", dependencies: ["a2", "a3"] },
  { id: "c1", dependencies: ["b1"], changesNothing: true },
  { id: "c2", dependencies: ["b1", "b2"] },
  { id: "d1", dependencies: ["c1", "c2"], isJoin: true },
  { id: "leaf1", dependencies: ["d1"], postchecks: true },
  { id: "leaf2", dependencies: ["d1"], postchecks: true },
];

/** The fewest that have each kind of entry in the journal, and two leaves that land. @type {readonly PlanNode[]} */
export const FEW_NODES = [
  { id: "r1", prechecks: true },
  { id: "r2" },
  { id: "d1", dependencies: ["r1", "r2"], isJoin: true },
  { id: "leaf1", dependencies: ["d1"], postchecks: true },
  { id: "leaf2", dependencies: ["d1"], postchecks: true },
];

/** @param {readonly PlanNode[]} all @param {string} done where each phase says that it has begun @param {string} mark of its processes */
function planOf(all, done, mark) {
  const said = (/** @type {string} */ id, /** @type {string} */ phase) =>
    `printf x >> '${path.join(done, `${id}-${phase}`)}'`;
  const nodes = all.map(({ id, dependencies = [], ...is }) => ({
    ...{ id, dependencies },
    ...(is.prechecks && { prechecks: `${said(id, "prechecks")}; test ! -e ${id}.txt` }),
    ...(!is.isJoin && {
      work: `${said(id, "work")}${is.changesNothing ? "" : `; echo ${id} > ${id}.txt`}`,
    }),
    ...(is.postchecks && { postchecks: `${said(id, "postchecks")}; test -f ${id}.txt` }),
    ...(is.changesNothing && { expectsNoChanges: true }),
  }));
  const env = { [MARK]: mark };
  return { name: "faults", targetBranch: "feature/x", env, allowedFolders: [done], nodes };
}

/** Things of the user's that no plan may touch: staged, changed, new, stashed. @param {string} repo */
function workOfUser(repo) {
  const git = gitIn(repo);
  fs.writeFileSync(path.join(repo, "a.txt"), "stashed\n");
  git("stash");
  fs.writeFileSync(path.join(repo, "b.txt"), "staged\n");
  git("add", "b.txt");
  fs.writeFileSync(path.join(repo, "c.txt"), "changed\n");
  fs.writeFileSync(path.join(repo, "new.txt"), "new\n");
}

/** @param {string} repo */
const userOf = (repo) => ({
  ...checkoutOf(repo),
  index: fs.readFileSync(path.join(repo, ".git", "index")).toString("base64"),
  config: fs.readFileSync(path.join(repo, ".git", "config"), "utf8"),
  files: ["a", "b", "c", "new"].map((name) =>
    fs.readFileSync(path.join(repo, `${name}.txt`), "utf8"),
  ),
});

/** Pids of commands of the plan. @param {string} mark */
const leftOf = (mark) =>
  fs.readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark);
    } catch {
      return false;
    }
  });

/** What a command had done that was cut off. */
const CUT_OFF = /^refs\/tap\/kept\/\S+ .*: its work was interrupted$/;

/** Names of refs, the plan by one word, without what only a disturbed run has. @param {string} repo @param {string} planId */
const refsOf = (repo, planId) =>
  gitIn(repo)("for-each-ref", "--format=%(refname) %(contents:subject)")
    .replaceAll(planId, "PLAN")
    .split("\n")
    .filter((line) => !CUT_OFF.test(line))
    .map((line) => line.split(" ")[0]);

/** What git is to have in the end, and has in a run that nobody disturbs. @param {string} repo @param {string} planId */
function resultOf(repo, planId) {
  const git = gitIn(repo);
  const trailers = git(
    "log",
    "--all",
    "--format=%(trailers:key=Plan-Node,valueonly,separator=%x2C)",
  );
  return {
    tree: git("rev-parse", "feature/x^{tree}"),
    landed: git("rev-list", "--count", "main..feature/x"),
    refs: refsOf(repo, planId),
    /** One commit for each attempt, one for each leaf that landed. */
    commits: trailers.replaceAll(planId, "PLAN").split("\n").filter(Boolean).sort(),
  };
}

/** @param {string} folder @returns {string[]} locks that were left in it */
const locksIn = (folder) =>
  fs
    .readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".lock"));

/** @param {string} home @returns {Kill[]} that there were */
const killsOf = (home) =>
  fs
    .readFileSync(faultFiles(home).kills, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** A gateway host that is killed has a successor. @param {any} rig */
async function again(rig) {
  const { pid } = rig.host.process;
  if (!killsOf(rig.home).some(({ gateway }) => gateway === pid)) return;
  await rig.host.gone;
  await rig.start();
}

/** Until it has ended; its gateway hosts may have before. @param {any} rig @param {string} planId */
async function ended(rig, planId) {
  for (;;) {
    const { host } = rig;
    const gone = host.gone.then(() => undefined);
    const status = await Promise.race([rig.ended(planId), gone]).catch((error) => {
      if (host.process.signalCode === null) throw error;
    });
    if (status) return status;
    await again(rig);
  }
}

/** Calls until the plan exists; a host that is killed meanwhile may have made it. @param {any} rig @param {object} plan @returns {Promise<string>} its id */
async function create(rig, plan) {
  return waitFor(async () => {
    await again(rig);
    const made = await rig.session.call("list_copilot_plans", {});
    if (typeof made !== "string") return false;
    const [first] = JSON.parse(made).plans;
    if (first) return first.planId;
    const answer = await rig.session.call("create_copilot_plan", plan);
    return typeof answer === "string" && JSON.parse(answer).planId;
  });
}

/** Hosts that obey orders. @param {import("node:test").TestContext} t @param {readonly Order[]} orders @param {{repo?: string}} [given] */
export function faultyRig(t, orders, given = {}) {
  const home = temporaryFolder(t);
  const files = faultFiles(home);
  fs.mkdirSync(files.done);
  t.after(() => fs.rmSync(files.done, { recursive: true, force: true }));
  fs.writeFileSync(files.orders, JSON.stringify(orders));
  fs.writeFileSync(files.kills, "");
  return plansRig(t, { ...given, home, main: MAIN, folders: [files.done] });
}

/** Nothing runs, holds the gateway or is left in the repository. @param {any} rig @param {string} mark @returns {Promise<string[]>} problems */
async function leftovers({ repo, control }, mark) {
  const look = async () => [
    ...fs.readdirSync(path.join(repo, ".worktrees")),
    ...(await control.request("holds.list", {})).map((/** @type {any} */ hold) => hold.what),
    ...leftOf(mark).map((pid) => `process ${pid}`),
    ...locksIn(path.join(repo, ".git")),
    ...gitIn(repo)("worktree", "list").split("\n").slice(1),
  ];
  const none = async () => (await look()).length === 0;
  return waitFor(none).then(() => [], look);
}

/**
 * Whether a phase has succeeded for good by the time of a kill. A worktree whose work was cut off is made again, and
 * with it the prechecks run again.
 * @param {Kill} kill @param {string} phase
 */
function isOver({ succeeded }, phase) {
  const work = phase.replace(/prechecks$/, "work");
  return succeeded.includes(phase) && succeeded.includes(work);
}

/** @param {string} home @param {readonly Kill[]} kills @returns {string[]} problems */
function doneTwice(home, kills) {
  const done = Object.entries(workDone(faultFiles(home).done));
  return done.flatMap(([phase, count]) => {
    // Where the other leaf has landed first, what was checked is not what would land.
    const more = /^leaf\d-postchecks$/.test(phase) ? 1 : 0;
    return [
      ...(count > 1 + kills.length + more ? [`${phase} was begun ${count} times`] : []),
      ...kills
        .filter((kill) => isOver(kill, phase) && count > kill.done[phase] + more)
        .map(() => `${phase} had succeeded and was done again`),
    ];
  });
}

/** @param {any} rig @param {string} planId @param {readonly PlanNode[]} nodes @returns {Promise<string[]>} problems */
async function notOnce(rig, planId, nodes) {
  const problems = [];
  for (const { id } of nodes) {
    const { attempts } = await rig.ask("get_copilot_node_attempts", { planId, nodeId: id });
    const [first, ...more] = attempts;
    if (more.length > 0 || first?.status !== "succeeded") {
      problems.push(`${id}: ${JSON.stringify(attempts)}`);
    }
  }
  return problems;
}

/**
 * @param {import("node:test").TestContext} t @param {readonly Order[]} orders @param {readonly PlanNode[]} [nodes]
 * @returns {Promise<{result: object, problems: string[], kills: Kill[]}>}
 */
export async function runWithFaults(t, orders, nodes = NODES) {
  const { repo } = makeRepository(t);
  workOfUser(repo);
  const before = Object.entries(userOf(repo));
  const rig = await faultyRig(t, orders, { repo });
  const mark = `faults-${path.basename(rig.home)}`;
  const planId = await create(rig, planOf(nodes, faultFiles(rig.home).done, mark));
  const status = await ended(rig, planId);
  if (status.status !== "succeeded") {
    const problems = [`it ended as ${JSON.stringify(status)}`];
    return { result: {}, problems, kills: killsOf(rig.home) };
  }
  const left = await leftovers(rig, mark);
  const kills = killsOf(rig.home); // some come behind the plan's end
  const after = userOf(repo);
  const changed = before.filter(
    ([what, value]) =>
      JSON.stringify(after[/** @type {keyof typeof after} */ (what)]) !== JSON.stringify(value),
  );
  const fsck = execFileSync("git", ["fsck", "--no-dangling"], {
    ...{ cwd: repo, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
  });
  const problems = [
    ...left.map((one) => `is left: ${one}`),
    ...(await notOnce(rig, planId, nodes)),
    ...doneTwice(rig.home, kills),
    ...changed.map(([what]) => `the user's ${what} changed`),
    ...(fsck === "" ? [] : [fsck]),
  ];
  return { result: resultOf(repo, planId), problems, kills };
}

/** What is started in a run ends with it, not with this process. @template T @param {(t: any) => Promise<T>} work */
export async function contained(work) {
  /** @type {(() => unknown)[]} */
  const ends = [];
  try {
    return await work({ after: (/** @type {() => unknown} */ end) => ends.push(end) });
  } finally {
    for (const end of ends.reverse()) await end();
  }
}
