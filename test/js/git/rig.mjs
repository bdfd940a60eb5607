// Repositories for the time of one test, with a git that reads no config of the machine, and a look at all that must
// stay as it is in the user's checkout.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { openRepository } from "../../../js/git/repository.mjs";
import { Git } from "../../../js/git/git.mjs";
import { Worktrees } from "../../../js/git/worktrees.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

export const NONCE = "0123456789abcdef0123";

const CONFIG = `[user]
  name = Someone
  email = someone@example.com
[init]
  defaultBranch = main
[protocol "file"]
  allow = always
`;

// Git of the tests and git under test see the same home.
const home = temporaryFolder();
fs.writeFileSync(path.join(home, ".gitconfig"), CONFIG);
process.env.HOME = home;
for (const name of Object.keys(process.env)) {
  if (/^(?:GIT_|XDG_CONFIG_HOME)/.test(name)) delete process.env[name];
}
process.env.GIT_CONFIG_NOSYSTEM = "1";

/** What git prints. @param {string} cwd @param {...string} args */
export const git = (cwd, ...args) =>
  execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trimEnd();

/** Whether it succeeds. @param {string} cwd @param {...string} args */
export const gitWorks = (cwd, ...args) => spawnSync("git", args, { cwd }).status === 0;

/** @param {string} folder @param {Record<string, string>} files */
export function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
}

/** @param {string} folder @param {Record<string, string>} files @param {string} [message] @returns {string} the commit */
export function commit(folder, files, message = "change") {
  write(folder, files);
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--allow-empty", "-m", message);
  return git(folder, "rev-parse", "HEAD");
}

/**
 * A commit on a parent, without a checkout.
 * @param {string} root @param {string[]} parents @param {Record<string, string | null>} files null: deleted
 */
export function commitOn(root, parents, files, message = "on top") {
  const index = path.join(root, ".git", `test-index-${Math.random()}`);
  const options = { cwd: root, encoding: /** @type {const} */ ("utf8") };
  const env = { ...process.env, GIT_INDEX_FILE: index };
  const run = (/** @type {string[]} */ args, input = "") =>
    execFileSync("git", args, { ...options, env, input }).trim();
  if (parents.length > 0) run(["read-tree", parents[0]]);
  for (const [name, text] of Object.entries(files)) {
    if (text === null) run(["update-index", "--force-remove", "--", name]);
    else {
      const object = run(["hash-object", "-w", "--stdin"], text);
      run(["update-index", "--add", "--cacheinfo", `100644,${object},${name}`]);
    }
  }
  const made = run([
    "commit-tree",
    run(["write-tree"]),
    ...parents.flatMap((p) => ["-p", p]),
    "-m",
    message,
  ]);
  fs.rmSync(index, { force: true });
  return made;
}

/** The files of a commit. @param {string} root @param {string} at @returns {Record<string, string>} */
export const filesOf = (root, at) =>
  Object.fromEntries(
    execFileSync("git", ["ls-tree", "-r", "-z", "--name-only", at], { cwd: root, encoding: "utf8" })
      .split("\0")
      .filter(Boolean)
      .map((name) => [
        name,
        execFileSync("git", ["show", `${at}:${name}`], { cwd: root, encoding: "utf8" }),
      ]),
  );

/** Everything in the user's checkout that plans must not touch. @param {string} root */
export function lookAtUser(root) {
  const own = path.join(root, ".git");
  const read = (/** @type {string} */ file) => {
    const full = path.join(own, file);
    return fs.existsSync(full)
      ? createHash("sha256").update(fs.readFileSync(full)).digest("hex")
      : "";
  };
  const files = [
    "index",
    "HEAD",
    "config",
    "refs/stash",
    "logs/refs/stash",
    "FETCH_HEAD",
    "ORIG_HEAD",
  ];
  const state = Object.fromEntries(files.map((file) => [file, read(file)]));
  const options = {
    cwd: root,
    encoding: /** @type {const} */ ("utf8"),
    env: { ...process.env, GIT_OPTIONAL_LOCKS: "0" },
  };
  const status = execFileSync("git", ["status", "--porcelain=v2", "--branch", "-uall"], options);
  const stash = execFileSync("git", ["stash", "list"], options);
  return { ...state, status, stash };
}

/**
 * A repository with one commit, and what the user has not committed.
 * @param {import("node:test").TestContext} t
 * @param {object} [options]
 * @param {Record<string, string>} [options.files] @param {boolean} [options.untouched] false: the test lands in the checkout
 * @param {"tree" | "scratch"} [options.merges] @param {Git} [options.git] @param {string} [options.folder]
 */
export async function makeRepository(t, options = {}) {
  const { files = { "a.txt": "a\n", "b.txt": "b\n" }, merges, untouched = true } = options;
  const root = fs.realpathSync(options.folder ?? temporaryFolder(t));
  git(root, "init", "--quiet");
  const first = commit(root, files, "first");
  write(root, { "not-committed.txt": "mine\n" });
  const repository = await openRepository(root, {
    git: options.git ?? new Git({ lockMs: 3000 }),
    merges,
  });
  const worktrees = new Worktrees(repository);
  await worktrees.folder();
  const before = lookAtUser(root);
  if (untouched) t.after(() => assert.deepEqual(lookAtUser(root), before));
  const wanted = (node = "n", attempt = 1, at = first) => ({
    plan: "p",
    node,
    attempt,
    nonce: NONCE,
    commit: at,
  });
  return { root, first, repository, worktrees, wanted };
}

/** The files that a landing has left, their bytes as Latin-1. @param {string} root */
export function listLeft(root) {
  const folder = path.join(root, ".git", "tap");
  const [name] = fs.readdirSync(folder).filter((one) => /^landing-\w+-files$/.test(one));
  if (name === undefined) return [];
  return fs.readFileSync(path.join(folder, name), "latin1").split("\0").filter(Boolean).sort();
}
