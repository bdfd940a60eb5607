// Reviews on the real CLI.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callTool, say } from "../support/model.mjs";
import { resultOf, startTap } from "../support/tap.mjs";

const FINDING = {
  finding: "the login is open",
  severity: "high",
  evidence: "src/login.js:12",
  status: "open",
};

describe("with tap", { concurrency: 1 }, () => {
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
    await terminal.waitForScreen(/no finding of a review is open/, 30_000);
    await terminal.submit("/tap-monitor");
    await terminal.waitForScreen(/one finding/, 60_000);
    assert.match(prompts[0], /The user has asked for a review by \/tap-monitor/);
    await terminal.submit("/tap-monitor list");
    await terminal.waitForScreen(/r-[0-9a-f]{8} high: the login is open[\s┃]+src\/login\.js:12/);
    await terminal.submit("/tap-orchestrate a dark theme");
    await terminal.waitForScreen(/needs the orchestrator/);
    await terminal.exit();
  });
});
