// Emitters in the feature host, a process of its own, with real commands.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import {
  helpersOf,
  homeFolder,
  setUp,
  setUpProcesses,
  until,
  untilSaved,
  USER_HOME,
} from "./emitters-rig.mjs";

test("a command's lines are filtered, kept, shown and put before the model with where they come from", async (t) => {
  const { call, shown, injected, records } = await setUpProcesses(t);
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
  assert.match(prompt, /\[run 1, line 2, [\d:]+\] error: no such file/);
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

test("the user is asked for a command with its folder and variables, again for others, and for what is saved", async (t) => {
  const { call, session, cwd } = await setUp(t);
  fs.mkdirSync(path.join(cwd, "sub"));
  const asked = () =>
    session.events.filter(({ request }) => request === "consent").map(({ params }) => params.text);
  const start = (/** @type {object} */ more) =>
    call("tap_start_emitter", { name: "one", force: true, command: "true", ...more });
  session.consent = { answer: "yes" };
  await start({ cwd: "sub", env: { A: "1" } });
  await start({ cwd: "sub", env: { A: "1" } });
  assert.equal(asked().length, 1);
  assert.match(asked()[0], /:\n {2}true\n {2}in the folder sub\n {2}with A=1$/);
  await start({ cwd: "sub", env: { A: "2" } });
  assert.equal(asked().length, 2, "another variable is another work");
  session.consent = { answer: "no" };
  const long = `true ${"#".repeat(1300)}; rm -rf .`;
  assert.match((await start({ command: long })).text, /the user has refused/);
  assert.match(asked()[2], /#… \(115 more\)$/);
  const kept = { name: "kept", prompt: "go on", every: "1h", scope: "persistent", file: "user" };
  assert.match((await call("tap_start_emitter", kept)).text, /the user has refused/);
  assert.match(asked()[3], /to save it in your own config, for all folders:\n {2}go on$/);
  const url = "http://127.0.0.1:9/?data=secret";
  const look = { name: "look", url, every: "1h" };
  assert.match((await call("tap_start_emitter", look)).text, /the user has refused/);
  assert.match(asked()[4], /\n {2}http:\/\/127\.0\.0\.1:9\/\?data=secret$/);
  await start({ scope: "persistent", background: true });
  assert.match(asked()[5], /the project's config, where it runs also without a session:/);
});

test("an unexpected end is told, with the exit code and the last lines", async (t) => {
  const { call, injected, records, told } = await setUp(t);
  await call("tap_start_emitter", { name: "server", command: "echo listening; sleep 0.2; exit 7" });
  const [prompt] = await until(() => injected().length > 0 && injected(), told);
  assert.match(prompt, /\nrun 1 ended with exit code 7/);
  assert.match(prompt, /listening/);
  const [run] = await until(async () => {
    const all = await records("emitter_run");
    return all.length > 0 && all;
  }, "a record of the run");
  assert.deepEqual([run.body.status, run.body.exitCode], ["failed", 7]);
  const { emitters } = await call("tap_list_emitters");
  assert.equal(emitters[0].state, "ended: exit code 7");
  assert.deepEqual(emitters[0].lastRun, { run: 1, status: "failed", exitCode: 7 });
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
  const { call, cwd } = await setUp(t);
  fs.symlinkSync("/", path.join(cwd, "out"));
  const refused = await call("tap_start_emitter", { name: "a", command: "pwd", cwd: "../.." });
  assert.equal(refused.code, "INVALID_ARGUMENTS", JSON.stringify(refused));
  const linked = await call("tap_start_emitter", { name: "b", command: "pwd", cwd: "out/tmp" });
  assert.equal(linked.code, "INVALID_ARGUMENTS", JSON.stringify(linked));
});

test("a line is recorded with the trace of its run", async (t) => {
  const { call, records } = await setUp(t);
  await call("tap_start_emitter", { name: "a", command: "echo found", every: "1s", maxRuns: 2 });
  const lines = async () =>
    (await records("stream_entry")).filter(({ body }) => body.text === "found");
  await until(async () => (await records("emitter_run")).length === 2, "two runs");
  await until(async () => (await lines()).length === 2, "their lines");
  const traceOf = new Map((await records("emitter_run")).map((one) => [one.body.run, one.trace]));
  assert.equal(new Set(traceOf.values()).size, 2);
  for (const { body, trace } of await lines()) assert.equal(trace, traceOf.get(body.run));
});

test("a command has the PATH of the session that asked for it, also after a kill of the feature host", async (t) => {
  const bin = fs.realpathSync(temporaryFolder(t));
  fs.writeFileSync(path.join(bin, "of-this-session"), "#!/bin/sh\necho found\n", { mode: 0o755 });
  const { call, join, cwd, host, control, records, hostPid } = await setUpProcesses(t, {
    path: `${bin}:${process.env.PATH}`,
    runtime: { execPath: "/opt/copilot" },
  });
  await call("tap_start_emitter", { name: "a", command: "of-this-session; sleep 1000" });
  const found = async () =>
    (await records("stream_entry")).filter(({ body }) => body.text === "found").length;
  await until(async () => (await found()) === 1, "its line");
  const place = fs.realpathSync(temporaryFolder(t));
  const other = helpersOf(host, await join({ cwd: place, path: "/usr/bin:/bin" }), control);
  await other.call("tap_start_emitter", { name: "b", command: "of-this-session" });
  await until(
    async () => (await records("emitter_run")).some(({ body }) => body.exitCode === 127),
    `no such program in ${cwd}`,
  );
  process.kill(await hostPid(), "SIGKILL");
  await until(async () => (await found()) === 2, "its line after the restart");
  const inspection = JSON.stringify(await control.request("gateway.inspect", {}));
  assert.ok(!inspection.includes(bin) && !inspection.includes("/opt/copilot"));
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
  // The newest first: after the last run there is none.
  const [last, ...before] = runs.map(({ body }) => body);
  assert.equal(last.nextAt, undefined);
  assert.ok(before.every(({ nextAt, start }) => nextAt > start && nextAt <= start + 2000));
  const { emitters } = await call("tap_list_emitters");
  assert.equal(emitters[0].state, "ended: maxRuns");
  const yearly = { name: "yearly", command: "true", cron: "0 0 1 1 *", timezone: "Etc/UTC" };
  const { next } = await call("tap_start_emitter", yearly);
  const { lines } = await call("tap_stream_history", { channel: "yearly" });
  assert.deepEqual(
    lines.map(({ text }) => text),
    [`the first run is at ${next[0]}`],
  );
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
  // Nothing but what was posted, and no run, since there is none.
  assert.deepEqual(
    lines.map(({ number, line, run, text }) => [number, line, run, text]),
    [
      [1, 1, undefined, "me: first"],
      [2, 2, undefined, "second"],
    ],
  );
  assert.match(injected().join("\n"), /\[line 2, [\d:]+\] second/);
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
  const host = await LocalHost.elected(t, { COPILOT_HOME: home });
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
  // Also for what is hidden in a variable.
  session.send({ type: "activity", activity: "busy" });
  session.send({ type: "activity", activity: "idle" });
  const env = { WORK: "rm -rf ./nothing" };
  await call("tap_start_emitter", { name: "worse", command: "touch ran; eval $WORK", env });
  await until(
    () => injected().some((text) => /Emitter worse.*\n.*denied.*nothing is removed/.test(text)),
    () => JSON.stringify(injected()),
  );
  assert.ok(!fs.existsSync(path.join(cwd, "ran")));
  const refused = await call("tap_start_emitter", {
    ...{ name: "found", command: "make" },
    env: { PATH: ".", GIT_SSH_COMMAND: "touch ran" },
  });
  assert.equal(refused.code, "INVALID_ARGUMENTS");
  assert.match(refused.text, /env\.PATH: .*which programs are found.*\n?.*env\.GIT_SSH_COMMAND/s);
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

test("silence counts over runs, and a line ends it", async (t) => {
  const { call, injected, shown, cwd, told } = await setUp(t);
  await call("tap_start_emitter", {
    ...{ name: "beat", command: "cat beat 2>/dev/null; true", every: "1s", expectEvery: "3s" },
    maxRuns: 100,
  });
  await until(
    () => injected().some((text) => /nothing came for 3.*something was expected/.test(text)),
    told,
  );
  fs.writeFileSync(path.join(cwd, "beat"), "alive\n");
  await until(() => shown().some((text) => /beat: something came again after/.test(text)), shown);
});

test("of a URL only changes are lines, also over a kill of the feature host; an answer ends a silence", async (t) => {
  const said = { status: 200, body: '{"state":"queued"}' };
  const server = http.createServer((_request, answer) => {
    answer.writeHead(said.status, { "content-type": "application/json" });
    answer.end(said.body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const { call, home, records, hostPid, injected } = await setUpProcesses(t);
  await call("tap_start_emitter", {
    ...{ name: "ci", url: `http://127.0.0.1:${port}/`, jsonPath: "$.state", every: "1s" },
    ...{ expectEvery: "8s", eventFilter: [{ match: ".", outcome: "surface" }] },
  });
  const runs = async () => (await records("emitter_run")).length;
  await until(async () => (await runs()) >= 2, "two looks");
  const first = await hostPid();
  await untilSaved(home, "ci", ({ seen }) => seen);
  process.kill(first, "SIGKILL");
  said.body = '{"state":"failed"}';
  const lines = () =>
    records("stream_entry").then((all) =>
      all.filter(({ body }) => body.line > 0).map(({ body }) => body.text),
    );
  await until(async () => (await lines()).length > 0, "the change while nobody looked");
  assert.deepEqual(await lines(), ["failed"]);
  const { lines: told } = await call("tap_stream_history", { channel: "ci", limit: 200 });
  assert.equal(told.filter(({ text }) => /^at first|nothing came/.test(text)).length, 0);
  said.status = 500;
  await until(
    () => injected().some((text) => /run \d+ failed: the server has answered with 500/.test(text)),
    () => JSON.stringify(injected()),
  );
  await until(async () => {
    const history = await call("tap_stream_history", { channel: "ci", limit: 200 });
    return history.lines.some(({ text }) => /^nothing came for 8/.test(text));
  }, "its silence");
});
