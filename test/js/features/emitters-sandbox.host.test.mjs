// Emitters of configs whose commands run in a sandbox, with real hosts and real bubblewrap.

import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { test } from "node:test";
import { allow, consentFile, listEntries } from "../../../js/config/consent.mjs";
import { loadProjectConfig } from "../../../js/config/load.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { homeFolder, setUp, until, USER_HOME, writeConfig } from "./emitters-rig.mjs";

/** @param {string} home @param {object} config */
const writeUserConfig = (home, config) => {
  const file = path.join(home, "tap", "config.json");
  fs.writeFileSync(file, JSON.stringify({ ...USER_HOME, ...config }), { mode: 0o600 });
};

/**
 * With emitters of the user's own.
 * @param {import("node:test").TestContext} t @param {object} config @param {Record<string, string>} [env] of the hosts
 */
async function begin(t, config, env) {
  const home = homeFolder(t);
  writeUserConfig(home, config);
  const made = await setUp(t, {}, home, LocalHost, env);
  const find = async (/** @type {string} */ name) =>
    (await made.call("tap_list_emitters", { name })).emitters[0];
  /** @param {string} name once it has ended */
  const ended = (name) =>
    until(async () => {
      const one = await find(name);
      return one?.state.startsWith("ended") && one;
    }, made.told);
  const lines = async (/** @type {string} */ channel) =>
    (await made.call("tap_stream_history", { channel })).lines
      .filter((/** @type {any} */ { line }) => line > 0)
      .map((/** @type {any} */ { text }) => text);
  return { ...made, find, ended, lines };
}

/** @param {string} mark of their command line */
const countProcesses = (mark) =>
  fs.readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && fs.readFileSync(`/proc/${name}/cmdline`, "utf8").includes(mark);
    } catch {
      return false;
    }
  }).length;

/** What a program can do, a line each. @param {string} outside @param {number} port */
const attempts = (outside, port) => `
  (echo x > made) 2> /dev/null && echo wrote the checkout
  (echo x > .git/config) 2> /dev/null && echo wrote git
  (echo x > "$HOME/tap-made") 2> /dev/null && echo wrote home
  (echo x > '${outside}/made') 2> /dev/null && echo wrote elsewhere
  curl -s http://127.0.0.1:${port}/ && echo reached localhost
  (echo x > dist/made) 2> /dev/null && echo wrote dist
  cat a.txt`;

