// The small parts of the JavaScript side, each by itself.

import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { toolsNamedIn } from "../../../js/session/copilot-session.mjs";
import { isNewer } from "../../../js/base/versions.mjs";
import * as hostFiles from "../../../js/base/host-files.mjs";
import { findNode, hostEnvironment } from "../../../js/base/node.mjs";
import { askPort } from "../../../js/host/host-process.mjs";
import { openLog } from "../../../js/base/log.mjs";
import { copilotHome, gatewayFiles, gatewayPort } from "../../../js/base/paths.mjs";
import { toToolResult } from "../../../js/session/tool-result.mjs";
import { ToolTable } from "../../../js/session/tool-table.mjs";
import { temporaryFolder } from "../gateway/harness.mjs";
import { waitFor } from "../../support/wait.mjs";

test("paths: everything lies under COPILOT_HOME, else under ~/.copilot", () => {
  assert.equal(copilotHome({}), path.join(os.homedir(), ".copilot"));
  const files = gatewayFiles({ COPILOT_HOME: "/h" });
  assert.equal(files.token, "/h/extensions/tap/.provider-token");
  assert.equal(files.port, 9400);
  for (const file of [files.descriptor, files.link, files.logs]) assert.ok(file.startsWith("/h/"));
  const other = gatewayFiles({ COPILOT_HOME: "/h", TAP_GATEWAY_PORT: "9401" });
  assert.notEqual(other.descriptor, files.descriptor);
  assert.notEqual(other.link, files.link);
});

test("paths: a socket's path fits however long COPILOT_HOME is", (t) => {
  const runtime = temporaryFolder(t);
  for (let length = 1; length < 300; ++length) {
    const env = { COPILOT_HOME: `/${"h".repeat(length)}`, XDG_RUNTIME_DIR: runtime };
    const { link } = gatewayFiles(env);
    assert.ok(Buffer.byteLength(link) < 104, `${link.length} bytes`);
  }
  const wide = gatewayFiles({ COPILOT_HOME: `/${"道".repeat(60)}`, XDG_RUNTIME_DIR: runtime });
  assert.ok(Buffer.byteLength(wide.link) < 104);
  const [one, two] = ["a", "b"].map(
    (end) =>
      gatewayFiles({ COPILOT_HOME: `/${"h".repeat(200)}${end}`, XDG_RUNTIME_DIR: runtime }).link,
  );
  assert.notEqual(one, two);
});

test("paths: a port that is none is an error, not another port", () => {
  assert.equal(gatewayPort({ TAP_GATEWAY_PORT: "" }), 9400);
  assert.equal(gatewayPort({ TAP_GATEWAY_PORT: "65535" }), 65535);
  for (const text of ["0", "65536", "-1", "94.5", "abc", "9400x"]) {
    assert.throws(() => gatewayPort({ TAP_GATEWAY_PORT: text }), /not a port/);
  }
});

test("host's environment: what it needs, and no secret of the session", () => {
  const passed = { PATH: "/bin", HOME: "/h", COPILOT_HOME: "/c", TAP_GRACE_MS: "1", LANG: "C" };
  const secret = {
    GITHUB_TOKEN: "x",
    SESSION_ID: "x",
    NODE_OPTIONS: "x",
    COPILOT_PATH: "x",
    MYPATH: "x",
  };
  assert.deepEqual(hostEnvironment({ ...passed, ...secret }), passed);
});

/** A program that says that version. @param {string} folder @param {string} name @param {string} says */
function fakeNode(folder, name, says) {
  const file = path.join(folder, name);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(file, `#!/bin/sh\necho run >> "${file}.runs"\necho "${says}"\n`, {
    mode: 0o755,
  });
  return file;
}

test("findNode passes over a Node that is too old, and one that does not say its version", (t) => {
  const folder = temporaryFolder(t);
  const [old, mute, good] = ["old", "mute", "good"].map((name) => path.join(folder, name));
  fakeNode(old, "node", "v18.20.8");
  fakeNode(mute, "node", "hello");
  const right = fakeNode(good, "node", "v20.19.0");
  const PATH = [old, mute, good].join(path.delimiter);
  assert.equal(findNode({ PATH }, ""), right);
  assert.equal(findNode({ PATH, TAP_NODE: path.join(old, "node") }, ""), right);
});

test("findNode asks a Node for its version once, and again once it has changed", (t) => {
  const folder = temporaryFolder(t);
  const file = fakeNode(folder, "node", "v18.0.0");
  const runs = () => fs.readFileSync(`${file}.runs`, "utf8").trim().split("\n").length;
  for (let i = 0; i < 3; ++i) assert.notEqual(findNode({ TAP_NODE: file }, ""), file);
  assert.equal(runs(), 1);
  fakeNode(folder, "node", "v22.0.0");
  fs.utimesSync(file, new Date(), new Date(Date.now() + 5000));
  assert.equal(findNode({ TAP_NODE: file }, ""), file);
  assert.equal(runs(), 2);
});

