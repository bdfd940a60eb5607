// Emitters in the feature host, a process of its own, with real commands.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/base/control.mjs";
import { programFolder } from "../../../js/base/paths.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const cli = path.join(programFolder, "js", "command", "cli.mjs");
const USER_HOME = { toolGroups: ["emitters"] };

/** @param {import("node:test").TestContext} t @param {string} [home] */
function homeFolder(t, home = temporaryFolder(t)) {
  fs.mkdirSync(path.join(home, "tap"), { recursive: true, mode: 0o700 });
  const file = path.join(home, "tap", "config.json");
  fs.writeFileSync(file, JSON.stringify(USER_HOME), { mode: 0o600 });
  return home;
}

/** @param {import("node:test").TestContext} t @param {object} [fields] of the session */
async function setUp(t, fields = {}) {
  const home = homeFolder(t);
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const cwd = fs.realpathSync(temporaryFolder(t));
  const join = (/** @type {object} */ more = {}) => host.session(t, { cwd, cliPid: 4711, ...more });
  const session = await join(fields);
  const control = await openControl(host.files);
  t.after(() => control.close());
  return { host, home, cwd, session, join, control, ...helpersOf(host, session, control) };
}

/** @param {Host} host @param {any} session @param {any} control */
function helpersOf(host, session, control) {
  const call = async (/** @type {string} */ name, /** @type {object} */ args = {}) => {
    const outcome = await waitFor(
      async () => {
        const result = await session.call(name, args);
        return result?.code !== "DISCONNECTED" && { result };
      },
      { what: () => `${name}\n${host.log}`, timeoutMs: 20_000 },
    );
    const { result } = outcome;
    return typeof result === "string" ? JSON.parse(result) : result;
  };
  const shown = () =>
    session.events.filter(({ type }) => type === "timeline").map(({ text }) => text);
  const injected = () =>
    session.events.filter(({ type }) => type === "inject").map(({ prompt }) => prompt);
  const becomes = (/** @type {string} */ state) =>
    session.send({ type: "activity", activity: state });
  const records = async (/** @type {string} */ collection) =>
    (await control.request("records.query", { collection, limit: 100 })).records;
  const hostPid = () =>
    waitFor(async () => (await control.request("features.report", {})).host.pid, {
      timeoutMs: 20_000,
    });
  return { call, shown, injected, becomes, records, hostPid };
}

const until = (/** @type {() => any} */ look, /** @type {any} */ what) =>
  waitFor(look, { what, timeoutMs: 20_000 });

test("a command's lines are filtered, kept, shown and put before the model with where they come from", async (t) => {
  const { call, shown, injected, records } = await setUp(t);
  const started = await call("tap_start_emitter", {
    name: "build",
    command: "echo compiling; echo 'error: no such file'; echo warning: old; echo noise; sleep 100",
    eventFilter: [
      { match: "noise", outcome: "drop" },
      { match: "^error", outcome: "inject" },
      { match: "^warning", outcome: "surface" },
    ],
  });
  assert.equal(started.state, "running", JSON.stringify(started));
  const [prompt] = await until(() => injected().length > 0 && injected(), "an inject");
  assert.match(prompt, /Emitter build, stream build:/);
  assert.match(prompt, /\[run 1, line 2\] error: no such file/);
  await until(() => shown().some((text) => /build: warning: old/.test(text)), shown);
  const { lines } = await call("tap_stream_history", { channel: "build" });
  assert.deepEqual(
    lines.map(({ text, outcome }) => [text, outcome]),
    [
      ["run 1 began", "keep"],
      ["compiling", "keep"],
      ["error: no such file", "inject"],
      ["warning: old", "surface"],
    ],
  );
  const [notify] = await until(async () => {
    const all = await records("notify");
    return all.length > 0 && all;
  }, "a notify record");
  assert.match(JSON.stringify(notify.body), /no such file/);
  const stopped = await call("tap_stop_emitter", { name: "build" });
  assert.match(stopped.state, /^ended/);
  const [run] = await until(async () => {
    const all = await records("emitter_run");
    return all.length > 0 && all;
  }, "a record of the run");
  assert.equal(run.body.status, "stopped");
  assert.equal(run.body.dropped, 1);
  assert.equal(injected().length, 1, "a stop is no unexpected end");
});

