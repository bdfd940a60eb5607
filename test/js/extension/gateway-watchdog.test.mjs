// A gateway that hangs: who is killed for it, and when. Real processes, each with a kernel's word for who
// it is.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readDescriptor } from "../../../js/lib/host-files.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { GatewayLink } from "../../../js/extension/gateway-link.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { isAlive } from "../../support/processes.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { Host } from "../../support/test-host.mjs";

const MUTE = fileURLToPath(new URL("../../support/fixtures/mute-gateway.mjs", import.meta.url));
const SESSION = fileURLToPath(new URL("../../../tools/chaos/session.mjs", import.meta.url));

/** For the time of a test. @param {import("node:test").TestContext} t @param {Record<string, string>} env */
function withEnvironment(t, env) {
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  Object.assign(process.env, env);
  t.after(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}

/** A process that has nothing to do with tap. @param {import("node:test").TestContext} t */
function bystander(t) {
  const child = spawn("sleep", ["120"], { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

/** @param {import("node:test").TestContext} t @param {object} options of the fixture */
async function mute(t, options) {
  const child = spawn(process.execPath, [MUTE, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const ready = once(child.stdout, "data").then(() => true);
  const ended = once(child, "exit").then(() => false);
  assert.ok(await Promise.race([ready, ended]), "it is up");
  return child;
}

/** @param {import("node:test").TestContext} t @param {any} files */
function linkTo(t, files) {
  const seen = {
    /** @type {string[]} */ told: [],
    /** @type {string[]} */ logged: [],
    welcomes: 0,
    link: /** @type {any} */ (undefined),
  };
  seen.link = new GatewayLink({
    files,
    register: () => ({ sessionId: "s-1", label: "", cwd: "/", cliPid: 1, mode: "live" }),
    onEvent: () => {},
    onWelcome: () => (seen.welcomes += 1),
    onLost: () => {},
    onTrouble: (text) => seen.told.push(text),
    log: (_level, text) => seen.logged.push(text),
  });
  t.after(() => seen.link.stop("the test is over"));
  return seen;
}

/** Sessions here start no gateway of their own. @param {import("node:test").TestContext} t */
async function place(t, env = {}) {
  const home = temporaryFolder(t);
  const node = path.join(home, "node");
  fs.writeFileSync(node, '#!/bin/sh\n[ "$1" = --version ] && echo v99.0.0\n', { mode: 0o700 });
  const port = String(await findFreePort());
  withEnvironment(t, { COPILOT_HOME: home, TAP_GATEWAY_PORT: port, TAP_NODE: node, ...env });
  return gatewayFiles();
}

const QUICK = { TAP_PING_MS: "100", TAP_LINK_DEAD_MS: "300" };

for (const welcome of [false, true]) {
  const when = welcome ? "after its welcome" : "before its welcome";
  test(`a gateway that hangs ${when} is killed, whatever pid it claims to have`, async (t) => {
    const files = await place(t, QUICK);
    const innocent = bystander(t);
    const gateway = await mute(t, { files, claims: innocent.pid, welcome });
    const seen = linkTo(t, files);
    seen.link.start();
    await waitFor(() => gateway.signalCode === "SIGKILL", {
      what: () => `the end of the gateway; ${seen.logged.join("\n")}`,
    });
    assert.equal(innocent.signalCode, null, "the process of the claimed pid lives");
    assert.match(seen.logged.join("\n"), new RegExp(`the gateway, pid ${gateway.pid}, does not`));
  });
}

test("gateways that hang one after another are each given twice the time", async (t) => {
  const files = await place(t, QUICK);
  const seen = linkTo(t, files);
  const asked = path.join(files.home, "asked");
  for (const least of [300, 600, 1200]) {
    fs.rmSync(asked, { force: true });
    const since = performance.now();
    const gateway = await mute(t, { files, asked });
    seen.link.start();
    await waitFor(() => fs.existsSync(asked), { what: "a request to register" });
    await waitFor(() => gateway.signalCode === "SIGKILL", { what: "the end of the gateway" });
    const took = performance.now() - since;
    assert.ok(took >= least, `killed after ${took} ms, not before ${least}`);
  }
});

test("a gateway that hangs while nobody is linked is replaced by the next session, at the default limits", async (t) => {
  const host = await Host.elected(t);
  host.process.kill("SIGSTOP");
  const { COPILOT_HOME, TAP_GATEWAY_PORT } = /** @type {any} */ (host.env);
  withEnvironment(t, { COPILOT_HOME, TAP_GATEWAY_PORT });
  const seen = linkTo(t, host.files);
  seen.link.start();
  await waitFor(() => seen.welcomes > 0, {
    what: () => `a new gateway; ${seen.logged.join("\n")} ${seen.told.join("\n")}`,
  });
  const { signal } = await host.exit();
  assert.equal(signal, "SIGKILL");
  const { pid } = /** @type {any} */ (readDescriptor(host.files.descriptor));
  t.after(() => process.kill(pid, "SIGKILL"));
  assert.deepEqual(seen.told, [], "nothing for the user to do, and none is said to be busy");
});

test("a gateway that is busy is given longer than one that is stopped, and the user is told once", async (t) => {
  const times = { TAP_PING_MS: "300", TAP_LINK_DEAD_MS: "900", TAP_LINK_BUSY_MS: "4000" };
  const files = await place(t, times);
  const gateway = await mute(t, { files, welcome: true, busy: true });
  const seen = linkTo(t, files);
  const since = performance.now();
  seen.link.start();
  await waitFor(() => gateway.signalCode === "SIGKILL", { what: "its end" });
  const took = performance.now() - since;
  assert.ok(took >= 3900, `killed after ${took} ms`);
  const busy = seen.told.filter((text) => text.includes("is busy"));
  assert.equal(busy.length, 1, seen.told.join("\n"));
  assert.match(busy[0], new RegExp(`^tap: the gateway, pid ${gateway.pid}, is busy: it has not`));
});

/** Whether this machine lets us make PID namespaces. */
async function canUnshare() {
  const child = spawn("unshare", ["--pid", "--fork", "--mount-proc", "true"], { stdio: "ignore" });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}

/** A program in a PID namespace of its own. @param {import("node:test").TestContext} t */
function inNamespace(t, args, env) {
  const flags = ["--pid", "--fork", "--kill-child", "--mount-proc"];
  const child = spawn("unshare", [...flags, process.execPath, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

test("a gateway in another PID namespace is killed by its number here, or left alone where it has none", async (t) => {
  const files = await place(t, QUICK);
  if (!(await canUnshare())) {
    // Then the kernel's answer for such a peer is what there is to check: it is left alone.
    const { GatewayWatchdog } = await import("../../../js/extension/gateway-watchdog.mjs");
    const watch = new GatewayWatchdog(1, () => {});
    watch.attach(0);
    assert.match(watch.kill().why, /may run in a container/);
    return;
  }
  // Seen from outside it has a number, which is not the one that it says of itself (1).
  const inner = inNamespace(t, [MUTE, JSON.stringify({ files, welcome: true })], {});
  await once(/** @type {any} */ (inner.stdout), "data");
  assert.equal(readDescriptor(files.descriptor)?.pid, 1);
  const seen = linkTo(t, files);
  seen.link.start();
  await waitFor(() => inner.exitCode !== null || inner.signalCode !== null, {
    what: () => `the end of the gateway in there; ${seen.logged.join("\n")}`,
  });
  assert.ok(await isAlive(1), "the first process out here lives");
  seen.link.stop("over");

  // Seen from inside, one outside has none: it lives on, whatever has its number in there.
  const outer = await mute(t, { files, claims: 1, welcome: true });
  const session = inNamespace(t, [SESSION], { SESSION_ID: "s-2" });
  const log = path.join(files.logs, "extension.log");
  const said = () => (fs.existsSync(log) ? fs.readFileSync(log, "utf8") : "");
  await waitFor(() => said().includes("was not killed"), {
    what: () => `a line in the log: ${said()}`,
  });
  assert.match(said(), /the system does not identify the process .*It claims to be pid 1/);
  assert.equal(outer.signalCode, null);
  assert.equal(session.exitCode, null, "nor has it killed itself: it is pid 1 in there");
});
