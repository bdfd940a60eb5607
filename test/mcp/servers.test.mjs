// The lives of MCP servers: those that misbehave, end, are removed, and whose hosts are killed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CARELESS, McpPlace, OFFICIAL, offeredTools } from "../support/mcp-place.mjs";
import { isAlive } from "../support/processes.mjs";
import { TestProvider } from "../support/provider.mjs";
import { waitFor } from "../support/wait.mjs";

const waitForEnd = (/** @type {number} */ pid) =>
  waitFor(async () => !(await isAlive(pid)), { what: `the end of ${pid}` });

const areReady = (/** @type {any[]} */ all) => all.every(({ state }) => state === "ready") && all;

const withMode = (/** @type {string} */ mode, more = {}) => ({
  ...CARELESS,
  env: { MCP_MODE: mode },
  ...more,
});

test("text on stdout goes to the log, and the server works", async (t) => {
  const place = await McpPlace.create(t, { bad: withMode("text") });
  const session = await place.session(t);
  await place.waitForTool(session, "bad_echo");
  assert.equal(await session.call("bad_echo", { say: "a" }), "a");
});

test("1,000 unreadable lines restart the server, and its call fails", async (t) => {
  const place = await McpPlace.create(t, { bad: CARELESS });
  const session = await place.session(t);
  await place.waitForTool(session, "bad_echo");
  assert.equal((await session.call("bad_garbage")).code, "DISCONNECTED");
  await place.waitForServer(({ state, restarts }) => state === "ready" && restarts === 1);
  assert.equal(await session.call("bad_echo", { say: "a" }), "a");
});

test("a server that never starts delays no other", async (t) => {
  const once = { restart: { policy: "on-failure", maxRestarts: 0 } };
  const place = await McpPlace.create(t, {
    ends: withMode("ends", once),
    missing: { command: "no-such-program" },
    mute: withMode("mute", { startTimeout: "1s", ...once }),
    future: withMode("future"),
    good: OFFICIAL,
  });
  const session = await place.session(t);
  await place.waitForTool(session, "good_add");
  assert.equal(await session.call("good_add", { a: 1, b: 1 }), "2");
  const isSettled = (/** @type {any[]} */ servers) =>
    servers.every(({ state }) => state === "failed" || state === "ready") && servers;
  const servers = await waitFor(async () => isSettled(await place.list()));
  const states = servers.map(({ name, state }) => [name, state]);
  assert.deepEqual(
    states.filter(([, state]) => state === "ready"),
    [["good", "ready"]],
  );
  for (const { state, reason } of servers) assert.ok(state === "ready" || reason !== "");
});

test("a server is removed with its tools, also if it ignores EOF and SIGTERM", async (t) => {
  const place = await McpPlace.create(t, { bad: withMode("stubborn"), ev: OFFICIAL });
  const session = await place.session(t);
  await place.waitForTool(session, "bad_echo");
  await place.waitForTool(session, "ev_add");
  const servers = await waitFor(async () => areReady(await place.list()));
  McpPlace.write(place.host.files.home, {});
  await place.request("mcp.reload");
  for (const { pids } of servers) await waitForEnd(pids[0]);
  await waitFor(() => !offeredTools(session).some((name) => /^(bad|ev)_/.test(name)));
  assert.match(place.notes, /stdin ended\n(.*\n)*SIGTERM/);
  assert.deepEqual(await place.list(), []);
});

test("a server that is disabled leaves at once, and comes back", async (t) => {
  const place = await McpPlace.create(t, { ev: OFFICIAL });
  const session = await place.session(t);
  await place.waitForTool(session, "ev_add");
  await place.request("features.disable", { id: "mcp:ev" });
  await waitFor(() => !offeredTools(session).includes("ev_add"));
  assert.equal((await place.list())[0].state, "disabled");
  const { features } = await place.request("features.enable", { id: "mcp:ev" });
  assert.equal(features.find((/** @type {any} */ { id }) => id === "mcp:ev").enabled, true);
  await place.waitForTool(session, "ev_add");
});

test("a name that a session has already costs that tool alone", async (t) => {
  const place = await McpPlace.create(t, {});
  const session = await place.host.withToken(t);
  const rival = await TestProvider.connect({ port: place.host.files.port });
  t.after(() => rival.terminate());
  await rival.auth(String(place.host.token));
  const tools = [{ name: "ev_add", description: "a rival", parameters: { type: "object" } }];
  await rival.hello({ name: "rival", session: session.id, tools });
  McpPlace.write(place.host.files.home, { ev: OFFICIAL });
  await place.request("mcp.reload");
  await place.waitForTool(session, "ev_grow");
  const { details } = await place.waitForServer(({ offered }) => offered === 1);
  const left = details.tools.filter((/** @type {any} */ { why }) => why !== undefined);
  assert.deepEqual(
    left.map((/** @type {any} */ { name }) => name),
    ["ev_add"],
  );
});

test("the MCP host is killed: its servers end, and the next host has their tools", async (t) => {
  const place = await McpPlace.create(t, { ev: OFFICIAL });
  const session = await place.session(t);
  await place.waitForTool(session, "ev_add");
  const { pids } = await place.waitForServer(({ state }) => state === "ready");
  process.kill(findParent(pids[0]), "SIGKILL");
  await waitForEnd(pids[0]);
  await waitFor(async () => {
    const [server] = await place.list();
    return server.state === "ready" && server.pids[0] !== pids[0];
  });
  assert.equal(await session.call("ev_add", { a: 1, b: 2 }), "3");
});

test("the gateway host is killed: no server is left", async (t) => {
  const place = await McpPlace.create(t, { ev: OFFICIAL, bad: withMode("stubborn") });
  const session = await place.session(t);
  await place.waitForTool(session, "ev_add");
  await place.waitForTool(session, "bad_echo");
  const servers = await waitFor(async () => areReady(await place.list()));
  place.host.process.kill("SIGKILL");
  for (const { pids } of servers) await waitForEnd(pids[0]);
});

/** @param {number} pid */
function findParent(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}