test("findNode: TAP_NODE first, and only what can be run", (t) => {
  const folder = temporaryFolder(t);
  const own = fakeNode(folder, "my-node", "v22.1.0");
  const plain = path.join(folder, "plain");
  fs.writeFileSync(plain, "", { mode: 0o644 });
  assert.equal(findNode({ TAP_NODE: own }), own);
  for (const useless of [plain, folder, path.join(folder, "none"), "my-node"]) {
    assert.equal(findNode({ TAP_NODE: useless }), process.execPath);
  }
});

test("isNewer puts a pre-release before its release, and pre-releases in their order", () => {
  const order =
    "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc-1.1 1.0.0 1.0.1-0";
  const versions = order.split(" ");
  for (const [i, a] of versions.entries()) {
    for (const [j, b] of versions.entries()) assert.equal(isNewer(a, b), i > j, `${a} > ${b}`);
  }
  assert.equal(isNewer("1.0.0-rc.1+build.9", "1.0.0-rc.1+build.10"), false);
});

test("isNewer compares numbers, not texts", () => {
  for (const [a, b] of [
    ["0.10.0", "0.9.0"],
    ["1.0.0", "0.99.99"],
    ["1.0.1", "1.0"],
    ["2", "1.9.9"],
  ]) {
    assert.equal(isNewer(a, b), true, `${a} > ${b}`);
    assert.equal(isNewer(b, a), false, `${b} > ${a}`);
  }
  for (const [a, b] of [
    ["1.0.0", "1.0.0"],
    ["1.0.0-beta", "1.0.0"],
    ["nonsense", "0.0.0"],
  ]) {
    assert.equal(isNewer(a, b), false, `${a} > ${b}`);
  }
});

test("ToolTable: changes by provider, sorted, never changed in place", () => {
  const tool = (name) => ({ name, description: "", parameters: {} });
  const event = (set, drop = []) => ({ revision: 1, reload: false, set, drop });
  const first = new ToolTable().with(
    event([
      { provider: "b", digest: "2", definitions: [tool("z"), tool("y")] },
      { provider: "a", digest: "1", definitions: [tool("x")] },
    ]),
  );
  const names = (table) => table.definitions().map(({ name }) => name);
  assert.deepEqual(names(first), ["x", "z", "y"]);
  assert.deepEqual(first.digests(), { b: "2", a: "1" });
  const second = first.with(
    event([{ provider: "b", digest: "3", definitions: [tool("w")] }], ["a"]),
  );
  assert.deepEqual(names(second), ["w"]);
  assert.deepEqual(names(first), ["x", "z", "y"]);
  assert.deepEqual(first.ours(["y", "bash"]), ["y"]);
  assert.deepEqual(names(first.without(["z"])), ["x", "y"]);
});

test("toolsNamedIn finds what a refusal is about", () => {
  assert.deepEqual(toolsNamedIn('External tool "a-b" conflicts with "c_d".'), ["a-b", "c_d"]);
  assert.deepEqual(toolsNamedIn("External tool name clash: grep, and more"), ["grep"]);
  assert.deepEqual(toolsNamedIn("something else"), []);
});

test("askPort tells who holds a port", async (t) => {
  /** @param {net.Server} server */
  const portOf = async (server) => {
    t.after(() => server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return /** @type {net.AddressInfo} */ (server.address()).port;
  };
  const answering = (body, status = 200) =>
    portOf(http.createServer((_request, response) => response.writeHead(status).end(body)));
  const speaking = (greet) =>
    portOf(
      net.createServer((socket) => {
        t.after(() => socket.destroy());
        socket.on("error", () => {});
        greet(socket);
      }),
    );
  const closed = net.createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port: nobody } = /** @type {net.AddressInfo} */ (closed.address());
  closed.close();
  await once(closed, "close");
  const cases = {
    nobody: [nobody],
    ours: [await answering('{"program":"tap","home":"mine"}')],
    "other-home": [await answering('{"program":"tap","home":"yours"}')],
    foreign: [
      await answering("<html>"),
      await answering("null"),
      await answering("{}", 404),
      await answering("x".repeat(100_000)),
      await speaking((socket) => socket.end("SSH-2.0-OpenSSH\r\n")),
      await speaking((socket) => socket.destroy()),
    ],
    busy: [await answering('{"program":"tap","error":"too many"}', 503)],
    silent: [
      await speaking(() => {}),
      await speaking((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const drip = setInterval(() => socket.write("x-drip: 1\r\n"), 20);
        socket.on("close", () => clearInterval(drip)).on("error", () => {});
      }),
    ],
  };
  for (const [holder, ports] of Object.entries(cases)) {
    const patience = holder === "silent" ? 200 : 5000;
    for (const port of ports) assert.equal(await askPort(port, "mine", patience), holder);
  }
});

