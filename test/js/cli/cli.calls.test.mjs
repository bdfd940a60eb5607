// copilot-tap calls: who was called, with what, and how it went; without secrets.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseTruncatedJson } from "../../../js/cli/format-call.mjs";
import { waitFor } from "../../support/wait.mjs";
import {
  InTerminal,
  Running,
  served,
  tap,
  tapJson,
  tapProcess,
} from "../../support/cli-process.mjs";

describe("copilot-tap calls", () => {
  test("has one line for each call, in local time", async (t) => {
    const { at, kit } = await served(t);
    assert.match((await tap(["calls"], at)).out, /^No call yet/);
    await kit.call("forecast", { city: "Bern" });
    await kit.call("forecast", {}).catch(() => {});
    await tap(["call", "forecast", '{"city":"Oslo"}'], at);
    const { code, out } = await tapProcess(["calls"], at, { TZ: "Asia/Tokyo" });
    assert.equal(code, 0);
    const lines = out.trimEnd().split("\n");
    assert.match(
      lines[0],
      /^\d\d:\d\d:\d\d {2}test test {2}weather {2}forecast \{"city":"Bern"\} {2}→ ok, \d+ ms$/,
    );
    assert.match(lines[1], /forecast \{\} {2}→ INTERNAL, \d+ ms$/);
    assert.match(lines[2], /no city/);
    assert.match(lines[3], /"Oslo"\} {2}→ ok, \d+ ms {2}\(copilot-tap call\)$/);
    const hour = (zone) =>
      new Intl.DateTimeFormat("en-GB", { hour: "2-digit", timeZone: zone, hourCycle: "h23" });
    assert.equal(lines[0].slice(0, 2), hour("Asia/Tokyo").format(new Date()));
    assert.equal((await tap(["calls", "--last", "1"], at)).out.split("\n").length, 2);
  });

  test("shows no secret, neither whole nor where the arguments are cut", async (t) => {
    const { at, kit } = await served(t);
    const secrets = { city: "Bern", password: "hunter2", note: `key ghp_${"a1".repeat(20)}` };
    await kit.call("forecast", secrets);
    await kit.call("forecast", { password: "hunter2", city: "x".repeat(2000) });
    const { value } = await tapJson(["calls"], at);
    assert.doesNotMatch(JSON.stringify(value), /hunter2|a1a1/);
    assert.equal(value[0].args.password, "<removed>");
    assert.equal(value[0].whole, true);
    assert.equal(value[1].args.password, "<removed>");
    assert.match(value[1].args.city, /^x{100,500}…$/);
    assert.equal(value[1].whole, false);
    assert.equal(value[1].by, "model");
  });

  test("fits a terminal, and marks failures", async (t) => {
    const { at, kit } = await served(t);
    await kit.call("forecast", { city: "B".repeat(200) });
    await kit.call("forecast", {}).catch(() => {});
    const terminal = new InTerminal(t, ["calls"], at, { cols: 80 });
    assert.equal(await terminal.end(), 0);
    assert.match(terminal.text.split("\n")[0], /^.{40,78}… {2}→ ok, \d+ ms$/);
    assert.ok(terminal.raw.includes("\u001b[31mINTERNAL"), "red");
  });

  test("-f goes on with what comes", async (t) => {
    const { at, kit } = await served(t);
    const running = new Running(["calls", "-f", "--json"], at);
    t.after(() => running.process.kill("SIGKILL"));
    await kit.call("forecast", { city: "Bern" });
    await running.says(/Bern.*\n/);
    await kit.call("forecast", { city: "Oslo" });
    await running.says(/Oslo.*\n/);
    running.process.kill("SIGTERM");
    const { code, out } = await running.end();
    assert.equal(code, 0);
    assert.deepEqual(
      out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).sequence),
      [1, 2],
    );
  });

  test("a call that was cancelled is one of them", async (t) => {
    const { at, kit, weather } = await served(t);
    const waiting = kit.session.start("wait", {});
    await waitFor(() => weather.waits);
    kit.session.cancel(waiting.id);
    await waiting.result.catch(() => {});
    const { value } = await tapJson(["calls"], at);
    assert.equal(value[0].code, "CANCELLED");
  });

  test("refuses a count that is not a number", async (t) => {
    const { at } = await served(t);
    const { code, err } = await tap(["calls", "--last", "many"], at);
    assert.equal(code, 2);
    assert.match(err, /--last must be a number of calls \(got "many"\)/);
  });
});

test("JSON that was cut off is made whole wherever it was cut", () => {
  const value = { password: "p", list: [1, { deep: 'ä\n"quoted"' }, null], flag: true };
  const text = JSON.stringify({ ...value, last: "\u001b end" });
  for (let at = 1; at <= text.length; at += 1) {
    const parsed = parseTruncatedJson(text.slice(0, at));
    assert.equal(typeof parsed, "object", text.slice(0, at));
    for (const key of Object.keys(parsed)) assert.ok([...Object.keys(value), "last"].includes(key));
  }
  assert.deepEqual(parseTruncatedJson('{"a":"xy'), { a: "xy…" });
  assert.deepEqual(parseTruncatedJson('{"a":"x\\u00'), { a: "x…" });
  assert.deepEqual(parseTruncatedJson('{"a":1,"pass'), { a: 1 });
  assert.deepEqual(parseTruncatedJson('{"a":[1,2'), { a: [1] });
});
