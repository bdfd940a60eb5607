// The tutorial of plans, done as it is written, but for its agents: these are for test/e2e/tutorial-plans.test.mjs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { Walkthrough } from "../../support/walkthrough.mjs";

const NOT_HERE = ["agents", "cli", "prompt", "key"];

/** @param {string} what */
const nobody = (what) => async () => assert.fail(`nobody is here for ${what}`);
const player = {
  start: nobody("the CLI"),
  prompt: nobody("a prompt"),
  key: nobody("a key"),
  shows: nobody("a screen"),
};

test("docs/tutorial-plans.md: its plans and commands do what it says", async (t) => {
  const host = await Host.elected(t, { COPILOT_HOME: temporaryFolder(t) });
  const { PATH: _path, ...own } = host.env;
  const env = { ...own, NO_COLOR: "1", COPILOT_AGENT_SESSION_ID: undefined };
  const walk = new Walkthrough({ language: "node", folder: temporaryFolder(t), env, player });
  t.after(() => walk.stop());
  await walk.follow(
    "docs/tutorial-plans.md",
    ({ words }) => !NOT_HERE.some((word) => words.includes(word)),
  );
});
