// What a provider makes wait for a session that does not read: bounded, and no one else's loss.

import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { registration, TestGateway } from "../../support/harness.mjs";

/** @param {object} message */
function linkFrame(message) {
  const body = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length);
  return Buffer.concat([header, body]);
}

test("a session that does not read what a provider has for it loses its link, and others are served", async (t) => {
  const gateway = new TestGateway(t, {
    limits: {
      TAP_MAX_LINK_FRAME_BYTES: "65536",
      TAP_PUSHES_PER_SECOND: "100000",
      TAP_LINES_PER_SECOND: "100000",
    },
  });
  const link = gateway.listenLink();
  const { check } = await gateway.echo(await gateway.session("attached"));

  const socket = net.connect(link);
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  const sessionId = "one that does not read";
  socket.write(linkFrame(registration({ secret: gateway.secret, sessionId })));
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();

  const provider = await gateway.stranger();
  await provider.hello({ name: "talker", session: sessionId });
  const said = () => gateway.log.some((line) => line.includes("link ended: it does not read"));
  for (let pushed = 0; pushed < 2000 && !said(); ++pushed) {
    provider.push("surface", "x".repeat(15_000));
    if (pushed % 10 === 9) await check();
  }
  await waitFor(said, { what: () => `the end of the link in ${gateway.log.slice(-5).join("\n")}` });
  await check();
  assert.ok(!provider.closed, "the provider is not to blame");
});
