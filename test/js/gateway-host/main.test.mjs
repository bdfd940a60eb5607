// The detached gateway host, as a process with a home of its own.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { probePort } from "../../../js/lib/port-probe.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { temporaryFolder } from "../../support/harness.mjs";
import { Host } from "../../support/test-host.mjs";
import { RawClient } from "../../support/raw-client.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";

const modeOf = (file) => fs.statSync(file).mode & 0o777;

// shows: P-AUTH-1, P-HOST-5
test("a host publishes itself, serves, and takes its files back", async (t) => {
  const host = await Host.elected(t);
  assert.equal(modeOf(host.files.descriptor), 0o600);
  assert.equal(modeOf(host.files.linkFolder), 0o700);
  assert.equal(host.token, undefined, "no session, no token");
  assert.equal(await probePort(host.files.port, host.files.homeHash), "ours");
  assert.equal(await probePort(host.files.port, "another home"), "other-home");

  const session = await host.withToken(t);
  assert.equal(modeOf(host.files.token), 0o600);
  assert.match(host.token, /^ptk-[0-9a-f]{64}$/);
  const provider = await TestProvider.serve({
    port: host.files.port,
    tokenFile: host.files.token,
    name: "greeter",
    tools: { greet: { handler: ({ name }) => `Hello, ${name}!` } },
  });
  assert.equal(await session.call("greet", { name: "Alice" }), "Hello, Alice!");

  const { token } = host;
  host.process.kill("SIGTERM");
  assert.equal((await provider.waitForClose()).code, 1001);
  assert.deepEqual(await host.exit(), { code: 0, signal: null });
  assert.ok(!fs.existsSync(host.files.token));
  assert.ok(!fs.existsSync(host.files.descriptor));
  assert.ok(!fs.existsSync(host.files.link));
  assert.equal(host.output, "");
  assert.equal(host.errors, "");
  assert.ok(!host.log.includes(token) && token.length > 60);
});

// shows: P-HOST-1
test("a second host leaves without a word and without touching a file", async (t) => {
  const first = await Host.elected(t);
  const session = await first.withToken(t);
  const before = [first.files.token, first.files.descriptor].map((file) =>
    fs.readFileSync(file, "utf8"),
  );
  const second = await Host.start(t, first.env);
  assert.deepEqual(await second.exit(), { code: 0, signal: null });
  assert.equal(second.output + second.errors, "");
  const after = [first.files.token, first.files.descriptor].map((file) =>
    fs.readFileSync(file, "utf8"),
  );
  assert.deepEqual(after, before);
  assert.match(await session.call("tap_status"), /No provider/);
});

// shows: P-AUTH-2
test("a token file that has become another's is left alone", async (t) => {
  const host = await Host.elected(t);
  await host.withToken(t);
  fs.writeFileSync(host.files.token, "ptk-of-another");
  host.process.kill("SIGTERM");
  await host.exit();
  assert.equal(fs.readFileSync(host.files.token, "utf8"), "ptk-of-another");
  assert.ok(!fs.existsSync(host.files.descriptor));
});

// shows: P-AUTH-2
test("a symbolic link at the token's place is replaced, not followed", async (t) => {
  const home = temporaryFolder(t);
  const victim = path.join(home, "victim");
  fs.writeFileSync(victim, "precious", { mode: 0o644 });
  const { token } = gatewayFiles({ COPILOT_HOME: home });
  fs.mkdirSync(path.dirname(token), { recursive: true });
  fs.symlinkSync(victim, token);
  const host = await Host.elected(t, { COPILOT_HOME: home });
  await host.session(t);
  await waitFor(() => !fs.lstatSync(token).isSymbolicLink(), { what: "a token file of its own" });
  assert.equal(fs.readFileSync(victim, "utf8"), "precious");
  assert.equal(modeOf(token), 0o600);
});

