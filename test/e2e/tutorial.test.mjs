// The tutorial, done as it is written, with the real CLI: its screen shows the lines of the page.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { startTap } from "../support/tap.mjs";
import { hostEnv, tutorialModel } from "../support/tutorial.mjs";
import { hasLines, Walkthrough } from "../support/walkthrough.mjs";

/** @param {import("../support/tap.mjs").TapRig} rig @returns {import("../support/walkthrough.mjs").Player} */
function playerOf(rig) {
  /** @type {any} */
  let terminal;
  let shown = (/** @type {string} */ _screen) => true;
  return {
    async start(command) {
      assert.equal(command, "copilot --experimental");
      terminal = await rig.interactive({ allow: [], cols: 100, rows: 60 });
    },
    prompt: (text) => terminal.submit(text),
    key: (text) => terminal.choose(text.split(" "), shown),
    async shows(text) {
      shown = (screen) => hasLines(screen, text);
      await terminal.waitForScreen(shown);
    },
  };
}

describe("docs/tutorial.md with the real CLI", { concurrency: 1 }, () => {
  for (const language of /** @type {const} */ (["node", "python"])) {
    test(`the CLI shows its lines, in ${language}`, async (t) => {
      const rig = await startTap(t, tutorialModel, { env: hostEnv });
      const folder = mkdtempSync(path.join(os.tmpdir(), "tap-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const where = { COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) };
      const env = { ...where, TAP_PROVIDER_TOKEN: "" };
      const walk = new Walkthrough({ language, folder, env, player: playerOf(rig) });
      t.after(() => walk.stop());
      await walk.follow("docs/tutorial.md");
    });
  }
});
