// copilot-tap status, with whatever may hold the port.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { describe, test } from "node:test";
import { gatewayFiles, version } from "../../js/base/paths.mjs";
import { place, tap } from "./cli-process.mjs";

describe("copilot-tap status", () => {
  /** Something on a port of its own that answers this. */
  async function answering(t, body) {
    const server = http.createServer((_request, response) => response.end(body));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    t.after(() => server.close());
    return /** @type {import("node:net").AddressInfo} */ (server.address()).port;
  }

  test("names the gateway of this home, and what is allowed", async (t) => {
    const at = place(t);
    const { homeHash } = gatewayFiles({ COPILOT_HOME: at.home });
    const port = await answering(t, JSON.stringify({ program: "tap", version, home: homeHash }));
    const files = gatewayFiles({ COPILOT_HOME: at.home, TAP_GATEWAY_PORT: String(port) });
    fs.mkdirSync(files.folder, { recursive: true });
    const descriptor = {
      pid: 42,
      port,
      link: path.join(path.dirname(at.home), "link"),
      secret: "hidden",
      version: "9.9.9",
    };
    fs.writeFileSync(files.descriptor, JSON.stringify(descriptor));
    await tap(["allow", "--yes"], at);
    const { code, out } = await tap(["status"], at, { TAP_GATEWAY_PORT: String(port) });
    assert.equal(code, 0);
    assert.match(out, /a gateway runs \(version 9\.9\.9, pid 42\)/);
    assert.ok(out.includes(`  ${at.config} (since `), out);
    assert.doesNotMatch(out, /hidden/);
  });

  test("tells another home's gateway, another program and nobody apart", async (t) => {
    const at = place(t);
    const other = await answering(t, JSON.stringify({ program: "tap", version, home: "x" }));
    const foreign = await answering(t, "hello");
    const cases = /** @type {const} */ ([
      [other, /another COPILOT_HOME/, 4],
      [foreign, /a program other than tap/, 4],
      [1, /no gateway runs/, 3],
    ]);
    for (const [port, message, exit] of cases) {
      const { code, out } = await tap(["status"], at, { TAP_GATEWAY_PORT: String(port) });
      assert.equal(code, exit);
      assert.match(out, message);
    }
  });

  test("with a port that is none says so", async (t) => {
    const { code, err } = await tap(["status"], place(t), { TAP_GATEWAY_PORT: "x" });
    assert.equal(code, 1);
    assert.match(err, /which is not a port/);
  });
});
