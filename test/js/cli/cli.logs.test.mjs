// copilot-tap logs, with logs as js/lib/log.mjs writes them.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openLog } from "../../../js/lib/log.mjs";
import { LogFiles } from "../../../js/cli/log-files.mjs";
import { waitFor } from "../../support/wait.mjs";
import {
  InTerminal,
  place,
  Running,
  tap,
  tapJson,
  tapProcess,
} from "../../support/cli-process.mjs";

/** @param {ReturnType<typeof place>} at @param {Record<string, string[]>} files by name */
function written(at, files) {
  const folder = path.join(at.home, "logs", "tap");
  fs.mkdirSync(folder, { recursive: true });
  for (const [name, lines] of Object.entries(files)) {
    fs.writeFileSync(path.join(folder, name), lines.map((line) => `${line}\n`).join(""));
  }
  return folder;
}
const line = (second, level, text) => `2026-01-02T03:04:0${second}.000Z ${level} ${text}`;

/** Two logs, one of them rotated. */
const TWO = {
  "host.log.1": [line(1, "info", "one")],
  "host.log": [line(3, "error", "three"), line(5, "info", "five")],
  "extension.log": [line(2, "warning", "two"), line(4, "info", "four")],
  "host.log.txt": ["no log"],
};

describe("copilot-tap logs", () => {
  test("merges both by time, with what was rotated away", async (t) => {
    const at = place(t);
    written(at, TWO);
    const { code, out } = await tapProcess(["logs"], at, { TZ: "Asia/Tokyo" });
    assert.equal(code, 0);
    assert.equal(
      out,
      [
        "2026-01-02 12:04:01.000 host      info    one",
        "2026-01-02 12:04:02.000 extension warning two",
        "2026-01-02 12:04:03.000 host      error   three",
        "2026-01-02 12:04:04.000 extension info    four",
        "2026-01-02 12:04:05.000 host      info    five\n",
      ].join("\n"),
    );
  });

  test("shows local time and short ids, and has both whole in JSON", async (t) => {
    const at = place(t);
    const id = "0d6f7c1e-6a3b-4f6e-9f0e-5d8a3c1b2a40";
    written(at, { "host.log": [line(1, "info", `session ${id}: tap: ci left`)] });
    const { out } = await tapProcess(["logs"], at, { TZ: "America/New_York" });
    assert.match(out, /^2026-01-01 22:04:01\.000 host .* session 0d6f7c1e: tap: ci left\n$/);
    const { value } = await tapJson(["logs"], at);
    assert.ok(value[0].text.includes(id));
    assert.equal(value[0].at, "2026-01-02T03:04:01.000Z");
  });

  test("-n, --level and --source leave out the rest", async (t) => {
    const at = place(t);
    written(at, TWO);
    const texts = async (...args) =>
      (await tapJson(["logs", ...args], at)).value.map(({ text }) => text);
    assert.deepEqual(await texts("-n", "2"), ["four", "five"]);
    assert.deepEqual(await texts("-n", "0"), []);
    assert.deepEqual(await texts("--level", "warning"), ["two", "three"]);
    assert.deepEqual(await texts("--source", "extension"), ["two", "four"]);
    assert.deepEqual((await tapJson(["logs", "-n", "1"], at)).value, [
      { at: "2026-01-02T03:04:05.000Z", level: "info", from: "host", text: "five" },
    ]);
    const wrong = await tap(["logs", "-n", "many"], at);
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /-n is "many", and has to be a number/);
  });

  test("without a log says so", async (t) => {
    const { code, err } = await tap(["logs"], place(t));
    assert.equal(code, 1);
    assert.match(err, /there is no log in .*\nthe next session/);
  });

  test("shows what somebody has written into a log, and waits for no pipe", async (t) => {
    const at = place(t);
    const folder = written(at, { "host.log": [line(1, "info", "\u001b[2Jx"), "\u009b anything"] });
    // A directory stands for all that is no file, where there are no pipes.
    fs.mkdirSync(path.join(folder, "extension.log"));
    const { out } = await tap(["logs"], at);
    assert.match(out, /\\x1b\[2Jx\n.*info {4}\\u\{9b\} anything\n$/);
  });

  test("-f follows from the first line on, over rotations, and ends with a signal", async (t) => {
    const at = place(t);
    const logs = path.join(at.home, "logs", "tap");
    const following = new Running(["logs", "-f", "--json", "-n", "999"], at);
    t.after(() => following.process.kill("SIGKILL"));
    const log = openLog(logs, "host.log", {});
    const other = openLog(logs, "extension.log", {});
    t.after(() => (log.end(), other.end()));
    const filler = "x".repeat(8000);
    log("info", "0 begun");
    await following.says(/0 begun/);
    const rotations = () => fs.readdirSync(logs).filter((name) => /^host\.log\.\d$/.test(name));
    let count = 0;
    const bytes = () =>
      [...rotations(), "host.log"]
        .map((name) => fs.statSync(path.join(logs, name), { throwIfNoEntry: false })?.size ?? 0)
        .reduce((sum, size) => sum + size);
    // More than once, so that there are files between the one it has open and the newest.
    while (rotations().length < 2) {
      for (let i = 0; i < 30; ++i) log("info", `${(count += 1)} ${filler}`);
      await waitFor(() => bytes() > count * filler.length);
    }
    log("warning", "the last one");
    other("error", "from elsewhere");
    const ended = () => /the last one/.test(following.out) && /from elsewhere/.test(following.out);
    await waitFor(ended, { what: () => `both; the end is ${following.out.slice(-300)}` });
    following.process.kill("SIGINT");
    const { code, out } = await following.end();
    assert.equal(code, 0);
    const entries = out
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text))
      .filter(({ from }) => from === "host");
    const numbers = entries.slice(0, -1).map(({ text }) => Number(text.split(" ")[0]));
    assert.deepEqual(
      numbers,
      Array.from({ length: count + 1 }, (_, index) => index),
    );
  });

  test("in a terminal has colours, and Ctrl-C ends -f", async (t) => {
    const at = place(t);
    const folder = written(at, TWO);
    const terminal = new InTerminal(t, ["logs", "--follow"], at);
    await terminal.shows("five");
    fs.appendFileSync(path.join(folder, "host.log"), `${line(6, "error", "six")}\n`);
    await waitFor(() => terminal.text.includes("six"));
    assert.match(terminal.raw, /\u001b\[31merror/); // eslint-disable-line no-control-regex
    terminal.type("\u0003");
    assert.equal(await terminal.end(), 0);
  });
});

test("a log that was emptied is read from its beginning", (t) => {
  const at = place(t);
  const folder = written(at, { "host.log": [line(1, "info", "one"), line(2, "info", "two")] });
  const files = new LogFiles(folder);
  assert.deepEqual(
    files.readNew().map(({ text }) => text),
    ["one", "two"],
  );
  written(at, { "host.log": [line(3, "info", "three")] });
  assert.deepEqual(
    files.readNew().map(({ text }) => text),
    ["three"],
  );
});
