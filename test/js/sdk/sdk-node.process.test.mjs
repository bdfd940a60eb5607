// copilot-tap/provider as a process of its own: what keeps it alive, and what it ends with.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { describe, test } from "node:test";
import { root } from "../../../tools/commands.mjs";
import { waitFor, withTimeout } from "../../support/wait.mjs";
import { place } from "./sdk-place.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** A provider as a process. @param {TestContext} t @param {import("../../../js/develop/testing.mjs").TestTap} kit @param {string} code @param {string[]} flags */
function run(t, kit, code, flags = []) {
  const child = spawn(process.execPath, [...flags, "--input-type=module", "-e", code], {
    cwd: root,
    env: { ...process.env, ...kit.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const ended = new Promise((resolve) => child.on("close", (status) => resolve(status)));
  return withTimeout(ended, () => output).then((status) => ({ status, output }));
}

const lifetime = `
  import { provider } from "copilot-tap/provider";
  const tap = provider("brief");
  tap.tool("brief", { description: "" }, () => "x");
  await tap.connect();
  console.log("connected with", globalThis.WebSocket ? "its own WebSocket" : "ws");
  await tap.close("that was all");
  await tap.closed;
`;

describe("a process", () => {
  const has = typeof globalThis.WebSocket === "function";
  for (const [what, flags] of [
    ["ws", has ? ["--no-experimental-websocket"] : []],
    ["its own WebSocket", has ? [] : ["--experimental-websocket"]],
  ]) {
    test(`is soon back where no gateway is, with ${what}`, async (t) => {
      let knocks = 0;
      // After the request: of an end before it the WebSocket of Node.js 20 reports nothing at all.
      const server = net.createServer((socket) =>
        socket.once("data", () => (socket.destroy(), (knocks += 1))),
      );
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      t.after(() => server.close());
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      const code = `
        import { provider } from "copilot-tap/provider";
        const tap = provider("lost", { port: ${port}, token: "t" });
        tap.on("status", (text) => console.log(text));
        tap.tool("lost", { description: "" }, () => "x");
        void tap.connect();`;
      const child = spawn(process.execPath, [...flags, "--input-type=module", "-e", code], {
        ...{ cwd: root, stdio: ["ignore", "pipe", "inherit"] },
      });
      t.after(() => child.kill("SIGKILL"));
      let said = "";
      child.stdout.on("data", (text) => (said += text));
      await waitFor(() => knocks > 0);
      // An attempt that is left behind ends after 11 s.
      await waitFor(() => knocks > 2, { what: () => said });
      assert.match(said, /the gateway is not there/);
    });

    test(`ends after close(), with ${what}`, async (t) => {
      const { kit } = await place(t);
      const { status, output } = await run(t, kit, lifetime, /** @type {string[]} */ (flags));
      assert.equal(status, 0, output);
      assert.ok(output.includes(`connected with ${what}`), output);
      await kit.session.shows("tap: brief left");
    });
  }

  test("that is told to end while it waits for a session ends in peace", async (t) => {
    const { kit } = await place(t);
    await kit.killGateway();
    const { status, output } = await run(
      t,
      kit,
      `import { provider } from "copilot-tap/provider";
       const tap = provider("brief");
       process.once("SIGTERM", () => tap.close());
       setTimeout(() => process.kill(process.pid, "SIGTERM"), 300);
       process.once("SIGTERM", () => setTimeout(() => console.log("tidied up"), 50));
       await tap.connect();
       console.log("connected");`,
    );
    assert.equal(status, 0, output);
    assert.equal(output, "tidied up\n");
  });

  test("that closes, or gives up, right after connect() ends in peace", async (t) => {
    const { kit } = await place(t);
    const { status, output } = await run(
      t,
      kit,
      `import { provider } from "copilot-tap/provider";
       for (const pauses of [0, 1, 2, 5]) {
         const tap = provider("brief");
         const connected = tap.connect().catch((error) => console.log(error.code));
         for (let i = 0; i < pauses; ++i) await new Promise(setImmediate);
         await tap.close();
         await connected;
       }
       const signal = AbortSignal.abort(new Error("enough"));
       await provider("brief").connect({ signal }).catch((error) => console.log(error.message));`,
    );
    assert.equal(status, 0, output);
    assert.equal(output, `${"DISCONNECTED\n".repeat(4)}enough\n`);
  });

  test("whose token is void later ends with the reason", async (t) => {
    const { kit } = await place(t);
    const token = readFileSync(path.join(kit.home, "extensions", "tap", ".provider-token"), "utf8");
    const ended = run(
      t,
      { ...kit, env: { ...kit.env, TAP_PROVIDER_TOKEN: token } },
      `import { provider } from "copilot-tap/provider";
       const tap = provider("stale");
       tap.tool("old", { description: "Old" }, () => "old");
       await tap.connect();`,
    );
    await kit.session.shows("tap: stale is here");
    await kit.restartGateway();
    const { status, output } = await ended;
    assert.equal(status, 1, output);
    assert.match(output, /AUTH_FAILED.*Unset an old TAP_PROVIDER_TOKEN/);
  });
});
