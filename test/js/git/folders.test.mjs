// What a plan's folders are on the disk, and the policy that a node gets of them.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { resolvePolicy } from "../../../js/features/plans/sandbox-policy.mjs";
import { findReservedPlaces, inspectFolders } from "../../../js/git/folders.mjs";
import { openRepository } from "../../../js/git/repository.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { git, makeRepository } from "./rig.mjs";

const links = { skip: process.platform === "win32" && "links need a right there" };

/** @param {string} outer @param {...string} names */
function makeFolders(outer, ...names) {
  for (const name of names) fs.mkdirSync(path.join(outer, name), { recursive: true });
}

test(
  "a folder is as it is on the disk: gone, a file, behind a link or a folder",
  links,
  async (t) => {
    const root = fs.realpathSync(temporaryFolder(t));
    makeFolders(root, "out/deep");
    fs.writeFileSync(path.join(root, "file"), "");
    fs.symlinkSync("out", path.join(root, "link"));
    fs.symlinkSync("nowhere", path.join(root, "dangling"));
    fs.symlinkSync("circle", path.join(root, "circle"));
    const names = ["out/", "link/deep", "file", "gone", "dangling", "file/x", "circle", root];
    const found = await inspectFolders(root, names);
    const out = path.join(root, "out");
    assert.deepEqual(found.slice(0, 2), [
      { name: "out/", named: out, real: out },
      { name: "link/deep", named: path.join(root, "link/deep"), real: path.join(out, "deep") },
    ]);
    assert.deepEqual(
      found.slice(2, 7).map(({ real }) => real),
      [undefined, undefined, undefined, undefined, undefined],
    );
    assert.match(String(found[2].why), /is not a folder/);
    assert.match(String(found[3].why), /is not there/);
    assert.match(String(found[6].why), /ELOOP/);
    assert.equal(found[7].real, root);
  },
);

test(
  "what is reserved is found without links, for a checkout that is a worktree, too",
  links,
  async (t) => {
    const { root, repository } = await makeRepository(t);
    const outer = fs.realpathSync(temporaryFolder(t));
    makeFolders(outer, "home/.copilot");
    fs.symlinkSync(path.join(outer, "home"), path.join(outer, "to-home"));
    const home = path.join(outer, "to-home");
    const where = { cliHome: path.join(home, ".copilot"), home };
    const gitDir = path.join(root, ".git");
    const found = await findReservedPlaces(repository, where);
    assert.deepEqual(found, {
      checkouts: [root],
      git: [gitDir, gitDir],
      worktrees: path.join(root, ".worktrees"),
      home: path.join(outer, "home"),
      cliHome: path.join(outer, "home", ".copilot"),
    });
    const other = path.join(outer, "other");
    git(root, "worktree", "add", "--quiet", "--detach", other);
    const seen = await findReservedPlaces(await openRepository(other), { ...where, beside: true });
    assert.deepEqual(seen.checkouts, [other, root]);
    assert.deepEqual(seen.git, [gitDir, path.join(gitDir, "worktrees", "other")]);
    const beside = path.join(path.dirname(root), ".worktrees", path.basename(root));
    assert.equal(seen.worktrees, beside);
  },
);

test("a node's policy has its folders, and an agent's only while it works", links, async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  const outer = fs.realpathSync(temporaryFolder(t));
  makeFolders(root, "out", "fixtures");
  makeFolders(outer, "data", "agent", "home");
  fs.symlinkSync(path.join(outer, "data"), path.join(root, "link"));
  const service = {
    inspectFolders,
    findReservedPlaces: (/** @type {any} */ of, /** @type {object} */ options) =>
      findReservedPlaces(of, {
        ...options,
        cliHome: path.join(outer, "home", ".copilot"),
        home: path.join(outer, "home"),
      }),
  };
  const worktree = { path: path.join(root, ".worktrees", "p-n-1"), admin: "/admin" };
  const resolve = (/** @type {object} */ node, /** @type {object} */ more = {}) =>
    resolvePolicy({
      ...{ git: service, repository, worktree, node, phase: "work" },
      head: { allowedUrls: ["Example.com"], allowedFolders: ["out"], caches: ["npm"] },
      ...more,
    });
  const work = {
    type: "agent",
    instructions: "x",
    allowedFolders: [path.join(outer, "agent"), "out"],
    allowedUrls: ["docs.example.com", "example.com"],
  };
  const policy = await resolve({ work, readFolders: ["fixtures", "out"] }, { own: "/own" });
  const common = path.join(root, ".git");
  assert.deepEqual(policy, {
    cwd: worktree.path,
    repository: { checkout: root, common, admin: "/admin", own: "/own" },
    writable: [path.join(root, "out"), path.join(outer, "agent")],
    readable: [path.join(root, "fixtures")],
    named: [path.join(root, "out"), path.join(outer, "agent"), path.join(root, "fixtures")],
    caches: ["npm"],
    hosts: ["example.com", "docs.example.com"],
    sandbox: "on",
  });
  const checks = await resolve({ work }, { phase: "prechecks" });
  assert.deepEqual(checks.writable, [path.join(root, "out")]);
  assert.deepEqual(checks.hosts, ["example.com"]);
  const own = await resolve({ sandbox: "off", allowedFolders: [], allowedUrls: ["a.b", "*"] });
  assert.deepEqual([own.sandbox, own.writable, own.hosts], ["off", [], "*"]);
  for (const [node, code, field] of /** @type {const} */ ([
    [{ allowedFolders: ["out", "gone"] }, "NO_FOLDER", "allowedFolders[1]"],
    [{ allowedFolders: ["link"] }, "NOT_ALLOWED", "allowedFolders[0]"],
    [{ readFolders: [".git/hooks"] }, "NOT_ALLOWED", "readFolders[0]"],
    [{ work: { ...work, allowedFolders: ["."] } }, "NOT_ALLOWED", "work.allowedFolders[0]"],
  ])) {
    const refused = resolve(node);
    await assert.rejects(refused, { code, detail: { field } }, JSON.stringify(node));
  }
});
