// Worktrees of attempts: making them, at once and again after a crash, and what is brought into them.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { copyUntrackedFiles, expandPatterns } from "../../../js/git/copy-untracked.mjs";
import {
  cleanOrphan,
  searchOrphans,
  findLeftovers,
  removeWorktree,
} from "../../../js/git/cleanup.mjs";
import { readNonce } from "../../../js/git/worktree-admin.mjs";
import { Worktrees } from "../../../js/git/worktrees.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { commit, git, makeRepository, NONCE, write } from "./rig.mjs";
import { killGits } from "./worktree-kills.mjs";

const linux = { skip: process.platform !== "linux" && "looks into /proc" };

test("a worktree has the commit's files, no branch, and a mark of ours; git's list of excluded files has its folder", async (t) => {
  const { root, first, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  assert.equal(made.path, path.join(root, ".worktrees", "p-n-1"));
  assert.equal(fs.readFileSync(path.join(made.path, "a.txt"), "utf8"), "a\n");
  assert.equal(git(made.path, "rev-parse", "HEAD"), first);
  assert.equal(git(made.path, "branch", "--show-current"), "");
  assert.equal(await readNonce(made.admin), NONCE);
  const exclude = fs.readFileSync(path.join(root, ".git", "info", "exclude"), "utf8");
  assert.equal(exclude.split("\n").filter((line) => line === "/.worktrees/").length, 1);
  await new Worktrees(worktrees.repository).folder();
  assert.equal(fs.readFileSync(path.join(root, ".git", "info", "exclude"), "utf8"), exclude);
});

test("the folder can be elsewhere, and can be listed in .gitignore", async (t) => {
  const { root, repository, wanted } = await makeRepository(t, { untouched: false });
  const elsewhere = fs.realpathSync(temporaryFolder(t));
  const outside = await new Worktrees(repository, { folder: elsewhere }).add(wanted("out"));
  assert.equal(outside.path, path.join(elsewhere, "p-out-1"));
  const options = { folder: "build/trees", gitignore: true };
  const inside = await new Worktrees(repository, options).add(wanted("in"));
  assert.equal(inside.path, path.join(root, "build", "trees", "p-in-1"));
  assert.equal(fs.readFileSync(path.join(root, ".gitignore"), "utf8"), "/build/trees/\n");
  assert.equal(git(root, "status", "--porcelain", "build"), "");
  const own = new Worktrees(repository, { folder: "." });
  await assert.rejects(own.folder(), { code: "INVALID" });
});

test("a line of .gitignore is not written where a link leads that a commit has brought", async (t) => {
  const { root, repository, wanted } = await makeRepository(t, { untouched: false });
  const file = path.join(temporaryFolder(t), "mine");
  fs.writeFileSync(file, "mine\n");
  fs.symlinkSync(file, path.join(root, ".gitignore"));
  const worktrees = new Worktrees(repository, { gitignore: true });
  await assert.rejects(worktrees.add(wanted()), { code: "INVALID", message: /is a link/ });
  assert.equal(fs.readFileSync(file, "utf8"), "mine\n");

  const exclude = path.join(root, ".git", "info", "exclude");
  fs.rmSync(exclude, { force: true });
  fs.symlinkSync(file, exclude);
  await new Worktrees(repository).add(wanted());
  assert.match(fs.readFileSync(file, "utf8"), /^\/\.worktrees\/$/m, "a link of the user's");
});

test("where a link leads that a commit has brought there are no worktrees", async (t) => {
  const { root, repository, wanted } = await makeRepository(t, { untouched: false });
  const elsewhere = temporaryFolder(t);
  fs.mkdirSync(path.join(elsewhere, "mine"));
  fs.rmSync(path.join(root, ".worktrees"), { recursive: true, force: true });
  fs.symlinkSync(elsewhere, path.join(root, ".worktrees"));
  const worktrees = new Worktrees(repository);
  await assert.rejects(worktrees.add(wanted()), { code: "INVALID", message: /is a link.*beside/ });
  assert.deepEqual(await searchOrphans(repository, async () => undefined), []);
  const place = path.join(fs.realpathSync(elsewhere), "mine");
  assert.equal((await cleanOrphan(repository, place, async () => undefined)).removed, false);
  assert.deepEqual(fs.readdirSync(elsewhere), ["mine"]);
});

test("the same worktree asked for again is made complete, not made twice", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  fs.rmSync(path.join(made.path, "a.txt"));
  const again = await worktrees.add(wanted());
  assert.deepEqual(again, made);
  assert.ok(fs.existsSync(path.join(made.path, "a.txt")));
  assert.equal(git(root, "worktree", "list").split("\n").length, 2);
});

