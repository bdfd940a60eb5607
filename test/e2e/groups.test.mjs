// Groups of tools on the real CLI: the model turns one on with tap_tools, and has its tools with its next step.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import { callTool, say, toolNames } from "../support/model.mjs";
import { startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const HOST = fileURLToPath(new URL("../support/fixtures/groups-host.mjs", import.meta.url));
const RUNS = 4;

/** A gateway host with features, in the home of that rig. */
async function startHost(t, rig) {
  const env = {
    ...process.env,
    COPILOT_HOME: rig.cli.home,
    TAP_GATEWAY_PORT: String(rig.port),
    TAP_GRACE_MS: "60000",
  };
  const child = spawn(process.execPath, [HOST], { env, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  const host = { output: "", errors: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (host.output += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (host.errors += text));
  await waitFor(() => host.output.includes("ready"), { what: () => `ready: ${host.errors}` });
  return host;
}

/** One turn in which the model opens both groups and calls a tool of each. */
async function oneTurn(t) {
  const rig = await startTap(t);
  const host = await startHost(t, rig);
  const offered = [];
  const look = (reply) => (request) => {
    offered.push(toolNames(request).filter((name) => ["double", "shout"].includes(name)));
    return reply;
  };
  rig.model.script(
    steps([
      look(callTool("tap_tools", { group: "numbers" })),
      look(callTool("double", { n: 21 })),
      look(callTool("tap_tools", { group: "words" })),
      look(callTool("shout", { text: "bye" })),
      look(say("done")),
    ]),
  );
  await rig.run();
  assert.deepEqual(
    offered,
    [[], ["double"], ["double"], ["double", "shout"], ["double", "shout"]],
    await rig.report(),
  );
  assert.equal(rig.result("double"), "42");
  assert.equal(rig.result("shout"), "BYE");
  assert.equal(rig.result("tap_tools"), "The tools of words are here now: shout.");
  const took = [...host.output.matchAll(/^opened \w+ true (\d+)$/gm)].map(([, ms]) => Number(ms));
  assert.equal(took.length, 2, host.output);
  t.diagnostic(`tap_tools took ${took.join(" and ")} ms`);
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
