// Providers that a session's tap.config.json names, with a real host, real sessions and real processes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { allow, consentFile, listEntries, revoke } from "../../../js/config/consent.mjs";
import { GatewayHost } from "../../../js/gateway-host/gateway-host.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { loadProjectConfig } from "../../../js/config/load.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { isAlive } from "../../support/processes.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { TestSession } from "../../support/harness.mjs";
import { LocalHost } from "../../support/local-host.mjs";
import { PROJECT_PROVIDER, projectEntry as entry } from "../../support/project-entry.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";

class Workspace {
  /** @param {import("node:test").TestContext} t @param {Pick<Host, "files">} host @param {unknown} [config] */
  constructor(t, host, config = { providers: [entry("ci")] }) {
    this.folder = fs.realpathSync(temporaryFolder(t));
    this.file = path.join(this.folder, "tap.config.json");
    this.store = consentFile(host.files);
    this.write(config);
  }

  /** @param {unknown} config text is written as it is */
  write(config) {
    fs.writeFileSync(this.file, typeof config === "string" ? config : JSON.stringify(config));
  }

  allow() {
    const { file, result } = loadProjectConfig(this.folder) ?? {};
    allow(this.store, String(file), result?.ok ? listEntries(result) : []);
  }

  revoke() {
    revoke(this.store, this.file);
  }
}

const linesOf = (session) =>
  session.events.filter(({ type }) => type === "timeline").map(({ text }) => text);

const toolsIn = (session, provider) =>
  session.events.findLast(
    ({ type, set, drop }) =>
      type === "tools" && (set.some((one) => one.provider === provider) || drop.includes(provider)),
  );

/** The session has this provider's tools. */
const offered = (session, provider) =>
  waitFor(() => toolsIn(session, provider)?.set.some((one) => one.provider === provider), {
    what: () => `tools of ${provider} in ${JSON.stringify(session.events).slice(0, 3000)}`,
  });

const line = (session, pattern) =>
  waitFor(() => linesOf(session).find((text) => pattern.test(text)), {
    what: () => `${pattern} in the timeline: ${linesOf(session).join("\n")}`,
  });

const pidOf = async (session, name = "ci") =>
  Number(/ (\d+) for /.exec(await session.call(`${name}_who`))?.[1]);

const gone = (pid) => waitFor(async () => !(await isAlive(pid)), { what: `the end of ${pid}` });

/** A session whose allowed provider runs. */
async function running(t, host, workspace, fields = {}) {
  workspace.allow();
  const session = await host.session(t, { cwd: workspace.folder, ...fields });
  await offered(session, "ci");
  return { session, pid: await pidOf(session) };
}

// shows: P-PROJECT-2
test("without consent nothing runs, and the timeline says how to give it", async (t) => {
  const host = await Host.elected(t);
  const workspace = new Workspace(t, host);
  const session = await host.session(t, { cwd: workspace.folder });
  const notice = await line(session, /needs your consent/);
  assert.ok(notice.includes(workspace.file), notice);
  assert.ok(notice.includes("cli.mjs allow"), notice);
  assert.ok(notice.includes(PROJECT_PROVIDER), notice);
  assert.ok(!fs.existsSync(path.join(host.files.logs, "providers")), "nothing was started");

  workspace.allow();
  await offered(session, "ci");
  assert.match(await session.call("ci_who"), new RegExp(`^ci \\d+ for ${session.id}$`));
  assert.equal(linesOf(session).filter((text) => /needs your consent/.test(text)).length, 1);
});

// shows: P-PROJECT-3
test("a config with a mistake is told with its place, and starts once it is mended and allowed", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host, '{\n  "providers" []\n}');
  const session = await host.session(t, { cwd: workspace.folder });
  const told = await line(session, /mistakes/);
  assert.ok(told.includes(`${workspace.file}:2:15: expected a colon`), told);
  workspace.write({ providers: [entry("ci")] });
  workspace.allow();
  await offered(session, "ci");
});

