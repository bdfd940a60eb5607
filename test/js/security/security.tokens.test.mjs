// Tokens and codes: how they are kept, compared and guessed, with real processes.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { writePrivate } from "../../../js/lib/host-files.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { oracle } from "../../support/oracle.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { TestGateway } from "../../support/harness.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";

const run = promisify(execFile);
const modeOf = (/** @type {string} */ file) => fs.statSync(file).mode & 0o777;

// ---- the files -----------------------------------------------------------------------------------

/** Another user of this machine, as far as this one may become one. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

test("no other user can read the token or the descriptor, or reach the link, whatever the umask", async (t) => {
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const home = temporaryFolder(t);
  fs.chmodSync(home, 0o755);
  const host = await Host.elected(t, { COPILOT_HOME: home });
  await host.withToken(t);
  const { token, descriptor, link, linkFolder } = host.files;
  assert.deepEqual([token, descriptor].map(modeOf), [0o600, 0o600]);
  assert.equal(modeOf(linkFolder), 0o700);
  if (!NOBODY) return; // the modes above are all that can be seen as this user
  const tries = `
    const fs = require("node:fs");
    const why = (file) => { try { fs.readFileSync(file); return "read"; } catch (e) { return e.code; } };
    const [token, descriptor, link] = process.argv.slice(1);
    require("node:net").connect(link).on("connect", () => end("connected")).on("error", (e) => end(e.code));
    const end = (how) => { console.log(JSON.stringify([why(token), why(descriptor), how])); process.exit(); };`;
  const { stdout } = await run(process.execPath, ["-e", tries, token, descriptor, link], {
    ...NOBODY,
    cwd: "/",
  });
  assert.deepEqual(JSON.parse(stdout), ["EACCES", "EACCES", "EACCES"]);
});

test("links planted at the places of token, descriptor and their drafts are not followed", async (t) => {
  const home = temporaryFolder(t);
  const victim = path.join(home, "victim");
  fs.writeFileSync(victim, "precious", { mode: 0o644 });
  const files = gatewayFiles({ COPILOT_HOME: home, TAP_GATEWAY_PORT: "9" });
  fs.mkdirSync(files.folder, { recursive: true });
  for (const file of [files.token, files.descriptor]) {
    for (const place of [file, `${file}.${process.pid}.tmp`]) fs.symlinkSync(victim, place);
    writePrivate(file, "secret");
    assert.ok(fs.lstatSync(file).isFile());
    assert.equal(modeOf(file), 0o600);
  }
  assert.equal(fs.readFileSync(victim, "utf8"), "precious");
  assert.equal(modeOf(victim), 0o644);
});

test("a pipe planted at the token's place holds nobody up", async (t) => {
  const host = await Host.elected(t);
  const session = await host.withToken(t);
  const { token } = host;
  fs.rmSync(host.files.token);
  await run("mkfifo", [host.files.token]);
  await waitFor(() => fs.lstatSync(host.files.token).isFile(), { what: "a token file" });
  assert.equal(host.token, token);
  assert.match(await session.call("tap_status"), /No provider/);
});

// ---- comparison ----------------------------------------------------------------------------------

test("a wrong token takes as many instructions wherever it is wrong", async () => {
  const program = oracle("timing_oracle");
  const tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=measured"];
  /** @param {string} kind @param {number} byte */
  const count = async (kind, byte) => {
    const { stdout, stderr } = await run("valgrind", [...tool, program, kind, String(byte)]);
    assert.equal(stdout, "0\n", "it is refused");
    return Number(/Collected : (\d+)/.exec(stderr)?.[1]);
  };
  for (const [kind, last] of /** @type {[string, number][]} */ ([
    ["instance", 67],
    ["spawned", 67],
    ["paired", 71],
  ])) {
    const counts = [];
    for (const byte of [0, 8, 36, last]) counts.push(await count(kind, byte));
    assert.ok(counts[0] > 100, `${kind}: ${counts}`);
    assert.equal(new Set(counts).size, 1, `${kind}: ${counts}`);
  }
});

// ---- pairing by guessing -------------------------------------------------------------------------

/** A page that has asked for a code. @param {import("node:test").TestContext} t @param {TestGateway} gateway */
async function asking(t, gateway, origin = "https://evil.example") {
  const page = await TestProvider.connect({ port: gateway.port, origin });
  t.after(() => page.terminate());
  page.send({ type: "auth", mode: "pair", name: "guesser" });
  await waitFor(() => page.received.length > 0, { intervalMs: 2, what: "an answer" });
  return page;
}

