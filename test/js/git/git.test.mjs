// How git is started: its environment, its limits, and what is said when it fails.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { toGitError } from "../../../js/git/errors.mjs";
import { Git } from "../../../js/git/git.mjs";
import { isAlive } from "../../support/processes.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { git, makeRepository, write } from "./rig.mjs";

const posix = { skip: process.platform === "win32" && "needs a shell script" };

/** A program in git's place. @param {import("node:test").TestContext} t @param {string} script of a shell */
function fake(t, script) {
  const folder = temporaryFolder(t);
  const program = path.join(folder, "git");
  fs.writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { program, folder };
}

test(
  "git gets PATH and HOME, and neither tokens nor variables of another git",
  posix,
  async (t) => {
    const { program, folder } = fake(t, "env; exit 0");
    const set = {
      GITHUB_TOKEN: "secret",
      GIT_DIR: "/x",
      GIT_CONFIG_COUNT: "1",
      SSH_AUTH_SOCK: "/s",
    };
    Object.assign(process.env, set);
    t.after(() => Object.keys(set).forEach((name) => delete process.env[name]));
    const own = new Git({ program });
    const { stdout } = await own.run(["status"], { cwd: folder });
    const names = stdout.split("\n").map((line) => line.split("=")[0]);
    for (const name of Object.keys(set)) assert.ok(!names.includes(name), name);
    for (const line of ["LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0", `HOME=${process.env.HOME}`]) {
      assert.ok(stdout.split("\n").includes(line), line);
    }
    const reaching = await own.run(["fetch"], { cwd: folder, network: true });
    assert.match(reaching.stdout, /^SSH_AUTH_SOCK=\/s$/m);
    assert.doesNotMatch(reaching.stdout, /GITHUB_TOKEN/);
  },
);

test("arguments reach git as they are: no shell reads them", async (t) => {
  const { repository } = await makeRepository(t);
  const name = "$(touch hacked); `x` 'y' \"z\" *";
  const { stdout } = await repository.query(["rev-parse", "--sq-quote", "--", name]);
  assert.match(stdout, /\$\(touch hacked\)/);
});

test("hooks of the repository do not run, unless they are asked for", posix, async (t) => {
  const { repository, root } = await makeRepository(t);
  const ran = path.join(temporaryFolder(t), "ran");
  const hook = path.join(root, ".git", "hooks", "reference-transaction");
  fs.writeFileSync(hook, `#!/bin/sh\necho x >> "${ran}"\n`, { mode: 0o755 });
  const args = ["update-ref", "refs/tap/test", "HEAD"];
  await repository.change(args);
  assert.equal(fs.existsSync(ran), false);
  await repository.change(["update-ref", "-d", "refs/tap/test"], { hooks: true });
  assert.equal(fs.existsSync(ran), true);
});

test("a git that hangs is ended with all that it has started", posix, async (t) => {
  const { program, folder } = fake(t, "sleep 300 & echo $! > pids; wait");
  const pids = path.join(folder, "pids");
  // On a busy machine it may be ended before it has started anything.
  for (let timeoutMs = 200; !fs.existsSync(pids); timeoutMs *= 4) {
    const run = new Git({ program }).run(["gc"], { cwd: folder, timeoutMs });
    const message = new RegExp(`git gc has not ended within ${timeoutMs} ms`);
    await assert.rejects(run, { code: "TIMEOUT", message });
  }
  const pid = Number(fs.readFileSync(pids, "utf8"));
  await waitFor(async () => !(await isAlive(pid)), { what: "its child is gone" });
});

test(
  "a run that is cancelled ends, and one that was cancelled before does not begin",
  posix,
  async (t) => {
    const { program, folder } = fake(t, "echo x >> began; exec sleep 300");
    const controller = new AbortController();
    const own = new Git({ program });
    const run = own.run(["gc"], { cwd: folder, signal: controller.signal });
    await waitFor(() => fs.existsSync(path.join(folder, "began")));
    controller.abort();
    await assert.rejects(run, { code: "CANCELLED" });
    await assert.rejects(own.run(["gc"], { cwd: folder, signal: controller.signal }), {
      code: "CANCELLED",
    });
    assert.equal(fs.readFileSync(path.join(folder, "began"), "utf8"), "x\n");
  },
);

test(
  "output beyond the limit is a failure, or is cut where that was asked for",
  posix,
  async (t) => {
    const { program, folder } = fake(t, "yes");
    const own = new Git({ program });
    await assert.rejects(own.run(["log"], { cwd: folder, mostBytes: 1000 }), { code: "TOO_LARGE" });
    const cut = await own.run(["log"], { cwd: folder, mostBytes: 1000, cuts: true });
    assert.equal(cut.stdout.length, 1000);
    assert.equal(cut.cut, true);
    const { program: exact } = fake(t, "printf 1234567890");
    const whole = await new Git({ program: exact }).run(["log"], { cwd: folder, mostBytes: 10 });
    assert.deepEqual([whole.stdout, whole.cut], ["1234567890", false]);
  },
);

test("a machine without git is told to install it", async (t) => {
  const own = new Git({ program: "no-such-git" });
  const run = own.run(["version"], { cwd: temporaryFolder(t) });
  await assert.rejects(run, { code: "NO_GIT", message: /Install git/ });
});