test("mistakes that come while a session runs are told once, and again after it was mended", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host, '{ "providers": [] }');
  const session = await host.session(t, { cwd: workspace.folder });
  const told = () => linesOf(session).filter((text) => /mistakes/.test(text));
  const write = (/** @type {string} */ text) => fs.writeFileSync(workspace.file, text);
  const until = (/** @type {number} */ count) =>
    waitFor(() => told().length === count, { what: () => linesOf(session).join("\n") });
  write('{ "bogus": 1 }');
  await until(1);
  write('{ "bogus": 22 }');
  await new Promise((resolve) => setTimeout(resolve, 2500)); // for a look at it
  workspace.write({ providers: [entry("ci")] });
  workspace.allow();
  await offered(session, "ci");
  assert.equal(told().length, 1, told().join("\n"));
  write('{ "bogus": 333 }');
  await until(2);
  assert.match(told()[1], /tap\.config\.json:1:\d+: .*bogus/);
});

test("a config in .github starts its programs in the root of the project", async (t) => {
  const host = await LocalHost.elected(t);
  const script =
    "require('fs').writeFileSync('here.tmp', ''); require('fs').renameSync('here.tmp', 'here')";
  const once = { name: "once", command: process.execPath, args: ["-e", script], restart: "never" };
  const workspace = new Workspace(t, host);
  fs.rmSync(workspace.file);
  fs.mkdirSync(path.join(workspace.folder, ".github"));
  workspace.file = path.join(workspace.folder, ".github", "tap.config.json");
  workspace.write({ providers: [once] });
  workspace.allow();
  await host.session(t, { cwd: workspace.folder });
  const here = path.join(workspace.folder, "here");
  await waitFor(() => fs.existsSync(here), { what: () => `${here}\n${host.log}` });
});

test("a config that comes while its session runs starts what it names once it is allowed", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host);
  fs.rmSync(workspace.file);
  const session = await host.session(t, { cwd: workspace.folder });
  workspace.write({ providers: [entry("ci")] });
  workspace.allow();
  await offered(session, "ci");
});

// shows: P-PROJECT-1
test("an allowed provider belongs to its session alone", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host);
  const other = await host.session(t);
  const { session } = await running(t, host, workspace);
  assert.equal((await other.call("ci_who")).code, "DISCONNECTED");
  assert.equal(toolsIn(other, "ci"), undefined);
  assert.match(await session.call("ci_who"), /^ci /);
});

// shows: P-PROJECT-4
test("a provider that crashes is started again under a token of its own", async (t) => {
  const host = await LocalHost.elected(t);
  const { session, pid } = await running(t, host, new Workspace(t, host));
  const failed = await session.call("ci_crash");
  assert.equal(failed.code, "DISCONNECTED");
  await line(session, /ended with exit code 3.*restarted in 0\.5 s/);
  await waitFor(async () => typeof (await session.call("ci_who")) === "string", {
    what: "the provider again",
  });
  assert.notEqual(await pidOf(session), pid);
});

test("a link to the workspace that leads elsewhere after the consent starts nothing there", async (t) => {
  const host = await LocalHost.elected(t);
  const program = (/** @type {string} */ folder) =>
    fs.writeFileSync(
      path.join(folder, "ci.mjs"),
      `process.argv[2] = "ci";
       (await import("node:fs")).appendFileSync("started", "x");
       await import(${JSON.stringify(PROJECT_PROVIDER)});`,
    );
  const config = {
    providers: [{ name: "ci", command: process.execPath, args: ["ci.mjs"], restart: "always" }],
  };
  const allowed = new Workspace(t, host, config);
  const other = new Workspace(t, host, config);
  for (const { folder } of [allowed, other]) program(folder);
  const link = path.join(temporaryFolder(t), "link");
  fs.symlinkSync(allowed.folder, link);
  const { session } = await running(t, host, allowed, { cwd: link });
  fs.rmSync(link);
  fs.symlinkSync(other.folder, link);
  await session.call("ci_crash");
  await waitFor(async () => typeof (await session.call("ci_who")) === "string", {
    what: "the provider again",
  });
  assert.ok(!fs.existsSync(path.join(other.folder, "started")), "the other folder's program ran");
});

