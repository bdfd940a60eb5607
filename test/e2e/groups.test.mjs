// Groups of tools on the real CLI: the model turns a group on with tap_tools, and has its tools with its next step.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { openControl } from "../../js/link/control.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { callTool, say, toolNames } from "../support/model.mjs";
import { startTap, steps } from "../support/tap.mjs";

const RUNS = 4;
const TOOL = "tap_query_records";

/** How long the calls of tap_tools took, in ms. */
async function timesOf(rig) {
  const env = { COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) };
  const control = await openControl(gatewayFiles(/** @type {any} */ (env)));
  try {
    const calls = await control.listCalls(0);
    return calls.filter(({ tool }) => tool === "tap_tools").map(({ ms }) => ms);
  } finally {
    control.close();
  }
}

/** A turn in which the model turns the group on and calls its tool. */
async function oneTurn(t) {
  const rig = await startTap(t);
  const offered = [];
  let times = [];
  const look = (reply) => (request) => {
    offered.push(toolNames(request).includes(TOOL));
    return reply;
  };
  rig.model.script(
    steps([
      look(callTool("tap_tools", { group: "records" })),
      look(callTool(TOOL, { collection: "tool_call", limit: 5 })),
      look(callTool("tap_tools", { group: "records" })),
      async (request) => {
        times = await timesOf(rig);
        return look(say("done"))(request);
      },
    ]),
  );
  await rig.run();
  assert.deepEqual(offered, [false, true, true, true], await rig.report());
  assert.ok(Array.isArray(JSON.parse(rig.result(TOOL)).records), rig.result(TOOL));
  assert.equal(rig.result("tap_tools"), `The tools of records are here now: ${TOOL}.`);
  t.diagnostic(`tap_tools took ${times.join(" and, with the group on, ")} ms`);
}

describe("groups of tools", { concurrency: 1 }, () => {
  for (let run = 1; run <= RUNS; ++run) {
    test(`a tool of a group is called in the request after tap_tools (${run})`, oneTurn);
  }

  test("also while the machine is busy", async (t) => {
    const loops = Array.from({ length: 3 }, () =>
      spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
    );
    t.after(() => loops.forEach((loop) => loop.kill("SIGKILL")));
    await oneTurn(t);
  });
});
