// What the reports of features that configs name say, with a real host and real processes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { loadProjectConfig } from "../../../js/config/load.mjs";
import { allow, consentFile, listEntries } from "../../../js/config/consent.mjs";
import { tap } from "../../support/cli-process.mjs";
import { projectEntry as entry } from "../../support/project-entry.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

/** @param {string} file @param {unknown} config */
function write(file, config) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}

/** @param {import("node:test").TestContext} t @param {object} user config */
async function setUp(t, user) {
  const host = await LocalHost.elected(t);
  write(userConfigFile(host.files), user);
  const control = await openControl(host.files);
  t.after(() => control.close());
  const report = async (/** @type {string} */ id) => {
    const { features } = await control.request("features.report", {});
    return features.find((/** @type {{id: string}} */ one) => one.id === id);
  };
  /** @param {string} id @param {(report: any) => boolean} check */
  const until = async (id, check) => {
    await waitFor(async () => check((await report(id)) ?? {}), {
      what: async () => `${id}: ${JSON.stringify(await report(id))}\n${host.log}`,
    });
    return report(id);
  };
  return { host, report, until };
}

test("a program's report has its rules, and what is wrong with it", async (t) => {
  const crash = { name: "crash", command: process.execPath, args: ["-e", "process.exit(3)"] };
  const missing = { name: "missing", command: "/nowhere/program" };
  const providers = [entry("guard", "guard"), missing, crash];
  const { host, until } = await setUp(t, { providers });
  const session = await host.session(t, { cwd: temporaryFolder(t) });
  const guard = await until("user:guard", ({ hooks = [] }) => hooks.length > 0);
  assert.deepEqual(guard.hooks, ["deny-1"]);
  assert.deepEqual(guard.tools, ["guard_who", "guard_crash"]);
  assert.deepEqual(guard.diagnostics, []);
  const gone = await until("user:missing", ({ diagnostics = [] }) => diagnostics.length > 0);
  assert.match(gone.diagnostics[0].text, /^provider "missing" could not be started: .* not found/);
  const ended = await until("user:crash", ({ diagnostics = [] }) => diagnostics.length > 0);
  assert.match(ended.diagnostics[0].text, /^provider "crash" ended with exit code 3; it is rest/);
  await session.call("guard_crash").catch(() => {});
  const back = (/** @type {any} */ { tools, diagnostics }) => tools.length + diagnostics.length > 2;
  assert.match((await until("user:guard", back)).diagnostics[0].text, /ended with exit code 3/);
  const { out } = await tap(["doctor"], { env: host.env });
  assert.doesNotMatch(out, /user:guard/);
  assert.match(out, /Features have problems: user:missing: provider "missing" could not be st/);
});

test("two folders that name the same share a report: one waits, the other's runs", async (t) => {
  const { host, until } = await setUp(t, {});
  const folders = ["a", "b"].map((name) => {
    const folder = fs.realpathSync(temporaryFolder(t));
    const file = path.join(folder, "tap.config.json");
    write(file, { providers: [{ ...entry(name), name: "ci" }] });
    return { folder, file };
  });
  const [{ folder, file }] = folders;
  write(file, { providers: [entry("ci")] });
  const { result } = loadProjectConfig(folder) ?? {};
  allow(consentFile(host.files), file, result?.ok ? listEntries(result) : []);
  for (const { folder: cwd } of folders) await host.session(t, { cwd });
  const both = await until(
    "project:ci",
    ({ tools = [], skipped = [] }) => tools.length + skipped.length > 2,
  );
  assert.deepEqual(both.tools, ["ci_who", "ci_crash"]);
  const reason = "you have not allowed it: copilot-tap allow";
  assert.deepEqual(both.skipped, [{ what: "the entry", reason }]);
});