test("a folder that is there and was not made for this plan is left alone", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  write(root, { ".worktrees/p-n-1/mine.txt": "mine\n" });
  await assert.rejects(worktrees.add(wanted()), { code: "EXISTS", message: /Move it away/ });
  git(root, "worktree", "add", "--quiet", "--detach", ".worktrees/p-m-1");
  await assert.rejects(worktrees.add(wanted("m")), { code: "EXISTS" });
  await worktrees.add(wanted("o"));
  const other = { ...wanted("o"), nonce: "f".repeat(20) };
  await assert.rejects(worktrees.add(other), { code: "EXISTS" });
  assert.equal(fs.readFileSync(path.join(root, ".worktrees/p-n-1/mine.txt"), "utf8"), "mine\n");
});

test("names and ids that could lead elsewhere never reach git", async (t) => {
  const { worktrees, wanted } = await makeRepository(t);
  for (const change of [
    { plan: ".." },
    { node: "a/b" },
    { node: "a b" },
    { node: "a\nb" },
    { attempt: 0 },
  ]) {
    await assert.rejects(worktrees.add({ ...wanted(), ...change }), { code: "INVALID" });
  }
  await assert.rejects(worktrees.add({ ...wanted(), commit: "--help" }), { code: "INVALID" });
  await assert.rejects(worktrees.add({ ...wanted(), nonce: "x" }), { code: "INVALID" });
  const dashes = await worktrees.add(wanted("--force"));
  assert.equal(path.basename(dashes.path), "p---force-1");
});

test("a worktree that was deleted by hand can be made again, and removed", async (t) => {
  const { root, repository, worktrees, wanted, first } = await makeRepository(t);
  const made = await worktrees.add(wanted());
  const unseen = commit(made.path, { "agent.txt": "x\n" }, "the agent's own");
  fs.rmSync(made.path, { recursive: true });
  await worktrees.add(wanted());
  assert.equal(git(root, "rev-parse", "refs/tap/kept/p/n^1"), unseen, "its commit is kept");
  fs.rmSync(made.path, { recursive: true });
  const record = { plan: "p", node: "n", path: made.path, nonce: NONCE, known: [first] };
  assert.deepEqual(await removeWorktree(worktrees, record), { removed: true });
  assert.equal(git(root, "worktree", "list").split("\n").length, 1);
  assert.equal(repository.root, root);
});

test("what a git that was killed has left is put right by the next call", linux, (t) =>
  killGits(t, [1, 2, 4]),
);

test("a worktree whose commit git had not written when it was killed is made whole, with files or without", async (t) => {
  const { root, worktrees, wanted, first } = await makeRepository(t);
  for (const resets of [false, true]) {
    const made = await worktrees.add(wanted());
    fs.writeFileSync(path.join(made.admin, "HEAD"), `${"0".repeat(40)}\n`);
    if (!resets) fs.rmSync(path.join(made.admin, "index"));
    if (!resets) for (const name of ["a.txt", "b.txt"]) fs.rmSync(path.join(made.path, name));
    const again = await worktrees.add(wanted());
    assert.equal(git(again.path, "rev-parse", "HEAD"), first);
    assert.equal(git(again.path, "status", "--porcelain"), "");
    assert.equal((await removeWorktree(worktrees, { ...again, known: [first] })).removed, true);
  }
  assert.equal(git(root, "for-each-ref", "refs/tap"), "");
});

