// copilot-tap top in a real terminal, at a real gateway.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { addon } from "../../../js/lib/addon.mjs";
import { gatewayFiles, programFolder } from "../../../js/lib/paths.mjs";
import { Source } from "../../../js/cli/top/source.mjs";
import { placeOf, served, tap, tapJson, InTerminal } from "../../support/cli-process.mjs";
import { processesOf } from "../../support/processes.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const KEYS = { tab: "\t", down: "\u001b[B", enter: "\r", escape: "\u001b", "ctrl-c": "\u0003" };
/** The modes that it changes, as they are to be afterwards: no wrapping off, a cursor, the usual screen. */
const RESTORED = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/** A gateway with a session, a provider that was called, and an event in a stream. @param {import("node:test").TestContext} t */
async function busy(t) {
  const all = await served(t);
  await all.kit.call("forecast", { city: "Bern" });
  await all.kit.call("forecast", {}).catch(() => {});
  await all.tools.push("builds", "214 is red\u001b[2J 漢字", { level: "inject" });
  return all;
}

/** @param {import("node:test").TestContext} t @param {import("../../support/cli-process.mjs").Place} at @param {object} [options] */
function top(t, at, options) {
  const terminal = new InTerminal(t, ["top"], at, { cols: 80, rows: 24, ...options });
  return Object.assign(terminal, {
    press: (/** @type {(keyof typeof KEYS)[]} */ ...keys) => {
      for (const key of keys) terminal.type(KEYS[key]);
    },
    /** Its own process. */
    pid: async () => {
      const home = String(at.env.COPILOT_HOME);
      const all = await processesOf(home);
      const own = all.find(
        ({ cmdline }) => cmdline[0] === process.execPath && cmdline.at(-1) === "top",
      );
      assert.ok(own, "it runs");
      return own.pid;
    },
    /** The terminal is as it was: what is typed is shown again, too. */
    restored: async () => {
      assert.ok(
        terminal.raw.trimEnd().includes(RESTORED),
        JSON.stringify(terminal.raw.slice(-200)),
      );
      assert.equal(terminal.isAlternate, false);
      terminal.type("echoed");
      await terminal.shows("echoed");
    },
  });
}

for (const [cols, rows] of [
  [80, 24],
  [120, 40],
]) {
  test(`copilot-tap top at ${cols} x ${rows} shows what happens, and its panels by keys`, async (t) => {
    const { at, kit, weather } = await busy(t);
    const terminal = top(t, at, { cols, rows });
    await terminal.shows(/\[overview\]/);
    await terminal.shows(/^> Sessions /m);
    await terminal.shows(/^ {2}weather .* 2 +0 +2 +1 +\d+ ms/m);
    await terminal.shows(/^ {2}builds .*214 is red\\x1b\[2J 漢字/m);
    await terminal.shows(/q quit {2}tab panel .* \? help/);
    assert.equal(terminal.text.split("\n").length, rows, "it does not scroll");
    assert.ok(terminal.isAlternate);

    const waiting = kit.session.start("wait", {});
    await waitFor(() => weather.waits);
    await terminal.shows(/1 call running/);
    terminal.press("tab", "tab");
    await terminal.shows(/\[providers\]/);
    await terminal.shows(/^> weather .* busy /m);
    terminal.press("tab", "tab");
    await terminal.shows(/^> now .* 1 call running/m);
    kit.session.cancel(waiting.id);
    await terminal.shows(/^> .* wait +CANCELLED/m);
    terminal.press("down", "down", "enter");
    await terminal.shows(/^arguments +\{"city":"Bern"\}$/m);
    terminal.press("escape");
    await terminal.shows(/^> .* forecast +ok/m);
    terminal.type("/INTERN");
    await terminal.shows(/\/INTERN_/);
    assert.doesNotMatch(terminal.text, /forecast +ok/);
    terminal.press("escape");
    await terminal.shows(/forecast +ok/);
    terminal.type("?");
    await terminal.shows(/pauses: the screen stays/);
    terminal.type(" q");
    assert.equal(await terminal.end(), 0);
    await terminal.restored();
  });
}

test("copilot-tap top draws again in another size", async (t) => {
  const { at } = await busy(t);
  const terminal = top(t, at);
  await terminal.shows(/^> Sessions /m);
  terminal.resize(120, 40);
  await waitFor(() => terminal.text.split("\n").length === 40, { what: () => terminal.text });
  await terminal.shows(/^ overview|^\[overview\].* emitters $/m);
  terminal.resize(60, 12);
  await waitFor(() => terminal.text.split("\n").length === 12, { what: () => terminal.text });
  await terminal.shows(/^> Sessions /m);
  terminal.press("ctrl-c");
  assert.equal(await terminal.end(), 0);
  await terminal.restored();
});

test("copilot-tap top stays as it is while it is paused", async (t) => {
  const { at, kit } = await busy(t);
  const terminal = top(t, at);
  await terminal.shows(/1 session,/);
  terminal.type("p");
  await terminal.shows(/paused \d\d:\d\d:\d\d$/);
  await kit.addSession("second");
  await sleep(2500);
  assert.match(terminal.text, /1 session,/);
  terminal.type("p");
  await terminal.shows(/2 sessions,/);
  terminal.type("q");
  await terminal.end();
});

for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  test(`copilot-tap top restores the terminal after ${signal}`, async (t) => {
    const { at } = await busy(t);
    const terminal = top(t, at);
    await terminal.shows(/^> Sessions /m);
    process.kill(await terminal.pid(), signal);
    assert.equal(await terminal.end(), 0);
    await terminal.restored();
  });
}

test("copilot-tap top restores the terminal before an exception is told, and at an exit", async (t) => {
  for (const [how, code] of /** @type {const} */ ([
    ["throw", 1],
    ["exit", 7],
  ])) {
    const file = path.join(programFolder, "test/support/fixtures/broken-screen.mjs");
    const at = { env: { ...process.env }, workspace: programFolder };
    const terminal = new InTerminal(t, [how], at, { cols: 80, rows: 24, program: file });
    assert.equal(await terminal.end(), code);
    const [before, after] = terminal.raw.split(RESTORED);
    assert.match(before, /the screen/);
    assert.equal(/it is broken/.test(after), how === "throw", terminal.raw);
    assert.equal(terminal.isAlternate, false);
  }
});

test("copilot-tap top waits for a gateway, and for the next one", async (t) => {
  const first = await Host.elected(t);
  await first.session(t, { label: "the first" });
  const { COPILOT_HOME, TAP_GATEWAY_PORT } = first.env;
  const terminal = top(t, placeOf(first));
  await terminal.shows(/the first/);
  first.process.kill("SIGKILL");
  await first.exit();
  await terminal.shows(/^port \d+: no gateway runs: one starts with the next session/);
  await terminal.shows(/the first/);
  const second = await Host.elected(t, {
    COPILOT_HOME: String(COPILOT_HOME),
    TAP_GATEWAY_PORT: String(TAP_GATEWAY_PORT),
  });
  await second.session(t, { label: "the second" });
  await terminal.shows(/the second/);
  await terminal.shows(/^tap \d/);
  terminal.type("q");
  assert.equal(await terminal.end(), 0);
});

test("copilot-tap top shows an emitter that runs, and its lines", async (t) => {
  const home = temporaryFolder(t);
  fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
  const config = JSON.stringify({ toolGroups: ["emitters"] });
  fs.writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const session = await host.session(t, {
    label: "shop",
    cwd: fs.realpathSync(temporaryFolder(t)),
  });
  const terminal = top(t, placeOf(host));
  await terminal.shows(/^> Sessions /m);
  terminal.press("tab");
  terminal.type("\u001b[Z\u001b[Z");
  await terminal.shows(/No emitter\./);
  const start = { name: "build", command: "echo compiling; echo 'error: no such file'; sleep 100" };
  const isStarted = async () =>
    (await session.call("tap_start_emitter", start))?.code !== "DISCONNECTED";
  await waitFor(isStarted, { what: () => host.log });
  await terminal.shows(/^> build +shop +running +0 .* error: no such file/m);
  terminal.press("enter");
  await terminal.shows(/^last lines +run 1 began\n +compiling\n +error: no such file$/m);
  terminal.type("q");
  assert.equal(await terminal.end(), 0);
});

test("copilot-tap top takes each record once, also after the clock has gone back", async (t) => {
  const { at, tools } = await served(t);
  await tools.push("builds", "first", { level: "surface" });
  const records = new addon.Records({
    file: path.join(String(at.env.COPILOT_HOME), "tap", "records.sqlite"),
  });
  const body = JSON.stringify({ stream: "later" });
  for (let count = 0; count < 150; count += 1)
    records.append("push", { at: Date.now() + 3_600_000, body });
  records.flush(5000);
  await records.close();
  const source = new Source(gatewayFiles(at.env));
  t.after(() => source.close());
  const seen = async () => (await source.poll()).records.push ?? [];
  await waitFor(async () => (await seen()).length > 150, { what: "all of them" });
  await tools.push("builds", "Oslo", { level: "surface" });
  const isNext = (/** @type {any} */ { body: one }) => JSON.stringify(one).includes("Oslo");
  await waitFor(async () => (await seen()).some(isNext), { what: "the next one" });
  await tools.push("builds", "Rome", { level: "surface" });
  await waitFor(async () => (await seen()).length > 152, { what: "one more" });
  const ids = (await seen()).map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)]);
});