test("a command in a sandbox reads the project, and writes and reaches what its entry names", async (t) => {
  const server = http.createServer((_request, response) => response.end("host\n"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => void server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const outside = fs.realpathSync(temporaryFolder(t));
  const entry = { command: attempts(outside, port), maxRuns: 1, autoStart: false };
  const emitters = [
    { ...entry, name: "shut", sandbox: {} },
    { ...entry, name: "open", sandbox: { writable: ["dist"], allowedUrls: ["*"] } },
    { ...entry, name: "again", every: "1s", maxRuns: 2, sandbox: { writable: ["dist"] } },
    { ...entry, name: "free" },
  ];
  const userHome = fs.realpathSync(temporaryFolder(t));
  const { call, cwd, ended, lines } = await begin(t, { emitters }, { HOME: userHome });
  for (const name of [".git", "dist"]) fs.mkdirSync(path.join(cwd, name));
  fs.writeFileSync(path.join(cwd, "a.txt"), "read\n");
  const run = async (/** @type {string} */ name) => {
    await call("tap_start_emitter", { name });
    const view = await ended(name);
    return [view.sandbox, await lines(name)];
  };
  assert.deepEqual(await run("shut"), ["on", ["read"]]);
  assert.deepEqual(fs.readdirSync(cwd).sort(), [".git", "a.txt", "dist"]);
  assert.deepEqual(fs.readdirSync(outside), []);
  assert.deepEqual(fs.readdirSync(userHome), []);
  const both = ["host", "reached localhost", "wrote dist", "read"];
  assert.deepEqual(await run("open"), ["on", both]);
  assert.equal(fs.readFileSync(path.join(cwd, "dist", "made"), "utf8"), "x\n");
  assert.deepEqual(await run("again"), ["on", ["wrote dist", "read", "wrote dist", "read"]]);
  const [sandbox, free] = await run("free");
  assert.deepEqual([sandbox, free.length], [undefined, 8], "without a sandbox all succeeds");
});

test("a command that runs until it is stopped ends with all that it has started", async (t) => {
  const mark = `mark-${crypto.randomUUID()}`;
  const beats = `while echo ${mark} > dist/beat; do sleep 0.05; done`;
  const command = `setsid bash -c '${beats}' & ${beats}`;
  const entry = { name: "log", command, managedBy: "modelOwned", autoStart: false };
  const emitters = [{ ...entry, sandbox: { writable: ["dist"] } }];
  const { call, cwd, find } = await begin(t, { emitters });
  fs.mkdirSync(path.join(cwd, "dist"));
  await call("tap_start_emitter", { name: "log" });
  await until(() => fs.existsSync(path.join(cwd, "dist", "beat")), "a beat");
  assert.deepEqual([(await find("log")).state, countProcesses(mark) > 0], ["running", true]);
  await call("tap_stop_emitter", { name: "log" });
  await until(() => countProcesses(mark) === 0, "the end of what it has started");
});

test("a folder that is not there is told, and nothing runs", async (t) => {
  const entry = { name: "gone", command: "touch ran", maxRuns: 1, autoStart: false };
  const emitters = [{ ...entry, sandbox: { writable: ["gone"] } }];
  const { call, cwd, ended } = await begin(t, { emitters });
  await call("tap_start_emitter", { name: "gone" });
  assert.match((await ended("gone")).lastRun.error, /^NO_FOLDER: /);
  assert.equal(fs.existsSync(path.join(cwd, "ran")), false);
});

test("without a sandbox nothing runs, unless the user's config does without, and its view says so", async (t) => {
  const tools = fs.realpathSync(temporaryFolder(t));
  for (const name of ["bash", "touch"]) fs.symlinkSync(`/usr/bin/${name}`, path.join(tools, name));
  const entry = { name: "one", command: "touch ran", maxRuns: 1, autoStart: false };
  const emitters = [{ ...entry, sandbox: {} }];
  const first = await begin(t, { emitters }, { PATH: tools });
  await first.call("tap_start_emitter", { name: "one" });
  assert.match((await first.ended("one")).lastRun.error, /^NO_SANDBOX: /);
  assert.equal(fs.existsSync(path.join(first.cwd, "ran")), false);
  const second = await begin(t, { emitters, sandbox: { fallback: "none" } }, { PATH: tools });
  await second.call("tap_start_emitter", { name: "one" });
  assert.equal((await second.ended("one")).sandbox, "not sandboxed");
  assert.equal(fs.existsSync(path.join(second.cwd, "ran")), true);
});

test("an entry of a project in a sandbox needs no consent where it was allowed without one", async (t) => {
  const { host, cwd, call, told } = await setUp(t);
  const entry = { name: "log", command: "touch made || echo no", maxRuns: 1 };
  writeConfig(cwd, [{ ...entry, autoStart: false }]);
  const grant = () => {
    const loaded = loadProjectConfig(cwd);
    assert.ok(loaded?.result.ok);
    return { file: loaded.file, entries: listEntries(loaded.result) };
  };
  const { file, entries } = grant();
  allow(consentFile(host.files), file, entries);
  writeConfig(cwd, [{ ...entry, autoStart: false, sandbox: {} }]);
  await call("tap_start_emitter", { name: "log" });
  const isOver = async () => (await call("tap_list_emitters", { name: "log" })).emitters[0].lastRun;
  assert.equal((await until(isOver, told)).status, "ok");
  assert.equal(fs.existsSync(path.join(cwd, "made")), false);
});

test("what the model saves of an entry keeps its sandbox", async (t) => {
  const { cwd, call } = await setUp(t);
  const sandbox = { writable: ["dist"] };
  const entry = { name: "log", command: "sleep 1000", managedBy: "modelOwned", autoStart: false };
  writeConfig(cwd, [{ ...entry, sandbox }]);
  await call("tap_start_emitter", { ...entry, command: "sleep 2000", scope: "persistent" });
  const eventFilter = [{ match: "x", outcome: "drop" }];
  const read = () => JSON.parse(fs.readFileSync(path.join(cwd, "tap.config.json"), "utf8"));
  assert.deepEqual(read().emitters[0].sandbox.writable, ["dist"]);
  await call("tap_set_event_filter", { name: "log", eventFilter, scope: "persistent" });
  assert.deepEqual(read().emitters[0].sandbox.writable, ["dist"]);
  const refused = await call("tap_start_emitter", { name: "x", command: "true", sandbox: {} });
  assert.match(refused.text, /sandbox/);
});
