// The complete providers without an SDK against a real gateway host: each connects, its tool is called, a
// cancel does it no harm, and it comes back after its session has ended and to a new gateway.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pythonWithWebsockets } from "../../../tools/setup.mjs";
import { REPO_ROOT } from "../../support/cli.mjs";
import { deferred } from "../../support/wait.mjs";
import { Gateway, Session } from "../../support/gateway-host.mjs";

const python = await pythonWithWebsockets();
const example = (name) => path.join(REPO_ROOT, "examples", name);
const hasWebSocket = typeof globalThis.WebSocket === "function";

const greeters = [
  { name: "hello.mjs", command: process.execPath, flags: [] },
  {
    name: "hello-node22.mjs",
    command: process.execPath,
    flags: hasWebSocket ? [] : ["--experimental-websocket"],
  },
  { name: "hello.py", command: python, flags: [] },
];

/** Lets a provider connect to a port, and shuts the door before it is open. @param {number} port */
async function refusedBy(port) {
  const asked = deferred();
  const server = net.createServer((socket) =>
    socket.once("data", () => asked.resolve(socket.destroy())),
  );
  server.listen(port, "127.0.0.1");
  await asked.promise;
  server.close();
  await once(server, "close");
}

/** @returns {string | false} why an example cannot be run here */
const missing = ({ command }) => !command && "no python3-websockets on this machine";

for (const greeter of greeters) {
  describe(`examples/${greeter.name}`, { skip: missing(greeter) }, () => {
    /** @type {Gateway} */
    let gateway;
    before(async () => (gateway = await Gateway.create()));
    after(() => gateway.dispose());
    const start = (env) =>
      gateway.start(greeter.command, [...greeter.flags, example(greeter.name)], env);

    test("serves its tool, fails a bad call, and follows when the session ends", async () => {
      start();
      const first = await Session.register(gateway, "first");
      await gateway.tools(first, "greet");
      assert.equal(await first.call("greet", { name: "Ada" }), "Hello, Ada!");
      const failure = await first.call("greet");
      assert.equal(failure.code, "INTERNAL");
      assert.match(failure.text, /name is missing/);
      const unwanted = first.start("greet", { name: "nobody" });
      first.cancel(unwanted.id);
      assert.equal((await unwanted.result).code, "CANCELLED");
      assert.equal(await first.call("greet", { name: "Eve" }), "Hello, Eve!");

      const second = await Session.register(gateway, "second");
      assert.equal(second.tools.size, 0, "it is bound to the first session only");
      first.end();
      await gateway.tools(second, "greet");
      assert.equal(await second.call("greet", { name: "Grace" }), "Hello, Grace!");
      first.close();
      second.end();
      second.close();
    });

    // shows: P-HOST-9
    test("comes back to a new gateway, with its new token, after it has found none", async () => {
      await gateway.host.stop("SIGKILL");
      await refusedBy(gateway.port);
      await gateway.startHost();
      const session = await Session.register(gateway, "third");
      await gateway.tools(session, "greet");
      assert.equal(await session.call("greet", { name: "Alan" }), "Hello, Alan!");
      session.close();
    });

    // shows: P-AUTH-7
    test("leaves with an error where TAP_PROVIDER_TOKEN is wrong", async () => {
      const wrong = start({ TAP_PROVIDER_TOKEN: "ptk-wrong" });
      assert.equal(await wrong.exited, 1);
      assert.match(wrong.output, /AUTH_FAILED/);
    });
  });
}
