// MCP servers over HTTP.

import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { setSecret } from "../../js/config/mcp.mjs";
import { McpPlace } from "../support/mcp-place.mjs";
import { temporaryFolder } from "../support/temporary.mjs";
import { Host } from "../support/test-host.mjs";

const TOOLS = [{ name: "echo", inputSchema: { type: "object" } }];

/**
 * A server of the protocol of 2025, with sessions.
 * @param {import("node:test").TestContext} t @param {(request: any, headers: any) => object | undefined} [intercept]
 *   `{ status, headers }`: that answer in place of its own
 */
async function serve(t, intercept = () => undefined) {
  const seen = { session: 1, requests: /** @type {any[]} */ ([]) };
  /** @type {Record<string, (params: any) => object>} */
  const methods = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "web", version: "1" },
    }),
    "tools/list": () => ({ tools: TOOLS }),
    "tools/call": ({ arguments: args }) => ({ content: [{ type: "text", text: args.say }] }),
  };
  const server = http.createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    let body = "";
    for await (const piece of request) body += piece;
    const message = JSON.parse(body);
    seen.requests.push({ url: request.url, headers: request.headers, ...message });
    const other = /** @type {any} */ (intercept(message, request.headers));
    if (other) return response.writeHead(other.status, other.headers).end(other.body);
    const isBegun = message.method === "initialize";
    if (!isBegun && message.id !== undefined && message.method !== "server/discover") {
      const id = request.headers["mcp-session-id"];
      if (id !== `s${seen.session}`) return response.writeHead(404).end("no such session");
    }
    if (message.id === undefined) return response.writeHead(202).end();
    const method = methods[message.method];
    const outcome = method
      ? { result: method(message.params) }
      : { error: { code: -32601, message: "there is no such method" } };
    response.writeHead(200, {
      "content-type": "application/json",
      ...(isBegun && { "mcp-session-id": `s${seen.session}` }),
    });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...outcome }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}/mcp`, seen };
}

test("each request has the headers of the entry, with the values of secrets", async (t) => {
  const { url, seen } = await serve(t);
  const home = temporaryFolder(t);
  setSecret(home, "WEB", "hunter2");
  McpPlace.write(home, { web: { url, headers: { Authorization: `Bearer \${secret:WEB}` } } });
  const place = new McpPlace(await Host.elected(t, { COPILOT_HOME: home }), "");
  const session = await place.session(t);
  await place.waitForTool(session, "web_echo");
  assert.equal(await session.call("web_echo", { say: "hello" }), "hello");
  assert.ok(seen.requests.length >= 3);
  for (const { headers } of seen.requests) assert.equal(headers.authorization, "Bearer hunter2");
  const [{ transport, pids, protocol }] = await place.list();
  assert.deepEqual([transport, pids, protocol], ["http", [], "2025-11-25"]);
});

test("a server that has lost its sessions gets a new session, and the call once more", async (t) => {
  const { url, seen } = await serve(t);
  const place = await McpPlace.create(t, { web: { url } });
  const session = await place.session(t);
  await place.waitForTool(session, "web_echo");
  seen.session = 2;
  assert.equal(await session.call("web_echo", { say: "again" }), "again");
  const calls = seen.requests.filter(({ method }) => method === "tools/call");
  assert.equal(calls.length, 2);
});

test("a redirect to a different origin is not followed", async (t) => {
  const { url: target, seen } = await serve(t);
  const { url } = await serve(t, () => ({ status: 307, headers: { location: target } }));
  const place = await McpPlace.create(t, { web: { url, headers: { "X-Key": "hunter2" } } });
  await place.session(t);
  const { reason } = await place.waitForServer(({ reason: why }) => why !== "");
  assert.ok(reason);
  assert.deepEqual(seen.requests, []);
});

for (const [status, code] of Object.entries({ 401: "UNAUTHORIZED", 429: "RATE_LIMITED" })) {
  test(`a call that is answered ${status} fails with ${code}`, async (t) => {
    const { url } = await serve(t, ({ method }) =>
      method === "tools/call" ? { status: Number(status), headers: {}, body: "no" } : undefined,
    );
    const place = await McpPlace.create(t, { web: { url } });
    const session = await place.session(t);
    await place.waitForTool(session, "web_echo");
    assert.equal((await session.call("web_echo", { say: "a" })).code, code);
  });
}