test("every state in which adding a worktree can be interrupted ends in a whole one", async (t) => {
  const { root, worktrees, wanted, first } = await makeRepository(t);
  const place = path.join(root, ".worktrees", "p-n-1");
  const admin = path.join(root, ".git", "worktrees", "p-n-1");
  const git0 = () => {
    const reason = ["--lock", "--reason", `tap ${NONCE}`];
    git(root, "worktree", "add", "-q", "--no-checkout", "--detach", ...reason, place, first);
  };
  const states = {
    "only the lock": () => {
      fs.rmSync(place, { recursive: true });
      for (const name of fs.readdirSync(admin)) {
        if (name !== "locked") fs.rmSync(path.join(admin, name), { recursive: true });
      }
    },
    "no folder": () => fs.rmSync(place, { recursive: true }),
    "no .git in the folder": () => fs.rmSync(path.join(place, ".git")),
    "no HEAD": () => fs.rmSync(path.join(admin, "HEAD")),
    "no files": () => {},
    "a lock of the index": () => {
      fs.writeFileSync(path.join(admin, "tap"), `${NONCE}\n`);
      fs.writeFileSync(path.join(admin, "index.lock"), "");
    },
    "some files": () => write(place, { "a.txt": "half" }),
  };
  for (const [name, breakIt] of Object.entries(states)) {
    git0();
    breakIt();
    const made = await worktrees.add(wanted());
    assert.equal(git(made.path, "status", "--porcelain"), "", name);
    assert.deepEqual(fs.readdirSync(path.join(root, ".git", "worktrees")), ["p-n-1"], name);
    const record = { plan: "p", node: "n", path: place, nonce: NONCE, known: [first] };
    assert.deepEqual(await removeWorktree(worktrees, record), { removed: true }, name);
  }
});

test("a worktree that was on its way to its next attempt when everything was killed is that attempt's, and clean", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t);
  const folder = path.join(root, ".worktrees");
  /** @type {Record<string, (from: string, to: string) => void>} */
  const states = {
    moved: (from, to) => void git(root, "worktree", "move", "-f", "-f", from, to),
    "moved, and git does not know it": (from, to) => fs.renameSync(from, to),
  };
  for (const [index, [name, move]] of Object.entries(states).entries()) {
    const one = await worktrees.add(wanted("one", index + 1));
    write(one.path, { "left.txt": "of the first", "a.txt": "changed" });
    move(one.path, path.join(folder, `p-two-${index + 1}`));
    assert.deepEqual(await findLeftovers(worktrees, { plan: "p", nonce: NONCE }, [one]), [], name);
    const two = await worktrees.add(wanted("two", index + 1));
    assert.equal(two.admin, one.admin, name);
    assert.equal(git(two.path, "status", "--porcelain", "--ignored"), "", name);
    assert.equal((await removeWorktree(worktrees, two)).removed, true, name);
  }
  assert.equal(git(root, "worktree", "list").split("\n").length, 1);
});

test("submodules are there, and the user's config is not changed for that", async (t) => {
  const { root: inner } = await makeRepository(t);
  const { root, repository, worktrees } = await makeRepository(t, { untouched: false });
  git(root, "submodule", "--quiet", "add", inner, "sub");
  git(root, "commit", "--quiet", "-m", "with a submodule");
  const clone = path.join(fs.realpathSync(temporaryFolder(t)), "clone");
  git(root, "clone", "--quiet", root, clone);
  const config = fs.readFileSync(path.join(clone, ".git", "config"), "utf8");
  const { openRepository } = await import("../../../js/git/repository.mjs");
  const cloned = await openRepository(clone);
  const { commit: at } = await cloned.resolveBase();
  const trees = new Worktrees(cloned);
  const made = await trees.add({ plan: "p", node: "n", attempt: 1, nonce: NONCE, commit: at });
  assert.equal(fs.readFileSync(path.join(made.path, "sub", "a.txt"), "utf8"), "a\n");
  assert.equal(fs.readFileSync(path.join(clone, ".git", "config"), "utf8"), config);
  write(made.path, { "sub/new.txt": "x" });
  const held = await removeWorktree(trees, { ...made, known: [at] });
  assert.deepEqual([held.removed, held.code], [false, "SUBMODULE"]);
  const inside = commit(path.join(made.path, "sub"), {}, "inside");
  git(made.path, "add", "--all");
  git(made.path, "commit", "--quiet", "-m", "outside");
  const unpushed = await removeWorktree(trees, { ...made, known: [at] });
  assert.deepEqual(
    [unpushed.removed, unpushed.code],
    [false, "SUBMODULE"],
    "its commit is nowhere else",
  );
  git(path.join(made.path, "sub"), "push", "--quiet", "origin", `${inside}:refs/heads/kept`);
  git(path.join(made.path, "sub"), "fetch", "--quiet", "origin");
  assert.equal((await removeWorktree(trees, { ...made, known: [at] })).removed, true);
  assert.ok(repository && worktrees);
});

