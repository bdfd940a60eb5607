// Skills and reviews on the real CLI.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { REPO_ROOT } from "../support/cli.mjs";
import { callTool, say } from "../support/model.mjs";
import { resultOf, startTap, steps } from "../support/tap.mjs";

const FINDING = {
  finding: "the login is open",
  severity: "high",
  evidence: "src/login.js:12",
  status: "open",
};

describe("with tap", { concurrency: 1 }, () => {
  test("the CLI lists each skill that tap brings along, and the model can read a skill", async (t) => {
    const skills = readdirSync(path.join(REPO_ROOT, "skills")).sort();
    assert.deepEqual(skills, ["tap-loops", "tap-providers", "tap-reviews"]);
    const rig = await startTap(t);
    let first = "";
    let read = "";
    rig.model.script(
      steps([
        (request) => {
          first = JSON.stringify(request.body);
          return callTool("skill", { skill: "tap-reviews" });
        },
        (request) => {
          read = JSON.stringify(request.body.messages.slice(-3));
          return say("done");
        },
      ]),
    );
    await rig.run();
    for (const skill of skills) {
      assert.match(first, new RegExp(`<name>${skill}</name>.{1,400}<location>custom`), skill);
    }
    assert.match(read, /Call `tap_add_review` once for each finding/);
  });

  test("/tap-monitor has the model record its findings, and shows them", async (t) => {
    const prompts = [];
    const rig = await startTap(t, (request) => {
      const { messages } = request.body;
      prompts.push(JSON.stringify(messages.at(-1).content));
      if (messages.at(-1).role !== "tool") return callTool("tap_tools", { group: "reviews" });
      if (resultOf(request, "tap_add_review")) return say("one finding");
      return callTool("tap_add_review", FINDING);
    });
    const terminal = await rig.interactive({ rows: 60, cols: 110 });
    await terminal.submit("/tap-monitor list");
    await terminal.waitForScreen(/no finding of a review is open/);
    await terminal.submit("/tap-monitor");
    await terminal.waitForScreen(/one finding/);
    assert.match(prompts[0], /The user has asked for a review by \/tap-monitor/);
    await terminal.submit("/tap-monitor list");
    await terminal.waitForScreen(/r-[0-9a-f]{8} high: the login is open[\s┃]+src\/login\.js:12/);
    await terminal.submit("/tap-orchestrate a dark theme");
    await terminal.waitForScreen(/the agent is asked to make a plan/);
    await terminal.exit();
  });
});
