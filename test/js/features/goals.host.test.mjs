// Goals in the feature host, a process of its own: what starts it, and what its end costs.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

const ID = "builtin:goals";

/** A gateway host whose user has this config, and a session in a folder of its own. @param {object} [config] */
async function setUp(t, config) {
  const home = temporaryFolder(t);
  if (config) {
    fs.mkdirSync(path.join(home, "tap"), { mode: 0o700 });
    fs.writeFileSync(path.join(home, "tap", "config.json"), JSON.stringify(config), {
      mode: 0o600,
    });
  }
  const host = await Host.elected(t, { COPILOT_HOME: home });
  const cwd = temporaryFolder(t);
  const session = await host.session(t, { cwd });
  const control = await openControl(host.files);
  t.after(() => control.close());
  const state = () => control.request("features.report", {});
  const report = async () => (await state()).features.find(({ id }) => id === ID);
  const pid = () => waitFor(async () => (await state()).host.pid);
  /** Once the tool is there. */
  const call = (name, args) =>
    waitFor(
      async () => {
        const outcome = await session.call(name, args);
        return typeof outcome === "string" && outcome;
      },
      { what: () => `${name}\n${host.log}` },
    );
  /** The user types a slash command. */
  const type = async (name, args) => {
    const typed = { name, arguments: args, session: session.id };
    return (await control.request("features.command", typed)).text;
  };
  return { cwd, session, state, report, pid, call, type };
}

test("a session starts nothing for goals unless the config asks for the gate or the group", async (t) => {
  const { state, report, session } = await setUp(t);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal((await state()).host.state, "idle");
  const { tools, hooks, commands } = await report();
  assert.deepEqual([tools.length, hooks, commands], [5, [], ["tap-goal"]]);
  assert.ok(!JSON.stringify(session.events).includes("tap_set_goal"));
});

test("a gate of the config is there from the session's start", async (t) => {
  const { pid, report } = await setUp(t, { goals: { gate: ["push"] } });
  await pid();
  const hooks = async () => (await report()).hooks;
  assert.deepEqual(await waitFor(async () => (await hooks()).length > 0 && hooks()), ["push"]);
});

test("/tap-goal and /tap-monitor begin a turn of their own, one at a time", async (t) => {
  const { session, pid, type } = await setUp(t);
  const injected = () =>
    session.events.filter((event) => event.type === "inject").map(({ prompt }) => prompt);
  assert.match(await type("tap-goal", "ship it"), /the model is told/);
  await pid();
  await waitFor(() => injected().length === 1);
  assert.match(
    injected()[0],
    /^From tap provider "tap-goals":\nThe user has set the goal g-[0-9a-f]{8}: ship it\n/,
  );
  assert.match(await type("tap-goal", "and test it"), /could not be told: .*not been answered/);
  assert.match(await type("tap-monitor", ""), /the model is asked for a review/);
  await waitFor(() => injected().length === 2);
  assert.match(
    injected()[1],
    /^From tap provider "tap-companions":\nThe user has asked for a review by \/tap-monitor/,
  );
});

test("a goal is still there when the feature host was killed", async (t) => {
  const { cwd, call, pid, state } = await setUp(t, { toolGroups: ["goals"] });
  const evidence = [{ file: "a.txt" }];
  const said = await call("tap_set_goal", { statement: "write a.txt", evidence });
  const [id] = /g-[0-9a-f]{8}/.exec(said) ?? [];
  const first = await pid();
  process.kill(first, "SIGKILL");
  await waitFor(async () => ![undefined, first].includes((await state()).host.pid), {
    what: "another feature host",
  });
  const { goals } = JSON.parse(await call("tap_goal_status", {}));
  assert.deepEqual(
    goals.map((one) => [one.goal, one.missing]),
    [[id, 1]],
  );
  fs.writeFileSync(path.join(cwd, "a.txt"), "");
  assert.match(await call("tap_close_goal", {}), /is closed/);
});

test("commands of a session are seen again when the feature host was killed", async (t) => {
  const { session, call, pid, state } = await setUp(t, { toolGroups: ["goals"] });
  const end = (exitCode) =>
    session.send({
      ...{ type: "event", event: "tool.execution_complete" },
      data: { tool: "bash", args: { command: "npm test" }, result: { output: "x" }, exitCode },
    });
  const seen = async () =>
    JSON.parse(await call("tap_goal_status", {})).goals[0].evidence[0].exitCode;
  const evidence = [{ command: "npm test", exitCode: 0 }];
  await call("tap_set_goal", { statement: "tests pass", evidence });
  const subscribed = () => session.events.filter(({ type }) => type === "subscribe");
  assert.deepEqual(subscribed().at(-1).events, ["tool.execution_complete"]);
  end(1);
  assert.equal(await seen(), 1);
  const before = subscribed().length;
  const first = await pid();
  process.kill(first, "SIGKILL");
  await waitFor(async () => ![undefined, first].includes((await state()).host.pid));
  await waitFor(() => subscribed().length > before && subscribed().at(-1).events.length > 0);
  end(0);
  assert.equal(await seen(), 0);
  assert.match(await call("tap_close_goal", {}), /is closed/);
  await waitFor(() => subscribed().at(-1).events.length === 0);
});
