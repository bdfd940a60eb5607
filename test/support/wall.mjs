// A repository with a worktree that has a private store, as a node of a plan has it, and its policy.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { createStore, storeFolder } from "../../js/git/private-store.mjs";

/** @param {string} cwd @param {string[]} args */
export const runGit = (cwd, ...args) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();

/** @param {string} root a folder without links @param {string} [name] of the worktree */
export async function makeWalledPlace(root, name = "one") {
  const checkout = path.join(root, "repo");
  if (!fs.existsSync(checkout)) {
    fs.mkdirSync(checkout);
    runGit(checkout, "init", "-q", "-b", "main");
    for (const [field, value] of [
      ["user.name", "t"],
      ["user.email", "t@example.com"],
    ])
      runGit(checkout, "config", field, value);
    fs.writeFileSync(path.join(checkout, "a.txt"), "a\n");
    runGit(checkout, "add", ".");
    runGit(checkout, "commit", "-qm", "one");
  }
  const cwd = path.join(checkout, ".worktrees", name);
  runGit(checkout, "worktree", "add", "-q", "--detach", cwd);
  const common = path.join(checkout, ".git");
  const admin = path.join(common, "worktrees", name);
  const own = storeFolder(admin);
  await createStore(admin);
  /** @type {import("../../js/process/sandbox.mjs").Policy} */
  const policy = {
    cwd,
    repository: { checkout, common, admin, own },
    ...{ writable: [], readable: [], caches: [], hosts: [], sandbox: "on" },
  };
  return { root, checkout, cwd, common, admin, own, policy };
}

/** Every file below a folder, but for some, with its content. @param {string} folder @param {string[]} but */
export function hashTree(folder, but = []) {
  const hash = createHash("sha256");
  const walk = (/** @type {string} */ at) => {
    for (const entry of fs
      .readdirSync(at, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const file = path.join(at, entry.name);
      if (but.includes(file)) continue;
      hash.update(`${file} ${fs.lstatSync(file).mode} `);
      if (entry.isDirectory()) walk(file);
      else hash.update(entry.isSymbolicLink() ? fs.readlinkSync(file) : fs.readFileSync(file));
    }
  };
  walk(folder);
  return hash.digest("hex");
}