test("a process of the session that is replaced starts nothing twice", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host);
  const { session, pid } = await running(t, host, workspace);
  session.close();
  const next = await host.session(t, { cwd: workspace.folder, sessionId: session.id });
  assert.equal(await pidOf(next), pid);
  // Whatever was to be started for the first is started before what is for the second.
  const second = await host.session(t, { cwd: workspace.folder });
  await offered(second, "ci");
  const log = fs.readFileSync(path.join(host.files.logs, "providers", "ci.log"), "utf8");
  assert.equal(log.match(/started, pid/g)?.length, 2, log);
});

// shows: P-PROJECT-1
test("the session's end stops the providers, stubborn ones too", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host, { providers: [entry("ci", "stubborn")] });
  const { session, pid } = await running(t, host, workspace);
  session.send({ type: "end", reason: "over" });
  await gone(pid);
});

// shows: P-PROJECT-1
test("/clear stops the old session's providers and starts the new one's", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host);
  const { session, pid } = await running(t, host, workspace, { cliPid: 4711 });
  session.close();
  const next = await host.session(t, { cwd: workspace.folder, cliPid: 4711 });
  await offered(next, "ci");
  assert.notEqual(await pidOf(next), pid);
  await gone(pid);
});

// shows: P-PROJECT-2
test("consent that is taken back stops the providers, and given again starts them", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host);
  const { session, pid } = await running(t, host, workspace);
  workspace.revoke();
  await line(session, /no longer allowed/);
  await gone(pid);
  await waitFor(() => toolsIn(session, "ci")?.drop.includes("ci"), { what: "ci's tools gone" });
  workspace.allow();
  await waitFor(async () => typeof (await session.call("ci_who")) === "string", {
    what: "the provider again",
  });
});

// shows: P-HOOK-25
test("the rules of one that is killed hold until it runs again, and end when it is revoked", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host, { providers: [entry("ci", "guard")] });
  const { session, pid } = await running(t, host, workspace);
  let checks = 0;
  const denied = async () => {
    const checkId = `check-${++checks}`;
    session.send({ type: "hook.check", checkId, tool: "bash", args: {} });
    const { deny } = await session.waitFor("hook.verdict", (event) => event.checkId === checkId);
    return deny;
  };
  assert.match(await denied(), /no bash/);
  const { revision } = await session.waitFor("hooks");
  session.send({ type: "hooks.state", revision, hooks: "in-force", sections: "in-force" });
  process.kill(pid, "SIGKILL");
  await line(session, /rules stay in force for 30 s/);
  while (!linesOf(session).some((text) => /is restarted in/.test(text))) {
    assert.match(await denied(), /no bash/);
  }
  await waitFor(async () => Number(await pidOf(session).catch(() => 0)) > 0, {
    what: "the next run",
  });
  assert.match(await denied(), /no bash/);
  workspace.revoke();
  await line(session, /no longer allowed/);
  await waitFor(async () => (await denied()) === undefined, { what: "the end of its rules" });
  assert.equal(linesOf(session).filter((text) => /stay in force/.test(text)).length, 1);
});

// shows: P-PROJECT-2
test("an entry that is added while others run needs consent, and leaves the others alone", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host);
  const { session, pid } = await running(t, host, workspace);
  workspace.write({ providers: [entry("ci"), entry("more")] });
  const next = await host.session(t, { cwd: workspace.folder });
  await line(next, /names a provider .*needs your consent/);
  workspace.allow();
  await offered(next, "more");
  await offered(session, "more");
  assert.equal(await pidOf(session), pid);
});

// shows: P-PROJECT-4
test("tool groups that no feature has keep no room from those there are", async (t) => {
  const host = await LocalHost.elected(t);
  const toolGroups = Array.from({ length: 1000 }, (_, at) => `group${at}`);
  const workspace = new Workspace(t, host, { toolGroups });
  const session = await host.session(t, { cwd: workspace.folder });
  await waitFor(() => toolsIn(session, "tap"), { what: "the tools of tap" });
  assert.match(String(await session.call("tap_tools", { group: "records" })), /are here now/);
  await waitFor(
    () => session.events.findLast(({ type }) => type === "groups")?.names.includes("records"),
    { what: () => JSON.stringify(session.events.filter(({ type }) => type === "groups")) },
  );
});

