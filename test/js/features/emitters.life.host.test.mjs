// Emitters over the end of sessions, of the feature host and of what configs say.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { tap } from "../../support/cli-process.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { Host } from "../../support/test-host.mjs";
import {
  helpersOf,
  homeFolder,
  setUp,
  setUpProcesses,
  until,
  untilSaved,
  USER_HOME,
  writeConfig,
} from "./emitters-rig.mjs";

/** A session that has ended is forgotten soon, not after ten seconds. @param {import("node:test").TestContext} t */
function lingersBriefly(t) {
  process.env.TAP_LINGER_MS = "500";
  t.after(() => delete process.env.TAP_LINGER_MS);
}

/** Its end has come to all who hear of it. @param {any} control @param {number} [others] */
async function sessionIsGone(control, others = 0) {
  await until(async () => (await control.inspect()).sessions.length === others, "its end");
  await new Promise((resolve) => setTimeout(resolve, 1000));
}

test("an emitter outlives a kill of the feature host, and names the gap", async (t) => {
  const { call, home, hostPid, session } = await setUpProcesses(t);
  await call("tap_start_emitter", { name: "log", command: "echo alive; sleep 1000" });
  const first = await hostPid();
  await untilSaved(home, "log", ({ run }) => run);
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

test("a run has the number of its record, also after a kill of the feature host", async (t) => {
  const { call, hostPid, injected, records, becomes, session } = await setUpProcesses(t);
  await call("tap_start_emitter", {
    ...{ name: "tick", command: "echo tick", every: "2s", maxRuns: 100 },
    eventFilter: [{ match: "tick", outcome: "inject", cooldown: "1h" }],
  });
  const runs = async () => (await records("emitter_run")).map(({ body }) => body.run);
  await until(async () => (await runs()).includes(2), "the second run");
  const texts = injected().length;
  for (const state of ["busy", "idle"]) becomes(state); // the first text is answered
  process.kill(await hostPid(), "SIGKILL");
  const text = await until(
    () => injected()[texts],
    async () =>
      JSON.stringify([
        session.events.filter(({ type }) => type !== "tools").slice(-12),
        await call("tap_list_emitters"),
      ]),
  );
  const [, number] = /\[run (\d+), line 1, [\d:]+\] tick/.exec(text) ?? [];
  assert.ok(Number(number) > 2, text);
  await until(async () => (await runs()).includes(Number(number)), "its record");
  const { lines } = await call("tap_stream_history", { channel: "tick" });
  assert.ok(lines.some(({ run, text: line }) => run === Number(number) && line === "tick"));
});

test("a run that a kill of the feature host cuts off is recorded, and the next has another number", async (t) => {
  const { call, home, hostPid, cwd, records } = await setUpProcesses(t);
  await call("tap_start_emitter", {
    ...{ name: "job", command: "echo x >> begun; sleep 1000" },
  });
  const begun = () => {
    const file = path.join(cwd, "begun");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8").length / 2 : 0;
  };
  const runs = async () =>
    (await records("emitter_run")).map(({ body }) => [body.run, body.status]).toSorted();
  for (const before of [1, 2]) {
    await until(() => begun() === before, `run ${before}`);
    await untilSaved(home, "job", ({ run }) => run?.number === before);
    process.kill(await hostPid(), "SIGKILL");
    const wanted = Array.from({ length: before }, (_, at) => [at + 1, "interrupted"]);
    await until(async () => JSON.stringify(await runs()) === JSON.stringify(wanted), runs);
  }
  await until(() => begun() === 3, "the third run");
  const { lines } = await call("tap_stream_history", { channel: "job" });
  assert.ok(lines.some(({ run, text }) => run === 3 && /^run 3 began/.test(text)));
});

test("a run is a trace: the command is told of it, and what it puts before the model is below it", async (t) => {
  const { call, records, injected, host, home } = await setUp(t);
  await call("tap_start_emitter", {
    ...{ name: "job", command: "echo trace $TRACEPARENT", maxRuns: 1 },
    eventFilter: [{ match: "^trace", outcome: "inject" }],
  });
  const text = await until(() => injected()[0], "its line");
  const [, trace, span] = /trace 00-([0-9a-f]{32})-([0-9a-f]{16})-01/.exec(text) ?? [];
  const spans = async () => (await records("span")).filter((one) => one.body.traceId === trace);
  const four = await until(async () => {
    const all = await spans();
    return all.length === 4 && all.map(({ body }) => body);
  }, "four spans");
  const names = ["emitter job", "line 1", "push notify", "prompt dispatch"];
  const [run, line, push, dispatch] = names.map((name) => four.find((one) => one.name === name));
  assert.deepEqual([run?.spanId, run?.parentSpanId, run?.status], [span, "", "ok"]);
  assert.deepEqual([line?.parentSpanId, line?.lines, line?.status], [span, 1, "ok"]);
  assert.equal(push?.parentSpanId, line?.spanId);
  assert.equal(dispatch?.parentSpanId, push?.spanId);
  const [{ trace: recorded }] = await records("emitter_run");
  assert.equal(recorded, trace);
  const at = { workspace: home, env: { ...host.env, COPILOT_HOME: home } };
  const shown = await tap(["spans", String(trace)], at);
  assert.match(shown.out, /emitter job .*\n.* line 1 .*\n.* push notify /);
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

test("an emitter of a project's config begins once the user has allowed it, and follows changes", async (t) => {
  const { call, cwd, host, home } = await setUp(t);
  const named = async () =>
    (await call("tap_list_emitters")).emitters.map(({ name, what }) => [name, what]);
  writeConfig(cwd, [{ name: "log", command: "echo one; sleep 1000" }]);
  await new Promise((resolve) => setTimeout(resolve, 4000));
  assert.deepEqual(await named(), [], "nobody has allowed it");
  const at = { workspace: cwd, env: { ...host.env, COPILOT_HOME: home } };
  const allow = async () =>
    assert.equal((await tap(["allow", "--yes", path.join(cwd, "tap.config.json")], at)).code, 0);
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
  const host = await LocalHost.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t, { cwd: fs.realpathSync(temporaryFolder(t)) });
  const injected = () => session.events.filter(({ type }) => type === "inject");
  const [one] = await until(() => injected().length > 0 && injected(), "its end");
  assert.match(one.prompt, /Emitter mine.*\n.*ended with exit code 3/);
});

test("an emitter in the background goes on without a session, and over a kill of the feature host", async (t) => {
  lingersBriefly(t);
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
  await sessionIsGone(control);
  assert.equal((await state()).holds.length, 1);
  const { pid } = (await state()).host;
  process.kill(pid, "SIGKILL");
  await until(() => beats() === 2, "the run after the restart");
  const { records } = helpersOf(host, first, control);
  const errors = async () =>
    (await records("stream_entry")).filter(({ body }) => body.text === "error: seen");
  await until(async () => (await errors()).length === 2, errors);
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
  const { call, home, hostPid, injected, control, session } = await setUpProcesses(t);
  await control.request("features.command", {
    name: "tap-watch",
    arguments: "sleep 3; echo finished; exit 4",
    session: session.id,
  });
  const { emitters } = await call("tap_list_emitters");
  await untilSaved(home, emitters[0].name, ({ run }) => run);
  process.kill(await hostPid(), "SIGKILL");
  await until(
    () => injected().some((text) => /is RED since .*, exit code 4[^]*finished/.test(text)),
    () => JSON.stringify(injected()),
  );
});

test("a prompt that the session does not take is no run", async (t) => {
  const { call, injected, becomes, shown, records } = await setUp(t);
  becomes("idle");
  await call("tap_start_emitter", { name: "one", prompt: "look here" });
  await until(() => injected().length === 1, "the first prompt");
  await call("tap_start_emitter", { name: "two", prompt: "look there" });
  await until(
    () => shown().some((text) => /two: a run was left out: .*not been answered/.test(text)),
    shown,
  );
  const two = async () =>
    (await call("tap_list_emitters")).emitters.find((/** @type {any} */ one) => one.name === "two");
  assert.deepEqual([(await two()).runs, (await two()).state], [0, "waiting"]);
  for (const state of ["busy", "idle"]) becomes(state);
  await until(() => injected().length === 2, "the second prompt");
  assert.match(injected()[1], /Prompt of emitter two, run 1:\nlook there/);
  for (const state of ["busy", "idle"]) becomes(state);
  await until(async () => (await records("emitter_run")).length === 2, "the records");
  const runs = (await records("emitter_run")).map(({ body }) => [body.emitter, body.run]);
  assert.deepEqual(runs.sort(), [
    ["one", 1],
    ["two", 1],
  ]);
});

test("an emitter that cannot be saved does not run, and what it would replace goes on", async (t) => {
  const { call, cwd, home } = await setUp(t);
  await call("tap_start_emitter", { name: "log", command: "echo $$ > first; sleep 1000" });
  await until(() => fs.existsSync(path.join(cwd, "first")), "the first");
  const features = path.join(home, "tap", "features");
  const [own] = fs.readdirSync(features).filter((name) => /emitters/.test(name));
  fs.renameSync(path.join(features, own), path.join(features, "aside"));
  fs.writeFileSync(path.join(features, own), "in the way");
  const start = { command: "touch ran; sleep 1000" };
  const other = await call("tap_start_emitter", { name: "other", ...start });
  assert.match(other.text, /could not be saved, so it does not run/);
  const replacing = await call("tap_start_emitter", { name: "log", ...start, force: true });
  assert.match(replacing.text, /could not be saved/);
  const { emitters } = await call("tap_list_emitters");
  assert.deepEqual(
    emitters.map(({ name, state, what }) => [name, state, what]),
    [["log", "running", "echo $$ > first; sleep 1000"]],
  );
  assert.ok(!fs.existsSync(path.join(cwd, "ran")));
  fs.rmSync(path.join(features, own));
  const again = await call("tap_start_emitter", { name: "other", ...start });
  assert.equal(again.state, "running", JSON.stringify(again));
});

test("an emitter that could not be saved does not hold the hosts", async (t) => {
  const { call, control, home } = await setUp(t);
  await call("tap_list_emitters");
  const features = path.join(home, "tap", "features");
  fs.writeFileSync(features, "in the way");
  const refused = await call("tap_start_emitter", { name: "log", command: "sleep 1000" });
  assert.match(refused.text, /could not be saved/);
  assert.deepEqual(await control.request("holds.list", {}), []);
  fs.rmSync(features);
  const started = await call("tap_start_emitter", { name: "log", command: "sleep 1000" });
  assert.equal(started.state, "running", JSON.stringify(started));
  assert.equal((await control.request("holds.list", {})).length, 1);
});

test("what a former process has saved, and nobody can read, is told, kept aside and holds nothing", async (t) => {
  const { call, control, hostPid, home, shown } = await setUpProcesses(t);
  const file = path.join(home, "tap", "features", "builtin%3Aemitters", "emitters");
  for (const damaged of ["garbage", undefined]) {
    await call("tap_start_emitter", { name: "log", command: "sleep 1000" });
    await until(() => fs.existsSync(file), "the file");
    if (damaged === undefined) fs.rmSync(file);
    else fs.writeFileSync(file, damaged);
    const pid = await hostPid();
    process.kill(pid, "SIGKILL");
    await until(async () => ![0, pid].includes(await hostPid()), "the next feature host");
    const released = async () => (await control.request("holds.list", {})).length === 0;
    await until(released, "no hold");
    assert.deepEqual((await call("tap_list_emitters")).emitters, []);
  }
  await until(
    () => shown().some((text) => /emitters: what ran before does not go on: /.test(text)),
    shown,
  );
  const aside = fs.readdirSync(path.dirname(file)).find((name) => name.includes(".unread-"));
  assert.equal(fs.readFileSync(path.join(path.dirname(file), String(aside)), "utf8"), "garbage");
});

test("streams of a config are the folder's: they outlive its first session, and follow the config", async (t) => {
  lingersBriefly(t);
  const { call, cwd, join, session, host, control } = await setUp(t);
  const write = (/** @type {object[]} */ streams) =>
    fs.writeFileSync(path.join(cwd, "tap.config.json"), JSON.stringify({ streams }));
  write([{ name: "notes", delivery: "all" }, { name: "other" }]);
  const streams = async (/** @type {any} */ rig) =>
    (await rig("tap_list_streams")).streams.map(({ channel, injector }) => [channel, injector]);
  await until(
    async () => (await streams(call)).length === 2,
    async () => JSON.stringify(await streams(call)),
  );
  await call("tap_post", { channel: "notes", message: "kept" });
  const second = await join({ cliPid: 4712 });
  const then = helpersOf(host, second, control);
  session.send({ type: "end", reason: "over" });
  await sessionIsGone(control, 1);
  const { lines } = await then.call("tap_stream_history", { channel: "notes" });
  assert.ok(lines.some(({ text }) => text === "kept"));
  assert.deepEqual(await streams(then.call), [
    ["notes", "all"],
    ["other", "important"],
  ]);
  const refused = await then.call("tap_disable_injector", { channel: "notes" });
  assert.match(refused.text, /is the user's/);
  write([{ name: "notes", subscribe: false }]);
  await until(async () => JSON.stringify(await streams(then.call)) === '[["notes","off"]]', "");
  assert.ok(
    (await then.call("tap_stream_history", { channel: "notes" })).lines.length > 0,
    "its lines stay",
  );
});

test("without a session an emitter goes on only as the config and the consent say", async (t) => {
  lingersBriefly(t);
  const { call, session, cwd, host, home, control } = await setUpProcesses(t);
  await call("tap_list_emitters");
  const entry = (/** @type {string} */ word) => ({
    ...{ name: "bg", command: `echo ${word} >> beats; sleep 1000`, background: true },
  });
  writeConfig(cwd, [entry("one")]);
  const at = { workspace: cwd, env: { ...host.env, COPILOT_HOME: home } };
  const allow = ["allow", "--yes", path.join(cwd, "tap.config.json")];
  assert.equal((await tap(allow, at)).code, 0);
  const beats = () =>
    fs.existsSync(path.join(cwd, "beats")) ? fs.readFileSync(path.join(cwd, "beats"), "utf8") : "";
  await until(() => beats() === "one\n", "the first run");
  const state = () => control.request("features.report", {});
  await until(async () => (await state()).holds.length === 1, "a hold");
  await untilSaved(home, "bg", ({ run }) => run?.number === 1);
  session.send({ type: "end", reason: "over" });
  await sessionIsGone(control);
  process.kill((await state()).host.pid, "SIGKILL");
  await until(() => beats() === "one\none\n", beats);
  await untilSaved(home, "bg", ({ run }) => run?.number === 2);
  const saved = path.join(home, "tap", "features", "builtin%3Aemitters", "emitters");
  process.kill((await until(async () => (await state()).host, "the host")).pid, "SIGSTOP");
  const { pid } = (await state()).host;
  // Somebody changes the file of what runs, and the config: neither is what the user has allowed.
  fs.writeFileSync(saved, fs.readFileSync(saved, "utf8").replaceAll("echo one", "echo two"));
  writeConfig(cwd, [entry("three")]);
  process.kill(pid, "SIGKILL");
  await until(async () => (await state()).host.pid !== pid && (await state()).host.pid, "another");
  await new Promise((resolve) => setTimeout(resolve, 3000));
  assert.equal(beats(), "one\none\n");
});
