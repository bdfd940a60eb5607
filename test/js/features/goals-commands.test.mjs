// Commands of the CLI's own shell as evidence: their exit codes, the tree on which they ran, and what makes them stale.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { inspectTree } from "../../../js/feature-host/workspace.mjs";
import { indexFacts, judgeClaim } from "../../../js/features/goals/claims.mjs";
import { CommandWatch, ShellCommands } from "../../../js/features/goals/commands.mjs";
import { staleReason } from "../../../js/features/goals/facts.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { goals } from "./goals-rig.mjs";

const SECRET = `ghp_${"0123456789abcdefghijABCDEFGHIJ012345"}`;
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

/** The end of a command as the CLI tells it. */
const ended = (command, exitCode, output = "", shellId = "0") => ({
  tool: "bash",
  args: { command },
  result: {
    type: "success",
    output: `${output}\n<shellId: ${shellId} completed with exit code ${exitCode}>`,
  },
  ...(exitCode !== undefined && { exitCode }),
  durationMs: 1,
});

describe("a command that has ended", () => {
  test("is read with its exit code and its output, without the CLI's last line", () => {
    const commands = new ShellCommands();
    assert.deepEqual(commands.read(ended("npm  test\n", 3, "1 failed")), {
      ...{ command: "npm test", exitCode: 3, failed: false, output: "1 failed", cut: false },
    });
    assert.equal(commands.read(ended("x", -1)).exitCode, -1);
    const cut = "Output too large to read at once (9.5 MB). Saved to: /tmp/x";
    assert.equal(commands.read(ended("x", 0, cut)).cut, true);
  });

  test("has no known exit code where the CLI says none, or none that can be", () => {
    for (const code of [undefined, 2 ** 40, -(2 ** 40), 0.5, "0", null]) {
      const run = new ShellCommands().read({ ...ended("x", 0), exitCode: code });
      assert.ok(run && !("exitCode" in run), String(code));
    }
    const bare = new ShellCommands().read({ tool: "bash", args: { command: "x" } });
    assert.deepEqual(bare, { command: "x", failed: false, output: "", cut: false });
  });

  test("may not have run where the tool has failed without an exit code", () => {
    const denied = { type: "failure", output: "Permission to run this tool was denied" };
    const given = { tool: "bash", args: { command: "x" }, result: denied };
    assert.equal(new ShellCommands().read(given).failed, true);
    assert.equal(new ShellCommands().read({ ...given, exitCode: 1 }).failed, false);
  });

  test("is one of the CLI's shell, and of no provider or other tool", () => {
    const commands = new ShellCommands();
    assert.equal(commands.read({ ...ended("x", 0), provider: "ci" }), undefined);
    assert.equal(commands.read({ ...ended("x", 0), tool: "grep" }), undefined);
    assert.equal(commands.read({ tool: "bash", args: null }), undefined);
    assert.equal(commands.read({ tool: "bash", args: { command: 7 } }), undefined);
  });

  test("in the background has the exit code that is read later, and once", () => {
    const commands = new ShellCommands();
    const start = (command, shellId) => ({
      ...{ tool: "bash", args: { command } },
      result: { output: `<command started in background with shellId: ${shellId}>` },
    });
    assert.ok(!("exitCode" in commands.read(start("npm test", "s1"))));
    commands.read(start("npm run lint", "s2"));
    const look = { tool: "read_bash", args: { shellId: "s1" }, result: { output: "…" } };
    assert.equal(commands.read(look), undefined, "it still runs");
    const read = commands.read({ ...look, exitCode: 7 });
    assert.deepEqual([read.command, read.exitCode], ["npm test", 7]);
    assert.equal(commands.read({ ...look, exitCode: 0 }), undefined);
  });

  test("has no secret in its record, and a long one is nobody's", () => {
    const { command } = new ShellCommands().read(ended(`curl -H "token: ${SECRET}" x`, 0));
    assert.ok(!command.includes(SECRET), command);
    assert.match(command, /^curl /);
    const long = new ShellCommands().read(ended("x".repeat(100_000), 0));
    assert.ok(long.command.length < 1100);
  });
});

