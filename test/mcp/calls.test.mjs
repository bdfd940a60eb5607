// Calls of MCP servers, through a real gateway and a real MCP host, from a session and from the command.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setSecret } from "../../js/config/mcp.mjs";
import { callTool, listTools } from "../../js/feature-host/provider-tools.mjs";
import { openControl } from "../../js/link/control.mjs";
import { CARELESS, McpPlace, OFFICIAL, offeredTools } from "../support/mcp-place.mjs";
import { temporaryFolder } from "../support/temporary.mjs";
import { Host } from "../support/test-host.mjs";
import { waitFor } from "../support/wait.mjs";

/** @param {import("node:test").TestContext} t @param {object} [entry] */
async function careless(t, entry = {}) {
  const place = await McpPlace.create(t, { bad: { ...CARELESS, ...entry } });
  const session = await place.session(t);
  await place.waitForTool(session, "bad_echo");
  return { place, session };
}

test("results have the forms of the table", async (t) => {
  const { session } = await careless(t);
  assert.equal(await session.call("bad_echo", { say: "hello" }), "hello");
  const image = await session.call("bad_image");
  assert.equal(image.mimeType, "image/png");
  assert.match(image.text, /a picture/);
  const lines = (await session.call("bad_blocks")).split("\n");
  assert.equal(lines[0], "notes (text/plain): file:///notes.txt");
  const [, file] = /^audio\/wav, 4 bytes: (.*)$/.exec(lines[1]) ?? [];
  assert.equal(fs.readFileSync(String(file), "latin1"), "RIFF");
  assert.deepEqual(JSON.parse(await session.call("bad_structured")), { temperature: 7 });
  assert.equal(await session.call("bad_both"), 'in words\n{"temperature":7}');
  assert.equal(await session.call("bad_twice"), "first");
  const meta = JSON.parse(await session.call("bad_meta"));
  assert.match(meta.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
});

test("failures have the codes of the table", async (t) => {
  const { session } = await careless(t);
  const failed = await session.call("bad_fail");
  assert.deepEqual(failed, { code: "TOOL_ERROR", text: "bad_fail failed: the tool has failed" });
  assert.equal((await session.call("bad_params")).code, "INVALID_ARGUMENTS");
  assert.equal((await session.call("bad_echo", { say: 7 })).code, "INVALID_ARGUMENTS");
  assert.equal((await session.call("bad_internal")).code, "INTERNAL");
});

test("a call that is cancelled is cancelled at the server, and its progress is shown", async (t) => {
  const { place, session } = await careless(t);
  const { id, result } = session.start("bad_slow");
  await session.waitFor("timeline", ({ text }) => text.includes("half"));
  session.link.cancel(id, "the user has cancelled it");
  await result.catch(() => {});
  await waitFor(() => place.notes.includes("cancelled"), { what: () => place.notes });
});

test("a call that takes too long fails with TIMEOUT, and reaches the server", async (t) => {
  const { place, session } = await careless(t, { timeout: "1s" });
  assert.equal((await session.call("bad_slow")).code, "TIMEOUT");
  await waitFor(() => place.notes.includes("cancelled"), { what: () => place.notes });
});

for (const legacy of ["serve", "reject"]) {
  test(`a tool that a call adds is there with its answer (${legacy})`, async (t) => {
    const place = await McpPlace.create(t, { ev: { ...OFFICIAL, env: { MCP_LEGACY: legacy } } });
    const session = await place.session(t);
    await place.waitForTool(session, "ev_grow");
    assert.equal(await session.call("ev_grow"), "grown");
    assert.ok(offeredTools(session).includes("ev_late"));
    assert.equal(await session.call("ev_late"), "it is there");
    const [{ protocol }] = await place.list();
    assert.equal(protocol, legacy === "serve" ? "2025-11-25" : "2026-07-28");
  });
}

test("tools are those that the entry chooses, in the list and in a call", async (t) => {
  const { place, session } = await careless(t, { tools: ["e*", "!env"] });
  assert.deepEqual(
    offeredTools(session).filter((name) => name.startsWith("bad_")),
    ["bad_echo"],
  );
  const { tools } = await place.waitForServer(({ offered }) => offered === 1);
  assert.ok(tools > 10);
});

test("copilot-tap call and features reach them, and records have them", async (t) => {
  const { place, session } = await careless(t);
  const control = await openControl(place.host.files);
  t.after(() => control.close());
  assert.equal(await control.call({ tool: "bad_echo", args: { say: "a" } }), "a");
  const { link, secret } = place.host.descriptor ?? { link: "", secret: "" };
  const signal = AbortSignal.timeout(60_000);
  const call = { session: session.id, tool: "bad_echo", args: { say: "b" }, signal };
  assert.deepEqual(await callTool({ link, token: secret }, call), { ok: true, text: "b" });
  const listed = listTools(await control.inspect(), session.id);
  assert.ok(listed.some(({ name, provider }) => name === "bad_echo" && provider === "mcp:bad"));
  const calls = await control.listCalls(0);
  assert.deepEqual(
    calls.map(({ provider, tool }) => [provider, tool]),
    [
      ["mcp:bad", "bad_echo"],
      ["mcp:bad", "bad_echo"],
    ],
  );
});

test("a secret is in the server's environment, and in no report, log or error", async (t) => {
  const home = temporaryFolder(t);
  setSecret(home, "TOKEN", "hunter2-hunter2");
  const env = { TOKEN: "${secret:TOKEN}" }; // eslint-disable-line no-template-curly-in-string
  McpPlace.write(home, { bad: { ...CARELESS, env } });
  const place = new McpPlace(
    await Host.elected(t, { COPILOT_HOME: home }),
    path.join(home, "notes"),
  );
  const session = await place.session(t);
  await place.waitForTool(session, "bad_echo");
  assert.equal(await session.call("bad_env", { name: "TOKEN" }), "hunter2-hunter2");
  assert.equal(await session.call("bad_env", { name: "TAP_PROVIDER_TOKEN" }), "none");
  const failed = await session.call("bad_internal");
  assert.equal(failed.code, "INTERNAL");
  const list = JSON.stringify(await place.list());
  const logs = fs
    .readdirSync(place.host.files.logs, { recursive: true, encoding: "utf8" })
    .map((file) => path.join(place.host.files.logs, file))
    .filter((file) => fs.statSync(file).isFile())
    .map((file) => fs.readFileSync(file, "utf8"));
  for (const text of [failed.text, list, ...logs]) assert.ok(!text.includes("hunter2"), text);
  assert.ok(logs.some((text) => text.includes("its token is")));
});

test("a missing secret is reported, and its server starts once it is there", async (t) => {
  const env = { TOKEN: "${secret:LATER}" }; // eslint-disable-line no-template-curly-in-string
  const place = await McpPlace.create(t, { bad: { ...CARELESS, env } });
  const { reason } = await place.waitForServer(({ state }) => state === "failed");
  assert.match(reason, /LATER/);
  setSecret(place.host.files.home, "LATER", "x");
  await place.request("mcp.restart", { name: "bad" });
  await place.waitForServer(({ state }) => state === "ready");
});

test("deny rules of the user hold for the tools of a server", async (t) => {
  const deny = [{ match: { tool: "bad_echo" }, reason: "not this tool" }];
  const place = await McpPlace.create(t, { bad: CARELESS }, { declarative: [{ name: "r", deny }] });
  const session = await place.session(t);
  await place.waitForTool(session, "bad_echo");
  let count = 0;
  const check = async (/** @type {string} */ tool) => {
    const checkId = `check-${(count += 1)}`;
    session.send({ type: "hook.check", checkId, tool, args: {} });
    return (await session.waitFor("hook.verdict", (one) => one.checkId === checkId)).deny;
  };
  await waitFor(async () => (await check("bad_echo")) !== undefined, { what: "the rule" });
  assert.equal(await check("bad_env"), undefined);
});
