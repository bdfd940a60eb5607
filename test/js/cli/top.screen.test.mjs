// copilot-tap top: the screen has the lines that it was given, whatever was on it before.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import xterm from "@xterm/headless";
import { Screen } from "../../../js/cli/top/screen.mjs";

const [COLUMNS, ROWS] = [21, 6];

/** A terminal whose screen can be read. */
function terminal() {
  const screen = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  const modes = { raw: false };
  const input = Object.assign(new EventEmitter(), {
    setRawMode: (/** @type {boolean} */ on) => (modes.raw = on),
    resume: () => {},
    pause: () => {},
  });
  let written = "";
  const output = Object.assign(new EventEmitter(), {
    ...{ isTTY: true, columns: COLUMNS, rows: ROWS },
    write: (/** @type {string} */ text) => {
      written += text;
      screen.write(text);
    },
  });
  const lines = async () => {
    await new Promise((resolve) => screen.write("", () => resolve(undefined)));
    const buffer = screen.buffer.active;
    return Array.from({ length: buffer.length }, (_, row) =>
      buffer.getLine(row)?.translateToString(true),
    );
  };
  const takeWritten = () => {
    const text = written;
    written = "";
    return text;
  };
  return { input, output, modes, lines, takeWritten };
}

/** The same numbers each time. */
function randomNumbers(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

test("each frame is on the screen as it is, after any other", async (t) => {
  const { input, output, lines, modes, takeWritten } = terminal();
  const parts = /** @type {any} */ ({ input, output, onKey: () => {}, onResize: () => {} });
  const screen = new Screen(parts);
  screen.open();
  t.after(() => screen.close());
  assert.equal(modes.raw, true);
  const random = randomNumbers(20261123);
  const texts = ["", "", "a", "漢字かな漢字かな漢字", "x".repeat(COLUMNS - 1), " b "];
  let frame = Array.from({ length: ROWS }, () => "");
  for (let count = 0; count < 300; count += 1) {
    const changed = new Set([random(ROWS), random(ROWS)]);
    frame = frame.map((line, row) => (changed.has(row) ? texts[random(texts.length)] : line));
    screen.show(frame);
    const wanted = frame.map((line) => line.trimEnd());
    assert.deepEqual(
      (await lines()).map((line) => line?.trimEnd()),
      wanted,
    );
    if (count % 50 === 0) output.emit("resize");
    if (count % 50 === 0) screen.show(frame);
  }
  takeWritten();
  screen.show(frame);
  assert.equal(takeWritten(), "", "nothing has changed");
  screen.close();
  screen.show(["late"]);
  assert.equal(modes.raw, false);
  assert.doesNotMatch(takeWritten(), /late/);
});
