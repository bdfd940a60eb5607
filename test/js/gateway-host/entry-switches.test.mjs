// Entries of configs that are switched, changed and removed while sessions run, with a real host and real processes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { loadProjectConfig } from "../../../js/config/load.mjs";
import { readConfiguredEmitters } from "../../../js/config/entries.mjs";
import { allow, consentFile, listEntries } from "../../../js/config/consent.mjs";
import { isAlive } from "../../support/processes.mjs";
import { projectEntry as entry } from "../../support/project-entry.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const RULES = { name: "rules", deny: [{ match: { tool: "bash" }, reason: "no bash here" }] };

/** @param {string} file @param {unknown} config */
function write(file, config) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(`${file}.new`, JSON.stringify(config), { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
}

/** @param {import("node:test").TestContext} t @param {{project?: object, user?: object}} configs */
async function setUp(t, { project = {}, user }) {
  const host = await LocalHost.elected(t);
  const folder = fs.realpathSync(temporaryFolder(t));
  const file = path.join(folder, "tap.config.json");
  const userFile = userConfigFile(host.files);
  write(file, project);
  if (user) write(userFile, user);
  const allowAll = () => {
    const { result } = loadProjectConfig(folder) ?? {};
    allow(consentFile(host.files), file, result?.ok ? listEntries(result) : []);
  };
  allowAll();
  const session = await host.session(t, { cwd: folder });
  const control = await openControl(host.files);
  t.after(() => control.close());
  const stateOf = async (id) => {
    const { features } = await control.request("features.report", {});
    return features.find((/** @type {{id: string}} */ one) => one.id === id)?.enabled;
  };
  let checks = 0;
  const denied = async () => {
    const checkId = `check-${++checks}`;
    session.send({ type: "hook.check", checkId, tool: "bash", args: {} });
    const { deny } = await session.waitFor("hook.verdict", (event) => event.checkId === checkId);
    return deny;
  };
  const pidOf = async (name) =>
    Number(/ (\d+) for /.exec(await session.call(`${name}_who`).catch(() => ""))?.[1] ?? 0);
  const pid = (name) =>
    waitFor(() => pidOf(name), {
      what: () => `${name}\n${host.log}${lines().join("\n")}`,
    });
  const lines = () =>
    session.events.filter(({ type }) => type === "timeline").map(({ text }) => text);
  return { host, session, file, folder, userFile, allowAll, control, stateOf, denied, pid, lines };
}

const gone = (pid) => waitFor(async () => !(await isAlive(pid)), { what: `the end of ${pid}` });
const until = (check, wanted, what) => waitFor(async () => (await check()) === wanted, { what });

test("a program of a project and one of the user are disabled and enabled in a running session", async (t) => {
  const { control, pid, stateOf, userFile } = await setUp(t, {
    project: { providers: [entry("ci")] },
    user: { providers: [entry("clock")] },
  });
  for (const [id, name] of [
    ["project:ci", "ci"],
    ["user:clock", "clock"],
  ]) {
    const first = await pid(name);
    const { features } = await control.request("features.disable", { id });
    const report = features.find((one) => one.id === id);
    assert.deepEqual([report.enabled, report.tools], [false, []]);
    await gone(first);
    assert.equal(JSON.parse(fs.readFileSync(userFile, "utf8")).features[id], false);
    await control.request("features.enable", { id });
    assert.equal(await stateOf(id), true);
    assert.notEqual(await pid(name), first);
  }
});

test("rules of a config are disabled and enabled in a running session", async (t) => {
  const { control, denied, stateOf } = await setUp(t, { project: { declarative: [RULES] } });
  await waitFor(async () => /no bash here/.test(await denied()), { what: "the rules" });
  await control.request("features.disable", { id: "project:rules" });
  await until(denied, undefined, "the end of the rules");
  assert.equal(await stateOf("project:rules"), false);
  await control.request("features.enable", { id: "project:rules" });
  await waitFor(async () => /no bash here/.test(await denied()), { what: "the rules again" });
});

test("the user's own config has the last word on entries of a project, emitters too", async (t) => {
  const emitter = { name: "tests", argv: ["true"], cron: "0 7 * * 1-5" };
  const off = { "project:ci": false, "project:tests": false };
  const { host, folder, stateOf, userFile, pid } = await setUp(t, {
    project: { providers: [entry("ci")], emitters: [emitter] },
    user: { features: off },
  });
  await until(() => stateOf("project:ci"), false, "the row of a disabled entry");
  assert.deepEqual(readConfiguredEmitters(host.files, folder).emitters, []);
  assert.ok(!fs.existsSync(path.join(host.files.logs, "providers")), "nothing was started");
  write(userFile, { features: {} });
  await pid("ci");
  assert.equal(readConfiguredEmitters(host.files, folder).emitters.length, 1);
});

test("an entry that leaves the user's config ends, and one with mistakes ends nothing", async (t) => {
  const { userFile, pid, lines, stateOf } = await setUp(t, {
    user: { providers: [entry("clock"), entry("more")] },
  });
  const [clock, more] = [await pid("clock"), await pid("more")];
  fs.writeFileSync(userFile, '{ "providers": [');
  await new Promise((resolve) => setTimeout(resolve, 1500)); // time to be looked at
  assert.deepEqual([await pid("clock"), await pid("more")], [clock, more]);
  write(userFile, { providers: [entry("clock")] });
  await gone(more);
  await waitFor(() => lines().some((text) => /does not name "more" any more/.test(text)));
  assert.equal(await pid("clock"), clock);
  await until(() => stateOf("user:more"), undefined, "the end of its row");
});

test("what leaves or is disabled in a project's file goes on until the user disables it", async (t) => {
  const { file, pid, lines, stateOf, denied, control } = await setUp(t, {
    project: { providers: [entry("ci")], declarative: [RULES] },
  });
  const ci = await pid("ci");
  await waitFor(async () => /no bash here/.test(await denied()), { what: "the rules" });
  write(file, { providers: [entry("ci")], features: { "project:ci": false } });
  await waitFor(() => lines().some((text) => /disables "ci": it continues until/.test(text)));
  const left =
    /does not name "rules" any more: it continues until .* features disable project:rules /;
  await waitFor(() => lines().some((text) => left.test(text)));
  assert.equal(await pid("ci"), ci);
  assert.ok(await denied());
  await waitFor(async () => /no bash here/.test(await denied()), {
    what: "its reason, which is left out where it is not recorded within 0.4 s",
  });
  assert.deepEqual([await stateOf("project:ci"), await stateOf("project:rules")], [true, true]);
  for (const id of ["project:ci", "project:rules"]) {
    await control.request("features.disable", { id });
  }
  await gone(ci);
  await until(denied, undefined, "the end of the rules");
});

test("an entry that changes goes on as it was until the new one is allowed", async (t) => {
  const { file, pid, allowAll, stateOf } = await setUp(t, {
    project: { providers: [entry("ci")] },
  });
  const ci = await pid("ci");
  write(file, { providers: [entry("ci", "changed"), entry("other")] });
  await until(() => stateOf("project:other"), true, "a row of what waits");
  assert.equal(await pid("ci"), ci);
  allowAll();
  await gone(ci);
  await pid("ci");
});

test("features of an edited user config are applied, and one with a mistake changes nothing", async (t) => {
  const { host, userFile, stateOf } = await setUp(t, {});
  assert.equal(await stateOf("builtin:goals"), true);
  write(userFile, { features: { "builtin:goals": false, "builtin:gaols": false, "user:x": true } });
  await until(() => stateOf("builtin:goals"), false, "the end of goals");
  for (const said of [/warning features: there is no feature builtin:gaols; /, /feature user:x;/]) {
    await waitFor(() => said.test(host.log), { what: () => host.log });
  }
  fs.writeFileSync(userFile, '{ "features": { "builtin:goals": "yes" } }');
  await waitFor(() => /warning .*config\.json:1:/.test(host.log), { what: () => host.log });
  assert.equal(await stateOf("builtin:goals"), false);
  fs.rmSync(userFile);
  await until(() => stateOf("builtin:goals"), true, "goals again");
});