test("an unexpected end is told, with the exit code and the last lines", async (t) => {
  const { call, injected, records } = await setUp(t);
  await call("tap_start_emitter", { name: "server", command: "echo listening; sleep 0.2; exit 7" });
  const [prompt] = await until(() => injected().length > 0 && injected(), "an inject");
  assert.match(prompt, /\[run 1\] run 1 ended with exit code 7/);
  assert.match(prompt, /listening/);
  const [run] = await until(async () => {
    const all = await records("emitter_run");
    return all.length > 0 && all;
  }, "a record of the run");
  assert.deepEqual([run.body.status, run.body.exitCode], ["failed", 7]);
  const { emitters } = await call("tap_list_emitters");
  assert.match(emitters[0].state, /^ended/);
});

test("a command that is not there is a run that has failed, and says so", async (t) => {
  const { call, injected, records } = await setUp(t);
  await call("tap_start_emitter", { name: "none", argv: ["no-such-program-of-any-kind"] });
  await until(() => injected().some((text) => /did not start: no such file/.test(text)), injected);
  const all = await until(async () => {
    const found = await records("emitter_run");
    return found.length > 0 && found;
  }, "a record");
  assert.equal(all[0].body.status, "failed");
});

test("a command does not leave the workspace, also not by a link", async (t) => {
  const { call, cwd, injected } = await setUp(t);
  fs.symlinkSync("/", path.join(cwd, "out"));
  const refused = await call("tap_start_emitter", { name: "a", command: "pwd", cwd: "../.." });
  assert.equal(refused.code, "INVALID_ARGUMENTS", JSON.stringify(refused));
  await call("tap_start_emitter", { name: "b", command: "pwd", cwd: "out/tmp" });
  await until(() => injected().some((text) => /outside of the workspace/.test(text)), injected);
});

test("a timed command runs again and again, and says when next", async (t) => {
  const { call, records } = await setUp(t);
  const started = await call("tap_start_emitter", {
    name: "tick",
    command: "date +%s",
    every: "1s",
    maxRuns: 3,
  });
  assert.equal(started.next.length, 2, "two more");
  const runs = await until(async () => {
    const all = await records("emitter_run");
    return all.length === 3 && all;
  }, "three runs");
  assert.ok(runs.every(({ body }) => body.status === "ok"));
  const { emitters } = await call("tap_list_emitters");
  assert.equal(emitters[0].state, "ended: maxRuns");
});

test("a prompt runs when the session is idle, one at a time, and stops after maxRuns", async (t) => {
  const { call, injected, becomes } = await setUp(t);
  becomes("idle");
  await call("tap_start_emitter", {
    name: "look",
    prompt: "look for news",
    every: "idle",
    maxRuns: 2,
  });
  const [prompt] = await until(() => injected().length === 1 && injected(), "the first");
  assert.match(prompt, /Prompt of emitter look, run 1:\nlook for news/);
  becomes("busy");
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(injected().length, 1);
  becomes("idle");
  const { emitters } = await call("tap_list_emitters");
  assert.equal(emitters[0].runs, 1);
});

