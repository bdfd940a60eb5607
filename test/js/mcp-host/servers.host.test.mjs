// MCP servers of the user's config, with a real gateway host, a real MCP host, real servers and sessions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { CARELESS, McpPlace, OFFICIAL, offeredTools } from "../../support/mcp-place.mjs";

test("the tools of a server are those of each session, with its results", async (t) => {
  const place = await McpPlace.create(t, { ev: OFFICIAL });
  const [one, two] = [await place.session(t), await place.session(t)];
  for (const session of [one, two]) await place.waitForTool(session, "ev_add");
  assert.equal(await one.call("ev_add", { a: 2, b: 3 }), "5");
  const failed = await two.call("ev_add", { a: "x" });
  assert.equal(failed.code, "INVALID_ARGUMENTS");
  const { pids, server, calls } = await place.waitForServer(({ state }) => state === "ready");
  assert.deepEqual([pids.length, server.name], [1, "official"]);
  assert.equal(calls, 2);
});

test("a server that dies in a call is restarted, and its tools come back", async (t) => {
  const place = await McpPlace.create(t, { bad: CARELESS });
  const session = await place.session(t);
  await place.waitForTool(session, "bad_echo");
  const { pids: former } = await place.waitForServer(({ state }) => state === "ready");
  const failed = await session.call("bad_die");
  assert.equal(failed.code, "DISCONNECTED");
  assert.equal(await session.call("bad_echo", { say: "again" }), "again");
  const [{ pids, restarts, state }] = await waitFor(async () => {
    const servers = await place.list();
    return servers[0].state === "ready" ? servers : undefined;
  });
  assert.equal(state, "ready");
  assert.equal(restarts, 1);
  assert.notDeepEqual(pids, former);
  assert.ok(offeredTools(session).includes("bad_echo"));
});