test("a spawn token is void when its provider has ended", async (t) => {
  const host = await LocalHost.elected(t);
  const workspace = new Workspace(t, host, {
    providers: [
      {
        name: "leaky",
        command: process.execPath,
        args: ["-e", 'require("fs").writeFileSync("token", process.env.TAP_PROVIDER_TOKEN)'],
        restart: "never",
      },
    ],
  });
  workspace.allow();
  const session = await host.session(t, { cwd: workspace.folder });
  await line(session, /"leaky" ended with exit code 0 and is not restarted/);
  const token = fs.readFileSync(path.join(workspace.folder, "token"), "utf8");
  assert.match(token, /^ptk-[0-9a-f]{64}$/);
  const thief = await TestProvider.connect({ port: host.files.port });
  t.after(() => thief.terminate());
  await assert.rejects(thief.auth(token), /AUTH_FAILED/);
  assert.ok(!host.log.includes(token));
});

// shows: P-PROJECT-5
test("the host ends its providers before it leaves, and waits for stubborn ones", async (t) => {
  const host = await Host.elected(t);
  const workspace = new Workspace(t, host, { providers: [entry("ci", "stubborn")] });
  const { pid } = await running(t, host, workspace);
  host.process.kill("SIGTERM");
  assert.deepEqual(await host.exit(), { code: 0, signal: null });
  assert.equal(await isAlive(pid), false);
});

test("a host that is killed leaves no process behind: stubborn ones and what they started end, too", async (t) => {
  const host = await Host.elected(t);
  const deaf = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);';
  const parent = `const { pid } = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(deaf)}]);
    require("fs").writeFileSync("child", String(pid)); ${deaf}`;
  const family = { name: "family", command: process.execPath, args: ["-e", parent] };
  const workspace = new Workspace(t, host, { providers: [entry("ci", "stubborn"), family] });
  const { pid } = await running(t, host, workspace);
  const child = path.join(workspace.folder, "child");
  const grandchild = Number(await waitFor(() => fs.readFileSync(child, "utf8")));
  assert.equal(await isAlive(grandchild), true);
  const log = fs.readFileSync(path.join(host.files.logs, "providers", "family.log"), "utf8");
  const familyPid = Number(/started, pid (\d+)/.exec(log)?.[1]);
  host.process.kill("SIGKILL");
  for (const one of [pid, familyPid, grandchild]) await gone(one);
});

test("a gateway inside a session's process serves and ends them as well", async (t) => {
  const files = gatewayFiles({
    COPILOT_HOME: temporaryFolder(t),
    TAP_GATEWAY_PORT: String(await findFreePort()),
  });
  const host = new GatewayHost(
    files,
    () => {},
    () => {},
  );
  t.after(() => host.close(false));
  host.start();
  const workspace = new Workspace(t, { files });
  workspace.allow();
  const session = new TestSession();
  t.after(() => session.close());
  session.attach(host.gateway);
  const { secret } = JSON.parse(fs.readFileSync(files.descriptor, "utf8"));
  session.register({ cwd: workspace.folder, secret });
  await offered(session, "ci");
  const pid = await pidOf(session);
  await host.close(false);
  assert.equal(await isAlive(pid), false);
});

test("a session in a folder without a config hears nothing", async (t) => {
  const host = await Host.elected(t);
  const session = await host.session(t, { cwd: temporaryFolder(t) });
  const empty = new Workspace(t, host, { providers: [] });
  const second = await host.session(t, { cwd: empty.folder });
  const unlike = await host.session(t, { cwd: new Workspace(t, host).folder });
  await line(unlike, /needs your consent/);
  assert.deepEqual([...linesOf(session), ...linesOf(second)], []);
});
