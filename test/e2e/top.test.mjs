// copilot-tap top with the real CLI: its rows of a session, a call, a goal and a notice for the model.

import { test } from "node:test";
import { InTerminal } from "../support/cli-process.mjs";
import { callTool, say, toolNames } from "../support/model.mjs";
import { startTap } from "../support/tap.mjs";

test("copilot-tap top shows a call, a goal and its notify record of a real session", async (t) => {
  const rig = await startTap(t, (request) => {
    if (request.body.messages.at(-1).role === "tool") return say("done");
    return toolNames(request).includes("ping") ? callTool("ping") : say("no ping");
  });
  const cli = await rig.interactive({ rows: 60, cols: 100 });
  await rig.provide({ ping: { handler: () => "pong" } }, { name: "echo" });
  const env = { ...process.env, COPILOT_HOME: rig.cli.home, TAP_GATEWAY_PORT: String(rig.port) };
  const top = new InTerminal(t, ["top"], { env, workspace: rig.cli.workFolder }, { rows: 24 });
  await top.shows(/^ {2}echo .* idle +1 +0 +0 /m);
  await cli.prompt("call it", /done/);
  await top.shows(/^ {2}\d\d:\d\d:\d\d .* echo +ping +ok /m);
  await cli.submit("/tap-goal publish the notes");
  await top.shows(/^ {2}Goals /m);
  await top.shows(/^ {2}g-[0-9a-f]{8} +open .* publish the notes$/m);
  await top.shows(/builtin:goals.* notify \d+ /);
  await top.shows(/^ {2}feature host +running /m);
  top.type("/publish\r");
  await top.shows(/\/publish \d\d:\d\d:\d\d$/);
  top.type("q");
  await top.end();
  await cli.exit();
});
