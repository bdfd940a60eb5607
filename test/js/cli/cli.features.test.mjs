// copilot-tap features, stop and status, beside a gateway host with the features of tests.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isAlive } from "../../support/processes.mjs";
import { place, placeOf, tap, tapJson, tapProcess } from "../../support/cli-process.mjs";
import { Host } from "../../support/test-host.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";

const MAIN = fileURLToPath(
  new URL("../../support/fixtures/features/gateway-host.mjs", import.meta.url),
);
const AT = "2026-11-22T09:00:00.000Z";
const HOLD = { id: "plan-1", feature: "builtin:good", what: "a plan", at: AT };

/** @param {import("node:test").TestContext} t @param {object[]} [holds] that it finds */
async function started(t, holds = []) {
  const home = fs.realpathSync(temporaryFolder(t));
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  if (holds.length > 0) {
    const file = path.join(home, "tap", "holds.json");
    fs.writeFileSync(file, JSON.stringify({ version: 1, holds }), { mode: 0o600 });
  }
  const host = await Host.elected(t, { COPILOT_HOME: home, TAP_TEST_FOLDER: home }, MAIN);
  const at = placeOf(host);
  const hostPid = () =>
    waitFor(async () => (await tapJson(["status"], at)).value.featureHost.pid, {
      what: () => `a feature host\n${host.log}`,
    });
  return { host, at, hostPid };
}

describe("copilot-tap features", () => {
  test("lists features, reports one, and switches it in a running gateway", async (t) => {
    const { host, at, hostPid } = await started(t);
    await host.withToken(t);
    await hostPid();
    const list = await tapProcess(["features"], at);
    assert.equal(list.code, 0);
    assert.match(list.out, /^builtin:good +on +builtin +.*good_count, .*\/tap-good$/m);
    const report = await tap(["features", "report", "builtin:good"], at);
    assert.match(report.out, /^builtin:good builtin, on\n {2}tools: .*good_count, /);
    const config = path.join(host.files.home, "tap", "config.json");
    const off = await tapJson(["features", "disable", "builtin:good"], at);
    assert.deepEqual(off.value, { id: "builtin:good", enabled: false, file: config, live: true });
    assert.match((await tap(["features"], at)).out, /^builtin:good +disabled/m);
    const on = await tap(["features", "enable", "builtin:good"], at);
    assert.equal(on.out, `builtin:good is on, as ${config} says\n`);
    assert.deepEqual(JSON.parse(fs.readFileSync(config, "utf8")), {
      features: { "builtin:good": true },
    });
  });

  test("says which features there are, and which are always on", async (t) => {
    const { at } = await started(t);
    const unknown = await tap(["features", "disable", "builtin:nothing"], at);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /no feature "builtin:nothing"; there are: builtin:status/);
    assert.match((await tap(["features", "disable", "builtin:status"], at)).err, /always on/);
    assert.match((await tap(["features", "report", "x"], at)).err, /there is no feature "x"/);
    const none = await tap(["features", "enable"], at);
    assert.equal(none.code, 2);
    assert.match(none.err, /which feature\?/);
  });

  test("are shown though the config has a mistake, with the mistake beside them", async (t) => {
    const { host, at } = await started(t);
    const config = path.join(host.files.home, "tap", "config.json");
    fs.writeFileSync(config, '{"features": {"builtin:goals": "no"}}', { mode: 0o600 });
    const { code, out, err } = await tap(["features"], at);
    assert.equal(code, 0);
    assert.match(out, /^builtin:goals +on /m);
    assert.match(err, /config\.json:1:\d+: features\["builtin:goals"\]: /);
    assert.match((await tap(["features", "report", "builtin:goals"], at)).out, /^builtin:goals /);
    assert.equal((await tap(["features", "disable", "builtin:goals"], at)).code, 1);
  });

  for (const running of [true, false]) {
    test(`of a project and of the user are switched in the folder, ${running ? "without a session" : "without a gateway"}`, async (t) => {
      const at = place(t);
      const mine = path.join(at.home, "tap", "config.json");
      fs.mkdirSync(path.dirname(mine), { recursive: true, mode: 0o700 });
      const clock = { name: "clock", command: "node" };
      fs.writeFileSync(mine, JSON.stringify({ providers: [clock] }), { mode: 0o600 });
      const env = running ? (await Host.elected(t, { COPILOT_HOME: at.home })).env : at.env;
      const here = { ...at, env: { ...env, ...(!running && { TAP_GATEWAY_PORT: "1" }) } };
      const elsewhere = { ...here, workspace: fs.realpathSync(temporaryFolder(t)) };
      for (const id of ["project:ci", "user:clock"]) {
        const { code, err } = await tap(["features", "disable", id], here);
        assert.equal(code, 0, err);
        assert.equal(JSON.parse(fs.readFileSync(mine, "utf8")).features[id], false);
      }
      const { code, out } = await tap(["features", "enable", "project:ci"], elsewhere);
      assert.equal(code, 0, "your config names it");
      assert.match(out, /project:ci is on/);
      assert.equal(at.allowed(), false, "that is no consent");
      const refused = async (id, where) => {
        const { code: failed, err } = await tap(["features", "disable", id], where);
        assert.equal(failed, 1);
        assert.equal(id in JSON.parse(fs.readFileSync(mine, "utf8")).features, false);
        return err;
      };
      assert.match(await refused("user:clocks", here), /no feature "user:clocks"/);
      fs.writeFileSync(at.config, '{ "providers": [{ "name": "other", "command": "node" }] }');
      const told = /no feature "project:other".*in the folder of its project/s;
      assert.match(await refused("project:other", elsewhere), told);
      fs.writeFileSync(at.config, '{ "providers": [');
      assert.match(await refused("project:other", here), /tap\.config\.json:1:/);
    });
  }

  test("are not the agent's to switch", async (t) => {
    const at = place(t);
    const extra = { COPILOT_AGENT_SESSION_ID: "s", TAP_GATEWAY_PORT: "1" };
    const { code, err } = await tap(["features", "disable", "builtin:records"], at, extra);
    assert.equal(code, 1);
    assert.match(err, /not the agent's/);
    assert.equal(fs.existsSync(path.join(at.home, "tap", "config.json")), false);
  });

  test("are switched for the next gateway where none runs", async (t) => {
    const at = place(t);
    const none = { TAP_GATEWAY_PORT: "1" };
    const { code, out } = await tap(["features", "disable", "builtin:records"], at, none);
    assert.equal(code, 0);
    assert.match(out, /builtin:records is disabled.*\n {2}no gateway runs: the next one reads it/);
    const config = fs.readFileSync(path.join(at.home, "tap", "config.json"), "utf8");
    assert.deepEqual(JSON.parse(config), { features: { "builtin:records": false } });
  });
});