test("rules are tried on what was there, and change while the emitter runs", async (t) => {
  const { call } = await setUp(t);
  await call("tap_start_emitter", { name: "log", command: "seq 1 30; sleep 100" });
  const tried = await until(async () => {
    const eventFilter = [{ match: "^2", outcome: "drop" }];
    const answer = await call("tap_set_event_filter", { name: "log", eventFilter, test: true });
    return answer.tried.lines === 30 && answer;
  }, "thirty lines");
  assert.equal(tried.applied, false);
  assert.deepEqual(tried.tried.outcomes, { keep: 19, drop: 11 });
  const wrong = await call("tap_set_event_filter", {
    name: "log",
    eventFilter: [{ match: "(", outcome: "drop" }],
  });
  assert.equal(wrong.code, "INVALID_ARGUMENTS");
  assert.match(wrong.message ?? wrong.text, /rule 1/);
});

test("what is posted is in a stream, and an injector puts it before the model", async (t) => {
  const { call, injected } = await setUp(t);
  await call("tap_post", { channel: "notes", message: "first", source: "me" });
  assert.equal(injected().length, 0);
  await call("tap_enable_injector", { channel: "notes", delivery: "all" });
  await call("tap_post", { channel: "notes", message: "second" });
  await until(() => injected().some((text) => /second/.test(text)), injected);
  const { streams } = await call("tap_list_streams");
  assert.deepEqual(
    streams.map(({ channel, injector }) => [channel, injector]),
    [["notes", "all"]],
  );
  await call("tap_disable_injector", { channel: "notes" });
  const { lines } = await call("tap_stream_history", { channel: "notes" });
  assert.ok(lines.some(({ text }) => text === "me: first"));
});

test("an emitter outlives a kill of the feature host, and names the gap", async (t) => {
  const { call, hostPid, session } = await setUp(t);
  await call("tap_start_emitter", { name: "log", command: "echo alive; sleep 1000" });
  const first = await hostPid();
  await new Promise((resolve) => setTimeout(resolve, 600));
  process.kill(first, "SIGKILL");
  const texts = await until(async () => {
    const answer = await session.call("tap_stream_history", { channel: "log" });
    const lines = typeof answer === "string" ? JSON.parse(answer).lines : [];
    const all = lines.map(({ text }) => text);
    return all.some((/** @type {string} */ text) => /tap was restarted/.test(text)) && all;
  }, "the gap");
  assert.ok(texts.length > 0);
  assert.notEqual(await hostPid(), first);
});

test("a session that follows by /clear takes its emitters over", async (t) => {
  const { call, join, session, host, control } = await setUp(t);
  await call("tap_start_emitter", { name: "log", command: "echo alive; sleep 1000" });
  session.send({ type: "end", reason: "clear" });
  const next = await join();
  const then = helpersOf(host, next, control);
  const emitters = await until(async () => {
    const answer = await then.call("tap_list_emitters");
    return answer.emitters?.length > 0 && answer.emitters;
  }, "the emitter");
  assert.deepEqual([emitters[0].name, emitters[0].state], ["log", "running"]);
});

/** @param {string} cwd @param {object[]} emitters */
const writeConfig = (cwd, emitters) =>
  fs.writeFileSync(path.join(cwd, "tap.config.json"), JSON.stringify({ emitters }, null, 2));

test("an emitter of a project's config begins once the user has allowed it, and follows changes", async (t) => {
  const { call, cwd, host, home } = await setUp(t);
  const named = async () =>
    (await call("tap_list_emitters")).emitters.map(({ name, what }) => [name, what]);
  writeConfig(cwd, [{ name: "log", command: "echo one; sleep 1000" }]);
  await new Promise((resolve) => setTimeout(resolve, 4000));
  assert.deepEqual(await named(), [], "nobody has allowed it");
  const allow = () =>
    new Promise((resolve, reject) => {
      const args = [cli, "allow", "--yes", path.join(cwd, "tap.config.json")];
      execFile(
        process.execPath,
        args,
        { cwd, env: { ...host.env, COPILOT_HOME: home } },
        (error) => (error ? reject(error) : resolve(undefined)),
      );
    });
  await allow();
  await until(async () => (await named()).length === 1, "the allowed one");
  writeConfig(cwd, [{ name: "log", command: "echo two; sleep 1000" }]);
  await until(async () => (await named()).length === 0, "the end of the one that was changed");
  await allow();
  await until(async () => /two/.test(JSON.stringify(await named())), "the new one");
  fs.rmSync(path.join(cwd, "tap.config.json"));
  await until(async () => (await named()).length === 0, "the end");
});

