// Emitters and streams of configs: what the model changes there, and what an emitter has of its stream.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { loadProjectConfig } from "../../../js/config/load.mjs";
import { allow, consentFile, listEntries } from "../../../js/config/consent.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { homeFolder, setUp, until, USER_HOME } from "./emitters-rig.mjs";

/** @param {string} folder @param {object} config */
const writeTo = (folder, config) =>
  fs.writeFileSync(path.join(folder, "tap.config.json"), JSON.stringify(config, null, 2));
/** @param {string} folder */
const readIn = (folder) =>
  JSON.parse(fs.readFileSync(path.join(folder, "tap.config.json"), "utf8"));

test("an entry of the user's is changed only with his yes, also where it does not run", async (t) => {
  const { call, cwd, session } = await setUp(t);
  const config = { emitters: [{ name: "mine", command: "echo his", managedBy: "userOwned" }] };
  writeTo(cwd, config);
  const start = { name: "mine", command: "echo other", scope: "persistent" };
  const stop = { name: "mine", scope: "persistent" };
  for (const [tool, args] of /** @type {const} */ ([
    ["tap_start_emitter", start],
    ["tap_stop_emitter", stop],
  ])) {
    assert.match((await call(tool, args)).text, /mine is the user's: with "force": true/);
    const answering = until(() => {
      const isIt = (/** @type {any} */ one) =>
        one.type === "session.request" && /the emitter mine/.test(JSON.stringify(one));
      const at = session.events.findIndex(isIt);
      if (at < 0) return false;
      const [{ requestId }] = session.events.splice(at, 1);
      session.send({ type: "session.result", requestId, result: { answer: "no" } });
      return true;
    }, "the question");
    const [refused] = await Promise.all([call(tool, { ...args, force: true }), answering]);
    assert.match(refused.text, /the user has refused/);
  }
  assert.deepEqual(readIn(cwd), config);
  writeTo(cwd, { emitters: [{ ...config.emitters[0], managedBy: "modelOwned" }] });
  const { notes } = await call("tap_stop_emitter", stop);
  assert.deepEqual(
    [notes, readIn(cwd)],
    [["Its entry of the config is removed."], { emitters: [] }],
  );
});

test("a filter and an injector are kept in the config where the scope says so", async (t) => {
  const { call, cwd } = await setUp(t);
  const command = "while sleep 0.1; do echo beat; done";
  const entry = { name: "log", command, channel: "ops", autoStart: false };
  await call("tap_start_emitter", { ...entry, scope: "persistent" });
  const eventFilter = [{ match: "beat", outcome: "surface", cooldown: "1h" }];
  const set = await call("tap_set_event_filter", { name: "log", eventFilter, scope: "persistent" });
  assert.match(set.notes.at(-1), /^Saved in /);
  const saved = readIn(cwd).emitters[0];
  assert.deepEqual(saved, { ...entry, managedBy: "modelOwned", eventFilter });
  await call("tap_enable_injector", { channel: "ops", delivery: "all", scope: "persistent" });
  const kept = { name: "ops", subscribe: true, delivery: "all", managedBy: "modelOwned" };
  assert.deepEqual(readIn(cwd).streams, [kept]);
  const off = await call("tap_disable_injector", {
    ...{ channel: "ops", scope: "persistent", managedBy: "modelOwned" },
  });
  assert.equal(off.injector, "off");
  const { delivery: _all, ...important } = kept;
  assert.deepEqual(readIn(cwd).streams, [{ ...important, subscribe: false }]);
  await new Promise((resolve) => setTimeout(resolve, 4000)); // a changed config is seen by then
  const { emitters } = await call("tap_list_emitters", { name: "log" });
  assert.deepEqual([emitters[0].state, emitters[0].injector], ["running", "off"]);
  const temporary = { name: "now", command: "sleep 1000" };
  await call("tap_start_emitter", temporary);
  const refused = await call("tap_set_event_filter", {
    name: "now",
    eventFilter,
    scope: "persistent",
  });
  assert.match(refused.text, /now is temporary: its filter is in no config/);
});

test("the user is asked before a filter or an injector is written, and sees what is", async (t) => {
  const { call, cwd, session } = await setUp(t);
  session.consent = { answer: "yes" };
  const command = { name: "log", command: "sleep 1000", channel: "ops" };
  await call("tap_start_emitter", { ...command, scope: "persistent" });
  const before = readIn(cwd);
  session.consent = { answer: "no" };
  const question = () =>
    session.events.findLast(({ request }) => request === "consent").params.text;
  const refuses = async (/** @type {string} */ tool, /** @type {object} */ args, entry) => {
    const { text } = await call(tool, { ...args, scope: "persistent" });
    assert.match(text, /the user has refused/);
    assert.deepEqual(JSON.parse(question().split("\n  ")[1]), entry);
    assert.deepEqual(readIn(cwd), before);
  };
  const injector = { name: "ops", subscribe: true, delivery: "all", managedBy: "modelOwned" };
  await refuses("tap_enable_injector", { channel: "ops", delivery: "all" }, injector);
  const { delivery: _all, ...off } = injector;
  await refuses("tap_disable_injector", { channel: "ops" }, { ...off, subscribe: false });
  const eventFilter = [{ match: "beat", outcome: "surface" }];
  const filtered = { ...before.emitters[0], eventFilter };
  await refuses("tap_set_event_filter", { name: "log", eventFilter }, filtered);
  const { emitters } = await call("tap_list_emitters", { name: "log" });
  assert.equal(emitters[0].rules, 0, "the filter that was refused is not in force");
  const { text } = await call("tap_stop_emitter", { name: "log", scope: "persistent" });
  assert.match(text, /the user has refused/);
  assert.match(question(), /remove the emitter log /);
  assert.deepEqual(readIn(cwd), before);
  assert.equal((await call("tap_list_emitters", { name: "log" })).emitters[0].state, "running");
});

test("an entry that the user allows in an open session begins, although nobody has used an emitter", async (t) => {
  const home = homeFolder(t);
  const host = await LocalHost.elected(t, { COPILOT_HOME: home });
  const cwd = fs.realpathSync(temporaryFolder(t));
  writeTo(cwd, { emitters: [{ name: "log", command: "touch ran; sleep 1000" }] });
  const session = await host.session(t, { cwd, cliPid: 4711 });
  const offers = () =>
    session.events.some(
      ({ type, set }) => type === "tools" && /tap_post/.test(JSON.stringify(set)),
    );
  await until(offers, () => `the tools of emitters\n${host.log}`);
  const loaded = loadProjectConfig(cwd);
  assert.ok(loaded?.result.ok);
  const [entry] = listEntries(loaded.result);
  assert.ok(!fs.existsSync(path.join(cwd, "ran")));
  allow(consentFile(host.files), loaded.file, [entry]);
  await until(() => fs.existsSync(path.join(cwd, "ran")), "its command");
});

test("a watcher of a config begins with a tool of the config, and a wrong tool is named", async (t) => {
  const home = homeFolder(t);
  const failure = [{ at: "^NOK (?<what>.*)" }];
  const tools = [
    { tool: "ours", argv: "^sh ours", failure },
    { tool: "wrong", argv: "(" },
  ];
  const watch = { build: { command: "sh ours.sh", onChange: ["*.sh"], hold: "1ms" } };
  const config = JSON.stringify({ ...USER_HOME, watch, tools });
  fs.writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });
  const { call, cwd, injected, shown } = await setUp(t, {}, home);
  fs.writeFileSync(path.join(cwd, "ours.sh"), "echo 'NOK a bolt is missing'; exit 1\n");
  const isRed = () => injected().some((/** @type {string} */ one) => /a bolt is missing/.test(one));
  await until(isRed, () => [injected(), shown()].join());
  const state = await call("tap_watch_state", { name: "build" });
  assert.deepEqual([state.tool, state.failures.length], ["ours", 1]);
  assert.ok(shown().some((/** @type {string} */ one) => /tools: .*argv: /.test(one)));
});

