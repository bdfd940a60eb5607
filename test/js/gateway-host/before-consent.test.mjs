// What a tap.config.json can reach before anybody has allowed it: one notice in the timeline of its
// own session, of a bounded length, and nothing else.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { allow, consentFile, listEntries, revoke } from "../../../js/config/consent.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { loadProjectConfig, parseConfig } from "../../../js/config/load.mjs";
import { ProjectSessions } from "../../../js/gateway-host/project-sessions.mjs";
import { cpuMs } from "../../support/cost.mjs";
import { waitFor } from "../../support/wait.mjs";
import { temporaryFolder, TestGateway } from "../../support/harness.mjs";

const OBEYED = /(?!\n)[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
const EVIL = "\u001b[2J\u202e\n";

/** As many words as the timeline could be made to show. */
const LOUD = {
  providers: Array.from({ length: 20 }, (_, i) => ({
    name: `${"ü".repeat(60)} ${i}`,
    command: `${EVIL}${"c".repeat(3000)}`,
    args: Array.from({ length: 50 }, () => `${EVIL}${"a".repeat(50)}`),
    env: Object.fromEntries(Array.from({ length: 100 }, (__, n) => [`V${n}`, `${EVIL}value`])),
  })),
};

/** Every file and folder below. @param {string} folder */
const everythingIn = (folder) =>
  fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();

/** A gateway whose first session's folder has a config. @param {import("node:test").TestContext} t */
async function setUp(t) {
  const home = temporaryFolder(t);
  const files = gatewayFiles({ COPILOT_HOME: home, TAP_GATEWAY_PORT: "9400" });
  const gateway = new TestGateway(t);
  let tokens = 0;
  const told = [];
  const sessions = new ProjectSessions(
    {
      issueSpawnToken: () => String(++tokens),
      forgetSpawnToken: () => {},
      tellTimeline: (id, level, text) => {
        told.push(text);
        gateway.addon.tellTimeline(id, level, text);
      },
    },
    files,
    () => {},
    { declare: () => async () => {}, setGroups: () => {} },
  );
  t.after(() => sessions.stop());
  const folder = fs.realpathSync(temporaryFolder(t));
  const write = (config) =>
    fs.writeFileSync(path.join(folder, "tap.config.json"), JSON.stringify(config));
  const session = await gateway.session("attached", { cwd: folder });
  const other = await gateway.session("attached", { sessionId: "another" });
  const { check, provider } = await gateway.echo(session);
  await session.waitFor("tools", ({ set }) => set.some((one) => one.provider === "bystander"));
  await check();
  return {
    home,
    files,
    sessions,
    session,
    other,
    provider,
    folder,
    write,
    told,
    check,
    tokens: () => tokens,
  };
}

test("what a config says is one notice of a bounded length, in its own session, and nothing else", async (t) => {
  const { home, sessions, session, other, provider, folder, write, told, check, tokens } =
    await setUp(t);
  write(LOUD);
  const before = everythingIn(home);
  const [events, others, received] = [session, other]
    .map((one) => one.events.length)
    .concat(provider.received.length);
  sessions.openSession(session.id, folder);
  await waitFor(() => told.length > 0, { what: "the notice" });
  await waitFor(() => session.events.length > events, { what: "the notice in the session" });
  await check();

  const [notice] = session.events.slice(events).filter(({ type }) => type === "timeline");
  assert.ok(Buffer.byteLength(notice.text) <= 17_000, `${Buffer.byteLength(notice.text)} bytes`);
  assert.doesNotMatch(notice.text, OBEYED);
  for (const line of notice.text.split("\n")) assert.ok(line.length < 400, line);
  const kinds = session.events.slice(events).map(({ type }) => type);
  assert.deepEqual(kinds, ["timeline"], "no tool, no turn, no hook");
  assert.equal(other.events.length, others, "another session hears nothing");
  const heard = provider.received.slice(received).map(({ type }) => type);
  assert.ok(
    heard.every((type) => type === "tool.call"),
    `a provider hears ${heard}`,
  );
  assert.equal(tokens(), 0, "no token was made for it");
  assert.deepEqual(everythingIn(home), before, "nothing was written");
});

test("a config that keeps changing is looked at when consent changes, and told of once for each content", async (t) => {
  const { files, sessions, session, folder, write, told } = await setUp(t);
  const named = (name) => ({ providers: [{ name, command: "node" }] });
  const store = consentFile(files);
  const elsewhere = path.join(folder, "elsewhere", "tap.config.json");
  fs.mkdirSync(path.dirname(store), { recursive: true });
  write(named("first"));
  sessions.openSession(session.id, folder);
  await waitFor(() => told.length === 1, { what: "the first notice" });
  for (let i = 0; i < 120; ++i) {
    write(named(`n${i}`));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(told.length, 1, "nobody has changed any consent");
  const result = parseConfig('{"providers":[{"name":"a","command":"b"}]}');
  allow(store, elsewhere, listEntries(result));
  await waitFor(() => told.length === 2, { what: "a notice of the content of then" });
  assert.match(told[1], /n119/);
  revoke(store, elsewhere);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(told.length, 2, "the same content is not told twice");
});

test("a config that is too large, too deep or full of mistakes is a few lines", async (t) => {
  const { sessions, session, folder, told, tokens } = await setUp(t);
  const texts = {
    large: `{"providers":[]}${" ".repeat(256 * 1024)}`,
    deep: "[".repeat(250_000),
    wrong: JSON.stringify({ providers: Array.from({ length: 20 }, () => ({ [EVIL]: EVIL })) }),
  };
  for (const [what, text] of Object.entries(texts)) {
    fs.writeFileSync(path.join(folder, "tap.config.json"), text);
    const before = told.length;
    sessions.openSession(session.id, folder);
    await waitFor(() => told.length > before, { what: `the line about the ${what} one` });
    sessions.endSession(session.id);
    assert.equal(told.length, before + 1, what);
    const lines = told[before].split("\n");
    assert.ok(lines.length <= 21, `${what}: ${lines.length} lines`);
    for (const line of lines) assert.doesNotMatch(line, OBEYED, what);
  }
  assert.equal(tokens(), 0);
});

test("a config full of mistakes is read without looking for each one's place", async (t) => {
  const folder = temporaryFolder(t);
  const args = Array.from({ length: 120_000 }, () => 1);
  const config = { providers: [{ name: "a", command: "b", args }] };
  fs.writeFileSync(path.join(folder, "tap.config.json"), JSON.stringify(config));
  const before = cpuMs();
  const { result } = loadProjectConfig(folder);
  const took = cpuMs() - before;
  assert.equal(result.problems.length, 20);
  // Each place takes the time of all before it: 120,000 of them took seconds together.
  assert.ok(took < 2000, `${took} ms`);
});
