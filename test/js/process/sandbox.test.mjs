// What a program in the sandbox can do and cannot, by the kernel's word.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import {
  formatBwrapArguments,
  redirectCaches,
  wrapInSandbox,
} from "../../../js/process/sandbox.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {import("node:test").TestContext} t */
function makePlace(t) {
  const root = fs.realpathSync(temporaryFolder(t));
  const [checkout, cwd] = [path.join(root, "repo"), path.join(root, "repo", ".worktrees", "one")];
  const common = path.join(checkout, ".git");
  const admin = path.join(common, "worktrees", "one");
  const own = path.join(common, "tap", "nodes", "one");
  const folders = ["objects", "admin", "tmp"].map((name) => path.join(own, name));
  for (const one of [cwd, admin, path.join(common, "objects"), ...folders])
    fs.mkdirSync(one, { recursive: true });
  fs.writeFileSync(path.join(checkout, "mine.txt"), "mine\n");
  fs.writeFileSync(path.join(cwd, ".git"), `gitdir: ${admin}\n`);
  /** @type {import("../../../js/process/sandbox.mjs").Policy} */
  const policy = {
    cwd,
    repository: { checkout, common, admin, own },
    ...{ writable: [], readable: [], caches: [], hosts: [], sandbox: "on" },
  };
  return { root, checkout, common, own, admin, cwd, policy };
}

/** @param {import("../../../js/process/sandbox.mjs").Policy} policy @param {string} command */
const runInside = (policy, command) =>
  spawnSync("bwrap", [...formatBwrapArguments(policy), "--", "sh", "-c", command], {
    encoding: "utf8",
  });

test("a program writes its worktree, its temporary folder and what the policy names", (t) => {
  const { root, cwd, own, policy } = makePlace(t);
  const extra = path.join(root, "extra");
  fs.mkdirSync(extra);
  const command = `echo a > a && echo b > /tmp/b && echo c > '${extra}/c'`;
  const { status, stderr } = runInside({ ...policy, writable: [extra] }, command);
  assert.equal(status, 0, stderr);
  const made = [path.join(cwd, "a"), path.join(own, "tmp", "b"), path.join(extra, "c")];
  assert.deepEqual(made.map(fs.existsSync), [true, true, true]);
});

test("every write elsewhere fails, also in folders that are empty inside", (t) => {
  const { root, checkout, common, policy } = makePlace(t);
  const places = [
    ...[root, checkout, common, path.dirname(policy.cwd), path.join(common, "tap")],
    ...[path.join(common, "worktrees"), os.homedir(), "/", "/usr", "/etc", "/run", "/var/tmp"],
    ...["/dev", "/proc/sys/kernel"],
  ];
  for (const place of places) {
    const { status } = runInside(policy, `echo x > '${place}/tap-test'`);
    assert.notEqual(status, 0, place);
    assert.equal(fs.existsSync(path.join(place, "tap-test")), false, place);
  }
  const { status } = runInside(policy, "cat /proc/sys/kernel/panic > /proc/sys/kernel/panic");
  assert.notEqual(status, 0, "a setting of the kernel");
  const link = runInside(policy, "rm -f .git; echo gone > .git");
  assert.notEqual(link.status, 0);
});

test("git's shared folders show the private ones, and the shared objects are read-only", (t) => {
  const { common, own, admin, policy } = makePlace(t);
  fs.writeFileSync(path.join(common, "objects", "shared"), "");
  const command = `echo x > '${common}/objects/mine' && echo y > '${admin}/HEAD' && ls '${common}/tap'`;
  const { status, stdout } = runInside(policy, command);
  assert.deepEqual([status, stdout], [0, "shared\n"]);
  assert.equal(fs.existsSync(path.join(own, "objects", "mine")), true);
  assert.equal(fs.existsSync(path.join(common, "objects", "mine")), false);
  assert.equal(fs.existsSync(path.join(admin, "HEAD")), false);
});

test("without a store of its own a node reads git's folders and writes none of them", (t) => {
  const { checkout, common, admin, policy } = makePlace(t);
  const without = { ...policy, repository: { checkout, common, admin } };
  assert.equal(runInside(without, `ls '${common}/objects' '${admin}'`).status, 0);
  for (const place of [common, `${common}/objects`, admin])
    assert.notEqual(runInside(without, `echo x > '${place}/x'`).status, 0, place);
});