describe("copilot-tap stop", () => {
  test("with a linked session refuses, and names it", async (t) => {
    const { host, at } = await started(t);
    const session = await host.withToken(t);
    const { code, err } = await tap(["stop"], at);
    assert.equal(code, 1);
    assert.ok(err.includes(`(${session.id})`), err);
    assert.match(err, /end these sessions first/);
    assert.equal(await isAlive(/** @type {number} */ (host.process.pid)), true);
  });

  test("with a hold ends both hosts, and says which work is given up", async (t) => {
    const { host, at, hostPid } = await started(t, [HOLD]);
    const pid = await hostPid();
    const { code, out } = await tapProcess(["stop"], at);
    assert.equal(code, 0);
    assert.equal(
      out,
      `the gateway (pid ${host.process.pid}) ends\n` +
        `the feature host (pid ${pid}) ends with it\n` +
        "  released: a plan (builtin:good)\n",
    );
    await host.exit();
    await waitFor(async () => !(await isAlive(pid)), { what: "the end of the feature host" });
    assert.equal(fs.existsSync(path.join(host.files.home, "tap", "holds.json")), false);
  });

  test("without a gateway says so", async (t) => {
    const { code, err } = await tap(["stop"], place(t), { TAP_GATEWAY_PORT: "1" });
    assert.equal(code, 3);
    assert.match(err, /no gateway runs/);
  });
});

describe("copilot-tap status", () => {
  test("shows the feature host, what holds it, and the record store", async (t) => {
    const { host, at, hostPid } = await started(t, [HOLD]);
    const pid = await hostPid();
    process.kill(pid, "SIGKILL");
    await waitFor(async () => (await hostPid()) !== pid, { what: "another one" });
    const { out } = await tap(["status"], at);
    assert.match(
      out,
      /\nfeature host: running, pid \d+, since \d\d:\d\d:\d\d, up \d+ s, restarted once.*\n {2}the feature host was ended by SIGKILL.*\n {2}held by builtin:good: a plan {2}since .*:00:00\n/,
    );
    assert.doesNotMatch(out, /is restarted in/);
    const file = path.join(host.files.home, "tap", "records.sqlite");
    assert.match(out, /\nrecords: \d+ records?, \d+ kB {2}/);
    assert.ok(out.includes(file), out);
    const { value } = await tapJson(["status"], at);
    assert.deepEqual(value.holds, [HOLD]);
    assert.equal(value.featureHost.restarts, 1);
    const { recording, open, bytes, dropped, journal, rollbackReason } = value.records;
    assert.deepEqual(
      { recording, open, dropped, file: value.records.file },
      { recording: "all", open: true, dropped: {}, file },
    );
    assert.ok(bytes > 0);
    assert.equal(journal === "wal", rollbackReason === "");
  });

  test("says what is recorded, and why nothing is", async (t) => {
    const home = fs.realpathSync(temporaryFolder(t));
    fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
    const config = path.join(home, "tap", "config.json");
    fs.writeFileSync(config, '{"records": false}', { mode: 0o600 });
    const statusOf = (/** @type {Host} */ host) => tap(["status"], placeOf(host));
    const first = await Host.elected(t, { COPILOT_HOME: home });
    const some = async () => /, only texts of features/.test((await statusOf(first)).out);
    await waitFor(some, { what: "a store that is open, for some records" });
    first.process.kill("SIGTERM");
    await first.exit();
    const store = path.join(home, "tap", "records.sqlite");
    for (const name of fs.readdirSync(path.dirname(store))) {
      if (name.startsWith("records.sqlite")) fs.rmSync(path.join(home, "tap", name));
    }
    fs.mkdirSync(store);
    const second = await Host.elected(t, { COPILOT_HOME: home });
    const out = await waitFor(
      async () => {
        const status = await statusOf(second);
        return status.out.includes("cannot be written") && status.out;
      },
      { what: "a store that cannot be written" },
    );
    assert.match(out, /\nrecords: 0 records, 0 bytes, recording is off/);
    assert.match(out, /\nthe feature host does not run: it was not needed yet\n/);
    const { value } = await tapJson(["status"], placeOf(second));
    assert.deepEqual([value.records.recording, value.records.trouble.code], ["off", "read-only"]);
  });
});
