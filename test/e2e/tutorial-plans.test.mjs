// The tutorial of plans with the real CLI: agents do the work, and its screen shows the lines of the page.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { startTap } from "../support/tap.mjs";
import { temporaryFolder } from "../support/temporary.mjs";
import { plansModel } from "../support/tutorial-plans.mjs";
import { hasLines, Walkthrough } from "../support/walkthrough.mjs";

test("docs/tutorial-plans.md with the real CLI: the CLI shows its lines", async (t) => {
  const rig = await startTap(t, plansModel);
  const provider = { type: "openai", baseUrl: rig.model.url, model: "fake" };
  const folder = path.join(rig.cli.home, "tap");
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const config = JSON.stringify({ workers: { provider } });
  fs.writeFileSync(path.join(folder, "config.json"), config, { mode: 0o600 });
  /** @type {any} */
  let terminal;
  let shown = (/** @type {string} */ _screen) => true;
  const player = {
    async start(/** @type {string} */ command) {
      assert.equal(command, "copilot --experimental");
      rig.cli.workFolder = walk.folder;
      terminal = await rig.interactive({ allow: [], cols: 100, rows: 70 });
    },
    prompt: (/** @type {string} */ text) => terminal.submit(text),
    key: (/** @type {string} */ text) => terminal.choose(text.split(" "), shown),
    async shows(/** @type {string} */ text) {
      shown = (screen) => hasLines(screen, text);
      await terminal.waitForScreen(shown);
    },
  };
  const env = {
    ...{ COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port), NO_COLOR: "1" },
    COPILOT_AGENT_SESSION_ID: undefined,
  };
  const walk = new Walkthrough({ language: "node", folder: temporaryFolder(t), env, player });
  t.after(() => walk.stop());
  await walk.follow("docs/tutorial-plans.md");
});