test("a failure has git's words, made visible, and its code", posix, async (t) => {
  const { program, folder } = fake(t, "printf 'fatal: bad \\033[31m thing\\n' >&2; exit 128");
  await assert.rejects(new Git({ program }).run(["log"], { cwd: folder }), (error) => {
    assert.equal(error.code, "GIT_FAILED");
    assert.match(error.message, /git log failed \(exit code 128\): fatal: bad \\x1b\[31m thing/);
    assert.equal(error.details.exitCode, 128);
    return true;
  });
});

test("a git that was killed is a failure that names the signal", posix, async (t) => {
  const { program, folder } = fake(t, "kill -9 $$");
  await assert.rejects(new Git({ program }).run(["log"], { cwd: folder }), /signal SIGKILL/);
});

test("a lock of another git is waited for, and named if it stays", async (t) => {
  const { repository, root } = await makeRepository(t);
  const lock = path.join(root, ".git", "config.lock");
  const set = () => repository.change(["config", "tap.test", "1"]);
  fs.writeFileSync(lock, "");
  await assert.rejects(set(), {
    code: "LOCKED",
    message: /config.* If no git is at work in this repository, remove \.git\/config\.lock\.$/,
  });
  assert.equal(fs.existsSync(lock), true, "it is not ours to remove");
  const waiting = set();
  setTimeout(() => fs.rmSync(lock), 300);
  await waiting;
  assert.equal(git(root, "config", "tap.test"), "1");
  git(root, "config", "--remove-section", "tap");
});

test(
  "a disk that is full, a race of two gits, an owner that is another user, a missing identity: each has its code",
  posix,
  async (t) => {
    const cases = {
      DISK_FULL: "error: unable to write file x: No space left on device",
      UNSAFE_OWNER: "fatal: detected dubious ownership in repository at /x",
      NO_IDENTITY: "Author identity unknown\n*** Please tell me who you are.",
      UNRELATED: "fatal: refusing to merge unrelated histories",
      NO_SUBMODULE:
        "ssh: Permission denied\nfatal: clone of '/x' into submodule path '/w/sub' failed",
      READ_ONLY: "error: could not lock: Read-only file system",
      RACE: "fatal: Invalid path '/r/.git/worktrees': No such file or directory",
      REF_CHANGED: "fatal: cannot lock ref 'refs/x': is at 1 but expected 2",
    };
    const full =
      "error: unable to create temporary object directory 'x/tmp_objdir-1': No space left";
    const all = [...Object.entries(cases), ["DISK_FULL", `${full} on device`]];
    for (const [code, said] of all) {
      const { program, folder } = fake(t, `echo "${said}" >&2; exit 128`);
      await assert.rejects(new Git({ program }).run(["log"], { cwd: folder }), { code });
    }
  },
);

test("of what git says of a lock, the lines that matter are told, and which file to remove", () => {
  const more =
    "Another git process seems to be running in this repository, e.g.\nan editor opened by 'git commit'. Please make sure all processes\nare terminated then try again. If it still fails, a git process\nmay have crashed in this repository earlier:\nremove the file manually to continue.\n";
  const file = "/r/.git/refs/heads/t.lock";
  const message = (/** @type {string} */ stderr) =>
    toGitError(["x"], { code: 128, signal: null, stdout: "", stderr }).message;
  const advice = `If no git is at work in this repository, remove ${file}.`;
  const how = "git x failed (exit code 128): ";
  assert.equal(
    message(`fatal: Unable to create '${file}': File exists.\n\n${more}`),
    `${how}fatal: Unable to create '${file}': File exists. ${advice}`,
  );
  const ref = `fatal: cannot lock ref 'refs/heads/t': Unable to create '${file}': File exists.`;
  assert.equal(message(`Updating 1..2\n${ref}\n\n${more}`), `${how}${ref} ${advice}`);
  assert.equal(
    message(more),
    `${how}Another git process seems to be running in this repository. ${advice.replace(file, "the lock file")}`,
  );
});

test("where a prune has removed the objects that git just writes, git runs once more", async (t) => {
  const { root, repository } = await makeRepository(t, { untouched: false });
  // The first time it removes what `git gc --prune=now` does.
  const filter = "[ -e .git/pruned ] || rm -rf .git/objects/tmp_objdir-*; touch .git/pruned; cat";
  git(root, "config", "filter.prune.clean", filter);
  write(root, { ".gitattributes": "*.x filter=prune\n", "one.x": "1\n", "two.x": "2\n" });
  await repository.change(["add", "--all"]);
  assert.match(git(root, "diff", "--cached", "--name-only"), /one\.x\ntwo\.x/);
  const list = path.join(root, ".git", "list");
  fs.writeFileSync(list, "three.x\n");
  const first = await repository.git.run(["hash-object", "--stdin"], {
    cwd: root,
    inputFile: list,
  });
  const next = await repository.git.run(["hash-object", "--stdin"], { cwd: root, inputFile: list });
  assert.equal(first.stdout, next.stdout);
});

test("programs that git runs count characters and not bytes", posix, async (t) => {
  const { root, repository } = await makeRepository(t);
  const settings = ["alias.count=!printf ж | wc -m"];
  const { stdout } = await repository.query(["count"], { settings, cwd: root });
  assert.equal(stdout.trim(), "1");
});
