// copilot-tap status, with whatever may hold the port.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import { describe, test } from "node:test";
import { gatewayFiles, version } from "../../../js/lib/paths.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { waitFor } from "../../support/wait.mjs";
import {
  GOOD,
  InTerminal,
  place,
  Running,
  served,
  tap,
  tapJson,
} from "../../support/cli-process.mjs";

const secretOf = (kit) => {
  const { descriptor } = gatewayFiles(kit.env);
  return JSON.parse(fs.readFileSync(descriptor, "utf8")).secret;
};

describe("copilot-tap status", () => {
  /** Something on a port of its own that answers this. */
  async function answering(t, body) {
    const server = http.createServer((_request, response) => response.end(body));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    t.after(() => server.close());
    return /** @type {import("node:net").AddressInfo} */ (server.address()).port;
  }

  test("says where the gateway of this home cannot be asked", async (t) => {
    const at = place(t);
    const { homeHash } = gatewayFiles({ COPILOT_HOME: at.home });
    const port = await answering(t, JSON.stringify({ program: "tap", version, home: homeHash }));
    await tap(["allow", "--yes"], at);
    const { code, out } = await tap(["status"], at, { TAP_GATEWAY_PORT: String(port) });
    assert.equal(code, 1);
    assert.match(out, /a gateway runs, but cannot be asked.*\n +copilot-tap doctor/);
    assert.ok(out.includes(`  ${at.config} (since `), out);
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
      const extra = { TAP_GATEWAY_PORT: String(port) };
      const { code, out } = await tap(["status"], at, extra);
      assert.equal(code, exit);
      assert.match(out, message);
      const asked = await tapJson(["status"], at, extra);
      assert.equal(asked.code, exit);
      assert.ok(asked.value.error.message);
    }
  });

  test("with a port that is not a number says so", async (t) => {
    const { code, err } = await tap(["status"], place(t), { TAP_GATEWAY_PORT: "x" });
    assert.equal(code, 1);
    assert.match(err, /which is not a port/);
  });

  test("shows sessions, providers, calls and failures in 80 columns", async (t) => {
    const { at, weather, kit } = await served(t);
    await kit.call("forecast", { city: "Bern" });
    await kit.call("forecast", {}).catch(() => {});
    const waiting = kit.session.start("wait", {});
    await waitFor(() => weather.waits);
    const terminal = new InTerminal(t, ["status"], at, { cols: 80 });
    assert.equal(await terminal.end(), 0);
    const { text } = terminal;
    assert.match(
      text,
      new RegExp(`^gateway ${version}, pid \\d+, port ${kit.port}, up .*, 1 call run`),
    );
    assert.match(
      text,
      /\nSessions \(most recent first\)\n +id +label +state +tools +running\n +test +test +idle +2 +1\n/,
    );
    assert.match(text, /\nProviders\n.*\n +weather +test +token +2 +1/);
    assert.match(text, /\nCalls\n.*\n +forecast +weather +2 +1 +\d\.\d +\d+ ms +\d+ ms +\d+ ms\n/);
    assert.match(text, /\nRecent failures\n.*\n +\d+ s +forecast +INTERNAL +no city/);
    assert.doesNotMatch(text, /Allowed configs|none/);
    kit.session.cancel(waiting.id);
  });

  test("with --json gives the whole inspection", async (t) => {
    const { at, kit } = await served(t);
    const { code, value } = await tapJson(["status"], at);
    assert.equal(code, 0);
    assert.equal(value.holder, "ours");
    assert.equal(value.gateway.port, kit.port);
    assert.deepEqual(
      value.gateway.sessions.map(({ id }) => id),
      ["test"],
    );
    assert.ok(!JSON.stringify(value).includes(secretOf(kit)));
    assert.equal(value.gateway.limits, undefined);
    const whole = await tapJson(["status", "--limits"], at);
    assert.ok(whole.value.gateway.limits.length > 20);
  });

  test("without a provider it says how to come by one, and shows no empty section", async (t) => {
    const kit = await startTap();
    t.after(() => kit.stop());
    const at = { env: { ...process.env, ...kit.env }, workspace: kit.home };
    const { out } = await tap(["status"], at);
    assert.match(out, /\nNo provider yet\. To write a provider: copilot-tap new node die\n/);
    assert.doesNotMatch(out, /: none|Providers|Calls|failures|Allowed/);
    assert.match(out, /\n +test +test +idle +0 +0\n/, "tap_status is no provider's");
  });

  test("marks an allowed config whose content has changed since", async (t) => {
    const at = place(t);
    await tap(["allow", "--yes"], at);
    const before = await tap(["status"], at, { TAP_GATEWAY_PORT: "1" });
    assert.ok(before.out.includes(`  ${at.config} (since `), before.out);
    fs.writeFileSync(at.config, GOOD.replace("ci.mjs", "other.mjs"));
    const after = await tap(["status"], at, { TAP_GATEWAY_PORT: "1" });
    assert.ok(after.out.includes(`  ${at.config} (changed since; allow it again)`), after.out);
    const { value } = await tapJson(["status"], at, { TAP_GATEWAY_PORT: "1" });
    assert.equal(value.allowed[0].changed, true);
    await tap(["allow", "--yes"], at);
    const again = await tapJson(["status"], at, { TAP_GATEWAY_PORT: "1" });
    assert.deepEqual(
      again.value.allowed.map(({ changed }) => changed),
      [false],
    );
    fs.rmSync(at.config);
    const gone = await tap(["status"], at, { TAP_GATEWAY_PORT: "1" });
    assert.ok(gone.out.includes(`  ${at.config} (the file no longer exists)`), gone.out);
  });

  test("--watch looks again until Ctrl-C, and shows what fits", async (t) => {
    const { at, kit } = await served(t);
    const terminal = new InTerminal(t, ["status", "--watch"], at, { rows: 12 });
    await terminal.shows("Providers");
    await kit.addSession("second");
    await terminal.shows(/^ +second /m);
    assert.ok(terminal.text.split("\n").length <= 12, "it does not scroll");
    terminal.type("\u0003");
    assert.equal(await terminal.end(), 0);
  });

  test("--watch --json gives a line for each look", async (t) => {
    const { at } = await served(t);
    const running = new Running(["status", "-w", "--json"], at);
    t.after(() => running.process.kill("SIGKILL"));
    await running.says(/\n.*\n/);
    running.process.kill("SIGTERM");
    const { code, out } = await running.end();
    assert.equal(code, 0);
    for (const line of out.trim().split("\n")) assert.equal(JSON.parse(line).holder, "ours");
  });
});
