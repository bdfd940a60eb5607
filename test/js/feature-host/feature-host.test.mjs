// The feature host as a process of its own, beside a gateway host, with features that behave and features that do not.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openControl } from "../../../js/link/control.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { isAlive } from "../../support/processes.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const MAIN = fileURLToPath(
  new URL("../../support/fixtures/features/gateway-host.mjs", import.meta.url),
);

const gone = (pid) => waitFor(async () => !(await isAlive(pid)), { what: `the end of ${pid}` });

/** A gateway host with the features of tests, a session, and a control client. */
async function setUp(t, env = {}) {
  const folder = temporaryFolder(t);
  const host = await Host.elected(t, { TAP_TEST_FOLDER: folder, ...env }, MAIN);
  const session = await host.withToken(t);
  const control = await openControl(host.files);
  t.after(() => control.close());
  const state = () => control.request("features.report", {});
  const report = async (id) => (await state()).features.find((one) => one.id === `builtin:${id}`);
  const has = (tool) =>
    waitFor(() => offered(session).includes(tool), {
      what: () => `${tool} in ${offered(session)}\n${host.log}${featureLog(host)}`,
    });
  const hostPid = () => waitFor(async () => (await state()).host.pid, { what: "a feature host" });
  return { folder, host, session, control, state, report, has, hostPid };
}

const featureLog = (host) => {
  const file = path.join(host.files.logs, "feature-host.log");
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
};

/** The names of the tools that the session has now. */
function offered(session) {
  const providers = new Map();
  for (const { type, set, drop } of session.events) {
    if (type !== "tools") continue;
    for (const name of drop) providers.delete(name);
    for (const one of set) providers.set(one.provider, one.definitions);
  }
  return [...providers.values()].flat().map(({ name }) => name);
}

const texts = (report) => report.diagnostics.map(({ text }) => text).join("\n");