test("copilot-tap top says that a gateway hangs, and its keys go on", async (t) => {
  const host = await Host.elected(t);
  await host.session(t, { label: "the first" });
  const terminal = top(t, placeOf(host));
  await terminal.shows(/the first/);
  host.process.kill("SIGSTOP");
  await terminal.shows(/does not answer/);
  terminal.press("tab");
  await terminal.shows(/\[sessions\]/);
  host.process.kill("SIGCONT");
  await terminal.shows(/^tap \d/);
  host.process.kill("SIGSTOP");
  await sleep(1500);
  const before = Date.now();
  terminal.type("q");
  assert.equal(await terminal.end(), 0);
  assert.ok(Date.now() - before < 30_000, "it waits for no answer: a request has 35 s");
  host.process.kill("SIGCONT");
});

test("copilot-tap top has its screen again after it was stopped", async (t) => {
  const { at } = await busy(t);
  const terminal = top(t, at);
  await terminal.shows(/^> Sessions /m);
  const pid = await terminal.pid();
  process.kill(pid, "SIGSTOP");
  const entered = () => terminal.raw.split("\u001b[?1049h").length;
  const before = entered();
  process.kill(pid, "SIGCONT");
  await waitFor(() => entered() > before, { what: () => terminal.text });
  terminal.press("tab");
  await terminal.shows(/\[sessions\]/);
  terminal.type("q");
  assert.equal(await terminal.end(), 0);
  await terminal.restored();
});