test("line ends and links in a worktree are what git makes of them", async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  fs.symlinkSync("a.txt", path.join(root, "link"));
  const at = commit(root, { ".gitattributes": "*.bat eol=crlf\n", "x.bat": "1\n2\n" });
  const worktrees = new Worktrees(repository);
  const made = await worktrees.add({ plan: "p", node: "n", attempt: 1, nonce: NONCE, commit: at });
  assert.equal(fs.readFileSync(path.join(made.path, "x.bat"), "utf8"), "1\r\n2\r\n");
  assert.equal(fs.readlinkSync(path.join(made.path, "link")), "a.txt");
  assert.equal(git(made.path, "status", "--porcelain"), "");
});

test("copies and links of untracked things come along; nothing from outside of the repository does", async (t) => {
  const { root, worktrees, wanted } = await makeRepository(t, { untouched: false });
  const outside = temporaryFolder(t);
  write(outside, { secret: "s" });
  write(root, { ".env": "KEY=1\n", "node_modules/x/index.js": "x\n", "deep/cache/y": "y\n" });
  fs.symlinkSync(path.join(outside, "secret"), path.join(root, "leak"));
  fs.symlinkSync(path.join(outside, "secret"), path.join(root, "deep", "cache", "leak"));
  fs.symlinkSync("y", path.join(root, "deep", "cache", "near"));
  const made = await worktrees.add(wanted());
  const what = { copy: [".env", "deep/cache", "leak", "none", "a.txt"], link: ["node_modules/"] };
  const { brought, skipped } = await copyUntrackedFiles(root, made, what);
  assert.deepEqual(brought, [".env", "deep/cache", "node_modules"]);
  assert.deepEqual(skipped, [
    { path: "leak", why: "outside" },
    { path: "none", why: "missing" },
    { path: "a.txt", why: "exists" },
  ]);
  assert.equal(fs.readFileSync(path.join(made.path, ".env"), "utf8"), "KEY=1\n");
  assert.deepEqual(fs.readdirSync(path.join(made.path, "deep", "cache")).sort(), ["near", "y"]);
  assert.equal(
    fs.realpathSync(path.join(made.path, "node_modules")),
    path.join(root, "node_modules"),
  );
  write(made.path, { ".env": "KEY=2\n" });
  assert.deepEqual(
    (await copyUntrackedFiles(root, made, what)).brought,
    brought,
    "a second time: nothing",
  );
  assert.equal(fs.readFileSync(path.join(root, ".env"), "utf8"), "KEY=1\n");
  for (const bad of ["../x", "/etc/passwd", ".git/config"]) {
    await assert.rejects(copyUntrackedFiles(root, made, { copy: [bad] }), { code: "INVALID" });
  }
  fs.symlinkSync(outside, path.join(made.path, "way-out"));
  write(root, { "way-out/file": "x" });
  await assert.rejects(copyUntrackedFiles(root, made, { copy: ["way-out/file"] }), {
    code: "OUTSIDE",
  });
  assert.deepEqual(fs.readdirSync(outside), ["secret"]);
});

test("a pattern of copy stands for the untracked files that it matches", async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  const names = ["web/.env", "api/.env", "deep/er/.env", "node_modules/x/.env", "web/kept.txt"];
  write(
    root,
    Object.fromEntries([...names, ".worktrees/w/.env", "[id]/.env"].map((one) => [one, "x"])),
  );
  git(root, "add", "web/kept.txt");
  fs.symlinkSync("web", path.join(root, "linked"));
  const expand = (/** @type {string[]} */ ...all) => expandPatterns(repository, all);
  assert.deepEqual(await expand("*/.env", ".env"), ["[id]/.env", "api/.env", "web/.env", ".env"]);
  assert.deepEqual(await expand("deep/**", "web/*"), ["deep/er/.env", "web/.env"]);
  assert.deepEqual(await expand("[id]/.env", "none/*", "web/k*"), ["[id]/.env", "none/*"]);
  await assert.rejects(expand("../*/.env"), { code: "INVALID" });
  await assert.rejects(expand("@(a|b)/*"), { code: "INVALID" });
});

