// What strangers can take before they have authenticated: bounded memory and time, and no place that
// a provider needs. A real host, and sockets that do the worst they can.

import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { frame, upgradeRequest } from "../../support/raw-client.mjs";
import { Host } from "../../support/test-host.mjs";

const MB = 1024 * 1024;
const PAGE = { Origin: "https://evil.example" };

/** The most memory that the process has had, in bytes. @param {number | undefined} pid */
function peakMemory(pid) {
  const [, kilobytes] =
    /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** A host with a session and a provider that can be asked at any time. @param {import("node:test").TestContext} t */
async function setUp(t, env = {}) {
  const host = await Host.elected(t, env);
  const session = await host.withToken(t);
  const admitted = async () => {
    const provider = await TestProvider.connect({ port: host.files.port });
    t.after(() => provider.terminate());
    await provider.auth(host.token ?? "");
    return provider;
  };
  const provider = await admitted();
  provider.handle({ ask: { handler: ({ n }) => n } });
  const tools = [{ name: "ask", description: "", parameters: {} }];
  await provider.hello({ name: "honest", session: session.id, tools });
  let n = 0;
  /** Answered, and how long that took. */
  const ask = async () => {
    const startedAt = performance.now();
    assert.equal(await session.call("ask", { n: ++n }), String(n));
    return performance.now() - startedAt;
  };
  await ask();
  const before = peakMemory(host.process.pid);
  const grown = () => peakMemory(host.process.pid) - before;
  return { host, admitted, ask, grown };
}

/** A stranger that takes what it is given, and minds nothing. @param {import("node:test").TestContext} t @param {number} port */
function stranger(t, port) {
  const socket = net.connect({ port, host: "127.0.0.1" });
  const one = { socket, ended: false };
  t.after(() => socket.destroy());
  socket.on("error", () => {}).on("close", () => (one.ended = true));
  socket.resume();
  return one;
}

test("strangers that hold every connection open keep no provider out", async (t) => {
  const { host, admitted, ask } = await setUp(t);
  const crowd = Array.from({ length: 300 }, (_, i) => {
    const one = stranger(t, host.files.port);
    // Some say nothing, some half a request, some are pages that never authenticate.
    if (i % 3 === 1) one.socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n");
    if (i % 3 === 2) one.socket.write(upgradeRequest(PAGE));
    return one;
  });
  await waitFor(() => crowd.filter(({ ended }) => ended).length >= 250, {
    what: () => `${crowd.filter(({ ended }) => ended).length} of 300 were turned away`,
  });
  for (let i = 0; i < 10; ++i) {
    // Each stranger has a moment to authenticate: until then the gateway answers 503, try again.
    const provider = await waitFor(admitted);
    await ask();
    await provider.close();
  }
});

test("what strangers send before they authenticate is not kept", async (t) => {
  const { host, ask, grown } = await setUp(t);
  // As large as a first message may be, and without its end; far larger; in fragments without end.
  const almost = frame("x".repeat(65_535), { announce: 65_536n });
  const large = frame(Buffer.alloc(4 * MB, "x"), { announce: BigInt(5 * MB) });
  const piece = frame("x".repeat(1000), { opcode: 0, fin: false });
  const pieces = Buffer.concat([
    frame("x", { fin: false }),
    ...Array.from({ length: 4000 }, () => piece),
  ]);
  for (const bytes of [almost, large, pieces]) {
    const crowd = Array.from({ length: 100 }, () => stranger(t, host.files.port));
    for (const { socket } of crowd)
      socket.write(Buffer.concat([Buffer.from(upgradeRequest()), bytes]));
    await waitFor(() => crowd.filter(({ ended }) => ended).length >= 50, { what: "half are gone" });
    await ask();
    for (const { socket } of crowd) socket.destroy();
  }
  assert.ok(grown() < 40 * MB, `${Math.round(grown() / MB)} MB more`);
});

test("headers without end, and byte by byte, are ended in their time", async (t) => {
  const { host, ask, grown } = await setUp(t, { TAP_HANDSHAKE_MS: "500" });
  const crowd = Array.from({ length: 40 }, () => stranger(t, host.files.port));
  const drip = setInterval(() => {
    for (const [i, { socket }] of crowd.entries())
      if (!socket.destroyed) socket.write(i % 2 ? "x" : "G");
  }, 20);
  t.after(() => clearInterval(drip));
  await waitFor(() => crowd.every(({ ended }) => ended), { what: "all of them are gone" });
  const bombs = Array.from({ length: 40 }, () => stranger(t, host.files.port));
  for (const { socket } of bombs) socket.write(`GET / HTTP/1.1\r\nX: ${"y".repeat(MB)}`);
  await waitFor(() => bombs.every(({ ended }) => ended), { what: "the bombs are gone" });
  await ask();
  assert.ok(grown() < 30 * MB, `${Math.round(grown() / MB)} MB more`);
});

test("five thousand handshakes in a row leave the others answered, and nothing behind", async (t) => {
  const { host, ask, grown } = await setUp(t);
  const folder = `/proc/${host.process.pid}/fd`;
  const descriptors = () => fs.readdirSync(folder).length;
  const isStoreOpen = () =>
    fs.readdirSync(folder).some((name) => {
      const file = fs.readlinkSync(path.join(folder, name));
      return file.endsWith("records.sqlite");
    });
  // Its thread gives way to all others, and opens it when it has its turn.
  await waitFor(isStoreOpen, { what: "the store is open" });
  const before = descriptors();
  for (let round = 0; round < 50; ++round) {
    const crowd = Array.from({ length: 100 }, () => stranger(t, host.files.port));
    for (const { socket } of crowd) {
      socket.write(
        Buffer.concat([Buffer.from(upgradeRequest(PAGE)), frame('{"type":"auth","token":"?"}')]),
      );
    }
    await waitFor(() => crowd.every(({ ended }) => ended), { what: "all of them are refused" });
    await ask();
  }
  await waitFor(() => descriptors() <= before, { what: () => `${descriptors()} descriptors` });
  assert.ok(grown() < 30 * MB, `${Math.round(grown() / MB)} MB more`);
});