test("an emitter of a config has the injector of its stream, and follows it", async (t) => {
  const home = homeFolder(t);
  const file = path.join(home, "tap", "config.json");
  const command = "while sleep 0.1; do echo beat; done";
  const emitters = ["ops", "own"].map((name) => ({ name, command, channel: "ops" }));
  Object.assign(emitters[1], { delivery: "important" });
  const write = (/** @type {object} */ stream) => {
    const config = { ...USER_HOME, emitters, streams: [{ name: "ops", ...stream }] };
    fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  };
  write({ delivery: "all", managedBy: "userOwned" });
  const { call } = await setUp(t, {}, home);
  const injectors = async () =>
    (await call("tap_list_emitters")).emitters.map(
      (/** @type {any} */ { injector, runs }) => `${injector} ${runs}`,
    );
  await until(async () => (await injectors()).join() === "all 1,important 1", injectors);
  write({ subscribe: false });
  await until(async () => (await injectors()).join() === "off 1,important 1", injectors);
});

test("an emitter of a config without autoStart is listed, and begins when it is asked for by name", async (t) => {
  const home = homeFolder(t);
  const emitters = [{ name: "asked", command: "echo ready", autoStart: false }];
  const config = JSON.stringify({ ...USER_HOME, emitters });
  fs.writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });
  const { call, control, session, cwd } = await setUp(t, {}, home);
  writeTo(cwd, { emitters: [{ name: "strange", command: "echo no" }] });
  const list = await call("tap_list_emitters");
  assert.deepEqual(
    list.configured.map(({ name, file, allowed }) => `${name} ${file} ${allowed}`),
    ["strange project false", "asked user true"],
  );
  assert.match((await call("tap_start_emitter", { name: "strange" })).text, /not allowed it yet/);
  assert.match((await call("tap_start_emitter", { name: "none" })).text, /command: is missing/);
  const started = await call("tap_start_emitter", { name: "asked" });
  assert.equal(started.scope, "persistent", JSON.stringify(started));
  const ended = async () => (await call("tap_list_emitters")).emitters[0].state === "ended";
  await until(ended, "its end");
  const asked = JSON.stringify({ do: "start", name: "asked" });
  const command = { name: "tap-emit", arguments: asked, session: session.id };
  const { text } = await control.request("features.command", command);
  assert.notEqual(JSON.parse(text).answer.id, started.id, text);
  await until(ended, "its second end");
});