describe("the feature host", () => {
  test("runs features with their services, and everything ends with its gateway host", async (t) => {
    const { host, session, state, has, hostPid } = await setUp(t);
    await has("good_count");
    assert.equal(await session.call("good_count"), "1");
    assert.equal(await session.call("good_count"), "2");
    const file = path.join(host.files.home, "tap", "features", "builtin%3Agood", "count.json");
    assert.deepEqual(JSON.parse(fs.readFileSync(file, "utf8")), { version: 1, value: 2 });
    assert.deepEqual(
      [file, path.dirname(file)].map((one) => fs.statSync(one).mode & 0o777),
      [0o600, 0o700],
    );
    const script =
      "console.log(process.env.GIVEN, process.env.TRACEPARENT, process.env.TAP_TEST_FOLDER)";
    const ran = JSON.parse(await session.call("good_run", { script }));
    assert.deepEqual(
      [ran.code, ran.stdout],
      [0, "yes 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01 undefined\n"],
    );
    const pid = await hostPid();
    assert.equal(await session.call("good_who"), String(pid));
    const { host: seen } = await state();
    assert.equal(seen.state, "running");
    assert.ok(seen.rss > 0 && seen.startedAt > 0);
    host.process.kill("SIGTERM");
    await host.exit();
    await gone(pid);
  });

  test("asks for a feature whether a command would be denied in its session", async (t) => {
    const { host, session, has } = await setUp(t);
    await has("good_may");
    const may = async (command, other) =>
      JSON.parse(String(await session.call("good_may", { command, session: other })));
    assert.deepEqual(await may("ls"), { allowed: true });
    const guard = provider("guard", {
      session: session.id,
      url: `ws://127.0.0.1:${host.descriptor.port}`,
      token: host.token,
    });
    t.after(() => guard.close());
    const asked = [];
    guard.deny({ tool: "shell", args: "git push" }, "ask first").inForce?.catch(() => {});
    guard
      .gate({ tool: "shell", args: "deploy" }, (use) => {
        asked.push([use.tool, use.args.command]);
        return "not on Fridays";
      })
      .inForce?.catch(() => {});
    await guard.connect();
    assert.deepEqual(await may("ls"), { allowed: true });
    assert.deepEqual(await may("git push -f"), {
      allowed: false,
      reason: 'tap provider "guard": ask first',
      by: "guard",
    });
    assert.deepEqual(await may("./deploy"), {
      allowed: false,
      reason: 'tap provider "guard": not on Fridays',
      by: "guard",
    });
    assert.deepEqual(asked, [["shell", "./deploy"]]);
    const failed = await session.call("good_may", { command: "ls", session: "nowhere" });
    assert.match(/** @type {any} */ (failed).text, /unavailable: there is no session "nowhere"/);
  });

  test("that is killed is started again; no provider and no session notices", async (t) => {
    const { session, state, has, hostPid, report } = await setUp(t);
    await has("good_who");
    const first = await hostPid();
    await session.call("good_sleep", {}, 1).catch(() => {});
    const sleeping = session.call("good_sleep");
    await waitFor(async () => (await report("good")).tasks.length > 0);
    const swaps = () => session.events.filter(({ type }) => type === "tools").length;
    const before = swaps();
    process.kill(first, "SIGKILL");
    const outcome = await sleeping;
    assert.equal(/** @type {any} */ (outcome).code, "DISCONNECTED");
    await waitFor(
      async () => {
        const { host } = await state();
        return host.pid !== undefined && host.pid !== first;
      },
      { what: "another feature host" },
    );
    await waitFor(
      async () =>
        (await session.call("good_who")) !== String(first) &&
        /^\d+$/.test(String(await session.call("good_who"))),
    );
    assert.equal(swaps(), before, "the model keeps its tools");
    assert.equal((await state()).host.restarts, 1);
    assert.match((await state()).host.trouble, /the feature host was ended by SIGKILL/);
    const lines = session.events.filter(({ type }) => type === "timeline").map(({ text }) => text);
    assert.deepEqual(
      lines.filter((text) => /good/.test(text)),
      [],
    );
  });

  test("leaves nothing behind where the gateway host is killed", async (t) => {
    const { host, session, folder, has, hostPid } = await setUp(t);
    await has("forgets_x");
    await session.call("forgets_x");
    const child = Number(
      await waitFor(() => fs.readFileSync(path.join(folder, "pid"), "utf8"), { what: "a child" }),
    );
    const pid = await hostPid();
    host.process.kill("SIGKILL");
    await gone(pid);
    await gone(child);
  });

  test("that is killed itself leaves no program of a feature", async (t) => {
    const { session, folder, has, hostPid } = await setUp(t);
    await has("forgets_x");
    await session.call("forgets_x");
    const child = Number(
      await waitFor(() => fs.readFileSync(path.join(folder, "pid"), "utf8"), { what: "a child" }),
    );
    process.kill(await hostPid(), "SIGKILL");
    await gone(child);
  });

  test("tells a feature that a session becomes busy or idle", async (t) => {
    const { session, has } = await setUp(t);
    await has("good_seen");
    const seen = async () => JSON.parse(await session.call("good_seen")).seen;
    for (const activity of ["user-prompt", "busy", "idle", "busy"]) {
      session.send({ type: "activity", activity });
    }
    const changes = await waitFor(async () => (await seen()).length === 3 && seen());
    assert.deepEqual(
      changes,
      ["busy", "idle", "busy"].map((activity) => [activity, session.id]),
    );
  });

  test("runs a slash command of a feature", async (t) => {
    const { session } = await setUp(t);
    session.send({ type: "command.run", commandId: "1", name: "tap-good", arguments: "x" });
    const { text } = await session.waitFor("command.result");
    assert.equal(text, `good x in ${session.id}`);
  });
});

describe("a feature that misbehaves", () => {
  test("in install has a reason in its report; the others are there", async (t) => {
    const { has, report } = await setUp(t);
    await has("good_count");
    const { tools, diagnostics, skipped } = await waitFor(
      async () => {
        const told = await report("throws"); // until then what it promises
        return told.diagnostics.length > 0 && told;
      },
      { what: "the report of the feature host" },
    );
    assert.deepEqual(tools, []);
    assert.equal(diagnostics[0].text, "install failed: no database");
    assert.equal(skipped[0].reason, "install failed: no database");
  });

  test("by blocking the loop is named, at once or later", async (t) => {
    const { session, has, report } = await setUp(t);
    await has("blocks_now");
    assert.equal(await session.call("blocks_now"), "done");
    await waitFor(async () =>
      /blocked the event loop for 5\d\d ms/.test(texts(await report("blocks"))),
    );
    assert.equal(await session.call("blocks_later"), "done");
    await waitFor(async () => /for (69|7\d)\d ms/.test(texts(await report("blocks"))));
    assert.equal(texts(await report("good")).includes("blocked"), false);
  });

  test("by throwing where nobody catches gets a diagnostic, and the others go on", async (t) => {
    const { session, state, has, report, hostPid } = await setUp(t);
    await has("rushes_x");
    const pid = await hostPid();
    const sleeping = session.call("good_sleep");
    assert.equal(await session.call("rushes_x"), "started");
    await waitFor(async () => /too late/.test(texts(await report("rushes"))));
    assert.match(texts(await report("rushes")), /not awaited/);
    assert.equal(await session.call("good_who"), String(pid));
    assert.equal((await state()).host.restarts, 0);
    assert.equal(await Promise.race([sleeping, "still running"]), "still running");
  });

  test("by leaving timers and programs behind loses them when it is disabled", async (t) => {
    const { session, folder, control, has, report } = await setUp(t);
    await has("forgets_x");
    await session.call("forgets_x");
    const child = Number(
      await waitFor(() => fs.readFileSync(path.join(folder, "pid"), "utf8"), { what: "a child" }),
    );
    await control.request("features.disable", { id: "builtin:forgets" });
    await gone(child);
    assert.equal((await report("forgets")).enabled, false);
    await control.request("features.disable", { id: "builtin:leaks" });
    await waitFor(async () => /it left 2 timers running/.test(texts(await report("leaks"))));
    assert.equal((await report("leaks")).enabled, false);
  });
});