test("a cache that is not granted is in a folder that is writable", (t) => {
  const { policy } = makePlace(t);
  const all = redirectCaches(policy, "/tmp");
  assert.deepEqual([all.npm_config_cache, all.GOCACHE], ["/tmp/npm", "/tmp/go-build"]);
  const some = redirectCaches({ ...policy, caches: ["npm"] }, "/tmp");
  assert.deepEqual([some.npm_config_cache, some.GOCACHE], [undefined, "/tmp/go-build"]);
});

test("a cache that is granted is made where the user has none yet", (t) => {
  const { root, policy } = makePlace(t);
  const home = path.join(root, "home");
  fs.mkdirSync(home);
  fs.writeFileSync(path.join(home, ".cargo"), "a file: there can be no cache");
  const command = 'echo x > "$HOME/.npm/x" && test ! -e "$HOME/.cargo/registry"';
  const granted = { ...policy, caches: ["npm", "cargo"] };
  const wrapped = wrapInSandbox(granted, {
    ...{ command: "sh", args: ["-c", command] },
    env: { HOME: home, PATH: process.env.PATH },
  });
  const { status, stderr } = spawnSync(wrapped.command, wrapped.args, { ...wrapped });
  assert.equal(status, 0, String(stderr));
  assert.equal(fs.readFileSync(path.join(home, ".npm", "x"), "utf8"), "x\n");
});

test("a program that makes settings finds a place for them, with git's settings and without its passwords", (t) => {
  const { root, policy } = makePlace(t);
  const home = path.join(root, "home");
  fs.mkdirSync(path.join(home, ".config", "git"), { recursive: true });
  fs.writeFileSync(path.join(home, ".config", "git", "config"), "[user]\n\tname = Ada\n");
  fs.writeFileSync(path.join(home, ".config", "git", "credentials"), "https://ada:key@host.test\n");
  const wrapped = wrapInSandbox(policy, {
    command: "sh",
    args: [
      "-c",
      'cd /tmp && mkdir "$XDG_CONFIG_HOME/x" && git config user.name; echo > ~/.config/x || echo no; cat ~/.config/git/credentials "$XDG_CONFIG_HOME/git/credentials"',
    ],
    env: { HOME: home, PATH: process.env.PATH },
  });
  const { command, args, env } = wrapped;
  const { stdout } = spawnSync(command, args, { env, encoding: "utf8" });
  assert.deepEqual(stdout, "Ada\nno\n");
});

test("a program that npm has installed in the home runs", (t) => {
  const { root, policy } = makePlace(t);
  const home = path.join(root, "home");
  const [bin, tool] = ["bin", "lib/node_modules/tool"].map((one) => path.join(home, ".npm", one));
  for (const folder of [bin, tool]) fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(tool, "index.sh"), "#!/bin/sh\necho runs\n", { mode: 0o755 });
  fs.symlinkSync("../lib/node_modules/tool/index.sh", path.join(bin, "tool"));
  const { command, args, env } = wrapInSandbox(policy, {
    ...{ command: "tool", args: [], env: { HOME: home, PATH: `${bin}:${process.env.PATH}` } },
  });
  const { stdout, stderr } = spawnSync(command, args, { env, encoding: "utf8" });
  assert.equal(stdout, "runs\n", stderr);
});

test("a link that a program leaves in /tmp, or in a folder of its own, leads no later mount out", (t) => {
  const { root, policy } = makePlace(t);
  const [home, outside] = ["home", "outside"].map((name) => path.join(root, name));
  const settings = path.join(home, ".config");
  fs.mkdirSync(path.join(settings, "git"), { recursive: true });
  fs.writeFileSync(path.join(settings, "git", "config"), "[user]\n\tname = Ada\n");
  fs.mkdirSync(outside);
  const run = (/** @type {string} */ script) => {
    const inside = { ...policy, writable: [settings] };
    const { command, args, env } = wrapInSandbox(inside, {
      ...{ command: "sh", args: ["-c", script], env: { HOME: home, PATH: process.env.PATH } },
    });
    return spawnSync(command, args, { env, encoding: "utf8" });
  };
  for (const place of ["/tmp/.config", "/tmp/.config/git", "$HOME/.config/git"]) {
    run(`mv ${place} /tmp/moved && ln -s /oldroot${outside} ${place}`);
    assert.equal(run("cd /tmp && git config user.name").stdout, "Ada\n", place);
    assert.deepEqual(fs.readdirSync(outside), [], place);
  }
  assert.deepEqual(fs.readdirSync(settings), ["git"]);
});

