// When a gateway host without sessions leaves.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openControl } from "../../../js/link/control.mjs";
import { holdsFile, Shutdown } from "../../../js/gateway-host/shutdown.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const MAIN = fileURLToPath(
  new URL("../../support/fixtures/features/gateway-host.mjs", import.meta.url),
);
/** A session has to come within it, also on a busy machine. */
const GRACE_MS = "1000";
const REASON = "no session is left";
const HOLD = { id: "p", feature: "builtin:plans", what: "a plan", at: "" };

/** @param {import("../../../js/gateway-host/shutdown.mjs").Hold[]} holds */
function leaving(holds = []) {
  /** @type {string[]} */
  const left = [];
  const log = /** @type {string[]} */ ([]);
  const made = new Shutdown({
    holds: () => holds,
    graceMs: 1,
    log: (_level, text) => log.push(text),
    leave: (reason) => left.push(reason),
  });
  return { made, left, log, holds };
}

test("a host stays until the command that waits for a feature has its answer, and then leaves", async (t) => {
  const env = { TAP_GRACE_MS: GRACE_MS, TAP_LINGER_MS: "10" };
  const host = await Host.elected(t, env, MAIN);
  const session = await host.withToken(t);
  const control = await openControl(host.files);
  t.after(() => control.close());
  const { id } = session;
  const asked = { name: "tap-good", arguments: "after 4000 ms", session: id, patienceMs: 20_000 };
  const answer = control.request("features.command", asked);
  await control.request("features.report", {}); // the other one is on its way
  session.send({ type: "end", reason: "over" });
  const stays = /no session is left, and the gateway stays for a command that waits/;
  await waitFor(() => stays.test(host.log), { what: () => host.log });
  assert.deepEqual(await answer, { text: `good after 4000 ms in ${id}` });
  assert.equal((await host.exit()).code, 0);
});

/** Asks over a link that then ends, as that of a command that is killed. */
async function asksAndLeaves(t, args) {
  const env = { TAP_GRACE_MS: GRACE_MS, TAP_LINGER_MS: "10" };
  const host = await Host.elected(t, env, MAIN);
  const session = await host.withToken(t);
  const control = await openControl(host.files);
  const asked = { name: "tap-good", arguments: args, session: session.id, patienceMs: 600_000 };
  const answer = control.request("features.command", asked);
  answer.catch(() => {});
  await waitFor(async () => (await control.request("features.report", {})).host.rss > 0, {
    what: () => `a feature host that is ready\n${host.log}`,
  });
  control.close();
  await assert.rejects(answer);
  session.send({ type: "end", reason: "over" });
  return host;
}

test("what a command only watched ends when it is killed, and the host leaves", async (t) => {
  const host = await asksAndLeaves(t, "until left");
  assert.equal((await host.exit()).code, 0);
});

test("what changes something goes on to its end though its command was killed", async (t) => {
  const since = performance.now();
  const host = await asksAndLeaves(t, "after 6000 ms");
  assert.equal((await host.exit()).code, 0);
  assert.match(host.log, /the gateway stays for a command that waits/);
  assert.ok(performance.now() - since >= 6000);
});

test("a request that ends a hold has its answer before the gateway leaves", async () => {
  const { made, left, log, holds } = leaving([HOLD]);
  made.request(REASON);
  assert.match(log[0], /stays for a plan \(builtin:plans\)$/);
  /** @type {(value: string) => void} */
  let done = () => {};
  const request = made.deferUntil(new Promise((resolve) => (done = resolve)));
  holds.pop();
  made.recheck();
  assert.deepEqual(left, []);
  done("answer");
  assert.equal(await request, "answer");
  assert.deepEqual(left, []);
  await waitFor(() => left.length > 0, { what: "its leaving" });
  assert.deepEqual(left, [REASON]);
});

/** The program of the process is that of the CLI, and the Node.js that has installed tap is gone. */
const FINDS_NO_NODE = `import fs from "node:fs";
const { readFileSync } = fs;
process.execPath = "/none";
fs.readFileSync = (file, ...more) =>
  String(file).endsWith("node-path.json") ? "{}" : readFileSync(file, ...more);`;

/** Another host has left a hold there. @param {import("node:test").TestContext} t */
function withHold(t) {
  const home = temporaryFolder(t);
  const file = holdsFile({ home });
  const holds = [{ ...HOLD, feature: "builtin:good", at: new Date().toISOString() }];
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify({ version: 1, holds }), { mode: 0o600 });
  const limits = { TAP_GRACE_MS: "300", TAP_LINGER_MS: "10" };
  return { home, file, env: { COPILOT_HOME: home, ...limits } };
}

test("nothing holds a host whose feature host is not started again; the next one finds the hold", async (t) => {
  const { home, file, env } = withHold(t);
  const crashes = path.join(home, "crashes.mjs");
  fs.writeFileSync(crashes, "process.exit(3);");
  const parts = { TAP_TEST_MAIN: crashes, TAP_TEST_RESTARTS: "1" };
  const host = await Host.elected(t, { ...env, ...parts }, MAIN);
  assert.equal((await host.exit()).code, 0);
  assert.match(host.log, /the gateway stays for a plan \(builtin:good\)/);
  assert.ok(fs.existsSync(file));
});

test("nothing holds a host that cannot start its feature host", async (t) => {
  const { home, file, env } = withHold(t);
  const finds = path.join(home, "finds-no-node.mjs");
  fs.writeFileSync(finds, FINDS_NO_NODE);
  const none = { PATH: "", TAP_NODE: "", NODE_OPTIONS: `--import=${finds}` };
  const host = await Host.elected(t, { ...env, ...none }, MAIN);
  assert.equal((await host.exit()).code, 0);
  assert.match(host.log, /the feature host cannot be started: no Node\.js was found/);
  assert.ok(fs.existsSync(file));
});

test("a session that comes keeps it; a newer version waits for no command", async () => {
  const { made, left } = leaving();
  void made.deferUntil(new Promise(() => {}));
  made.request(REASON);
  made.cancel();
  made.recheck();
  assert.deepEqual(left, []);
  made.request("a newer version takes over");
  assert.deepEqual(left, ["a newer version takes over"]);
});

test("a session that has come stays the reason, also once a hold ends", () => {
  const { made, left, holds } = leaving([HOLD]);
  made.request(REASON);
  made.cancel();
  holds.pop();
  made.recheck();
  assert.deepEqual(left, []);
});
