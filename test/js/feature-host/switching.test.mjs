// Features that are switched in bad moments: by several at once, while they install, work or come into a session, and
// by an edit of the config that is not whole.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openControl } from "../../../js/link/control.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { TEST_FEATURES } from "../../support/fixtures/features/list.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const MAIN = fileURLToPath(
  new URL("../../support/fixtures/features/gateway-host.mjs", import.meta.url),
);
const GOOD = "builtin:good";

/** @param {import("node:test").TestContext} t */
async function setUp(t) {
  const host = await LocalHost.elected(t, {}, TEST_FEATURES);
  const session = await host.session(t, { cwd: temporaryFolder(t) });
  const clients = await Promise.all([openControl(host.files), openControl(host.files)]);
  for (const client of clients) t.after(() => client.close());
  const [control] = clients;
  const report = async (/** @type {string} */ id) => {
    const { features } = await control.request("features.report", {});
    return features.find((/** @type {any} */ one) => one.id === id);
  };
  /** @param {() => unknown} check @param {string} what */
  const until = (check, what) => waitFor(check, { what: () => `${what}\n${host.log}` });
  const works = () =>
    until(async () => /^\d+$/.test(String(await session.call("good_count"))), "it");
  const file = userConfigFile(host.files);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return { host, session, clients, control, report, until, works, file };
}

test("two clients that switch the same feature at once leave what the config says", async (t) => {
  const { clients, report, until, works, file, session } = await setUp(t);
  await works();
  const asks = [];
  for (let n = 0; n < 30; ++n) {
    const method = n % 3 === 0 ? "features.enable" : "features.disable";
    asks.push(clients[n % 2].request(method, { id: GOOD }));
    if (n % 4 === 0) asks.push(session.call("good_count"));
  }
  await Promise.all(asks);
  const says = JSON.parse(fs.readFileSync(file, "utf8")).features[GOOD];
  await until(async () => (await report(GOOD)).enabled === says, "what the config says");
  await clients[1].request("features.enable", { id: GOOD });
  await works();
});

test("features that are switched off before they were installed, and while a group opens, are off", async (t) => {
  const { control, session, report, until } = await setUp(t);
  const opening = ["records", "emitters", "goals"].map((group) =>
    session.call("tap_tools", { group }),
  );
  for (const id of ["builtin:records", "builtin:emitters", GOOD]) {
    await control.request("features.disable", { id });
  }
  await Promise.all(opening);
  await until(async () => (await report("builtin:goals")).tools.length === 5, "goals");
  const answers = ["tap_query_records", "tap_list_emitters", "good_count"].map((tool) =>
    session.call(tool, {}),
  );
  for (const { text } of /** @type {any[]} */ (await Promise.all(answers))) {
    assert.match(text, /has disabled builtin:\w+/);
  }
  await control.request("features.enable", { id: "builtin:records" });
  await until(
    async () =>
      typeof (await session.call("tap_query_records", { collection: "session" })) === "string",
    "the group that was opened meanwhile",
  );
});

test("a config that is not whole, too large, a link or a pipe changes nothing, and says so", async (t) => {
  const { host, report, until, file, session } = await setUp(t);
  const write = (/** @type {string} */ text) => fs.writeFileSync(file, text, { mode: 0o600 });
  const off = JSON.stringify({ features: { "builtin:goals": false } });
  const isOff = async () => (await report("builtin:goals")).enabled === false;
  write(off);
  await until(isOff, "the end of goals");
  const warned = async (/** @type {RegExp} */ wanted) => {
    await until(() => wanted.test(host.log), String(wanted));
    assert.ok(await isOff());
  };
  write("");
  await warned(/warning .*config\.json:1:1/);
  write(off.slice(0, -3));
  await warned(/config\.json:1:3\d/);
  write(`${off.slice(0, -1)}, "toolGroups": [${'"a",'.repeat(100_000)}]}`);
  await warned(/expected at most 256 KB/);
  const other = path.join(temporaryFolder(t), "mine.json");
  fs.writeFileSync(other, "{}", { mode: 0o600 });
  fs.rmSync(file);
  fs.symlinkSync(other, file);
  await warned(/expected a file of yours/);
  fs.writeFileSync(`${file}.new`, JSON.stringify({ features: {} }), { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
  await until(async () => !(await isOff()), "goals again");
  assert.match(String(await session.call("tap_status")), /tap/);
});

test("a config that is away for a moment, as some editors write it, changes nothing", async (t) => {
  const { report, file, session, until } = await setUp(t);
  const rules = [{ name: "mine", deny: [{ match: { tool: "bash" }, reason: "no bash here" }] }];
  const text = JSON.stringify({ features: { "builtin:goals": false }, declarative: rules });
  fs.writeFileSync(file, text, { mode: 0o600 });
  let checks = 0;
  const denied = async () => {
    const checkId = `check-${++checks}`;
    session.send({ type: "hook.check", checkId, tool: "bash", args: {} });
    return (await session.waitFor("hook.verdict", (event) => event.checkId === checkId)).deny;
  };
  await until(async () => (await denied()) !== undefined, "the rule");
  await until(async () => (await report("builtin:goals")).enabled === false, "the end of goals");
  for (let round = 0; round < 3; ++round) {
    await until(async () => (await denied()) !== undefined, "the rule, also after a slow round");
    fs.rmSync(file);
    const end = performance.now() + 500; // less than between two looks
    for (;;) {
      const [reason, { enabled }] = [await denied(), await report("builtin:goals")];
      if (performance.now() > end) break; // a slow machine may have looked twice
      assert.ok(reason);
      assert.equal(enabled, false);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    fs.writeFileSync(file, text, { mode: 0o600 });
    await new Promise((resolve) => setTimeout(resolve, 2200)); // for a look at it
  }
  fs.rmSync(file);
  await until(async () => (await denied()) === undefined, "the end of the rule");
  await until(async () => (await report("builtin:goals")).enabled, "goals");
});

test("what holds a gateway does so only while its feature is on", async (t) => {
  const home = fs.realpathSync(temporaryFolder(t));
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  const holds = [{ id: "p", feature: GOOD, what: "a plan", at: new Date().toISOString() }];
  const file = path.join(home, "tap", "holds.json");
  fs.writeFileSync(file, JSON.stringify({ version: 1, holds }), { mode: 0o600 });
  const env = { COPILOT_HOME: home, TAP_GRACE_MS: "100", TAP_TEST_FOLDER: home };
  const host = await Host.elected(t, env, MAIN);
  await waitFor(() => /stays for a plan \(builtin:good\)/.test(host.log), {
    what: () => host.log,
  });
  const control = await openControl(host.files);
  await control.request("features.disable", { id: GOOD });
  control.close();
  assert.equal((await host.exit()).code, 0);
  assert.equal(JSON.parse(fs.readFileSync(file, "utf8")).holds.length, 1, "for when it is enabled");
});