test("a run is stale once another commit or other changes are there, or nothing is known", () => {
  const tree = { head: "a", clean: true, changes: "1" };
  const none = { code: "NOT_A_REPOSITORY" };
  assert.equal(staleReason(tree, { ...tree }), "");
  assert.equal(staleReason(none, { ...none }), "");
  const others = [
    { ...tree, head: "b" },
    { ...tree, clean: false },
    { ...tree, changes: "2" },
    none,
    { code: "TIMEOUT" },
  ];
  for (const other of others) {
    assert.match(staleReason(tree, other), /^stale: /);
    assert.match(staleReason(other, tree), /^stale: /);
  }
  assert.match(staleReason({ code: "TIMEOUT" }, { code: "TIMEOUT" }), /TIMEOUT/);
});

test("a claim about a command is held to its exit code, and to the tree", () => {
  const fact = (exitCode, stale) => ({
    ...{ record: 7, at: 1, kind: "command", names: [], commands: ["npm test"], text: "" },
    ...{ exitCode, good: exitCode === undefined || exitCode === 0, said: "the CLI's shell", stale },
  });
  const judge = (claim, ...facts) => judgeClaim(claim, indexFacts(facts)).verdict;
  assert.equal(judge("`npm test` passed", fact(0)), "supported");
  assert.equal(judge("`npm test` passed", fact(1)), "contradicted");
  assert.equal(judge("`npm test` failed", fact(1)), "supported");
  assert.equal(judge("`npm test` passed", fact(undefined)), "unsupported");
  assert.equal(judge("`npm test` passed", fact(0, "stale: x")), "unsupported");
  assert.equal(judge("I ran `npm test`", fact(0, "stale: x")), "supported");
  const failed = { ...fact(undefined), shell: { failed: true } };
  for (const claim of ["I ran `npm test`", "`npm test` failed", "I never ran `npm test`"]) {
    assert.equal(judge(claim, failed), "unsupported");
  }
  assert.equal(judge("`npm test` passed", fact(1), fact(0)), "contradicted", "the latest");
});

const git = (cwd, ...args) =>
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();

/** A repository with one commit. @param {string} folder */
function startRepository(folder) {
  git(folder, "init", "-q", "-b", "main");
  fs.writeFileSync(path.join(folder, "a.txt"), "one\n");
  git(folder, "add", ".");
  git(folder, "commit", "-q", "-m", "one");
}

describe("what is checked out", () => {
  const look = (folder, ...more) =>
    inspectTree(async () => folder, { session: "s" }, process.env, ...more);

  test("is a commit and whether something differs from it, on a branch or none", async (t) => {
    const folder = temporaryFolder(t);
    git(folder, "init", "-q");
    const unborn = await look(folder);
    assert.deepEqual([unborn.head, unborn.clean], ["", true]);
    startRepository(folder);
    const clean = await look(folder);
    assert.deepEqual([clean.head, clean.clean], [git(folder, "rev-parse", "HEAD"), true]);
    git(folder, "checkout", "-q", "--detach");
    assert.deepEqual(await look(folder), clean);
    fs.writeFileSync(path.join(folder, "a.txt"), "two and more\n");
    const dirty = await look(folder);
    assert.deepEqual([dirty.head, dirty.clean], [clean.head, false]);
    fs.writeFileSync(path.join(folder, "a.txt"), "three and even more\n");
    const more = await look(folder);
    assert.notEqual(more.changes, dirty.changes);
    fs.mkdirSync(path.join(folder, "new"));
    fs.writeFileSync(path.join(folder, "new", "b.txt"), "one");
    const added = await look(folder);
    fs.writeFileSync(path.join(folder, "new", "b.txt"), "longer");
    assert.notEqual((await look(folder)).changes, added.changes, "also in a folder that is new");
  });

  test("is not known without a repository, a folder, a session or the time for it", async (t) => {
    assert.deepEqual(await look(temporaryFolder(t)), { code: "NOT_A_REPOSITORY" });
    assert.deepEqual(await look("/no/such/folder"), { code: "NOT_A_REPOSITORY" });
    const gone = async () => {
      throw new Error("the session has ended");
    };
    assert.deepEqual(await inspectTree(gone, { session: "s" }, process.env), { code: "INTERNAL" });
    const folder = temporaryFolder(t);
    startRepository(folder);
    assert.deepEqual(await look(folder, 0), { code: "TIMEOUT" });
  });
});