test("a folder that was named is not entered where a link has taken its place", (t) => {
  const { root, policy } = makePlace(t);
  const [outside, named, other] = ["outside", "a b\tc\\d", "e"].map((name) =>
    path.join(root, name),
  );
  for (const folder of [outside, named, other]) fs.mkdirSync(folder);
  const run = () => {
    const inside = { ...policy, writable: [named], readable: [other], named: [named, other] };
    const { command, args, env } = wrapInSandbox(inside, {
      ...{ command: "touch", args: [path.join(named, "x")], env: { PATH: process.env.PATH } },
    });
    return spawnSync(command, args, { env, encoding: "utf8" });
  };
  assert.equal(run().status, 0);
  assert.deepEqual(fs.readdirSync(named), ["x"]);
  for (const folder of [other, named]) {
    fs.rmSync(folder, { recursive: true });
    fs.symlinkSync(outside, folder);
    assert.equal(run().status, 126);
    fs.rmSync(folder);
    fs.mkdirSync(folder);
    assert.equal(run().status, 0, "it was made again");
  }
  assert.deepEqual(fs.readdirSync(outside), []);
});

test("no capability, no process of the host and no network are inside", (t) => {
  const { policy } = makePlace(t);
  const command = `grep CapEff /proc/self/status; kill -0 ${process.pid} 2> /dev/null || echo none; cat /proc/net/dev | grep -c :`;
  const { stdout } = runInside(policy, command);
  assert.deepEqual(stdout.trim().split("\n"), ["CapEff:\t0000000000000000", "none", "1"]);
});

/** Adds a key to a new keyring of the session, and goes on as another program; or looks for that key. */
const KEYS = `import ctypes, os, platform, sys
add, control = (217, 219) if platform.machine() == "aarch64" else (248, 250)
call = ctypes.CDLL(None).syscall
if len(sys.argv) > 1:
  call(control, 1, None)
  call(add, b"user", b"tap-test", b"secret", 6, -3)
  os.execvp(sys.argv[1], sys.argv[1:])
print("key" if call(control, 10, -3, b"user", b"tap-test", 0) > 0 else "none")`;

test("no key of the user's session is inside, and no file that this process was given", (t) => {
  const { policy, root } = makePlace(t);
  const [keys, open] = ["keys.py", "open"].map((name) => path.join(root, name));
  fs.writeFileSync(keys, KEYS);
  const module = new URL("../../../js/process/sandbox.mjs", import.meta.url).href;
  const inside = { ...policy, readable: [keys] };
  const script = `const { wrapInSandbox } = await import(${JSON.stringify(module)});
const { spawnSync } = await import("node:child_process");
const command = "/usr/bin/python3 ${keys}; ls /proc/self/fd | grep -x 30 || echo closed";
const asked = { command: "sh", args: ["-c", command], env: { PATH: process.env.PATH } };
const { command: file, args, env } = wrapInSandbox(${JSON.stringify(inside)}, asked);
process.stdout.write(spawnSync(file, args, { env, encoding: "utf8" }).stdout);`;
  const given = fs.openSync(open, "w");
  const run = [keys, process.execPath, "--input-type=module", "-e", script];
  const { stdout, stderr } = spawnSync("/usr/bin/python3", run, {
    stdio: ["ignore", "pipe", "pipe", ...Array.from({ length: 27 }, () => "ignore"), given],
    encoding: "utf8",
  });
  fs.closeSync(given);
  assert.equal(stdout, "none\nclosed\n", stderr);
});

test("what a command has started ends with it", async (t) => {
  const { cwd, policy } = makePlace(t);
  const command =
    "(while :; do date > beat; sleep 0.05; done) > /dev/null 2>&1 & until [ -e beat ]; do sleep 0.05; done";
  assert.equal(runInside(policy, command).status, 0);
  const beat = () => fs.statSync(path.join(cwd, "beat")).mtimeMs;
  const then = beat();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(beat(), then);
});