test("a persistent emitter of the model is saved in the config, and not allowed by that", async (t) => {
  const { call, cwd } = await setUp(t);
  const started = await call("tap_start_emitter", {
    name: "log",
    command: "echo one; sleep 1000",
    scope: "persistent",
  });
  assert.equal(started.state, "running", JSON.stringify(started));
  assert.match(started.notes.join("\n"), /allow/);
  const saved = JSON.parse(fs.readFileSync(path.join(cwd, "tap.config.json"), "utf8"));
  assert.deepEqual(saved.emitters, [
    { name: "log", command: "echo one; sleep 1000", managedBy: "modelOwned" },
  ]);
  await new Promise((resolve) => setTimeout(resolve, 4000));
  const { emitters } = await call("tap_list_emitters");
  assert.equal(emitters[0].state, "running", "it goes on in this session");
  await call("tap_stop_emitter", { name: "log", scope: "persistent" });
  const left = JSON.parse(fs.readFileSync(path.join(cwd, "tap.config.json"), "utf8"));
  assert.deepEqual(left.emitters, []);
});

test("an emitter of the user's own config begins with a session, without a tool", async (t) => {
  const home = homeFolder(t);
  const entry = { name: "mine", command: "echo ready; exit 3", eventFilter: [] };
  const config = { toolGroups: [], emitters: [entry] };
  fs.writeFileSync(path.join(home, "tap", "config.json"), JSON.stringify(config), { mode: 0o600 });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t, { cwd: fs.realpathSync(temporaryFolder(t)) });
  const injected = () => session.events.filter(({ type }) => type === "inject");
  const [one] = await until(() => injected().length > 0 && injected(), "its end");
  assert.match(one.prompt, /Emitter mine.*\n.*ended with exit code 3/);
});

test("rules for bash hold for what an emitter runs", async (t) => {
  const home = homeFolder(t);
  const rules = {
    name: "careful",
    deny: [{ match: { tool: "bash", args: "rm -rf" }, reason: "nothing is removed here" }],
  };
  const file = path.join(home, "tap", "config.json");
  fs.writeFileSync(file, JSON.stringify({ ...USER_HOME, providers: [], declarative: [rules] }), {
    mode: 0o600,
  });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const cwd = fs.realpathSync(temporaryFolder(t));
  const session = await host.session(t, { cwd });
  const control = await openControl(host.files);
  t.after(() => control.close());
  const { call, injected } = helpersOf(host, session, control);
  await call("tap_start_emitter", { name: "bad", command: "rm -rf ./nothing; touch ran" });
  await until(
    () => injected().some((text) => /denied.*nothing is removed here/.test(text)),
    () => JSON.stringify(injected()),
  );
  assert.ok(!fs.existsSync(path.join(cwd, "ran")));
});

