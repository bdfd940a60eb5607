// The doctor, where the gateway cannot be found, does not answer, or lets nobody in: each test breaks one
// thing of a place that is well.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { GATEWAY_CHECKS } from "../../../js/doctor/checks-gateway.mjs";
import { chooseHolder, parseLsof, parseSs } from "../../../js/doctor/port-holder.mjs";
import { findFreePort } from "../../support/cli.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor, withTimeout } from "../../support/wait.mjs";
import { fakeProgram, Place, running, staged } from "./doctor-place.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** @param {TestContext} t @param {net.Server} server @param {number} port */
async function listening(t, server, port, address = "127.0.0.1") {
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => resolve(undefined));
  });
  t.after(() => server.close());
}

/** A program that answers on the port of a place. @param {TestContext} t @param {(at: Place) => string} answer */
async function answered(t, answer) {
  const at = await Place.create(t);
  const body = answer(at);
  const server = http.createServer((_request, response) => response.end(body));
  await listening(t, server, at.files.port);
  return { at, server };
}

const asTap = (/** @type {Place} */ at) =>
  JSON.stringify({ program: "tap", version: "0.1.0", home: at.files.homeHash });

describe("copilot-tap doctor, the port", () => {
  test("of a real gateway with a session and a provider: all is well", async (t) => {
    const at = await running(t);
    const { exit, value } = await at.diagnose();
    assert.equal(exit, 0);
    assert.deepEqual(
      value.checks.filter(({ status }) => status !== "passed"),
      [],
    );
    assert.equal(value.well, true);
  });

  test("of another program", async (t) => {
    const { at, server } = await answered(t, () => "hello");
    const { code, first, exit } = await at.diagnose();
    assert.deepEqual([code, exit], ["PORT_FOREIGN", 1]);
    assert.ok(first.problem.includes(`(pid ${process.pid})`), first.problem);
    // Another port first: the program is its user's, and no line to copy ends it.
    const [, another] = /^export TAP_GATEWAY_PORT=(\d+)$/.exec(first.command) ?? [];
    assert.notEqual(Number(another), at.files.port);
    assert.ok(Number(another) > 0, first.command);
    assert.doesNotMatch(first.command, /kill/);
    server.closeAllConnections();
    server.close();
    assert.equal((await at.diagnose()).code, "NO_SESSION");
  });

  test("of another home's gateway", async (t) => {
    const theirs = await running(t);
    const at = await Place.create(t, { port: theirs.files.port });
    const { code, first } = await at.diagnose();
    assert.equal(code, "PORT_OTHER_HOME");
    assert.ok(first.problem.includes(`(pid ${theirs.pid}); this one is ${at.home}`));
    assert.equal((await at.diagnose(["--home", theirs.home])).code, undefined);
  });

  test("of a gateway that takes nobody just now", async (t) => {
    const theirs = await running(t);
    const token = fs.readFileSync(theirs.files.token, "utf8");
    const all = [];
    for (;;) {
      const provider = await TestProvider.connect({ port: theirs.files.port }).catch(() => {});
      if (!provider) break;
      await provider.auth({ token });
      all.push(provider);
    }
    const at = await Place.create(t, { port: theirs.files.port });
    assert.equal((await at.diagnose()).code, "GATEWAY_BUSY");
    assert.equal((await theirs.diagnose()).code, "GATEWAY_BUSY");
    all[0].terminate();
    await waitFor(async () => (await at.diagnose()).code === "PORT_OTHER_HOME");
    for (const provider of all) provider.terminate();
  });

  test("of a program that says nothing", async (t) => {
    const at = await Place.create(t);
    const sockets = new Set();
    const server = net.createServer((socket) => sockets.add(socket));
    await listening(t, server, at.files.port);
    const { code, first } = await at.diagnose();
    assert.equal(code, "PORT_FOREIGN");
    assert.match(first.command, /^export TAP_GATEWAY_PORT=\d+$/);
    for (const socket of sockets) socket.destroy();
  });

  test("of a gateway that hangs; the command that is told ends it, and it is missed then", async (t) => {
    const at = await running(t);
    process.kill(at.pid, "SIGSTOP");
    const { code, first } = await withTimeout(at.diagnose(), "the doctor");
    assert.deepEqual([code, first.command], ["GATEWAY_UNRESPONSIVE", `kill -9 ${at.pid}`]);
    await at.do(first.command);
    await waitFor(async () => (await at.diagnose()).code === "NO_SESSION");
    await at.kit.restartGateway();
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("of nobody, while this home's gateway has another", async (t) => {
    const at = await running(t);
    const { TAP_GATEWAY_PORT: port } = at.env;
    at.env.TAP_GATEWAY_PORT = String(await findFreePort());
    const { code, first } = await at.diagnose();
    assert.equal(code, "GATEWAY_OTHER_PORT");
    assert.equal(first.command, `export TAP_GATEWAY_PORT=${port}`);
    assert.equal((await at.diagnose([], { TAP_GATEWAY_PORT: port })).code, undefined);
  });

  test("of nobody, after a gateway has left in good order", async (t) => {
    const at = await running(t);
    process.kill(at.pid, "SIGTERM");
    await waitFor(() => !fs.existsSync(at.files.descriptor));
    await waitFor(async () => (await at.diagnose()).code === "NO_SESSION");
  });
});

/** An address of this machine on which the gateway does not listen. */
function anotherAddress() {
  if (process.platform === "linux") return "127.0.0.2";
  const all = Object.values(os.networkInterfaces()).flatMap((some) => some ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.2";
}

describe("copilot-tap doctor, who has the port", () => {
  test("a program on another address is in nobody's way, and is not to be killed", async (t) => {
    const at = await running(t);
    await listening(t, net.createServer(), at.files.port, anotherAddress());
    const { code, value } = await at.diagnose();
    assert.equal(code, undefined);
    assert.equal(value.checks.find(({ id }) => id === "port").seen, `pid ${at.pid}`);
    process.kill(at.pid, "SIGTERM");
    await waitFor(async () => (await at.diagnose()).code === "NO_SESSION");
  });

  test("in what ss prints", () => {
    const text = [
      'LISTEN 0 511 192.168.1.7:9400 0.0.0.0:* users:(("python3",pid=70,fd=3))',
      'LISTEN 0 511 127.0.0.1:9400 0.0.0.0:* users:(("a b (c)",pid=71,fd=20),("node",pid=72,fd=9))',
      'LISTEN 0 511 [::1]:9400 [::]:* users:(("node",pid=73,fd=21))',
      "",
    ];
    const listeners = parseSs(text.join("\n"));
    assert.deepEqual(
      listeners.map(({ address, holders }) => [address, ...holders.map(({ pid }) => pid)]),
      [
        ["192.168.1.7", 70],
        ["127.0.0.1", 71, 72],
        ["::1", 73],
      ],
    );
    assert.deepEqual(chooseHolder(listeners), { pid: 71, name: "a b (c)" });
    for (const name of ["*", "[::ffff:127.0.0.1]", "[::]", "0.0.0.0"]) {
      const line = `LISTEN 0 9 ${name}:9400 *:* users:(("nc",pid=7,fd=3))`;
      assert.equal(chooseHolder(parseSs(line))?.pid, 7, name);
    }
    // Of another user: it is not guessed at.
    assert.equal(chooseHolder(parseSs("LISTEN 0 9 127.0.0.1:9400 0.0.0.0:*")), undefined);
  });

  test("in what lsof prints", () => {
    const text =
      "p70\ncpython3\nf3\nn192.168.1.7:9400\np71\ncnode\nf20\nn127.0.0.1:9400\nf21\nn[::1]:9400\n";
    assert.deepEqual(chooseHolder(parseLsof(text)), { pid: 71, name: "node" });
    assert.equal(chooseHolder(parseLsof("p70\ncnc\nf3\nn192.168.1.7:9400\n")), undefined);
    for (const name of ["*", "[::ffff:127.0.0.1]", "[::]"]) {
      assert.equal(chooseHolder(parseLsof(`p72\ncnc\nf3\nn${name}:9400\n`))?.pid, 72);
    }
  });

  test("of several it is the gateway, else the one that 127.0.0.1 leads to", () => {
    const some = (/** @type {number[]} */ ...pids) => pids.map((pid) => ({ pid, name: "" }));
    const listeners = [
      { address: "::1", holders: some(5) },
      { address: "127.0.0.1", holders: some(1, 7) },
      { address: "0.0.0.0", holders: some(6) },
    ];
    assert.equal(chooseHolder(listeners, 6)?.pid, 6);
    assert.equal(chooseHolder(listeners, 99)?.pid, 7);
    // Of another user: it is not guessed at.
    assert.equal(chooseHolder([{ address: "127.0.0.1", holders: [] }, listeners[0]]), undefined);
  });

  test("nobody is told to kill process 1", () => {
    const holder = { pid: 1, name: "systemd" };
    const files = { port: 9400, logs: "/logs", descriptor: "/d" };
    const good = { state: "good", pid: 1, alive: true, linked: false };
    const places = ["foreign", "silent", "ours"].flatMap((asked) =>
      [good, { ...good, linked: true }, { ...good, pid: 2 }, { state: "missing" }].map(
        (descriptor) => ({ files, descriptor, others: [], trouble: "", port: { asked, holder } }),
      ),
    );
    const checks = GATEWAY_CHECKS.filter(({ id }) => ["port", "descriptor", "answer"].includes(id));
    const findings = places.flatMap((place) =>
      checks.flatMap(({ run }) => run(/** @type {any} */ (place)) ?? []),
    );
    assert.ok(findings.length > 8);
    for (const { command = "" } of findings) assert.doesNotMatch(command, /^kill (-9 )?1$/);
  });
});

describe("copilot-tap doctor, what the gateway leaves", () => {
  test("no descriptor", async (t) => {
    const { at } = await answered(t, asTap);
    const { code, first } = await at.diagnose();
    assert.equal(code, "GATEWAY_UNRESPONSIVE");
    assert.equal(first.command, `kill ${process.pid}`);
  });

  test("a descriptor that is no JSON", async (t) => {
    const at = await staged(t);
    fs.writeFileSync(at.files.descriptor, "{");
    assert.equal((await at.diagnose()).code, "GATEWAY_UNRESPONSIVE");
    at.describe();
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("a descriptor that others can write, and the command that is told closes it", async (t) => {
    const at = await staged(t);
    fs.chmodSync(at.files.descriptor, 0o666);
    const { code, first } = await at.diagnose();
    assert.equal(code, "FILE_UNSAFE");
    await at.do(first.command);
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("a descriptor of a process that is gone, or is not the port's", async (t) => {
    const at = await staged(t);
    for (const pid of [1, 2 ** 30]) {
      at.describe({ pid });
      const { code, first } = await at.diagnose();
      assert.equal(code, "GATEWAY_UNRESPONSIVE");
      assert.ok(first.problem.includes(`names pid ${pid},`));
    }
    at.describe();
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("a folder of the socket that is open to others, and the command that is told closes it", async (t) => {
    const at = await staged(t);
    const folder = path.dirname(at.gateway.link);
    fs.chmodSync(folder, 0o755);
    const { code, first } = await at.diagnose();
    assert.deepEqual([code, first.command], ["FILE_UNSAFE", `chmod 700 ${folder}`]);
    await at.do(first.command);
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("no socket, and the command that is told makes room for another gateway", async (t) => {
    const at = await running(t);
    fs.rmSync(at.files.link);
    const { code, first } = await at.diagnose();
    assert.deepEqual([code, first.command], ["GATEWAY_UNRESPONSIVE", `kill ${at.pid}`]);
    await at.do(first.command);
    await waitFor(() => !fs.existsSync(at.files.descriptor));
  });

  test("a gateway that does not take the user's question", async (t) => {
    const at = await staged(t);
    at.describe({ secret: "another" });
    const { code, first, text } = await at.diagnose();
    assert.equal(code, "GATEWAY_UNRESPONSIVE");
    assert.match(first.problem, /secret is wrong/);
    assert.ok(!text.includes(at.gateway.secret));
  });

  test("a gateway of another version", async (t) => {
    const at = await staged(t, { version: "0.0.9" });
    const { warned, warnings, exit } = await at.diagnose();
    assert.deepEqual([warned, exit], [["GATEWAY_OTHER_VERSION", "NO_PROVIDER"], 0]);
    assert.match(warnings[0].problem, /is tap 0\.0\.9, installed is/);
  });

  test("a gateway that makes room for another", async (t) => {
    const at = await staged(t, { limits: { TAP_DRAIN_MS: "60000" } });
    const provider = await at.gateway.provider(at.session, "slow", {
      wait: () => new Promise(() => {}),
    });
    void at.session.call("wait");
    await provider.waitFor("tool.call");
    at.session.send({ type: "drain", secret: at.gateway.secret, version: "99.0.0" });
    await waitFor(async () => (await at.diagnose()).code === "NOT_READY");
  });
});

describe("copilot-tap doctor, the way in for providers", () => {
  test("no token file", async (t) => {
    const at = await staged(t);
    fs.rmSync(at.files.token);
    assert.equal((await at.diagnose()).code, "NOT_READY");
    fs.writeFileSync(at.files.token, at.token, { mode: 0o600 });
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("a link in its place", async (t) => {
    const at = await staged(t);
    fs.rmSync(at.files.token);
    fs.symlinkSync("/etc/hostname", at.files.token);
    const { code, first } = await at.diagnose();
    assert.equal(code, "TOKEN_WRONG");
    assert.match(first.problem, /symbolic link/);
  });

  test("a folder in its place, and with the command that is told the gateway mends it", async (t) => {
    const at = await running(t);
    fs.rmSync(at.files.token);
    fs.mkdirSync(path.join(at.files.token, "x"), { recursive: true });
    const { code, first } = await at.diagnose();
    assert.equal(code, "TOKEN_WRONG");
    await at.do(first.command);
    await waitFor(() => fs.existsSync(at.files.token), { what: "a token file" });
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("an empty one, and with the command that is told the gateway mends it", async (t) => {
    const at = await running(t);
    fs.writeFileSync(at.files.token, "\n");
    const { code, first } = await at.diagnose();
    assert.equal(code, "TOKEN_WRONG");
    await at.do(first.command);
    await waitFor(() => fs.existsSync(at.files.token), { what: "a token file" });
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("one that others can read, and the command that is told closes it", async (t) => {
    const at = await running(t);
    fs.chmodSync(at.files.token, 0o644);
    const { warned, warnings } = await at.diagnose();
    assert.deepEqual(warned, ["FILE_UNSAFE"]);
    assert.match(warnings[0].problem, /mode 644/);
    await at.do(warnings[0].command);
    assert.deepEqual((await at.diagnose()).warned, []);
  });

  test("one of another gateway, and with the command that is told the gateway mends it", async (t) => {
    const at = await running(t);
    const wrong = "ptk-of-another-gateway";
    fs.writeFileSync(at.files.token, wrong);
    const { code, first, text } = await at.diagnose();
    assert.equal(code, "TOKEN_WRONG");
    assert.ok(!text.includes(wrong), "it is not shown");
    // What the gateway says names its own file, not that of the usual home.
    assert.ok(first.problem.includes(`read it again from ${at.files.token}: `), first.problem);
    await at.do(first.command);
    await waitFor(() => fs.existsSync(at.files.token), { what: "a token file" });
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("a variable with another token", async (t) => {
    const at = await running(t);
    const secret = "ptk-of-yesterday";
    const { code, first, text } = await at.diagnose([], { TAP_PROVIDER_TOKEN: secret });
    assert.deepEqual([code, first.command], ["VARIABLE_INVALID", "unset TAP_PROVIDER_TOKEN"]);
    assert.ok(!text.includes(secret), "it is not shown");
    const token = fs.readFileSync(at.files.token, "utf8");
    const good = await at.diagnose([], { TAP_PROVIDER_TOKEN: token });
    assert.equal(good.code, undefined);
    assert.ok(!good.text.includes(token), "nor is a good one");
  });

  test("too many connections", async (t) => {
    const at = await staged(t, { limits: { TAP_MAX_CONNECTIONS: "1" } });
    const { provider } = await at.gateway.echo(at.session);
    const { code, first } = await at.diagnose();
    assert.equal(code, "GATEWAY_BUSY");
    assert.match(first.problem, /1 of 1 connections/);
    provider.terminate();
    await waitFor(async () => (await at.diagnose()).code === undefined);
  });

  test("the doctor's own visit leaves no provider behind", async (t) => {
    const at = await running(t);
    const other = await TestProvider.connect({ port: at.files.port });
    t.after(() => other.terminate());
    const { active } = await other.auth({ tokenFile: at.files.token });
    assert.equal(active.length, 1);
    await at.diagnose();
    assert.deepEqual((await at.diagnose()).warned, ["PROVIDER_REFUSED"]);
    other.terminate();
    await waitFor(async () => (await at.diagnose()).warned.length === 0);
  });
});

test("the doctor of a place where everything hangs ends in time", async (t) => {
  const at = await running(t);
  const slow = fakeProgram(at.bin, "slow-node", "sleep 300");
  fakeProgram(at.bin, "copilot", "sleep 300");
  process.kill(at.pid, "SIGSTOP");
  const { out } = await withTimeout(at.read([], { TAP_NODE: slow }), "the doctor");
  assert.match(out, /VARIABLE_INVALID/);
});