test("a token that cannot be written is complained about; sessions are served", async (t) => {
  const home = temporaryFolder(t);
  // A folder is in its place.
  fs.mkdirSync(path.join(gatewayFiles({ COPILOT_HOME: home }).token, "full"), { recursive: true });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t);
  assert.match(await session.call("tap_status"), /gateway on port/);
  await waitFor(() => host.log.includes("token file cannot be written"), { what: "a complaint" });
});

// shows: P-AUTH-1
test("a token file that goes missing is written again", async (t) => {
  const host = await Host.elected(t);
  await host.withToken(t);
  const { token } = host;
  fs.rmSync(host.files.token);
  await waitFor(() => host.token === token, { what: "the token file" });
});

test("a log folder that cannot be written costs the log only", async (t) => {
  const home = temporaryFolder(t);
  fs.writeFileSync(path.join(home, "logs"), "a file");
  const host = await Host.elected(t, { COPILOT_HOME: home });
  assert.match(await (await host.session(t)).call("tap_status"), /gateway/);
});

test("a socket that a killed host left behind is replaced", async (t) => {
  const first = await Host.elected(t);
  await first.withToken(t);
  const { token } = first;
  first.process.kill("SIGKILL");
  await first.exit();
  assert.ok(fs.existsSync(first.files.link));
  const second = await Host.elected(t, first.env);
  await second.session(t);
  await waitFor(() => second.token && second.token !== token, { what: "a token of its own" });
});

test("the host leaves when no session has come for the grace time", async (t) => {
  const host = await Host.start(t, { TAP_GRACE_MS: "50" });
  assert.deepEqual(await host.exit(), { code: 0, signal: null });
  assert.match(host.log, /leaving: no session is left/);
});

// shows: P-HOST-3
test("the host stays while there is a session, and leaves after the last", async (t) => {
  const host = await Host.elected(t, { TAP_GRACE_MS: "1500", TAP_LINGER_MS: "10" });
  const session = await host.withToken(t);
  session.close();
  assert.deepEqual(await host.exit(), { code: 0, signal: null });
  assert.ok(!fs.existsSync(host.files.token));
});

test("a newer extension makes the host drain", async (t) => {
  const host = await Host.elected(t);
  const session = await host.withToken(t);
  session.send({ type: "drain", secret: host.descriptor.secret, version: "99.0.0" });
  await session.waitFor("draining");
  await session.waitForClose();
  assert.equal((await host.exit()).code, 0);
});

test("limits come from the environment; nonsense is complained about in the log", async (t) => {
  const nonsense = {
    TAP_MAX_TOOLS: "many",
    TAP_MAX_CONNECTIONS: "0",
    TAP_AUTH_MS: "-5",
    TAP_MAX_SESSIONS: "1e3",
    TAP_MESSAGE_BURST: "9".repeat(200),
    TAP_PING_MS: "12 ms",
  };
  const host = await Host.elected(t, { ...nonsense, TAP_HANDSHAKE_MS: "30" });
  for (const name of Object.keys(nonsense)) {
    await waitFor(() => host.log.includes(`${name} is "`), {
      what: () => `${name} in\n${host.log}`,
    });
  }
  assert.ok(!host.log.includes("TAP_HANDSHAKE_MS"));
  const client = await RawClient.open(t, host.files.port);
  client.write("GET / HTTP/1.1\r\n");
  await client.end();
});

test("what a provider makes the host log is shown, not obeyed", async (t) => {
  const host = await Host.elected(t);
  await host.withToken(t);
  const provider = await TestProvider.connect({ port: host.files.port });
  t.after(() => provider.terminate());
  await provider.auth(host.token);
  provider.send({ type: "goodbye", reason: "\u001b[2Jbye\nforged line\u202e" });
  await waitFor(() => host.log.includes(" disconnected ("));
  // eslint-disable-next-line no-control-regex -- these are what it is about
  assert.ok(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/.test(host.log));
  assert.ok(host.log.split("\n").every((line) => !line.startsWith("forged")));
});