test("what the user owns, the model changes only with his yes", async (t) => {
  const { call, control, session } = await setUp(t);
  const { text } = await control.request("features.command", {
    name: "tap-emit",
    arguments: JSON.stringify({ do: "start", name: "mine", command: "sleep 1000" }),
    session: session.id,
  });
  assert.equal(JSON.parse(text).answer.managedBy, "userOwned", text);
  const without = await call("tap_stop_emitter", { name: "mine" });
  assert.match(without.text, /is the user's/);
  const answering = (/** @type {string} */ answer) =>
    until(() => {
      const asked = session.events.findLast(({ type }) => type === "session.request");
      if (!asked) return false;
      session.events.splice(session.events.indexOf(asked), 1);
      assert.match(JSON.stringify(asked), /stop the emitter mine/);
      session.send({ type: "session.result", requestId: asked.requestId, result: { answer } });
      return true;
    }, "the question");
  const [refused] = await Promise.all([
    call("tap_stop_emitter", { name: "mine", force: true }),
    answering("no"),
  ]);
  assert.match(refused.text, /the user has refused/);
  const [stopped] = await Promise.all([
    call("tap_stop_emitter", { name: "mine", force: true }),
    answering("yes"),
  ]);
  assert.match(stopped.state, /^ended/);
});

test("a change of a file begins a run, and changes in a row are one", async (t) => {
  const { call, cwd, records } = await setUp(t);
  fs.mkdirSync(path.join(cwd, "src"));
  await call("tap_start_emitter", {
    name: "test",
    command: "cat src/a.txt 2>/dev/null; true",
    onChange: ["src/**"],
  });
  const runs = () => records("emitter_run");
  await until(async () => (await runs()).length === 1, "the first run");
  for (const text of ["one", "two", "three"]) {
    fs.writeFileSync(path.join(cwd, "src", "a.txt"), `${text}\n`);
  }
  await until(async () => (await runs()).length === 2, "the run after the change");
  const { lines } = await call("tap_stream_history", { channel: "test" });
  assert.ok(
    lines.some(({ text }) => text === "three"),
    JSON.stringify(lines),
  );
  await call("tap_stop_emitter", { name: "test" });
  fs.writeFileSync(path.join(cwd, "src", "a.txt"), "four\n");
  await new Promise((resolve) => setTimeout(resolve, 800));
  assert.equal((await runs()).length, 2);
});

test("an emitter in the background goes on without a session, and over a kill of the feature host", async (t) => {
  const home = homeFolder(t);
  const file = path.join(home, "tap", "config.json");
  const entry = {
    name: "mine",
    command: "date +%s%N >> beats; echo 'error: seen'; sleep 1000",
    background: true,
    eventFilter: [{ match: "^error", outcome: "inject" }],
  };
  fs.writeFileSync(file, JSON.stringify({ ...USER_HOME, emitters: [entry] }), { mode: 0o600 });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const cwd = fs.realpathSync(temporaryFolder(t));
  const first = await host.session(t, { cwd });
  const beats = () => fs.readFileSync(path.join(cwd, "beats"), "utf8").trim().split("\n").length;
  await until(() => fs.existsSync(path.join(cwd, "beats")), "the first run");
  const control = await openControl(host.files);
  t.after(() => control.close());
  const state = () => control.request("features.report", {});
  await until(async () => (await state()).holds.length === 1, "a hold");
  first.send({ type: "end", reason: "over" });
  await new Promise((resolve) => setTimeout(resolve, 11_000));
  assert.equal((await state()).holds.length, 1);
  const { pid } = (await state()).host;
  process.kill(pid, "SIGKILL");
  await until(() => beats() === 2, "the run after the restart");
  await new Promise((resolve) => setTimeout(resolve, 800)); // lines are gathered
  const second = await host.session(t, { cwd });
  const shown = () => second.events.filter(({ type }) => type === "timeline");
  await until(
    () =>
      shown().some(({ text }) =>
        /mine: 2 lines came without a session, 1 for the model/.test(text),
      ),
    () => JSON.stringify(shown()),
  );
  assert.equal(beats(), 2, "it was not begun again for the session");
});

test("a command that was cut off by a crash runs again, and its end is told", async (t) => {
  const { call, hostPid, injected, control, session } = await setUp(t);
  await control.request("features.command", {
    name: "tap-watch",
    arguments: "sleep 3; echo finished; exit 4",
    session: session.id,
  });
  await call("tap_list_emitters");
  await new Promise((resolve) => setTimeout(resolve, 600));
  process.kill(await hostPid(), "SIGKILL");
  await until(
    () => injected().some((text) => /ended with exit code 4[^]*finished/.test(text)),
    () => JSON.stringify(injected()),
  );
});
