// A user's machine in small, what programs of nodes try there, and a picture of all that they must leave as it is.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { temporaryFolder } from "../../support/temporary.mjs";
import { makeRepository, plansRig } from "./plans-rig.mjs";

/** @typedef {import("./wall-attempts.mjs").Target} Target */
/** @typedef {import("./wall-attempts.mjs").Attempt} Attempt */

/** What tap and git write for plans: in the checkout, and in git's folder. */
const OF_PLANS = /\/(?:\.worktrees|\.git\/(?:tap|objects|refs\/tap|worktrees\/p[^/]*))$/;

/** @param {string} file @param {fs.Stats} stat */
function describeEntry(file, stat) {
  if (stat.isDirectory()) return `folder ${stat.mode}`;
  const bytes = stat.isSymbolicLink() ? fs.readlinkSync(file) : fs.readFileSync(file);
  const digest = createHash("sha256").update(bytes).digest("hex");
  return `${stat.mode} ${stat.mtimeMs} ${digest}`;
}

/** Without what is of plans. @param {string} folder @returns {Map<string, string>} what each file is */
function describeFolder(folder) {
  const found = new Map();
  const places = [folder];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const stat = fs.lstatSync(place);
    found.set(place, describeEntry(place, stat));
    if (!stat.isDirectory()) continue;
    const inner = fs
      .readdirSync(place)
      .map((name) => path.join(/** @type {string} */ (place), name));
    places.push(...inner.filter((one) => !OF_PLANS.test(one)));
  }
  return found;
}

/** @param {Target} target @returns {Map<string, string>} */
const describeWorld = ({ repo, home, outside }) =>
  new Map([...[repo, home, outside].flatMap((folder) => [...describeFolder(folder)])]);

/** @param {string} repo */
const describeObjects = (repo) =>
  new Map(
    [...describeFolder(path.join(repo, ".git", "objects"))].filter(
      ([, one]) => !one.startsWith("folder"),
    ),
  );

/** @param {Target} target @returns {() => string[]} the files that have changed since; objects may come, and none may go */
export function watchWorld(target) {
  const [before, objects] = [describeWorld(target), describeObjects(target.repo)];
  return () => {
    const [after, later] = [describeWorld(target), describeObjects(target.repo)];
    const all = [...new Set([...before.keys(), ...after.keys()])];
    return [
      ...all.filter((file) => before.get(file) !== after.get(file)),
      ...[...objects.keys()].filter((file) => objects.get(file) !== later.get(file)),
    ];
  };
}

/** @param {import("node:test").TestContext} t @param {string} home */
function fillHome(t, home) {
  fs.mkdirSync(path.join(home, ".ssh"));
  fs.writeFileSync(path.join(home, ".ssh", "id_test"), "key\n", { mode: 0o600 });
  fs.writeFileSync(path.join(home, ".npmrc"), "token\n");
  fs.mkdirSync(path.join(home, ".config", "git"), { recursive: true });
  fs.writeFileSync(path.join(home, ".config", "git", "credentials"), "https://a:key@host.test\n");
  fs.writeFileSync(path.join(home, ".gitconfig"), "[user]\n\tname = A\n\temail = a@example.com\n");
  const before = process.env.HOME;
  process.env.HOME = home;
  t.after(() => (process.env.HOME = before));
}

/** @param {import("node:test").TestContext} t */
async function startVictims(t) {
  const victim = spawn("sleep", ["600"], { stdio: "ignore", detached: true });
  t.after(() => victim.kill("SIGKILL"));
  const server = net.createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  return { pid: Number(victim.pid), port };
}

/** @param {import("node:test").TestContext} t @param {(repo: string) => void} [prepare] the repository */
export async function makeWorld(t, prepare = () => {}) {
  const [home, outside, cli] = [1, 2, 3].map(() => fs.realpathSync(temporaryFolder(t)));
  fillHome(t, home);
  const { repo, git } = makeRepository(t);
  fs.writeFileSync(path.join(repo, "keep.txt"), "keep\n");
  prepare(repo);
  git("add", "--all");
  git("commit", "--quiet", "--message=second");
  fs.appendFileSync(path.join(repo, ".git", "info", "exclude"), "/.worktrees/\n");
  fs.mkdirSync(path.join(repo, ".worktrees"));
  const sibling = path.join(outside, "sibling");
  git("worktree", "add", "--quiet", "--detach", sibling);
  git("init", "--quiet", "--bare", path.join(outside, "remote.git"));
  fs.writeFileSync(path.join(outside, "note.txt"), "note\n");
  const rig = await plansRig(t, { repo, home: cli });
  const places = { repo, git: path.join(repo, ".git"), sibling, home, outside, cli };
  /** @type {Target} */
  const target = { ...places, ...(await startVictims(t)) };
  return { ...rig, target, git };
}

