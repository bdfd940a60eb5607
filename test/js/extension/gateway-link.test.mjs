// How the link gets to a gateway if there is no gateway, or only one of another version.

import assert from "node:assert/strict";
import { fork, spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { mock, test } from "node:test";
import { fileURLToPath } from "node:url";
import { GatewayLink } from "../../../js/extension/gateway-link.mjs";
import { makePrivateFolder, writePrivate } from "../../../js/lib/host-files.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { waitFor } from "../../support/wait.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {object} message */
function frame(message) {
  const body = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length);
  return Buffer.concat([header, body]);
}

/**
 * A link that is stopped after the test.
 * @param {import("node:test").TestContext} t @param {any} files
 * @param {{cwd: string, onTrouble?: (text: string) => void, log?: () => void}} options
 */
function linkTo(t, files, { cwd, onTrouble = () => {}, log = () => {} }) {
  const link = new GatewayLink({
    files,
    register: () => ({ sessionId: "s-1", label: "", cwd, cliPid: 1, mode: "live" }),
    onEvent: () => {},
    onWelcome: () => {},
    onTrouble,
    log,
  });
  t.after(() => link.stop("the test is over"));
  return link;
}

test("a port whose gateway takes no connection is waited for, and told about once it stays so", async (t) => {
  const home = temporaryFolder(t);
  const port = await findFreePort();
  const server = http.createServer((_request, response) => {
    response.writeHead(503).end('{"program":"tap","error":"too many connections"}');
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  t.after(() => server.close());
  const files = gatewayFiles({ COPILOT_HOME: home, TAP_GATEWAY_PORT: String(port) });
  /** @type {string[]} */
  const told = [];
  const startedAt = performance.now();
  linkTo(t, files, { cwd: home, onTrouble: (text) => told.push(text) }).start();
  await waitFor(() => told.length > 0, { what: "the trouble" });
  assert.match(told[0], new RegExp(`port ${port} is that of a tap gateway which takes no more`));
  assert.ok(performance.now() - startedAt >= 10_000, "at first it may be about to leave");
});

/**
 * A gateway that takes one secret, and refuses the link to others.
 * @param {import("node:test").TestContext} t @param {string} secret that it takes
 */
async function gatewayWithSecret(t, secret) {
  const folder = temporaryFolder(t);
  const port = await findFreePort();
  const page = http.createServer((_request, response) => {
    response.end(JSON.stringify({ program: "tap", home: "h" }));
  });
  await new Promise((resolve) => page.listen(port, "127.0.0.1", () => resolve(undefined)));
  const seen = { taken: 0, refused: 0 };
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      const right = JSON.parse(data.subarray(4).toString()).secret === secret;
      seen[right ? "taken" : "refused"] += 1;
      if (right) return;
      socket.end(frame({ type: "refused", code: "SECRET", message: "the link's secret is wrong" }));
    });
  });
  const link = path.join(folder, "link");
  await new Promise((resolve) => server.listen(link, () => resolve(undefined)));
  t.after(() => {
    page.close();
    server.close();
  });
  const descriptor = path.join(folder, "gateway.json");
  const say = (/** @type {string} */ told) =>
    writePrivate(
      descriptor,
      JSON.stringify({ pid: process.pid, port, link, secret: told, version: "0.1.0" }),
    );
  return { seen, say, files: { descriptor, port, homeHash: "h", logs: folder } };
}

test("a gateway whose descriptor is still the former one's is tried again without a word", async (t) => {
  const { seen, say, files } = await gatewayWithSecret(t, "new");
  say("former");
  /** @type {string[]} */
  const told = [];
  linkTo(t, files, { cwd: files.logs, onTrouble: (text) => told.push(text) }).start();
  await waitFor(() => seen.refused > 0, { what: "a refusal" });
  say("new");
  await waitFor(() => seen.taken > 0, { what: "the right secret" });
  assert.deepEqual(told, []);
});

test("a secret that stays wrong is told", async (t) => {
  const { say, files } = await gatewayWithSecret(t, "new");
  say("wrong");
  /** @type {string[]} */
  const told = [];
  linkTo(t, files, { cwd: files.logs, onTrouble: (text) => told.push(text) }).start();
  await waitFor(() => told.length > 0, { what: "the trouble" });
  assert.deepEqual(told, ["tap: the link's secret is wrong"]);
});