describe("copilot-tap top without what it needs", () => {
  test("names what to use instead", async (t) => {
    const { at } = await served(t);
    const piped = await tap(["top"], at);
    assert.equal(piped.code, 2);
    assert.match(piped.err, /top needs a terminal: .* is not a terminal\ncopilot-tap status/);
    const json = await tapJson(["top"], at);
    assert.equal(json.code, 2);
    assert.match(json.value.error.advice, /copilot-tap status --watch --json/);
    const dumb = new InTerminal(t, ["top"], at, { extra: { TERM: "dumb" } });
    assert.equal(await dumb.end(), 2);
    assert.match(dumb.text, /TERM="dumb".*\ncopilot-tap status/s);
    assert.ok(!dumb.raw.includes("\u001b["), "it is left as it is");
  });

  test("uses no colour where NO_COLOR says so", async (t) => {
    const { at } = await busy(t);
    // eslint-disable-next-line no-control-regex
    const styles = /\u001b\[\d+m/;
    const coloured = top(t, at);
    await coloured.shows(/INTERNAL/);
    assert.match(coloured.raw, styles);
    const plain = top(t, at, { extra: { NO_COLOR: "1" } });
    await plain.shows(/INTERNAL/);
    assert.doesNotMatch(plain.raw, styles);
    for (const each of [coloured, plain]) each.type("q");
  });
});

test("copilot-tap top at rest writes one line a second, and takes less than 2 % of a processor", async (t) => {
  const { at } = await busy(t);
  const terminal = top(t, at, { cols: 120, rows: 40 });
  await terminal.shows(/^> Sessions /m);
  const stat = `/proc/${await terminal.pid()}/stat`;
  const used = () => {
    const fields = fs.readFileSync(stat, "utf8").split(") ")[1].split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };
  await sleep(3000); // it is compiled as it runs
  const [cpu, bytes, since] = [used(), terminal.raw.length, performance.now()];
  await sleep(10_000);
  const seconds = (performance.now() - since) / 1000; // more, where the machine is busy
  assert.ok(used() - cpu < 0.02 * seconds, `${used() - cpu} s of ${seconds} s`);
  assert.ok(terminal.raw.length - bytes < 200 * seconds, `${terminal.raw.length - bytes} bytes`);
  terminal.type("q");
  await terminal.end();
});

test("only what draws on the screen loads it: copilot-tap top, and plan watch", () => {
  const files = fs
    .readdirSync(path.join(programFolder, "js"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".mjs"));
  const text = (/** @type {string} */ name) =>
    fs.readFileSync(path.join(programFolder, "js", name), "utf8");
  const drawing = files.filter((name) => /from "ansi-escapes"/.test(text(name)));
  assert.deepEqual(drawing, ["cli/top/screen.mjs"]);
  const loading = (/** @type {RegExp} */ what) => files.filter((name) => what.test(text(name)));
  assert.deepEqual(loading(/from ".*top\/screen\.mjs"/), ["cli/plan/watch.mjs"]);
  assert.deepEqual(loading(/from ".*(?:top\/run|plan\/watch)\.mjs"/), []);
  assert.match(text("cli/commands/top.mjs"), /await import\("\.\.\/top\/run\.mjs"\)/);
  assert.match(text("cli/commands/plan.mjs"), /await import\("\.\.\/plan\/watch\.mjs"\)/);
});
