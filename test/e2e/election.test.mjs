// Who gets the port, the files on the disk meanwhile, and the remains afterwards.

import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import path from "node:path";
import { describe, test } from "node:test";
import { callTool, say, toolNames } from "../support/model.mjs";
import { TestProvider } from "../support/provider.mjs";
import { answering, onceOffered, startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const modeOf = (file) => (statSync(file).mode & 0o777).toString(8);

/** A program that is not of tap, on a port of its own. */
async function foreignProgram(t, answer, address = "127.0.0.1") {
  const connections = [];
  const sockets = new Set();
  const server = net.createServer((socket) => {
    connections.push(performance.now());
    sockets.add(socket.on("error", () => {}));
    answer(socket);
  });
  await new Promise((resolve) => server.listen(0, address, resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: server.address().port, connections };
}

/** The files of a gateway in this home. */
const filesOf = (rig) => ({
  token: rig.cli.tokenFile,
  descriptor: path.join(rig.cli.home, "extensions", "tap", `.gateway-${rig.port}.json`),
  link: path.join(rig.cli.home, "extensions", "tap", ".run", `link-${rig.port}`),
});

describe("election and files", { concurrency: 1 }, () => {
  for (const [behaviour, answer, address] of [
    [
      "answers like a web server",
      (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"),
    ],
    ["hangs up", (socket) => socket.destroy()],
    ["stays silent", () => {}],
    ["has it for IPv6 only", (socket) => socket.destroy(), "::1"],
  ]) {
    test(`the port belongs to a program that ${behaviour}: a single line, no retry storm, the prompt works`, async (t) => {
      const foreign = await foreignProgram(t, answer, address);
      let looks = 0;
      const rig = await startTap(t, undefined, { port: foreign.port });
      rig.model.script(
        steps([
          async (request) => {
            assert.ok(toolNames(request).includes("tap_status"));
            await waitFor(() => foreign.connections.length >= 2);
            looks = foreign.connections.length;
            return say("works");
          },
        ]),
      );
      const { stdout } = await rig.run();
      assert.match(stdout, /works/);
      assert.equal(looks, 2);
      const [first, second] = foreign.connections;
      assert.ok(second - first > 2500, `looked again after ${second - first} ms`);
      const lines = await rig.timeline();
      assert.equal(lines.length, 1, lines.join("\n"));
      assert.match(lines[0], new RegExp(`port ${rig.port} is taken by .*TAP_GATEWAY_PORT`));
      assert.deepEqual(await rig.cli.gatewayHosts(), []);
    });
  }

  test("the port belongs to the gateway of a second home: a line that says so, and the prompt works", async (t) => {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    const owner = await startTap(t, async () => (await held, say("bye")));
    const first = owner.cli.startPrompt("go");
    await owner.model.waitForRequest();
    await owner.cli.gatewayHost();
    const rig = await startTap(t, [callTool("tap_status"), say("works")], { port: owner.port });
    await rig.run();
    const trouble = /taken by the tap gateway of a different COPILOT_HOME; set TAP_GATEWAY_PORT/;
    assert.deepEqual(
      (await rig.timeline()).map((line) => trouble.test(line)),
      [true],
    );
    // The model reads the same, not that it should try again.
    assert.match(rig.result("tap_status"), trouble);
    assert.deepEqual(await rig.cli.gatewayHosts(), []);
    release();
    await owner.ended(first);
  });

  // shows: P-AUTH-2
  test("stale files of a gateway that is gone are replaced, and links are not followed", async (t) => {
    const rig = await startTap(t, undefined);
    const { token, descriptor, link } = filesOf(rig);
    const victim = path.join(rig.cli.home, "victim");
    writeFileSync(victim, "untouched");
    mkdirSync(path.dirname(link), { recursive: true, mode: 0o777 });
    symlinkSync(victim, token);
    writeFileSync(link, "not a socket");
    writeFileSync(
      descriptor,
      JSON.stringify({ pid: 2 ** 22 - 7, port: rig.port, link, secret: "old", version: "0.0.1" }),
      { mode: 0o666 },
    );
    rig.model.script(
      steps([
        async () => {
          await rig.provide({ ping: answering("pong") });
          return callTool("tap_status");
        },
        onceOffered("ping"),
        () => {
          assert.ok(lstatSync(token).isFile());
          assert.equal(modeOf(token), "600");
          assert.equal(modeOf(descriptor), "600");
          assert.equal(modeOf(path.dirname(link)), "700");
          assert.notEqual(JSON.parse(readFileSync(descriptor, "utf8")).secret, "old");
          return say("bye");
        },
      ]),
    );
    await rig.run();
    assert.equal(rig.result("ping"), "pong");
    assert.equal(readFileSync(victim, "utf8"), "untouched");
  });

  // shows: P-AUTH-1
  test("the token comes back if its file is removed, and all files leave with the last session", async (t) => {
    const rig = await startTap(t, undefined, {
      env: { TAP_LINGER_MS: "300", TAP_GRACE_MS: "300" },
    });
    const { token, descriptor, link } = filesOf(rig);
    rig.model.script(
      steps([
        async () => {
          await waitFor(() => existsSync(token));
          const before = readFileSync(token, "utf8");
          assert.match(before, /^ptk-[0-9a-f]{64}$/);
          rmSync(token);
          await waitFor(() => existsSync(token));
          assert.equal(readFileSync(token, "utf8"), before);
          assert.equal(modeOf(token), "600");
          return say("bye");
        },
      ]),
    );
    await rig.run();
    await rig.cli.allGone();
    for (const file of [token, descriptor, link]) assert.ok(!existsSync(file), file);
  });

  test("the host's environment holds no secret and no session", async (t) => {
    const secrets = {
      GITHUB_TOKEN: "s3cret-a",
      GH_TOKEN: "s3cret-b",
      MY_API_KEY: "s3cret-c",
      NODE_OPTIONS: "--no-deprecation",
    };
    const rig = await startTap(t, undefined, { env: secrets });
    let host;
    rig.model.script(
      steps([
        async () => {
          host = await rig.cli.gatewayHost();
          return say("bye");
        },
      ]),
    );
    await rig.run();
    assert.doesNotMatch(JSON.stringify(host.env), /s3cret/);
    for (const name of ["SESSION_ID", "EXTENSION_PATH", "COPILOT_SDK_PATH", "NODE_OPTIONS"])
      assert.ok(!(name in host.env), name);
    assert.equal(host.env.COPILOT_HOME, rig.cli.home);
    assert.doesNotMatch(await rig.cli.logs(), /ptk-/);
  });

  // shows: P-AUTH-4
  test("a wrong token opens no connection", async (t) => {
    const rig = await startTap(t);
    rig.model.script(
      steps([
        async () => {
          await rig.cli.gatewayHost();
          const provider = await waitFor(() => TestProvider.connect({ port: rig.port }));
          await assert.rejects(provider.auth(`ptk-${"0".repeat(64)}`), { code: "AUTH_FAILED" });
          await provider.waitForClose();
          return say("bye");
        },
      ]),
    );
    await rig.run();
  });
});