test("a gateway of an older link version is asked to drain by the first frame of a new link", async (t) => {
  const folder = temporaryFolder(t);
  const link = path.join(folder, "link");
  /** First frames, one per connection. @type {any[]} */
  const first = [];
  const server = net.createServer((socket) => {
    socket.once("data", (data) => {
      first.push(JSON.parse(data.subarray(4).toString()));
      if (first.at(-1).type === "register") {
        socket.end(frame({ type: "refused", code: "LINK_VERSION", message: "older" }));
      }
    });
    socket.on("error", () => {});
  });
  await new Promise((resolve) => server.listen(link, () => resolve(undefined)));
  t.after(() => server.close());
  const descriptor = path.join(folder, "gateway.json");
  const secret = "s".repeat(64);
  writePrivate(
    descriptor,
    JSON.stringify({ pid: process.pid, port: 1, link, secret, version: "0.0.1" }),
  );
  const gatewayLink = linkTo(
    t,
    { descriptor, port: 1, homeHash: "", logs: folder },
    { cwd: folder },
  );
  gatewayLink.start();
  await waitFor(() => first.some((message) => message.type === "drain"), { what: "a drain" });
  const drain = first.find((message) => message.type === "drain");
  assert.equal(drain.secret, secret);
  assert.equal(first[0].type, "register");
});

