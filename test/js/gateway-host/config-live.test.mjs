// The user's config is edited while sessions run: everything in it counts at once.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { AgentPool } from "../../../js/agents/pool.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { waitFor } from "../../support/wait.mjs";

/** @param {import("node:test").TestContext} t */
async function setUp(t) {
  const host = await LocalHost.elected(t);
  const session = await host.session(t, { cwd: temporaryFolder(t) });
  const control = await openControl(host.files);
  t.after(() => control.close());
  const file = userConfigFile(host.files);
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const write = (/** @type {unknown} */ config) => {
    fs.writeFileSync(`${file}.new`, JSON.stringify(config), { mode: 0o600 });
    fs.renameSync(`${file}.new`, file);
  };
  const ask = (/** @type {string} */ method) => control.request(method, {});
  /** @param {() => Promise<unknown>} look @param {unknown} wanted */
  const until = (look, wanted) =>
    waitFor(async () => JSON.stringify(await look()) === JSON.stringify(wanted), {
      what: async () =>
        `${JSON.stringify(wanted)}, not ${JSON.stringify(await look())}\n${host.log}`,
    });
  return { host, session, control, file, write, ask, until };
}

test("what is recorded, with the next edit", async (t) => {
  const { session, write, ask, until, control } = await setUp(t);
  const recording = async () => {
    const { recording: which, spans } = await ask("records.state");
    return [which, spans];
  };
  const calls = async () => {
    const { collections } = await control.request("records.stats", {});
    return collections.find((/** @type {any} */ { name }) => name === "tool_call")?.rows ?? 0;
  };
  await session.call("tap_status");
  await until(calls, 1);
  write({ features: {}, records: false });
  await until(recording, ["notify", false]);
  await session.call("tap_status");
  write({ features: {}, spans: false });
  await until(recording, ["all", false]);
  assert.equal(await calls(), 1);
  await session.call("tap_status");
  await until(calls, 2);
  write({ features: {} });
  await until(recording, ["all", true]);
});

test("who may change the mode of a session", async (t) => {
  const { file, write, ask, until } = await setUp(t);
  const mode = async () => (await ask("sessions.policy")).mode;
  assert.equal(await mode(), "ask");
  write({ session: { mode: "deny" } });
  await until(mode, "deny");
  fs.rmSync(file);
  await until(mode, "ask");
});

test("what goals gate, though nothing has needed the feature host before", async (t) => {
  const { write, ask, until, session } = await setUp(t);
  const report = async () => {
    const { features, host } = await ask("features.report");
    const { hooks, tools } = features.find((/** @type {any} */ { id }) => id === "builtin:goals");
    return [host.rss > 0, hooks, tools.length];
  };
  write({ goals: { gate: ["push"] } });
  await until(report, [true, ["push"], 5]);
  await session.waitFor("hooks");
  write({ goals: { gate: ["task_complete"] } });
  await until(report, [true, ["task-complete"], 5]);
  write({ features: {} });
  await until(report, [true, [], 5]);
});

test("how the next agents of plans reach a model", async (t) => {
  const workers = new AgentPool({ home: temporaryFolder(t), config: { model: "a" } });
  t.after(() => workers.close());
  const job = /** @type {any} */ ({ prompt: "do", cwd: "/", sessionId: "s" });
  assert.match(workers.formatCommandLine(job), /--model[= ]a\b/);
  workers.configure({ model: "b" });
  assert.match(workers.formatCommandLine(job), /--model[= ]b\b/);
  const bad = { provider: { type: "none", baseUrl: "http://localhost" } };
  assert.throws(() => workers.configure(bad), TypeError);
  assert.match(workers.formatCommandLine(job), /--model[= ]b\b/);
});
