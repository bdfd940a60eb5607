// copilot-tap/provider and what becomes of its connection: waiting, coming back, following sessions,
// pairing, leaving.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket as UndiciWebSocket } from "undici";
import { WebSocketServer } from "ws";
import { startTap } from "../../../js/develop/testing.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { deferred, waitFor, withTimeout } from "../../support/wait.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** A gateway with a session. @param {TestContext} t @param {object} [options] */
async function start(t, options) {
  const kit = await startTap(options);
  t.after(() => kit.stop());
  return kit;
}

/** With a tool `who` that says its name. @param {TestContext} t @param {import("../../../js/develop/testing.mjs").TestTap} kit */
function make(t, kit, name, options = {}) {
  const tap = provider(name, { ...kit.where, ...options });
  t.after(() => tap.close());
  const said = [];
  tap.on("status", (text) => said.push(text));
  tap.tool(`who_${name}`, { description: "Says its name" }, () => name);
  return { tap, said };
}

/** Stops the gateway's process, until what this gives is called. @param {import("../../../js/develop/testing.mjs").TestTap} kit */
function hang(kit) {
  const folder = path.join(kit.home, "extensions", "tap");
  const [descriptor] = readdirSync(folder).filter((name) => name.startsWith(".gateway-"));
  const { pid } = JSON.parse(readFileSync(path.join(folder, descriptor), "utf8"));
  process.kill(pid, "SIGSTOP");
  return () => process.kill(pid, "SIGCONT");
}

/** @param {import("../../../sdk/node/types.js").Provider} tap */
const nextBound = (tap) => new Promise((resolve) => tap.on("bound", resolve));

/** A program on a port that sends these texts to whoever connects. @param {TestContext} t @param {() => (string | Buffer)[]} texts */
async function stranger(t, texts) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  server.on("connection", (socket) => texts().forEach((text) => socket.send(text)));
  await new Promise((resolve) => server.once("listening", resolve));
  return /** @type {net.AddressInfo} */ (server.address()).port;
}

