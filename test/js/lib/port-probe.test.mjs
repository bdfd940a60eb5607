// Who holds the port of the gateway.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { test } from "node:test";
import { probePort } from "../../../js/lib/port-probe.mjs";

test("probePort tells who holds a port", async (t) => {
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
    for (const port of ports) assert.equal(await probePort(port, "mine", patience), holder);
  }
});
