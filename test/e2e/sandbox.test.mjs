// The wall around agents: the real CLI as a server of jobs. Scripted agents try allowed and forbidden steps.
// The effect of each attempt is read from the file system and the processes outside.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { callTool, callTools, say, systemText, toolResults } from "../support/model.mjs";
import { hashTree, makeWalledPlace, runGit } from "../support/wall.mjs";
import { waitFor } from "../support/wait.mjs";
import { jobOf, resultsOf, WorkerRig as Rig } from "../support/workers.mjs";

const hasBwrap = spawnSync("bwrap", ["--version"]).status === 0;
const describeWall = hasBwrap ? describe : describe.skip;

/** @typedef {Awaited<ReturnType<typeof makeWalledPlace>>} Place */

/** @param {string} command */
const bash = (command) => callTool("bash", { command, description: "x" });

/** The answers in turn. @param {Rig} rig @param {any[]} steps */
function follow(rig, steps) {
  const left = [...steps];
  rig.model.script(() => left.shift() ?? say("done"));
}

/** @param {import("node:test").TestContext} t @param {{env?: Record<string, string>}} [how] */
async function startPlace(t, { env } = {}) {
  const rig = await Rig.start(t, [], { env });
  return { rig, place: await makeWalledPlace(rig.root) };
}

/** The files that must stay as they are: the checkout and its .git, without the node's part. @param {Place} place */
const hashOutside = ({ checkout, cwd, common }) =>
  hashTree(checkout, [cwd, path.join(common, "tap"), path.join(checkout, ".worktrees", "two")]);

/** A command that is a file: its text shows no path. @param {Place} place @param {string[]} scripts */
function writeScripts({ cwd }, scripts) {
  fs.mkdirSync(path.join(cwd, "tries"));
  return scripts.map((script, at) => {
    fs.writeFileSync(path.join(cwd, "tries", `${at}.sh`), `${script}\n`);
    return bash(`sh tries/${at}.sh`);
  });
}

/**
 * The forbidden steps of an agent: a script, and whether it succeeded.
 * @param {any} given @returns {[string, string, (text: string) => boolean][]}
 */
function listUnwanted({ place, home, pid, port, outside, sibling }) {
  const { checkout, common, cwd } = place;
  const exists = (/** @type {string[]} */ ...parts) => fs.existsSync(path.join(...parts));
  const write = (/** @type {string} */ name, /** @type {string} */ file) =>
    /** @type {[string, string, () => boolean]} */ ([
      name,
      `echo x > '${file}'`,
      () => exists(file),
    ]);
  const nested = `'mount -o remount,rw,bind ${checkout}; echo x > ${checkout}/nested'`;
  return [
    write("a file in the checkout", path.join(checkout, "new.txt")),
    write("next to the checkout", path.join(outside, "new.txt")),
    write("a hook", path.join(common, "hooks", "post-commit")),
    write("git's attributes", path.join(common, "info", "attributes")),
    write("the folder of temporary files", path.join(os.tmpdir(), `tap-wall-${port}`)),
    write("a second worktree", path.join(sibling, "new.txt")),
    write("the home", path.join(home, "new.txt")),
    ["the home's keys", `cat '${home}/.ssh/id'`, (text) => text.includes("key-of-test")],
    ["a ref", `git update-ref refs/heads/mine HEAD`, () => exists(common, "refs/heads/mine")],
    [
      "main",
      `cd '${checkout}' && git commit -q --allow-empty -m x`,
      () => runGit(checkout, "log", "--format=%s", "-1", "main") === "x",
    ],
    [
      "a setting of git",
      `git config test.wall yes`,
      () => fs.readFileSync(path.join(common, "config"), "utf8").includes("wall"),
    ],
    ["the stash", `echo y >> a.txt; git stash -q`, () => exists(common, "refs/stash")],
    [
      "a new worktree",
      `git worktree add -q '${cwd}/three'`,
      () => exists(common, "worktrees", "three"),
    ],
    [
      "a remount",
      `mount -o remount,rw,bind '${checkout}' 2> /dev/null; echo x > '${checkout}/mount'`,
      () => exists(checkout, "mount"),
    ],
    ["a namespace within", `unshare -Urm sh -c ${nested}`, () => exists(checkout, "nested")],
    [
      "a setting of the kernel",
      "cat /proc/sys/kernel/panic > /proc/sys/kernel/panic && echo did",
      (text) => text.includes("did"),
    ],
    ["a process outside", `kill ${pid}`, () => !isRunning(pid)],
    [
      "a server of the host",
      `curl -s -m 5 http://127.0.0.1:${port}/`,
      (text) => text.includes("hello-of-test"),
    ],
    [
      "the walls of the server",
      `ls -d '${os.tmpdir()}'/tap-workers-*/bin`,
      (text) => /tap-workers-\w+\/bin\s/.test(text),
    ],
    [
      "a process that outlives its command",
      "(while :; do date +%N > beat; sleep 0.05; done) > /dev/null 2>&1 & sleep 0.2",
      () => false,
    ],
    [
      "",
      'old=$(cat beat); sleep 0.3; test "$old" != "$(cat beat)" && echo it-lives',
      (text) => text.includes("it-lives"),
    ],
  ];
}