test("a host that cannot start is told once, with why and where its logs are", async (t) => {
  const home = temporaryFolder(t);
  const env = { COPILOT_HOME: home, TAP_GATEWAY_PORT: String(await findFreePort()) };
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  Object.assign(process.env, env);
  t.after(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const files = gatewayFiles(process.env);
  // A folder where its descriptor belongs: the host listens, and has to give up again.
  fs.mkdirSync(path.join(files.descriptor, "in the way"), { recursive: true });
  /** @type {string[]} */
  const troubles = [];
  const gatewayLink = linkTo(t, files, { cwd: home, onTrouble: (text) => troubles.push(text) });
  gatewayLink.start();
  await waitFor(() => troubles.length > 0, { what: "a line for the user" });
  assert.equal(troubles.length, 1);
  const [why, where] = troubles[0].split("; ");
  assert.match(why, /^tap: the gateway does not start: EISDIR: illegal operation on a directory/);
  assert.equal(where, `${files.logs} has its logs`);
  const outcome = await new Promise((resolve) => {
    gatewayLink.call("greet", {}, undefined, resolve);
  });
  assert.match(outcome.text, /does not start/);
  await waitFor(
    () => /cannot start/.test(fs.readFileSync(path.join(files.logs, "host.log"), "utf8")),
    {
      what: "the reason in the host's log",
    },
  );
});

test("a session that was stopped itself does not take its gateway for hung", async (t) => {
  const home = temporaryFolder(t);
  const env = {
    ...process.env,
    COPILOT_HOME: home,
    TAP_GATEWAY_PORT: String(await findFreePort()),
  };
  const files = gatewayFiles(env);
  const gateway = spawn("sleep", ["60"], { stdio: "ignore" });
  t.after(() => gateway.kill("SIGKILL"));
  makePrivateFolder(path.dirname(files.link));
  /** Messages of the first link. @type {string[]} */
  const heard = [];
  let links = 0;
  const server = net.createServer((socket) => {
    links += 1;
    socket.on("error", () => {});
    socket.once("data", () => {
      // It has asked to register: now it sleeps, longer than it would wait for an answer.
      session.kill("SIGSTOP");
      const { pid } = gateway;
      const welcome = { type: "welcome", linkVersion: 2, version: "0.1.0", pid, port: files.port };
      socket.write(frame(welcome));
      setTimeout(() => session.kill("SIGCONT"), 7000);
      socket.on("data", (data) => heard.push(data.toString()));
    });
  });
  await new Promise((resolve) => server.listen(files.link, () => resolve(undefined)));
  t.after(() => server.close());
  const { port, link } = files;
  const descriptor = { pid: gateway.pid, port, link, secret: "s", version: "0.1.0" };
  writePrivate(files.descriptor, JSON.stringify(descriptor));
  const program = fileURLToPath(new URL("../../../tools/chaos/session.mjs", import.meta.url));
  const session = fork(program, [], { env: { ...env, SESSION_ID: "s-1" } });
  t.after(() => session.kill("SIGKILL"));
  await waitFor(() => heard.some((text) => text.includes('"ping"')), {
    what: () => `a ping; ${links} links, heard ${heard}`,
  });
  assert.equal(links, 1);
  assert.equal(gateway.signalCode, null);
});

/** Sessions here start no gateway, but a program that writes down that it ran. @param {import("node:test").TestContext} t @param {string} home @param {string} [then] what it does then @returns {() => number} how often */
function countStarts(t, home, then = "") {
  const starts = path.join(home, "starts");
  const node = path.join(home, "node");
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo v99.0.0 && exit\necho start >> '${starts}'\n${then}\n`;
  fs.writeFileSync(node, script, { mode: 0o700 });
  const before = process.env.TAP_NODE;
  process.env.TAP_NODE = node;
  t.after(() => {
    if (before === undefined) delete process.env.TAP_NODE;
    else process.env.TAP_NODE = before;
  });
  return () =>
    fs.existsSync(starts) ? fs.readFileSync(starts, "utf8").trim().split("\n").length : 0;
}

test("a wall clock that is set back does not keep a session from starting a gateway", async (t) => {
  const home = temporaryFolder(t);
  const started = countStarts(t, home);
  const env = { COPILOT_HOME: home, TAP_GATEWAY_PORT: String(await findFreePort()) };
  const gatewayLink = linkTo(t, gatewayFiles(env), { cwd: home });
  gatewayLink.start();
  await waitFor(() => started() === 1, { what: "a first start" });
  mock.timers.enable({ apis: ["Date"], now: Date.now() - 3_600_000 });
  t.after(() => mock.timers.reset());
  await waitFor(() => started() === 2, { what: "a second start" });
});

test("a link that is stopped starts no gateway, also where it has just looked for one", async (t) => {
  const home = temporaryFolder(t);
  countStarts(t, home);
  const env = { COPILOT_HOME: home, TAP_GATEWAY_PORT: String(await findFreePort()) };
  const files = gatewayFiles(env);
  /** @type {string[]} */
  const order = [];
  const log = (/** @type {string} */ name) => () => void order.push(name);
  const stopped = linkTo(t, files, { cwd: home, log: log("stopped") });
  stopped.start();
  stopped.stop("at once");
  linkTo(t, files, { cwd: home, log: log("next") }).start();
  await waitFor(() => order.includes("next"), { what: "a start" });
  assert.deepEqual(order, ["next"]);
});

test("a host that is slow to fail is waited for, and its reason is in the line", async (t) => {
  const home = temporaryFolder(t);
  const go = path.join(home, "go");
  const fail = `while [ -d '${home}' ] && ! [ -e '${go}' ]; do sleep 0.05; done; echo 'tap: no room' >&2; exit 1`;
  const started = countStarts(t, home, fail);
  const env = { COPILOT_HOME: home, TAP_GATEWAY_PORT: String(await findFreePort()) };
  const { descriptor, ...rest } = gatewayFiles(env);
  let rounds = 0;
  const files = {
    ...rest,
    get descriptor() {
      rounds += 1;
      return descriptor;
    },
  };
  /** @type {string[]} */
  const troubles = [];
  linkTo(t, files, { cwd: home, onTrouble: (text) => troubles.push(text) }).start();
  await waitFor(() => started() === 1, { what: "a start" });
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + 6000);
  const before = rounds;
  await waitFor(() => rounds > before + 2, { what: "further looks" });
  assert.deepEqual(troubles, []);
  fs.writeFileSync(go, "");
  await waitFor(() => troubles.length > 0, { what: "a line for the user" });
  assert.deepEqual(troubles, [
    `tap: the gateway does not start: no room; ${files.logs} has its logs`,
  ]);
  assert.equal(started(), 1);
});