describe("a provider", () => {
  test("outlives another program on the port, whatever that sends", async (t) => {
    const session = { id: "s", label: "a session", cwd: "/" };
    const bound = [
      { type: "sessions", active: [session] },
      { type: "hello.ack", protocolVersion: 2, sessionId: "s", reconnectToken: "r" },
    ].map((message) => JSON.stringify(message));
    const strange = ["hello", "", "null", "[]", "5", "{}", '{"type":7}', Buffer.from([0, 255, 1])];
    for (const first of [[], bound]) {
      for (const text of strange) {
        const port = await stranger(t, () => [...first, text]);
        const tap = provider("lost", { port, token: "any" });
        /** @type {string[]} */
        const said = [];
        tap.on("status", (status) => said.push(status));
        const connected = tap.connect();
        connected.catch(() => {});
        const says = /the program on this port is not a tap gateway/;
        await waitFor(() => said.some((status) => says.test(status)), {
          what: () => `that of ${JSON.stringify(text)}: ${said.join("\n")}`,
        });
        await tap.close();
      }
    }
  });

  test("waits for a gateway, and for a session", async (t) => {
    const kit = await start(t);
    await kit.killGateway();
    const { tap, said } = make(t, kit, "early");
    const connected = tap.connect();
    // The token file of the gateway that is gone is still there.
    await waitFor(() => /waiting for a gateway/.test(said.at(-1)), { what: () => said.join("\n") });
    rmSync(path.join(kit.home, "extensions", "tap", ".provider-token"));
    await waitFor(() => /waiting for a session of the Copilot CLI/.test(said.at(-1)));
    await kit.restartGateway();
    await connected;
    await kit.tool("who_early");
  });

  test("comes back after kill -9 of the gateway, to a new one", async (t) => {
    const kit = await start(t);
    const { tap, said } = make(t, kit, "loyal");
    let aborted;
    let running = false;
    tap.tool("hang", { description: "" }, (_args, { signal }) => {
      running = true;
      signal.addEventListener("abort", () => (aborted = signal.reason));
      return new Promise(() => {});
    });
    const lost = new Promise((resolve) => tap.on("unbound", resolve));
    await tap.connect();
    await kit.tool("hang");
    const failed = assert.rejects(kit.call("hang"), { code: "DISCONNECTED" });
    await waitFor(() => running);
    const back = nextBound(tap);
    await kit.restartGateway();
    await failed;
    assert.equal((await lost).code, "DISCONNECTED");
    assert.equal(aborted.code, "DISCONNECTED");
    await back;
    await kit.tool("who_loyal");
    assert.equal(await kit.call("who_loyal"), "loyal");
    assert.ok(
      said.some((text) => text.startsWith("connection lost")),
      said.join("\n"),
    );
    assert.equal(said.at(-1), "bound to test");
  });

  test("whose connection is cut comes back as the same one, within a moment", async (t) => {
    const kit = await start(t);
    const detour = await makeDetour(kit.port);
    t.after(() => detour.close());
    const { tap } = make(t, kit, "same", { port: detour.port });
    const ids = [];
    tap.on("bound", ({ providerId }) => ids.push(providerId));
    await tap.connect();
    await kit.tool("who_same");
    detour.cut();
    await waitFor(() => ids.length === 2);
    assert.equal(ids[0], ids[1]);
    await kit.tool("who_same");
    assert.equal(await kit.call("who_same"), "same");
    assert.deepEqual(kit.session.timeline, ["tap: same is here: who_same"]);
  });

  test("follows to another session when its own ends, once it has cleaned up", async (t) => {
    const kit = await start(t);
    const { tap } = make(t, kit, "follower");
    const steps = [];
    tap.on("session.end", async ({ session, deadline }) => {
      steps.push(`end of ${session} within ${deadline}`);
      await sleep(50);
      steps.push("cleaned up");
    });
    tap.on("bound", ({ session }) => steps.push(`bound to ${session}`));
    await tap.connect();
    await kit.tool("who_follower");
    const second = await kit.addSession("second");
    kit.session.end();
    await second.until(
      () => second.tools.has("who_follower"),
      () => "the tool in the second session",
    );
    assert.equal(await second.call("who_follower"), "follower");
    const wanted = ["bound to test", "end of test within 3000", "cleaned up", "bound to second"];
    assert.deepEqual(steps, wanted);
    assert.deepEqual([...tap.sessions], ["second"]);
    assert.equal((await tap.push("x", "y")).session, "second");
  });

  test("does not wait for a listener of the session's end beyond the deadline", async (t) => {
    const kit = await start(t);
    const { tap } = make(t, kit, "stuck");
    tap.on("session.end", () => new Promise(() => {}));
    const errors = [];
    tap.on("error", (error) => errors.push(error));
    await tap.connect();
    const second = await kit.addSession("second");
    const next = nextBound(tap);
    kit.session.end();
    assert.equal((await withTimeout(next, "the next session")).session, "second");
    await second.until(
      () => second.tools.has("who_stuck"),
      () => "the tool in the second session",
    );
    assert.deepEqual(errors, []);
  });

  test("whose listener of a session's end outlasts the connection does nothing to the next", async (t) => {
    const kit = await start(t);
    const detour = await makeDetour(kit.port);
    t.after(() => detour.close());
    const { tap } = make(t, kit, "late", { port: detour.port });
    const ended = deferred();
    const release = deferred();
    tap.on("session.end", () => (ended.resolve(), release.promise));
    await tap.connect();
    kit.session.end();
    await ended.promise;
    detour.cut();
    // The same session, resumed.
    const back = nextBound(tap);
    await waitFor(() => kit.addSession("test"));
    await back;
    const lost = [];
    tap.on("unbound", (error) => lost.push(error));
    release.resolve();
    assert.equal((await tap.push("x", "y")).session, "test");
    assert.deepEqual(lost, []);
  });

  test("whose choice of a session throws, or is a promise, cannot connect", async (t) => {
    const kit = await start(t);
    const choose = () => {
      throw new Error("no idea");
    };
    const throwing = make(t, kit, "throwing", { session: choose });
    await assert.rejects(throwing.tap.connect(), /no idea/);
    const slow = make(t, kit, "slow", { session: async () => "test" });
    await assert.rejects(slow.tap.connect(), /must give an id at once/);
  });

  test("with Node's own WebSocket leaves a gateway that hangs", async (t) => {
    const own = globalThis.WebSocket;
    t.after(() => (globalThis.WebSocket = own));
    globalThis.WebSocket = /** @type {any} */ (UndiciWebSocket);
    const kit = await start(t);
    const { tap } = make(t, kit, "patient");
    await tap.connect();
    hang(kit);
    const lost = [];
    tap.on("unbound", (error) => lost.push(error));
    const push = assert.rejects(tap.push("x", "y"), { code: "DISCONNECTED" });
    await withTimeout(tap.close(), "its end");
    await push;
    assert.equal(lost.length, 1);
    assert.doesNotMatch(lost[0].message, /reconnects by itself/);
  });

  test("of all sessions is in each, also in one that comes later", async (t) => {
    const kit = await start(t);
    const { tap } = make(t, kit, "everywhere", { session: "all" });
    tap.tool("where", { description: "" }, (_args, { session }) => session);
    await tap.connect();
    await kit.tool("where");
    const receipt = await tap.push("news", "hello", { level: "surface" });
    assert.equal(receipt.session, "test");
    const later = await kit.addSession("later");
    await later.until(
      () => later.tools.has("where"),
      () => "the tool in the later session",
    );
    assert.equal(await later.call("where"), "later");
    assert.equal(await kit.call("where"), "test");
    assert.equal((await tap.push("news", "x", { session: "later" })).session, "later");
    kit.session.end();
    await waitFor(() => tap.sessions.size === 1);
    later.end();
    await waitFor(() => tap.sessions.size === 0);
    assert.equal(await tap.push("news", "nobody hears it"), undefined);
  });

  test("takes the session that it is told to, and waits for it", async (t) => {
    const kit = await start(t);
    await kit.addSession("other", "/srv/shop");
    const byId = make(t, kit, "by_id", { session: "third" });
    const shop = (sessions) => sessions.find(({ cwd }) => cwd === "/srv/shop")?.id;
    const byFolder = make(t, kit, "by_folder", { session: shop });
    const waiting = byId.tap.connect();
    await byFolder.tap.connect();
    assert.deepEqual([...byFolder.tap.sessions], ["other"]);
    await waitFor(() => byId.said.at(-1) === "connected; waiting for a session");
    await kit.addSession("third");
    await waiting;
    assert.deepEqual([...byId.tap.sessions], ["third"]);
  });

  test("tells what was declared while its hello was on its way", async (t) => {
    const kit = await start(t);
    const late = () => {
      tap.tool("late", { description: "" }, () => "in time");
      tap.context("It is late.");
    };
    const session = ([first]) => (queueMicrotask(late), first.id);
    const { tap } = make(t, kit, "busy", { session });
    await tap.connect();
    await kit.tool("late");
    await waitFor(async () => /It is late\./.test(await kit.session.prompt()));
  });

  test("may be several instances, of which target picks one", async (t) => {
    const kit = await start(t);
    for (const instance of ["left", "right"]) {
      const tap = provider("editor", { ...kit.where, instance, metadata: { title: instance } });
      t.after(() => tap.close());
      tap.tool("open", { description: "" }, () => instance);
      await tap.connect();
    }
    await kit.tool("list_editor_instances");
    assert.equal(await kit.call("open", { target: "left" }), "left");
    assert.equal(await kit.call("open", { target: "right" }), "right");
  });

  test("without a token asks the user for a code, until it is the right one", async (t) => {
    const kit = await start(t);
    const codes = () => kit.events.flatMap(({ text }) => /\b\d{6}\b/.exec(text)?.[0] ?? []);
    const prompts = [];
    const pair = async (prompt) => {
      prompts.push(prompt);
      const asked = prompts.length;
      await waitFor(() => codes().length === asked);
      return asked === 1 ? "wrong" : ` ${codes().at(-1)}\n`;
    };
    const { tap } = make(t, kit, "page", { pair, home: temporaryFolder(t) });
    await tap.connect();
    assert.equal(prompts.length, 2);
    assert.match(prompts[0], /six digits/);
    assert.equal(tap.persistDir, undefined);
    await kit.tool("who_page");
    assert.equal(await kit.call("who_page"), "page");
    await assert.rejects(tap.context("x"), { code: "UNAUTHORIZED" });
  });

  test("of a gateway that hangs keeps little for it, and can leave", async (t) => {
    const kit = await start(t);
    const { tap } = make(t, kit, "patient");
    await tap.connect();
    const resume = hang(kit);
    const refusals = [];
    const pending = [];
    for (let count = 0; count < 60; ++count) {
      pending.push(tap.push("big", "x".repeat(1_000_000)).catch((error) => refusals.push(error)));
      await sleep(5);
    }
    assert.ok(refusals.length > 20, `${refusals.length}`);
    assert.ok(refusals.every(({ code }) => code === "RATE_LIMITED"));
    await withTimeout(tap.close(), "its end");
    await Promise.all(pending);
    assert.equal(refusals.length, 60, "those that were sent have failed by now");
    await assert.rejects(tap.connect(), { code: "DISCONNECTED" });
    resume();
  });

  test("sends a context that was refused for its rate when it is said again", async (t) => {
    const kit = await start(t);
    const { tap } = make(t, kit, "ci");
    await tap.connect();
    const resume = hang(kit);
    const big = "x".repeat(1_000_000);
    const pushes = Array.from({ length: 40 }, () => tap.push("big", big).catch(() => {}));
    await assert.rejects(tap.context("CI is red."), { code: "RATE_LIMITED" });
    resume();
    await Promise.all(pushes);
    await tap.context("CI is red.");
    assert.match(await kit.session.prompt(), /CI is red\./);
  });

  test("with the token of another gateway keeps trying, and says why", async (t) => {
    const kit = await start(t);
    const home = temporaryFolder(t);
    const folder = path.join(home, "extensions", "tap");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, ".provider-token"), "ptk-of-another");
    const { tap } = make(t, kit, "lost", { home });
    const problem = new Promise((resolve) => tap.on("error", resolve));
    const controller = new AbortController();
    const connected = tap.connect({ signal: controller.signal });
    const { code, advice } = await problem;
    assert.equal(code, "AUTH_FAILED");
    assert.match(advice, /COPILOT_HOME/);
    controller.abort(new Error("enough"));
    await assert.rejects(connected, /enough/);
    await tap.closed;
  });
});