test("pairing can be tried five times a minute, over however many connections", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const pages = await Promise.all(Array.from({ length: 40 }, () => asking(t, gateway)));
  const told = pages.map(({ received: [first] }) => first.code ?? first.type);
  const count = (/** @type {string} */ what) => told.filter((one) => one === what).length;
  assert.deepEqual([count("auth.pairing"), count("RATE_LIMITED")], [5, 35]);
  const codes = session.events
    .filter(({ type, text }) => type === "timeline" && /Pairing code/.test(text))
    .map(({ text }) => /Pairing code: (\d{6})/.exec(text)?.[1]);
  assert.equal(codes.length, 5);
  const guess = codes.includes("000000") ? "000001" : "000000";
  for (const page of pages.filter((_, i) => told[i] === "auth.pairing")) {
    page.send({ type: "auth.confirm", code: guess });
    // A second guess, at once, on the same connection.
    page.send({ type: "auth.confirm", code: codes[0] });
    assert.equal((await page.waitFor("error")).code, "AUTH_FAILED");
    assert.equal((await page.waitForClose()).code, 1008);
    assert.ok(page.received.every(({ type }) => type !== "sessions"));
  }
  for (const page of pages) page.terminate();
  // Nothing of it is forgotten with the connections.
  for (const origin of ["https://evil.example", "https://other.example"]) {
    const again = await asking(t, gateway, origin);
    assert.equal(again.received[0].code, "RATE_LIMITED");
  }
});

test("a code is of no use on another connection, and right or wrong is used up", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const [page, thief] = [await asking(t, gateway), await asking(t, gateway)];
  const timeline = () => session.events.filter(({ text }) => /Pairing code/.test(text ?? ""));
  await waitFor(() => timeline().length === 2, { what: "two codes" });
  const [code] = timeline().map(({ text }) => /Pairing code: (\d{6})/.exec(text)?.[1]);
  thief.send({ type: "auth.confirm", code });
  assert.equal((await thief.waitFor("error")).code, "AUTH_FAILED");
  page.send({ type: "auth.confirm", code });
  await page.waitFor("sessions");
  const late = await asking(t, gateway);
  late.send({ type: "auth.confirm", code });
  assert.equal((await late.waitFor("error")).code, "AUTH_FAILED");
});

// ---- the place of another ------------------------------------------------------------------------

test("a reconnect token is of no use to a paired page, nor a paired token to a program", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const owner = await gateway.provider(session, "owner", { ask: () => "the owner" });
  const { reconnectToken } = owner.received.find(({ type }) => type === "hello.ack");
  const page = await asking(t, gateway);
  const { text } = await session.waitFor("timeline", (one) => /Pairing code/.test(one.text));
  page.send({ type: "auth.confirm", code: /Pairing code: (\d{6})/.exec(text)?.[1] });
  const { token } = await page.waitFor("sessions");
  const stolen = { name: "owner", session: session.id, reconnectToken };
  await assert.rejects(page.hello(stolen), { code: "DUPLICATE_INSTANCE" });
  await assert.rejects(page.hello({ name: "owner", session: session.id }), {
    code: "DUPLICATE_INSTANCE",
  });
  assert.equal(await session.call("ask"), "the owner");
  // The name stays the owner's while it is away.
  await session.waitFor("tools", ({ set }) => set.some(({ provider }) => provider === "owner"));
  owner.terminate();
  await session.waitFor("tools", ({ drop }) => drop.includes("owner"));
  await assert.rejects(page.hello(stolen), { code: "DUPLICATE_INSTANCE" });
  const program = await TestProvider.connect({ port: gateway.port });
  t.after(() => program.terminate());
  await assert.rejects(program.auth(token), { code: "AUTH_FAILED" });
});

test("an old reconnect token, and one of another name, take nothing over", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const owner = await gateway.provider(session, "owner", { ask: () => "the owner" });
  const [first] = owner.received.filter(({ type }) => type === "hello.ack");
  const second = await owner.hello({
    name: "owner",
    session: session.id,
    tools: [{ name: "ask", description: "", parameters: {} }],
  });
  assert.notEqual(second.reconnectToken, first.reconnectToken);
  const thief = await gateway.stranger();
  for (const reconnectToken of [first.reconnectToken, "tok-", `${second.reconnectToken}0`]) {
    const hello = { name: "owner", session: session.id, reconnectToken };
    await assert.rejects(thief.hello(hello), { code: "DUPLICATE_INSTANCE" });
  }
  const { reconnectToken } = second;
  await thief.hello({ name: "thief", session: session.id, reconnectToken });
  assert.equal(await session.call("ask"), "the owner");
  assert.equal(owner.closed, undefined);
});

// ---- who answers for the gateway -------------------------------------------------------------------

test("the host's secrets are in no argument and no environment", async (t) => {
  const host = await Host.elected(t);
  await host.withToken(t);
  const { secret } = host.descriptor;
  const ps = spawn("ps", ["-wwe", "-o", "args"], { stdio: ["ignore", "pipe", "ignore"] });
  let listed = "";
  for await (const piece of ps.stdout) listed += piece;
  assert.match(listed, /js.gateway-host.main\.mjs/);
  const environment = fs.readFileSync(`/proc/${host.process.pid}/environ`, "utf8");
  for (const text of [listed, environment, host.log]) {
    assert.ok(!text.includes(secret));
    assert.ok(!text.includes(host.token));
  }
});