describe("live", () => {
  test("a feature is disabled and enabled in a running session, and the config says so", async (t) => {
    const { host, session, control, has, report } = await setUp(t);
    await has("good_count");
    const file = userConfigFile(host.files);
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, '{\n  // mine\n  "toolGroups": [], // none\n}\n', { mode: 0o600 });
    const sleeping = session.call("good_sleep");
    await control.request("features.disable", { id: "builtin:good" });
    const { code, text } = /** @type {any} */ (await sleeping);
    const told = /has disabled builtin:good, .*with: copilot-tap features enable builtin:good$/;
    assert.equal(code, "DISCONNECTED");
    assert.match(text, told);
    await waitFor(() => !offered(session).includes("good_count"), {
      what: "a session without its tools",
    });
    assert.match(
      fs.readFileSync(file, "utf8"),
      /\/\/ mine\n[^]*"builtin:good": false\n {2}\}, \/\/ none/,
    );
    await waitFor(async () => (await report("good")).enabled === false);
    assert.match(/** @type {any} */ (await session.call("good_count")).text, told);
    assert.deepEqual((await report("good")).tasks, []);
    await control.request("features.enable", { id: "builtin:good" });
    await has("good_count");
    assert.equal(await session.call("good_count"), "1");
  });

  test("a feature that is not there, or that is always on, is not switched", async (t) => {
    const { control } = await setUp(t);
    const failed = (id) => control.request("features.disable", { id }).catch((error) => error);
    const { message } = await failed("builtin:nothing");
    assert.match(message, /no feature "builtin:nothing"; there are: builtin:status/);
    assert.match((await failed("builtin:status")).message, /always on/);
    assert.equal((await failed({})).code, "INVALID");
  });
});

describe("holds", () => {
  test("keep both hosts without a session, until they are released", async (t) => {
    const { host, session, hostPid, has } = await setUp(t, {
      TAP_GRACE_MS: "1500", // in which the session has to come
      TAP_LINGER_MS: "10",
    });
    await has("good_count");
    const pid = await hostPid();
    fs.mkdirSync(path.join(host.files.home, "tap"), { recursive: true });
    session.close();
    assert.deepEqual(await host.exit(), { code: 0, signal: null });
    await gone(pid);
    const hold = {
      id: "plan-1",
      feature: "builtin:good",
      what: "a plan",
      at: new Date().toISOString(),
    };
    const file = path.join(host.files.home, "tap", "holds.json");
    fs.writeFileSync(file, JSON.stringify({ version: 1, holds: [hold] }), { mode: 0o600 });
    const second = await Host.elected(t, host.env, MAIN);
    const control = await openControl(second.files);
    t.after(() => control.close());
    const started = await waitFor(
      async () => (await control.request("features.report", {})).host.pid,
      { what: "a feature host" },
    );
    await waitFor(() => second.log.includes("the gateway stays for a plan (builtin:good)"), {
      what: "the hold",
    });
    const stopped = await control.request("host.stop", {});
    assert.deepEqual([stopped.pid, stopped.released[0].what], [second.process.pid, "a plan"]);
    await second.exit();
    await gone(started);
    assert.equal(fs.existsSync(file), false);
  });

  test("a gateway with sessions is not stopped: they are named", async (t) => {
    const { session, control } = await setUp(t);
    const error = await control.request("host.stop", {}).catch((one) => one);
    assert.equal(error.code, "SESSIONS");
    assert.ok(error.message.includes(session.id), error.message);
  });
});