test("files for this user only: whole, replaced, and removed only if ours", (t) => {
  const file = path.join(temporaryFolder(t), "deep", "file");
  hostFiles.writePrivate(file, "one");
  hostFiles.writePrivate(file, "two");
  assert.equal(fs.readFileSync(file, "utf8"), "two");
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(fs.readdirSync(path.dirname(file)), ["file"]);
  hostFiles.removeIfOurs(file, "one");
  assert.ok(fs.existsSync(file));
  hostFiles.removeIfOurs(file, "two");
  assert.ok(!fs.existsSync(file));
  hostFiles.removeIfOurs(file, "two");
});

test("of a file that cannot be put in its place nothing is left", (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, "file");
  fs.mkdirSync(path.join(file, "in the way"), { recursive: true });
  assert.throws(() => hostFiles.writePrivate(file, "one"), /EISDIR|ENOTEMPTY/);
  assert.deepEqual(fs.readdirSync(folder), ["file"]);
});

test("a descriptor that cannot be used is none", (t) => {
  const file = path.join(temporaryFolder(t), "descriptor");
  const link = path.join(path.dirname(file), "link");
  const good = { pid: 1, port: 2, link, secret: "s", version: "v" };
  assert.equal(hostFiles.readDescriptor(file), undefined);
  for (const text of [
    "",
    "{",
    "null",
    "[]",
    '"x"',
    ...Object.keys(good).map((key) => JSON.stringify({ ...good, [key]: {} })),
  ]) {
    fs.writeFileSync(file, text);
    assert.equal(hostFiles.readDescriptor(file), undefined, text);
  }
  fs.writeFileSync(file, JSON.stringify(good));
  assert.deepEqual(hostFiles.readDescriptor(file), good);
});

test("a private folder is made, narrowed, and refused where it is no folder", (t) => {
  const parent = temporaryFolder(t);
  const folder = path.join(parent, "run");
  fs.mkdirSync(folder, { mode: 0o777 });
  hostFiles.makePrivateFolder(folder);
  assert.equal(fs.statSync(folder).mode & 0o777, 0o700);
  const link = path.join(parent, "link");
  fs.symlinkSync(folder, link);
  assert.throws(() => hostFiles.makePrivateFolder(link), /not a folder of this user/);
});

test("a log is rotated, shows control characters, and keeps its level", async (t) => {
  const folder = temporaryFolder(t);
  const log = openLog(folder, "test.log", { TAP_LOG_LEVEL: "warning" });
  log("info", "not this");
  log("warning", "a\u001b[2J\nb\u0085\u2028\u202ec");
  const read = () => {
    const file = path.join(folder, "test.log");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  };
  await waitFor(() => read().includes("\n"));
  assert.match(read(), /^\S+ warning a\\x1b\[2J\\x0ab\\u\{85\}\\u\{2028\}\\u\{202e\}c\n$/);
  const line = "x".repeat(10_000);
  for (let i = 0; i < 600; ++i) log("error", line);
  const sizes = () =>
    fs
      .readdirSync(folder)
      .map((name) => ({ name, size: fs.statSync(path.join(folder, name)).size }));
  const total = () => sizes().reduce((sum, { size }) => sum + size, 0);
  log.end();
  await waitFor(() => sizes().length > 2 && total() < 5 * 1024 * 1024, {
    what: () => JSON.stringify(sizes()),
  });
});

test("results: text, bytes and failures as the SDK wants them", () => {
  assert.deepEqual(toToolResult("12 °C"), { textResultForLlm: "12 °C", resultType: "success" });
  const failure = { code: "TIMEOUT", text: "too late" };
  assert.deepEqual(toToolResult(failure), {
    textResultForLlm: "too late",
    resultType: "failure",
    error: "too late",
  });
  const image = toToolResult({ text: '{"w":7}', mimeType: "image/png", data: "AAAA" });
  assert.equal(image.textResultForLlm, '{"w":7}');
  assert.deepEqual(image.binaryResultsForLlm, [
    { data: "AAAA", mimeType: "image/png", type: "image" },
  ]);
  const file = toToolResult({ text: "", mimeType: "application/pdf", data: "AAAA" });
  assert.match(file.textResultForLlm, /application\/pdf/);
  assert.equal(file.binaryResultsForLlm?.[0].type, "resource");
});