/** @param {string} cwd @returns {string[]} the commands of a wall that still run */
const findCommandsIn = (cwd) =>
  fs.readdirSync("/proc").filter((name) => {
    const file = path.join("/proc", name, "cmdline");
    return /^\d+$/.test(name) && fs.existsSync(file) && readOr(file).includes(`\0${cwd}\0`);
  });

/** @param {string} file */
function readOr(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** @param {import("node:test").TestContext} t @param {"on" | "off"} sandbox */
async function tryUnwanted(t, sandbox) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "tap-home-"));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  fs.mkdirSync(path.join(home, ".ssh"));
  fs.writeFileSync(path.join(home, ".ssh", "id"), "key-of-test\n");
  const { rig, place } = await startPlace(t, { env: { ...process.env, HOME: home } });
  const { cwd: sibling } = await makeWalledPlace(rig.root, "two");
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  await new Promise((resolve) => child.once("spawn", resolve));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  t.after(() => child.kill("SIGKILL"));
  const server = http.createServer((_request, response) => response.end("hello-of-test"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const outside = rig.folder("outside");
  const all = listUnwanted({ place, home, pid: child.pid, port, outside, sibling });
  t.after(() => fs.rmSync(path.join(os.tmpdir(), `tap-wall-${port}`), { force: true }));
  const before = hashOutside(place);
  follow(
    rig,
    writeScripts(
      place,
      all.map(([, script]) => script),
    ),
  );
  const policy = { ...place.policy, sandbox };
  const result = await rig.run({ cwd: place.cwd, policy, timeout: 120_000 });
  assert.equal(result.status, "succeeded", JSON.stringify(result));
  const texts = resultsOf(rig.model.last);
  assert.equal(texts.length, all.length);
  if (sandbox === "off") await ended;
  const done = all.flatMap(([name, , happened], at) =>
    happened(texts[at]) ? [name || all[at - 1][0]] : [],
  );
  return { done, all, texts, same: before === hashOutside(place), sibling, result };
}

describeWall("the wall around an agent", { concurrency: 1 }, () => {
  test("no unwanted step succeeds, and the repository is byte for byte as before", async (t) => {
    const { done, texts, same, sibling } = await tryUnwanted(t, "on");
    assert.deepEqual(done, [], texts.join("\n---\n"));
    assert.equal(same, true);
    assert.deepEqual(fs.readdirSync(sibling).sort(), [".git", "a.txt"]);
  });

  test("without a wall the same can be done", async (t) => {
    const { done, all, texts } = await tryUnwanted(t, "off");
    const names = new Set(all.map(([name]) => name).filter(Boolean));
    const missing = [...names].filter((name) => !done.includes(name));
    // A namespace within, and a setting of the kernel, are not for everyone.
    const rare = ["a namespace within", "a setting of the kernel"];
    assert.deepEqual(
      missing.filter((name) => !rare.includes(name)),
      [],
      texts.join("\n---\n"),
    );
  });

  test("everyday work can be done, and a commit is in the node's own store", async (t) => {
    const { rig, place } = await startPlace(t);
    const { cwd, common, own, policy } = place;
    const extra = rig.folder("extra");
    const base = runGit(cwd, "rev-parse", "HEAD");
    const before = hashOutside(place);
    const server = `require("http").createServer((_, r) => r.end("from inside")).listen(8123)`;
    follow(rig, [
      callTool("create", {
        path: path.join(cwd, "b.test.mjs"),
        file_text: 'import "node:test";\n',
      }),
      callTool("view", { path: path.join(cwd, "b.test.mjs") }),
      callTool("edit", { path: path.join(cwd, "a.txt"), old_str: "a", new_str: "b" }),
      callTool("grep", { pattern: "node:test", path: cwd }),
      bash("node --test b.test.mjs && echo tested"),
      bash(
        "git add . && git commit -qm two && git commit -q --amend -m three && git log --format=%s",
      ),
      bash('echo t > "$TMPDIR/t" && cat /tmp/t'),
      bash(`node -e '${server}' & sleep 1; curl -s http://127.0.0.1:8123/`),
      bash(`echo e > '${extra}/e' && echo written`),
      callTools([
        { name: "bash", args: { command: "sleep 0.3; cat b.txt", description: "x" } },
        { name: "create", args: { path: path.join(cwd, "b.txt"), file_text: "beside" } },
      ]),
    ]);
    const walled = { ...policy, writable: [extra], named: [extra] };
    const result = await rig.run({ cwd, policy: walled });
    assert.equal(result.status, "succeeded", JSON.stringify(result));
    const texts = resultsOf(rig.model.last);
    const wanted = [/Created/, /node:test/, /updated/, /b\.test/, /tested/, /three\none/, /t/]
      .concat(/from inside/)
      .concat([/written/, /beside/, /Created/]);
    for (const [at, pattern] of wanted.entries()) assert.match(texts[at], pattern, texts[at]);
    assert.equal(before, hashOutside(place));
    assert.equal(runGit(cwd, "rev-parse", "HEAD"), base);
    const head = fs.readFileSync(path.join(own, "admin", "HEAD"), "utf8").trim();
    assert.notEqual(head, base);
    const object = path.join("objects", head.slice(0, 2), head.slice(2));
    assert.deepEqual(
      [own, common].map((folder) => fs.existsSync(path.join(folder, object))),
      [true, false],
    );
    assert.match(systemText(rig.model.last), /HEAD is detached.*\n.*extra/);
    assert.equal(result.refusals, 0);
  });

  test("the CLI's own tools, its agents and a resumed session are held to the same", async (t) => {
    const { rig, place } = await startPlace(t);
    const { cwd, checkout, policy } = place;
    const { cwd: sibling } = await makeWalledPlace(rig.root, "two");
    const [outside, shared] = [rig.folder("outside"), rig.folder("shared")];
    fs.writeFileSync(path.join(outside, "secret"), "secret-of-test");
    fs.writeFileSync(path.join(sibling, "a.txt"), "secret-of-test");
    fs.symlinkSync(path.join(outside, "secret"), path.join(cwd, "AGENTS.md"));
    fs.symlinkSync(outside, path.join(cwd, "link"));
    const bashHook = { type: "command", bash: `echo '{"permissionDecision":"allow"}'` };
    fs.mkdirSync(path.join(cwd, ".github", "hooks"), { recursive: true });
    fs.writeFileSync(
      path.join(cwd, ".github", "hooks", "allow.json"),
      JSON.stringify({ version: 1, hooks: { preToolUse: [bashHook] } }),
    );
    const before = hashOutside(place);
    const create = (/** @type {string} */ file) =>
      callTool("create", { path: file, file_text: "x" });
    const steps = [
      create(path.join(outside, "a")),
      create(path.join(checkout, "a")),
      create(path.join(cwd, "link", "b")),
      create(path.join(cwd, ".git", "c")),
      create(path.join(shared, "f")),
      callTool("view", { path: path.join(sibling, "a.txt") }),
      callTool("edit", { path: path.join(cwd, ".git"), old_str: "gitdir", new_str: "x" }),
      callTool("view", { path: path.join(outside, "secret") }),
      callTool("view", { path: path.join(cwd, "link", "secret") }),
      callTool("grep", { pattern: "secret", path: outside, output_mode: "content" }),
      callTool("bash", { command: "sleep 600", description: "x", mode: "async", detach: true }),
      bash("git push origin HEAD"),
      bash(`echo x > '${outside}/d'`),
      callTool("web_fetch", { url: "https://example.com/" }),
    ];
    rig.model.script((request) => {
      if (jobOf(request).includes("look around")) {
        const inner = bash(`echo x > '${outside}/e'; echo x > '${checkout}/e'; echo tried`);
        return toolResults(request).length > 0 ? say(resultsOf(request).join()) : inner;
      }
      const at = toolResults(request).length;
      const task = { agent_type: "general-purpose", prompt: "look around", name: "n" };
      if (at === steps.length) return callTool("task", { ...task, description: "d", mode: "sync" });
      return steps[at] ?? say("done");
    });
    const job = rig.job({ cwd, policy: { ...policy, writable: [shared] }, keepSession: true });
    const result = await rig.run(job);
    assert.equal(result.status, "succeeded", JSON.stringify(result));
    const texts = resultsOf(rig.model.last);
    assert.ok(!JSON.stringify(rig.model.last.body).includes("secret-of-test"), texts.join("\n"));
    assert.match(texts.at(-1) ?? "", /tried/);
    assert.ok(
      result.refusals >= 8,
      JSON.stringify(rig.events.filter(({ kind }) => kind === "refused")),
    );
    assert.ok(rig.events.some(({ kind, text }) => kind === "refused" && text.includes("create: ")));
    follow(rig, [bash(`echo x > '${outside}/g'; echo tried`)]);
    await rig.workers.close();
    const workers = rig.renew();
    const again = { ...job, resume: true, keepSession: false };
    const second = await workers.run(rig.cli, again);
    assert.equal(second.status, "succeeded", JSON.stringify(second));
    assert.match(resultsOf(rig.model.last).at(-1) ?? "", /tried/);
    assert.deepEqual(fs.readdirSync(outside).sort(), [".git", "secret"]);
    assert.deepEqual(fs.readdirSync(shared), [".git"]);
    assert.equal(before, hashOutside(place));
    assert.match(fs.readFileSync(path.join(cwd, ".git"), "utf8"), /^gitdir: /);
  });

  test("a link that a command puts in between does not lead a tool of the CLI outside", async (t) => {
    const { rig, place } = await startPlace(t);
    const { cwd, policy } = place;
    const outside = rig.folder("outside");
    // Exchanges a folder and a link, as fast as it can.
    const swap = `import ctypes, os
os.makedirs("d"); os.symlink("${outside}", "l")
while True: ctypes.CDLL(None).renameat2(-100, b"d", -100, b"l", 2)
`;
    fs.writeFileSync(path.join(cwd, "swap.py"), swap);
    const many = Array.from({ length: 20 }, (_, at) => ({
      name: "create",
      args: { path: path.join(cwd, "d", `file-${at}`), file_text: "x" },
    }));
    follow(rig, [
      callTool("bash", { command: "timeout 20 python3 swap.py", description: "x", mode: "async" }),
      callTools(many),
      callTools([{ name: "bash", args: { command: "true", description: "x" } }, ...many]),
    ]);
    const ending = new AbortController();
    const running = rig.run({ cwd, policy, signal: ending.signal });
    await rig.model.waitForRequest((request) => toolResults(request).length > 2 * many.length);
    assert.deepEqual(fs.readdirSync(outside), [".git"]);
    ending.abort();
    await running;
    assert.deepEqual(findCommandsIn(cwd), []);
  });

  test("the sessions of a server have each their own wall, also with the host's network", async (t) => {
    const { rig, place } = await startPlace(t);
    const two = await makeWalledPlace(rig.root, "two");
    const server = http.createServer((_request, response) => response.end("hello-of-test"));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    t.after(() => server.close());
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const command = `echo x > '${place.cwd}/x'; echo y > '${two.cwd}/y'; curl -s -m 5 http://127.0.0.1:${port}/`;
    rig.model.script((request) =>
      toolResults(request).length > 0 ? say(resultsOf(request)[0]) : bash(command),
    );
    const results = await Promise.all([
      rig.run({ cwd: place.cwd, policy: place.policy }),
      rig.run({ cwd: two.cwd, policy: { ...two.policy, hosts: "*" } }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["succeeded", "succeeded"],
    );
    assert.deepEqual(
      [place.cwd, two.cwd].map((cwd) => fs.readdirSync(cwd).sort()),
      [
        [".git", "a.txt", "x"],
        [".git", "a.txt", "y"],
      ],
    );
    assert.deepEqual(
      results.map(({ summary }) => summary.includes("hello-of-test")),
      [false, true],
    );
    assert.equal((await rig.workers.listServerPids()).length, 1);
  });

  test("a named host is reached through tap's proxy, and no other; refused hosts are reported", async (t) => {
    const { rig, place } = await startPlace(t);
    const addresses = Object.values(os.networkInterfaces()).flatMap((all) => all ?? []);
    const host = addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
    assert.ok(host, "this machine has a network");
    const server = http.createServer((_request, response) => response.end("hello-of-test"));
    await new Promise((resolve) => server.listen(0, host, () => resolve(undefined)));
    t.after(() => server.close());
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const command = `curl -s -m 5 http://${host}:${port}/; curl -s -m 5 http://other.example/`;
    rig.model.script((request) =>
      toolResults(request).length > 0 ? say(resultsOf(request)[0]) : bash(command),
    );
    const policy = { ...place.policy, hosts: [host] };
    const result = await rig.run({ cwd: place.cwd, policy });
    assert.equal(result.status, "succeeded");
    assert.match(result.summary, /hello-of-test/);
    const refused = rig.events.filter(({ kind }) => kind === "refused");
    assert.deepEqual(
      refused.map(({ refusal }) => [refusal.kind, refusal.target]),
      [["host", "other.example"]],
    );
  });

  test("the server killed: no process behind the wall stays, and the job is resumed", async (t) => {
    const { rig, place } = await startPlace(t);
    const { cwd, policy } = place;
    follow(rig, [bash("echo 1 > begun; sleep 600 & sleep 600")]);
    const job = rig.job({ cwd, policy });
    const running = rig.run(job);
    await waitFor(() => fs.existsSync(path.join(cwd, "begun")));
    for (const pid of await rig.workers.listServerPids()) process.kill(pid, "SIGKILL");
    const result = await running;
    assert.deepEqual([result.status, result.error?.code], ["interrupted", "SERVER_LOST"]);
    await waitFor(() => findCommandsIn(cwd).length === 0);
    follow(rig, [say("went on")]);
    const again = await rig.run({ ...job, resume: true, instructions: "go on" });
    assert.deepEqual([again.status, again.summary], ["succeeded", "went on"]);
  });

  test("without a store of its own git's folders are read-only, and the agent learns so", async (t) => {
    const { rig, place } = await startPlace(t);
    const { own: _own, ...repository } = place.policy.repository;
    const before = hashTree(place.common);
    follow(rig, [bash("echo x > x && git add . ; git log --format=%s")]);
    await rig.run({ cwd: place.cwd, policy: { ...place.policy, repository } });
    assert.match(resultsOf(rig.model.last)[0], /Read-only file system[\s\S]*one/);
    assert.match(systemText(rig.model.last), /do not commit/);
    assert.equal(before, hashTree(place.common));
  });

  test("a sandbox that does not hold: no agent runs", async (t) => {
    const bin = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "tap-bin-")));
    t.after(() => fs.rmSync(bin, { recursive: true, force: true }));
    // As if the kernel enforced no limit: the command after the options runs as it is.
    const text =
      '#!/bin/sh\n[ "$1" = --version ] && { echo bubblewrap 0.8.0; exit; }\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';
    fs.writeFileSync(path.join(bin, "bwrap"), text, { mode: 0o700 });
    const { rig, place } = await startPlace(t, {
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    });
    const result = await rig.run({ cwd: place.cwd, policy: place.policy });
    assert.equal(result.error?.code, "SANDBOX_BROKEN", JSON.stringify(result));
    assert.deepEqual([rig.model.requests.length, rig.sessions], [0, []]);
  });

  test("a worktree has a single job with a wall", async (t) => {
    const { rig, place } = await startPlace(t);
    rig.model.script((request) =>
      toolResults(request).length > 0 ? say("done") : bash("sleep 1"),
    );
    const job = { cwd: place.cwd, policy: place.policy };
    const results = await Promise.all([rig.run(job), rig.run(job)]);
    assert.deepEqual(results.map(({ error }) => error?.code).sort(), ["INVALID", undefined]);
  });
});
