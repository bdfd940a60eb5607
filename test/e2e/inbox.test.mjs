// The inbox with the real CLI: items of its terminal, and the user's answer from a second terminal.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tapProcess } from "../support/cli-process.mjs";
import { callTool, say, toolResults } from "../support/model.mjs";
import { startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const QUESTION = {
  message: "Which color?",
  requestedSchema: {
    type: "object",
    properties: {
      color: { type: "string", enum: ["red", "blue"], title: "Color" },
      count: { type: "integer" },
    },
    required: ["color"],
  },
};

/** @param {import("../support/tap.mjs").TapRig} rig */
function inboxOf({ cli, port }) {
  const env = { ...process.env, COPILOT_HOME: cli.home, TAP_GATEWAY_PORT: String(port) };
  return async (/** @type {string[]} */ ...args) => {
    const at = { env, workspace: cli.workFolder };
    const { code, out } = await tapProcess(["inbox", ...args, "--json"], at);
    return { code, ...JSON.parse(out) };
  };
}

/** The item of this kind, once it is there. */
async function findItem(inbox, kind) {
  let item;
  await waitFor(
    async () => {
      const { items } = await inbox();
      item = items.find((one) => one.kind === kind);
      return item !== undefined;
    },
    { what: kind },
  );
  return item;
}

describe("the inbox", { concurrency: 1 }, () => {
  test("an agent's question is answered from a second terminal, and its dialog closes", async (t) => {
    let results = [];
    const rig = await startTap(
      t,
      steps([
        callTool("ask_user", QUESTION),
        (request) => {
          results = toolResults(request).map(({ text }) => text);
          return say("thank you");
        },
      ]),
    );
    const terminal = await rig.interactive({ rows: 50, cols: 110 });
    const inbox = inboxOf(rig);
    await terminal.submit("go");
    const item = await findItem(inbox, "question");
    assert.equal(item.class, "blocks");
    assert.deepEqual(item.form, [
      { name: "color", title: "Color", required: true, type: "string", enum: ["red", "blue"] },
      { name: "count", type: "integer" },
    ]);
    const refused = await inbox("answer", item.id, "accept", "--set", "color=green");
    assert.deepEqual([refused.code, refused.error.code], [1, "INVALID"]);
    const missing = await inbox("answer", item.id, "accept", "--set", "count=2");
    assert.equal(missing.error.code, "INVALID");
    const good = await inbox(
      "answer",
      item.id,
      "accept",
      "--set",
      "color=blue",
      "--set",
      "count=2",
    );
    assert.equal(good.code, 0);
    await terminal.waitForScreen(/thank you/);
    assert.match(results[0], /blue/);
    assert.match(results[0], /2/);
    const late = await inbox("answer", item.id, "accept", "--set", "color=red");
    assert.equal(late.error.code, "GONE");
    const ended = await findItem(inbox, "turn-ended");
    assert.deepEqual([ended.class, ended.text], ["knows", "thank you"]);
    await inbox("read", ended.id);
    assert.deepEqual((await inbox()).items, []);
    await terminal.exit();
  });

  test("a plan review is answered with feedback, and then accepted", async (t) => {
    const results = [];
    const keep = (reply) => (request) => {
      results.push(toolResults(request).at(-1)?.text ?? "");
      return reply;
    };
    const review = callTool("exit_plan_mode", { summary: "Two steps" });
    const rig = await startTap(t, steps([review, keep(review), keep(say("done"))]));
    const terminal = await rig.interactive({ rows: 50, cols: 110 });
    await terminal.press("shift-tab");
    await terminal.waitForScreen(/· Plan ·/);
    const inbox = inboxOf(rig);
    await terminal.submit("go");
    const item = await findItem(inbox, "plan-review");
    assert.match(item.text, /Two steps/);
    assert.ok(item.acts.every(({ id }) => ["interactive", "exit_only", "feedback"].includes(id)));
    const feedback = await inbox("answer", item.id, "feedback", "--text", "smaller steps");
    assert.equal(feedback.code, 0);
    await waitFor(() => results.length === 1, { what: "the feedback" });
    assert.match(results[0], /smaller steps/);
    const again = await findItem(inbox, "plan-review");
    assert.notEqual(again.id, item.id);
    assert.equal((await inbox("answer", again.id, "exit_only")).code, 0);
    await waitFor(() => results.length === 2, { what: "the answer" });
    await terminal.exit();
  });

  test("a permission is listed, and answered in its terminal only", async (t) => {
    const rig = await startTap(
      t,
      steps([callTool("bash", { command: "echo hello > made", description: "x" }), say("done")]),
    );
    const terminal = await rig.interactive({ rows: 50, cols: 110, allow: [] });
    const inbox = inboxOf(rig);
    await terminal.submit("go");
    const item = await findItem(inbox, "permission");
    assert.match(item.text, /echo hello > made/);
    assert.deepEqual([item.class, item.acts], ["blocks", []]);
    const refused = await inbox("answer", item.id);
    assert.equal(refused.error.code, "TERMINAL_ONLY");
    await terminal.choose(["enter"]);
    await terminal.waitForScreen(/done/);
    const { items } = await inbox("--class", "blocks");
    assert.deepEqual(items, []);
    await terminal.exit();
  });
});
