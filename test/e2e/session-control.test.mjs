// The state and the mode of a session on the real CLI: the model looks, asks for a new mode, and the user decides.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openControl } from "../../js/link/control.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { callTool, say, toolResults } from "../support/model.mjs";
import { resultOf, startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const OPEN = callTool("tap_tools", { group: "session" });
const want = (mode) =>
  callTool("tap_set_session_mode", { mode, confirm: true, reason: "the task is long" });

/** @param {import("../support/tap.mjs").TapRig} rig @param {object} config the user's */
function configure({ cli }, config) {
  mkdirSync(path.join(cli.home, "tap"), { recursive: true, mode: 0o700 });
  const file = path.join(cli.home, "tap", "config.json");
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}

/** The state of the gateway of this home. @param {import("../support/tap.mjs").TapRig} rig */
async function seen({ cli, port }, collection, where) {
  const env = { COPILOT_HOME: cli.home, TAP_GATEWAY_PORT: String(port) };
  const control = await openControl(gatewayFiles(/** @type {any} */ (env)));
  try {
    const { sessions } = await control.request("gateway.inspect", {});
    const { records } = await control.request("records.query", { collection, where });
    return { session: sessions[0], bodies: records.map(({ body }) => body) };
  } finally {
    control.close();
  }
}

describe("a session", { concurrency: 1 }, () => {
  test("says its state, and in -p no user can be asked for a new mode", async (t) => {
    const rig = await startTap(t);
    const results = [];
    const next = (reply, name) => (request) => {
      results.push(resultOf(request, name));
      return reply;
    };
    rig.model.script(
      steps([
        OPEN,
        callTool("tap_get_session_state"),
        next(want("autopilot"), "tap_get_session_state"),
        next(say("done"), "tap_set_session_mode"),
      ]),
    );
    await rig.run("go");
    const state = JSON.parse(results[0]);
    t.diagnostic(results.join("\n"));
    assert.deepEqual(
      [state.mode, state.modeChosenBy, state.model, state.permissionMode],
      ["interactive", "start", { id: "fake" }, "allow-all"],
    );
    assert.ok(state.context.tokens > 1000 && state.context.limit > state.context.tokens);
    assert.deepEqual([state.plan, state.todos, state.tasks], [{ exists: false }, [], []]);
    assert.deepEqual([state.schedules, state.canvases], [[], []]);
    assert.ok(state.usage.userRequests >= 1);
    assert.match(state.quota.unknown, /no quota/);
    assert.match(
      results[1],
      /The mode was not changed: the user could not be asked \(this session has no user/,
    );
  });

  test("changes its mode in -p where the user's config allows it", async (t) => {
    const rig = await startTap(t);
    configure(rig, { session: { mode: "allow" }, toolGroups: ["session"] });
    let told = "";
    rig.model.script(
      steps([
        (request) =>
          request.body.tools.some(({ function: { name } }) => name === "tap_set_session_mode") &&
          want("plan"),
        (request) => {
          told = resultOf(request, "tap_set_session_mode") ?? "";
          return say("done");
        },
      ]),
    );
    await rig.run();
    assert.match(told, /is in plan mode now, and was in interactive mode/);
    assert.match(JSON.stringify(rig.model.last.body.messages), /mode_changed_notice/);
  });

  test("asks its user in the terminal: no, yes, and again for a mode of his own", async (t) => {
    let results = [];
    const rig = await startTap(t, (request) => {
      const { messages } = request.body;
      // The CLI tells the model of a change in messages of its own, or in a prompt.
      const wanted = ({ role, content }) =>
        role === "user" && /Wanted: (\w+)/.exec(JSON.stringify(content));
      const prompt = messages.findLastIndex(wanted);
      if (messages.slice(prompt).some(({ role }) => role === "tool")) {
        results = toolResults(request).map(({ text }) => text);
        return say(`answer ${results.length}`);
      }
      const [, mode] = wanted(messages[prompt]);
      return want(mode);
    });
    configure(rig, { session: { mode: "allow" }, toolGroups: ["session"] });
    const terminal = await rig.interactive({ rows: 50, cols: 110 });
    const now = async () => (await seen(rig, "gate")).session ?? {};
    await waitFor(async () => (await now()).agentMode === "interactive", {
      what: "the first mode",
    });

    // Allowed by the config: no dialog opens, and the footer changes.
    await terminal.prompt("Wanted: plan", /answer 1/);
    assert.match(results[0], /is in plan mode now/);
    await terminal.waitForScreen(/· Plan ·/);

    // The user changes the mode: from now on it is his. In autopilot the CLI shows no dialog.
    const press = async (mode) => {
      await terminal.press("shift-tab");
      await waitFor(async () => (await now()).agentMode === mode, { what: mode });
      assert.equal((await now()).agentModeBy, "user");
    };
    await press("autopilot");
    await terminal.submit("Wanted: plan");
    await terminal.waitForScreen(/answer 2/);
    assert.match(results[1], /could not be asked \(in autopilot the CLI shows no dialogs\)/);
    await press("interactive");

    await terminal.submit("Wanted: autopilot");
    await terminal.waitForScreen(/Allow it\?/);
    await terminal.choose(["enter"]);
    await terminal.waitForScreen(/answer 3/);
    assert.match(results[2], /The mode was not changed: the user has refused/);
    assert.equal((await now()).agentMode, "interactive");

    await terminal.submit("Wanted: plan");
    await terminal.waitForScreen(/Allow it\?/);
    await terminal.choose(["down", "enter"]);
    await terminal.waitForScreen(/answer 4/);
    assert.match(results[3], /is in plan mode now, and was in interactive mode/);
    await terminal.waitForScreen(/· Plan ·/);
    assert.deepEqual([(await now()).agentMode, (await now()).agentModeBy], ["plan", "tap"]);
    const { bodies } = await seen(rig, "gate");
    assert.deepEqual(
      bodies.map(({ gate, by, outcome }) => `${gate}: ${by}, ${outcome}`).reverse(),
      [
        "session-mode: tap, changed",
        "question: tap, unanswered",
        "question: user, denied",
        "question: user, allowed",
        "session-mode: tap, changed",
      ],
    );
    const changes = (await seen(rig, "session", { event: "mode" })).bodies;
    assert.deepEqual(changes.map(({ reason }) => reason).reverse(), [
      "plan, after interactive, by tap",
      "autopilot, after plan, by user",
      "interactive, after autopilot, by user",
      "plan, after interactive, by tap",
    ]);
    await terminal.exit();
  });
});
