// Tools of MCP servers in the real CLI.

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { callTool, say, toolNames } from "../support/model.mjs";
import { tapProcess } from "../support/cli-process.mjs";
import { OFFICIAL } from "../support/mcp-place.mjs";
import { onceOffered, startTap, steps } from "../support/tap.mjs";

test("a server that is added in the middle of a turn is called in that turn", async (t) => {
  const rig = await startTap(t);
  const at = {
    workspace: path.dirname(rig.cli.home),
    env: { ...process.env, COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) },
  };
  const words = ["mcp", "add", "ev", "--json", "--", OFFICIAL.command, ...OFFICIAL.args];
  rig.model.script(
    steps([
      async (request) => {
        assert.ok(!toolNames(request).includes("ev_add"));
        const { code, out } = await tapProcess(words, at);
        assert.deepEqual([code, JSON.parse(out).live], [0, true]);
        return callTool("tap_status");
      },
      onceOffered("ev_add", { a: 2, b: 3 }),
      () => callTool("ev_grow"),
      () => callTool("ev_late"),
      () => say("bye"),
    ]),
  );
  await rig.run();
  assert.equal(rig.result("ev_add"), "5");
  assert.equal(rig.result("ev_late"), "it is there");
});
