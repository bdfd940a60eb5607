// A terminal's screen drawn as SVG, and the picture in the documentation.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import xterm from "@xterm/headless";
import { REPO_ROOT } from "./cli.mjs";
import { animatedSvg, plainRows, runsOf } from "./screen-svg.mjs";

/** @param {string} text @returns {Promise<import("./screen-svg.mjs").Run[]>} its first row */
async function drawn(text) {
  const screen = new xterm.Terminal({ cols: 20, rows: 2, allowProposedApi: true });
  await new Promise((resolve) => screen.write(text, () => resolve(true)));
  return runsOf(screen.buffer.active.getLine(0), 20);
}

test("cells that look alike form a run, at their column", async () => {
  const [plain, red, rest] = await drawn("ab \x1b[1;31mcd\x1b[0m ef");
  assert.deepEqual([plain.text, plain.column, plain.color], ["ab ", 0, undefined]);
  assert.deepEqual([red.text, red.column, red.bold, red.color], ["cd", 3, true, "#ff7b72"]);
  assert.equal(rest.text.trimEnd(), " ef");
});

test("a wide character takes two columns", async () => {
  const [run, last] = await drawn("猫\x1b[31mx");
  assert.deepEqual([run.text, run.width, last.column], ["猫", 2, 2]);
});

test("the frames take turns, and the last frame stands where motion is off", () => {
  const frame = (/** @type {string} */ text) => [{ title: "t", rows: plainRows([text]) }];
  const look = { columns: 20, seconds: [1, 3], alt: "a & b" };
  const svg = animatedSvg(look, [frame("<first>"), frame("two")]);
  assert.match(svg, /aria-label="a &amp; b"/);
  assert.match(svg, />&lt;first&gt;<\/text>/);
  assert.match(svg, /^\.f0\{visibility:hidden\}$/m);
  assert.doesNotMatch(svg, /^\.f1\{visibility/m);
  assert.match(svg, /@keyframes f1\{0%\{visibility:hidden\}25%\{visibility:visible\}/);
});

test("the pictures of the documentation show their subjects, and no particular machine", () => {
  const shown = {
    "timer.svg": ["tap: timer is here: set_timer", "set_timer", "egg is ready"],
    "plan.svg": ["copilot-tap plan watch p", "running (work)", "failed (postchecks)", "5 of 5"],
  };
  for (const [name, texts] of Object.entries(shown)) {
    const svg = readFileSync(path.join(REPO_ROOT, "docs", "images", name), "utf8");
    for (const text of texts) assert.ok(svg.includes(text), text);
    assert.doesNotMatch(svg, /\/(tmp|home|root|Users)\b/);
  }
});