test("submodules whose URL cannot be reached come from the user's checkout, which stays as it is", async (t) => {
  const { root: inner } = await makeRepository(t, { untouched: false });
  const { root, worktrees, wanted } = await makeRepository(t, { untouched: false });
  git(root, "submodule", "--quiet", "add", inner, "sub");
  const later = commit(inner, { "later.txt": "l" });
  const sub = path.join(root, "sub");
  git(sub, "fetch", "--quiet");
  git(sub, "checkout", "--quiet", "--detach", later);
  const at = commit(root, {}, "with a submodule");
  git(root, "config", "submodule.sub.url", path.join(inner, "gone"));
  git(sub, "remote", "set-url", "origin", path.join(inner, "gone"));
  const look = () => [
    fs.readFileSync(path.join(root, ".git", "config"), "utf8"),
    ...[fs.readFileSync(path.join(root, ".git", "modules", "sub", "config"), "utf8")],
    ...[git(sub, "for-each-ref"), git(root, "status", "--porcelain")],
  ];
  const before = look();
  const made = await worktrees.add(wanted("n", 1, at));
  assert.equal(fs.readFileSync(path.join(made.path, "sub", "later.txt"), "utf8"), "l");
  const url = git(path.join(made.path, "sub"), "config", "remote.origin.url");
  assert.equal(url, path.join(inner, "gone"));
  assert.deepEqual(look(), before);
  assert.equal((await removeWorktree(worktrees, { ...made, known: [at] })).removed, true);
});

test("what comes from the user's checkout opens no other repository of this machine", async (t) => {
  const { root: inner } = await makeRepository(t, { untouched: false });
  const { root: other, first } = await makeRepository(t, { untouched: false });
  const { root, worktrees, wanted } = await makeRepository(t, { untouched: false });
  git(root, "submodule", "--quiet", "add", inner, "sub");
  const config = path.join(String(process.env.HOME), ".gitconfig");
  const allowing = fs.readFileSync(config, "utf8");
  t.after(() => fs.writeFileSync(config, allowing));
  fs.writeFileSync(config, allowing.replace("allow = always", "allow = user"));
  const before = fs.readFileSync(path.join(root, ".gitmodules"), "utf8");
  const evil = `[submodule "evil"]\n\tpath = d/evil\n\turl = ${other}\n`;
  git(root, "update-index", "--add", "--cacheinfo", `160000,${first},d/evil`);
  const also = (/** @type {string} */ place) => `[submodule "sub"]\n\tpath = ${place}\n`;
  const all = [before + evil + also("d/evil"), before.replace("= sub", "= d") + evil];
  all.push(before.replace("= sub", '= ":(glob)**"') + evil);
  for (const [number, text] of all.entries()) {
    write(root, { ".gitmodules": text });
    git(root, "add", ".gitmodules");
    git(root, "commit", "--quiet", "--message=hostile");
    const at = git(root, "rev-parse", "HEAD");
    await assert.rejects(worktrees.add(wanted("n", number + 1, at)), /submodule|gitmodules/);
    const folder = path.join(await worktrees.worktreePath(wanted("n", number + 1)), "d", "evil");
    assert.deepEqual(fs.existsSync(folder) ? fs.readdirSync(folder) : [], []);
  }
});

test("a file where worktrees belong is named, with what to do", async (t) => {
  const { root, repository, wanted } = await makeRepository(t, { untouched: false });
  write(root, { place: "x" });
  const worktrees = new Worktrees(repository, { folder: "place" });
  await assert.rejects(worktrees.add(wanted()), {
    ...{ code: "EXISTS", message: /\/place" is not a folder, .* Move it away, and retry\.$/ },
  });
  fs.rmSync(path.join(root, "place"));
  await worktrees.add(wanted());
});