/**
 * Each as a node of one plan.
 * @param {Awaited<ReturnType<typeof makeWorld>>} world
 * @param {{name: string, command: (at: Target) => string}[]} attempts @param {object} [plan] its other fields
 * @returns {Promise<Map<string, {isDone: boolean, said: string}>>} by name; isDone: its command ended with 0
 */
export async function runAttempts({ create, ended, ask, target }, attempts, plan = {}) {
  const nodes = attempts.map(({ command }, at) => ({
    ...{ id: `n${at}`, expectsNoChanges: true },
    work: `set -e\n${command(target)}`,
  }));
  const planId = await create({ maxParallel: 16, nodes, allowedFolders: [], ...plan });
  await ended(planId);
  const found = new Map();
  for (const [at, { name }] of attempts.entries()) {
    const node = await ask("get_copilot_node", { planId, nodeId: `n${at}` });
    const hasRun = node.status === "succeeded" || node.phase === "work";
    if (!hasRun && node.phase !== "commit") throw new Error(JSON.stringify(node));
    found.set(name, { isDone: node.phase !== "work", said: node.error ?? "" });
  }
  return found;
}

const FILTER = `#!/bin/sh
[ -f .husky/busy ] && exec cat
touch .husky/busy
sh .husky/tries >&2 || exit 1
rm .husky/busy; cat; echo ran
`;
const HOOK = `#!/bin/sh
sh .husky/tries || exit 1
echo ran > hook.txt; git add hook.txt
`;
const PLACES_FILES = {
  ".gitattributes": "*.own filter=own\n",
  ".husky/pre-commit": HOOK,
  "filter.sh": FILTER,
};

/** Says which attempts have succeeded. @param {string} place @param {Attempt[]} attempts @param {Target} at */
function formatTries(place, attempts, at) {
  const tries = attempts.map(
    ({ name, command }) => `(${command(at)}) > /dev/null 2>&1 && bad="$bad, ${name}"`,
  );
  return ["bad=", ...tries, `[ -z "$bad" ] || { echo "${place}$bad" >&2; exit 1; }`].join("\n");
}

/** In the setup, the checks, a hook and a filter of a plan. @param {import("node:test").TestContext} t @param {Attempt[]} attempts that all have to fail */
export async function tryInOtherPlaces(t, attempts) {
  const world = await makeWorld(t, (repo) => {
    for (const [name, text] of Object.entries(PLACES_FILES)) {
      fs.mkdirSync(path.dirname(path.join(repo, name)), { recursive: true });
      fs.writeFileSync(path.join(repo, name), text, { mode: 0o755 });
    }
  });
  const { git, target, create, ended } = world;
  git("config", "core.hooksPath", ".husky");
  git("config", "filter.own.clean", "./filter.sh");
  git("config", "filter.own.smudge", "cat");
  git("config", "filter.own.required", "true");
  const listChanged = watchWorld(target);
  // Some of them have git run the filter again.
  const tries = (/** @type {string} */ place) =>
    `touch .husky/busy\n${formatTries(place, attempts, target)}\nrm -f .husky/busy`;
  const work = `cat > .husky/tries <<'END'\n${formatTries("hook or filter", attempts, target)}\nEND\necho x > x.own`;
  const node = { id: "a", prechecks: tries("prechecks"), work, postchecks: tries("postchecks") };
  const planId = await create({ allowedFolders: [], setup: tries("setup"), nodes: [node] });
  const { nodes } = await ended(planId);
  assert.deepEqual([nodes[0].status, nodes[0].error], ["succeeded", undefined]);
  const show = (/** @type {string} */ name) => git("show", `refs/tap/${planId}/a/1:${name}`);
  assert.deepEqual([show("hook.txt"), show("x.own")], ["ran", "x\nran"]);
  assert.deepEqual(listChanged(), []);
}
