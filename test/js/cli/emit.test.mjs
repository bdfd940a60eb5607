// copilot-tap emit: emitters of the session of a folder, from a terminal.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { Running, tap } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

/**
 * @param {import("node:test").TestContext} t
 * @param {{elected: (t: any, env: Record<string, string>) => Promise<any>}} [of] what the hosts are of
 */
async function setUp(t, of = LocalHost) {
  const home = temporaryFolder(t);
  const host = await of.elected(t, { COPILOT_HOME: home });
  const cwd = fs.realpathSync(temporaryFolder(t));
  const session = await host.session(t, { cwd });
  const at = { workspace: cwd, env: { ...host.env, COPILOT_HOME: home } };
  const emit = (/** @type {string[]} */ ...args) => tap(["emit", ...args], at);
  return { host, session, at, emit };
}

test("without a session it lists what runs in the background", async (t) => {
  const { emit, session } = await setUp(t);
  await emit("start", "build", "--", "sleep 1000");
  session.send({ type: "end", reason: "over" }); // what it has started ends a while later
  const list = async () => JSON.parse((await emit("list", "--json")).out);
  const background = await waitFor(async () => (await list()).background);
  assert.deepEqual(background, ["emitter build runs"]);
});

test("starts, lists, tries rules on, shows and stops an emitter", async (t) => {
  const { emit } = await setUp(t);
  const empty = await emit();
  assert.deepEqual([empty.code, /No emitter is here/.test(empty.out)], [0, true], empty.err);
  const started = await emit("start", "log", "--drop", "^1", "--", "seq 1 30; sleep 1000");
  assert.deepEqual([started.code, started.err], [0, ""]);
  assert.match(started.out, /^log {2}running, command, until it is stopped, 1 run\n {2}seq 1 30/);
  await waitFor(
    async () => /20 kept, 11 dropped|19 kept, 11 dropped/.test((await emit("list")).out),
    {
      what: "the lines",
    },
  );
  const tried = await emit("test", "log", "--inject", "^2");
  assert.match(tried.out, /^Of the last 19 lines: /);
  assert.match(tried.out, /11 inject/);
  const shown = await emit("history", "log", "-n", "3");
  assert.match(shown.out, /keep {4}28\n.*keep {4}29\n.*keep {4}30\n/);
  const json = JSON.parse((await emit("list", "--json")).out);
  assert.equal(json.emitters[0].managedBy, "userOwned");
  const stopped = await emit("stop", "log");
  assert.match(stopped.out, /^log {2}ended: stopped/);
});

test("in the background it is an entry of the config that its user allows, and runs", async (t) => {
  const { at, emit } = await setUp(t);
  const watch = (/** @type {string[]} */ ...args) => tap(["watch", ...args], at);
  const asked = ["--background", "--name", "w", "--wake", "never", "--", "sleep 1000"];
  const { code, err } = await watch(...asked);
  assert.deepEqual([code, err], [0, ""]);
  const config = () =>
    JSON.parse(fs.readFileSync(path.join(at.workspace, "tap.config.json"), "utf8"));
  assert.deepEqual(config().watch.w, { command: "sleep 1000", wake: "never", background: true });
  await waitFor(async () => /^w {2}unknown/m.test((await watch()).out));
  assert.equal((await watch(...asked)).code, 1, "it is there already");
  assert.equal((await emit("start", "e", "--background", "--", "sleep 1001")).code, 0);
  assert.equal(config().emitters[0].background, true);
});

test("a watcher without a state has rules with the lines around a match", async (t) => {
  const { at } = await setUp(t);
  const watch = async (/** @type {string[]} */ ...args) =>
    JSON.parse((await tap(["watch", "--json", ...args, "--", "sleep 1000"], at)).out);
  const plain = await watch("--tool", "none", "--red", "x", "--after", "3", "--name", "plain");
  assert.deepEqual([plain.rules, plain.tool], [1, undefined]);
  const known = await watch("--tool", "tsc", "--red", "x", "--after", "3", "--name", "known");
  assert.equal(known.tool, "tsc");
  const refused = await tap(["watch", "--after", "3", "--", "make"], at);
  assert.equal(refused.code, 2, refused.out);
  const many = await tap(["watch", "--red", "x", "--after", "99", "--", "make"], at);
  assert.equal(many.code, 2);
});

test("says how a command has ended, when one runs next, and which lines are one entry", async (t) => {
  const { emit } = await setUp(t);
  await emit("start", "once", "--", "sh", "-c", "echo 'a b'; exit 3");
  const listed = await waitFor(async () => {
    const { out } = await emit("list");
    return /^once {2}ended/m.test(out) && out;
  });
  assert.match(listed, /^once {2}ended: exit code 3, .*\n {2}sh -c 'echo '.*a b.*; exit 3'$/m);
  const { out } = await emit("history", "once");
  const [, line, end, tail] = out.trimEnd().split("\n");
  assert.match(line, /keep {4}a b$/);
  assert.match(end, /^[\d:.]+ \w+ +run 1 ended with exit code 3/);
  assert.match(tail, /^ +│ \[run 1, line 1\] a b$/);
  const timed = await emit("start", "timed", "--cron", "0 3 * * *", "--", "true");
  assert.match(timed.out, /^ {2}next: ([\d-]+ )?03:00:00$/m);
});

test("starts a command in a folder, after a change of files", async (t) => {
  const { emit, at } = await setUp(t);
  fs.mkdirSync(path.join(at.workspace, "api"));
  const given = ["--cwd", "api", "--on-change", "api/*.txt", "--on-change", "*.md"];
  const started = await emit("start", "test", ...given, "--json", "--", "pwd");
  assert.equal(started.code, 0, started.out);
  // The watch may begin after the first change.
  let count = 0;
  await waitFor(async () => {
    fs.writeFileSync(path.join(at.workspace, "api", "a.txt"), String(count++));
    const { out } = await emit("history", "test", "--json");
    const { lines = [] } = JSON.parse(out);
    return lines.some(({ text }) => text === path.join(at.workspace, "api"));
  });
  const outside = await emit("start", "other", "--cwd", "/", "--json", "--", "pwd");
  assert.equal(JSON.parse(outside.out).error.code, "REFUSED");
});

test("follows a stream", async (t) => {
  const { emit, at } = await setUp(t, Host);
  await emit(
    "start",
    "tick",
    "--",
    "for i in 1 2 3 4 5 6 7 8 9; do echo tick $i; sleep 0.3; done; sleep 1000",
  );
  const following = new Running(["emit", "history", "tick", "-f"], at);
  t.after(() => following.process.kill("SIGKILL"));
  await following.says(/tick 9/);
  const ticks = following.out.match(/tick \d/g);
  assert.deepEqual(ticks, [...new Set(ticks)], "each line once");
});

test("says what is wrong, and what to do", async (t) => {
  const { emit } = await setUp(t);
  const cases = [
    [["start"], 2, /say which/],
    [["start", "a"], 1, /command: is missing: give "command"/],
    [["start", "a", "--every", "0s", "--", "true"], 1, /every: expected a time/],
    [["start", "a", "--inject", "(", "--", "true"], 1, /rule 1: match: not a regular expression/],
    [["stop", "nobody"], 1, /no emitter has this name; there is no emitter yet/],
    [["history", "nothing"], 1, /no stream has this name/],
    [["list", "--session", "nobody-at-all"], 1, /unknown session "nobody-at-all"/],
  ];
  for (const [args, code, text] of cases) {
    const outcome = await emit(...args);
    assert.equal(outcome.code, code, `${args}: ${outcome.out}${outcome.err}`);
    assert.match(outcome.err, text);
  }
});