describe("evidence of a command", () => {
  const COMMAND = { command: "npm test", exitCode: 0 };

  /** A session in a repository, whose CLI tells how its commands end. */
  async function setUp(t, evidence = [COMMAND]) {
    const rig = await goals(t);
    startRepository(rig.folder);
    const { session, call } = rig;
    const shell = (...end) =>
      session.send({ type: "event", event: "tool.execution_complete", data: ended(...end) });
    const id = await rig.set("tests pass", evidence);
    const first = async () => (await call("tap_goal_status")).goals[0].evidence[0];
    const runs = async () =>
      (await rig.query({ collection: "goal", where: { event: "command" } })).records;
    return { ...rig, shell, id, first, runs };
  }

  test("is the exit code of its last run, with the commit and a digest of the output", async (t) => {
    const { shell, first, call, folder, id, query } = await setUp(t);
    shell("npm test", 1, "1 failed");
    const failed = await first();
    assert.deepEqual(
      [failed.met, failed.source, failed.exitCode, failed.reason],
      [false, "recorded by tap", 1, "its exit code was 1"],
    );
    const commands = [{ command: "npm test", exitCode: 0, output: "all fine" }];
    await call("tap_verify_goal_output", { commands });
    assert.match(await call("tap_close_goal"), /stays open.*its exit code was 1/s);
    shell("npm test", 0, "12 passed");
    const { record, comment, evidence: _words, ...passed } = await first();
    assert.deepEqual(passed, {
      ...{ met: true, source: "recorded by tap", exitCode: 0 },
      ...{ head: git(folder, "rev-parse", "HEAD"), clean: true, sha256: sha256("12 passed") },
    });
    assert.ok(Number.isInteger(record));
    assert.match(comment, /^the model says: /);
    assert.match(await call("tap_close_goal"), new RegExp(`The goal ${id} is closed`));
    const { records } = await query({
      collection: "stream_entry",
      where: { stream: `goal:${id}` },
    });
    const ledger = records.map(({ body }) => body.text).join("\n");
    assert.match(ledger, /npm test: exit code 0 on [0-9a-f]{12}: as required/);
    assert.match(ledger, /npm test: exit code 1 on [0-9a-f]{12}: its exit code was 1/);
  });

  test("is stale after a change or a commit, until the command runs again", async (t) => {
    const { shell, first, call, folder } = await setUp(t);
    const isStale = async () => {
      const { met, stale = false } = await first();
      assert.equal(met, !stale);
      return stale;
    };
    const claimed = async () =>
      (await call("tap_audit_claims", { claims: ["`npm test` passed"] })).claims[0].verdict;
    shell("npm test", 0);
    assert.deepEqual([await isStale(), await claimed()], [false, "supported"]);
    fs.writeFileSync(path.join(folder, "b.txt"), "new");
    assert.deepEqual([await isStale(), await claimed()], [true, "unsupported"]);
    assert.match(await call("tap_close_goal"), /stays open.*: stale: /s);
    shell("npm test", 0);
    assert.deepEqual([await isStale(), await claimed()], [false, "supported"]);
    git(folder, "add", ".");
    git(folder, "commit", "-q", "-m", "two");
    assert.equal(await isStale(), true);
    git(folder, "checkout", "-q", "--detach");
    shell("npm test", 0);
    assert.equal(await isStale(), false);
  });

  test("is unknown without an exit code, also after a run that passed", async (t) => {
    const { shell, first, call } = await setUp(t);
    shell("npm test", 0);
    assert.equal((await first()).met, true);
    shell("npm test", undefined);
    const { met, source, exitCode } = await first();
    assert.deepEqual([met, source, exitCode], [false, "unknown", undefined]);
    const audit = await call("tap_audit_claims", { claims: ["`npm test` passed"] });
    assert.equal(audit.claims[0].verdict, "unsupported");
  });

  test("has to match its output, of which the records have a digest alone", async (t) => {
    const { shell, first, runs } = await setUp(t, [{ ...COMMAND, match: "\\d+ passed" }]);
    shell("npm test", 0, "nothing to do");
    assert.equal((await first()).reason, "the pattern does not match its output");
    const output = `12 passed ${SECRET} ${"x".repeat(10_000_000)}`;
    shell("npm test", 0, output);
    assert.deepEqual([(await first()).met, (await first()).sha256], [true, sha256(output)]);
    const kept = await runs();
    assert.equal(kept[0].body.bytes, output.length);
    assert.ok(!JSON.stringify(kept).includes("passed"));
  });

  test("is the last of several that end at once, with no secret of the others", async (t) => {
    const { shell, first, runs, session } = await setUp(t);
    session.send({ type: "update", label: "another name" });
    for (let i = 0; i < 30; i += 1) shell(i % 2 ? "npm test" : `login ${SECRET}`, i % 4 ? 0 : 1);
    shell("npm test", 5);
    assert.equal((await first()).exitCode, 5);
    const kept = await runs();
    assert.equal(kept.length, 31);
    assert.ok(!JSON.stringify(kept).includes(SECRET));
    const dense = `echo ${"\u0007目標".repeat(2000)}`;
    shell(dense, 0);
    await first();
    assert.equal((await runs()).length, 32);
  });

  test("is seen when goals end and begin at the same time", async (t) => {
    const { shell, call, folder, set } = await setUp(t, [{ file: "a.txt" }]);
    const begin = (n) => set(`goal ${n}`, [n % 2 ? COMMAND : { file: "a.txt" }]);
    const end = async () => {
      const { goals: open } = await call("tap_goal_status");
      const done = open.filter(({ missing }) => missing === 0);
      return Promise.all(done.map(({ goal }) => call("tap_close_goal", { goal })));
    };
    assert.ok(fs.existsSync(path.join(folder, "a.txt")));
    for (let n = 0; n < 3; n += 1) await Promise.all([end(), begin(2 * n)]);
    await Promise.all([end(), begin(7)]);
    shell("npm test", 3);
    const { goals: open } = await call("tap_goal_status");
    const last = open.find(({ statement }) => statement === "goal 7");
    assert.equal(last.evidence[0].exitCode, 3);
  });

  test("holds without a repository as long as there is none", async (t) => {
    const rig = await goals(t);
    await rig.set("tests pass", [COMMAND]);
    const data = ended("npm test", 0);
    rig.session.send({ type: "event", event: "tool.execution_complete", data });
    const first = async () => (await rig.call("tap_goal_status")).goals[0].evidence[0];
    const { met, head } = await first();
    assert.deepEqual([met, head], [true, undefined]);
    startRepository(rig.folder);
    assert.deepEqual([(await first()).met, (await first()).stale], [false, true]);
  });

  test("costs nothing while no goal is open: the session reports nothing, and no git runs", async (t) => {
    const rig = await goals(t);
    const wanted = () =>
      rig.session.events.findLast(({ type }) => type === "subscribe")?.events ?? [];
    const end = () => {
      const data = ended("npm test", 0);
      rig.session.send({ type: "event", event: "tool.execution_complete", data });
    };
    end();
    await rig.call("tap_audit_claims", { claims: ["`npm test` passed"] });
    assert.deepEqual([wanted(), rig.looks.trees], [[], 0]);
    const id = await rig.set("tests pass", [COMMAND]);
    assert.deepEqual(wanted(), ["tool.execution_complete"]);
    end();
    assert.match(await rig.call("tap_close_goal"), /is closed/);
    await rig.session.waitFor("subscribe", ({ events }) => events.length === 0);
    const { trees } = rig.looks;
    end();
    await rig.call("tap_goal_status");
    assert.equal(rig.looks.trees, trees, id);
  });
});

test("a session that cannot be listened to is said, and is tried again with the next need", async () => {
  const said = /** @type {string[]} */ ([]);
  const set = { session: "s", at: 1, body: { goal: "g-1", event: "set", parts: 0 } };
  const query = async ({ where }) => ({ records: where.event === "set" ? [set] : [] });
  let tries = 0;
  let closed = 0;
  const follow = async () => {
    tries += 1;
    if (tries === 1) throw new Error("the gateway is gone");
    return { close: async () => void (closed += 1) };
  };
  const services = /** @type {any} */ ({ records: { query }, sessions: { follow } });
  const watch = new CommandWatch(services, (text) => void said.push(text));
  await watch.update("s");
  assert.match(said[0], /the gateway is gone/);
  await watch.settle("s");
  await watch.settle("s");
  assert.deepEqual([tries, said.length], [2, 1]);
  await watch.stop();
  assert.equal(closed, 1);
});