test("a name is one emitter's in a session, and a folder may be given in full", async (t) => {
  const home = homeFolder(t);
  const emitters = [{ name: "mine", command: "sleep 1000" }];
  const config = JSON.stringify({ ...USER_HOME, emitters });
  fs.writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });
  const { call, cwd } = await setUp(t, {}, home);
  await until(async () => (await call("tap_list_emitters")).emitters.length === 1, "the user's");
  const other = await call("tap_start_emitter", { name: "mine", command: "sleep 1000" });
  assert.match(other.text, /there is an emitter mine already: stop it first/);
  const folder = path.join(cwd, "inner");
  fs.mkdirSync(folder);
  await call("tap_start_emitter", { name: "where", command: "pwd", cwd: folder });
  const texts = async () =>
    (await call("tap_stream_history", { channel: "where" })).lines.map(({ text }) => text);
  await until(async () => (await texts()).includes(folder), texts);
  for (const outside of [path.dirname(cwd), `${cwd}-more`, path.join(cwd, "..", "x")]) {
    const refused = await call("tap_start_emitter", { name: "out", command: "pwd", cwd: outside });
    assert.match(refused.text, /cwd: expected a folder inside the workspace/, outside);
  }
  fs.symlinkSync(path.dirname(cwd), path.join(cwd, "link"));
  const linked = await call("tap_start_emitter", { name: "out", command: "pwd", cwd: "link" });
  assert.match(linked.text, /cwd: .*link is outside of the workspace/);
  assert.ok(!(await call("tap_list_emitters")).emitters.some(({ name }) => name === "out"));
});
