// What a program in a sandbox reaches: hosts that were named, by a proxy, and nothing of this machine.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { matchesHost } from "../../../js/lib/values.mjs";
import { HostProxy } from "../../../js/process/host-proxy.mjs";
import { wrapInSandbox } from "../../../js/process/sandbox.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const BRIDGE = fileURLToPath(new URL("../../../js/process/host-bridge.mjs", import.meta.url));
const run = promisify(execFile);

/**
 * A server that stands for the named host, and the proxy to it.
 * @param {import("node:test").TestContext} t @param {Partial<import("../../../js/process/host-proxy.mjs").ProxyOptions>} [options]
 */
async function begin(t, options = {}) {
  const server = http.createServer((request, response) => response.end(`${request.url} is here`));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => void server.close());
  const refused = /** @type {string[]} */ ([]);
  const proxy = new HostProxy({
    hosts: ["good.test", "*.below.test"],
    onRefused: (host) => refused.push(host),
    lookup: async () => [{ address: "127.0.0.1", family: 4 }],
    isForbidden: () => false,
    ...options,
  });
  const file = path.join(temporaryFolder(t), "proxy");
  await proxy.listen(file);
  t.after(() => proxy.close());
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  const curl = async (/** @type {string[]} */ ...args) => {
    const all = [BRIDGE, `proxy=${file}`, "--", "curl", "-sS", "-w", "\n%{http_code}", ...args];
    const { stdout } = await run(process.execPath, all).catch((error) => error);
    return stdout.trim().split("\n");
  };
  return { file, port, refused, curl };
}

test("patterns of hosts cover what they say, and nothing else", () => {
  const hosts = ["good.test", "*.below.test"];
  const allowed = ["good.test", "GOOD.test", "good.test.", "a.below.test", "a.b.below.test"];
  const isCovered = (/** @type {string} */ host) => hosts.some((one) => matchesHost(one, host));
  for (const host of allowed) assert.equal(isCovered(host), true, host);
  const names = ["below.test", "notgood.test", "good.test.evil", "xbelow.test", "", "127.0.0.1"];
  const others = [...names, "*", "*.test", "user@a.below.test"];
  for (const host of others) assert.equal(isCovered(host), false, host);
  for (const host of allowed) assert.equal(matchesHost("*", host), true, host);
});

test("plain requests and tunnels reach named hosts, and others get 403", async (t) => {
  const { port, refused, curl } = await begin(t);
  assert.deepEqual(await curl(`http://good.test:${port}/x?y`), ["/x?y is here", "200"]);
  assert.deepEqual(await curl("--proxytunnel", `http://a.below.test:${port}/t`), [
    "/t is here",
    "200",
  ]);
  assert.equal((await curl(`http://bad.test:${port}/`)).at(-1), "403");
  await curl("--proxytunnel", `http://worse.test:${port}/`);
  assert.deepEqual(refused, ["bad.test", "worse.test"]);
});

test("a named host that leads to this machine is refused", async (t) => {
  const { port, refused, curl } = await begin(t, { isForbidden: undefined });
  assert.equal((await curl(`http://good.test:${port}/`)).at(-1), "403");
  assert.deepEqual(refused, ["good.test"]);
});

test("every address of this machine counts as such", async (t) => {
  const local = ["127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "::1", "::"];
  for (const address of [...local, "::ffff:127.0.0.1", "fe80::1"]) {
    const family = address.includes(":") ? 6 : 4;
    const lookup = async () => [{ address, family }];
    const { curl } = await begin(t, { isForbidden: undefined, lookup });
    assert.equal((await curl("http://good.test/")).at(-1), "403", address);
  }
});

test("a host without an address, and one that does not answer, are told apart from a refusal", async (t) => {
  const gone = async () => Promise.reject(new Error("ENOTFOUND"));
  const { curl } = await begin(t, { lookup: gone });
  assert.equal((await curl("http://good.test/")).at(-1), "502");
  const closed = await begin(t);
  assert.equal((await closed.curl("http://good.test:1/")).at(-1), "502");
});

test("what is no request of a proxy is refused or closed, and the proxy goes on", async (t) => {
  const { file, port, curl } = await begin(t);
  const bad = [
    ...["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT good.test HTTP/1.1\r\n\r\n", "junk\r\n\r\n"],
    ...["CONNECT :99999 HTTP/1.1\r\n\r\n", "GET ftp://good.test/ HTTP/1.1\r\nHost: x\r\n\r\n"],
  ];
  for (const text of bad) {
    const socket = net.connect(file);
    socket.end(text);
    const chunks = [];
    for await (const chunk of socket) chunks.push(chunk);
    const answer = Buffer.concat(chunks).toString();
    assert.ok(answer === "" || /^HTTP\/1\.1 (400|403|502)/.test(answer), answer);
  }
  assert.equal((await curl(`http://good.test:${port}/`)).at(-1), "200");
});

test("headers of a program or a host that Node.js refuses end that request only", async (t) => {
  const { file, port, curl } = await begin(t);
  const answers = [
    "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 0\r\n\r\n",
  ];
  const strange = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(answers.shift()));
  });
  await new Promise((resolve) => strange.listen(0, "127.0.0.1", () => resolve(undefined)));
  t.after(() => void strange.close());
  const { port: other } = /** @type {net.AddressInfo} */ (strange.address());
  for (const [to, header] of [
    [port, "Trailer: x\r\nContent-Length: 0"],
    ...[other, other].map((one) => [one, "Accept: */*"]),
  ]) {
    const socket = net.connect(file);
    socket.write(`GET http://good.test:${to}/ HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
    const chunks = [];
    for await (const chunk of socket) {
      chunks.push(chunk);
      socket.end();
    }
    assert.doesNotMatch(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 200/);
  }
  assert.equal((await curl(`http://good.test:${port}/`)).at(-1), "200");
});

test("a program in a sandbox has this way out and no other", async (t) => {
  const { file, port, refused } = await begin(t);
  const root = fs.realpathSync(temporaryFolder(t));
  const [cwd, admin] = [path.join(root, "worktree"), path.join(root, "git", "worktrees", "one")];
  for (const folder of [cwd, admin]) fs.mkdirSync(folder, { recursive: true });
  /** @type {import("../../../js/process/sandbox.mjs").Policy} */
  const policy = {
    ...{ cwd, repository: { common: path.join(root, "git"), admin }, writable: [], readable: [] },
    ...{ caches: [], hosts: ["good.test"], sandbox: "on" },
  };
  const script = `curl -sS http://good.test:${port}/; curl -sS http://bad.test:${port}/; curl -sS --noproxy '*' http://127.0.0.1:${port}/ || echo none`;
  const { command, args, env } = wrapInSandbox(
    policy,
    { command: "sh", args: ["-c", script], env: process.env },
    { ways: { proxy: fs.realpathSync(file) } },
  );
  const { stdout } = await run(command, args, { env, cwd });
  assert.match(stdout, /^\/ is here.*bad\.test.*none\n$/s);
  assert.deepEqual(refused, ["bad.test"]);
});

test("the bridge ends as its command does", async (t) => {
  const { file } = await begin(t);
  const end = (/** @type {string[]} */ ...command) =>
    run(process.execPath, [BRIDGE, `proxy=${file}`, "--", ...command]).then(
      () => 0,
      ({ code }) => code,
    );
  assert.equal(await end("true"), 0);
  assert.equal(await end("sh", "-c", "exit 7"), 7);
  assert.equal(await end("sh", "-c", "kill -9 $$"), 137);
  assert.equal(await end("no-such-program"), 127);
});