/** A way to a port that can be cut. @param {number} port */
async function makeDetour(port) {
  const sockets = new Set();
  const server = net.createServer((near) => {
    const far = net.connect(port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(true)));
  const cut = () => sockets.forEach((socket) => socket.destroy());
  const { port: own } = /** @type {net.AddressInfo} */ (server.address());
  return { port: own, cut, close: () => (server.close(), cut()) };
}

describe("an offer of another session", () => {
  const has = (session, tool) =>
    session.until(
      () => session.tools.get(tool),
      () => tool,
    );
  const use = (session, name) => session.send({ type: "provider.use", provider: name });

  // shows: P-SESSION-7
  test("is taken by who follows the session last used", async (t) => {
    const kit = await start(t);
    const { tap } = make(t, kit, "guest");
    let aborted;
    const started = deferred();
    tap.tool("hang", { description: "" }, (_args, { signal }) => {
      started.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject((aborted = signal.reason)));
      });
    });
    await tap.connect();
    await kit.tool("hang");
    const call = kit.call("hang");
    await started.promise;
    const other = await kit.addSession("other");
    const bound = nextBound(tap);
    use(other, "guest");
    assert.equal((await bound).session, "other");
    await assert.rejects(call, { code: "DISCONNECTED" });
    assert.match(String(aborted), /the user has moved the provider/);
    assert.deepEqual([...tap.sessions], ["other"]);
    await has(other, "who_guest");
    await other.shows("tap: guest is here: who_guest, hang");
    other.end();
    await kit.tool("who_guest");
  });

  for (const [what, session] of /** @type {const} */ ([
    ["an id", "test"],
    ["all", "all"],
    ["a function", () => "test"],
  ])) {
    test(`is not taken by who has chosen: ${what}`, async (t) => {
      const kit = await start(t);
      const { tap } = make(t, kit, "settled", { session });
      await tap.connect();
      const other = await kit.addSession("other");
      if (session === "all") await has(other, "who_settled");
      use(other, "settled");
      await other.shows(session === "all" ? "serves this session already" : "and did not come");
      assert.ok(tap.sessions.has("test"));
    });
  }
});
