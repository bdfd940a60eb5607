// A goal on the real CLI: its gate stops `git push` until the evidence is there, and then the goal can be closed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../js/link/control.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { callTool, say, toolNames, toolResults } from "../support/model.mjs";
import { startTap, steps } from "../support/tap.mjs";

const DESCRIPTION = "a command";
const bash = (command) => callTool("bash", { command, description: DESCRIPTION });
const GOAL = {
  statement: "publish the notes",
  evidence: [
    { file: "notes.md", match: "^# Notes" },
    { command: "sh check.sh", exitCode: 0, match: "all good" },
  ],
  prohibited: ["should work"],
};

/** A repository with one commit that can be pushed, and a script that checks. @param {string} folder @param {string} home */
function repository(folder, home) {
  const remote = path.join(home, "remote.git");
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  git("init", "-q", "--bare", remote);
  git("init", "-q", "-b", "main");
  writeFileSync(path.join(folder, "check.sh"), "test -f notes.md && echo all good\n");
  git("add", ".");
  git("commit", "-q", "-m", "a check");
  git("remote", "add", "origin", remote);
  return { pushed: () => git("ls-remote", remote, "main") !== "" };
}

test("a goal's gate stops a push until the evidence is there", async (t) => {
  const rig = await startTap(t);
  const { home, workFolder } = rig.cli;
  const { pushed } = repository(workFolder, home);
  mkdirSync(path.join(home, "tap"), { recursive: true, mode: 0o700 });
  const config = JSON.stringify({ goals: { gate: ["push"] } });
  writeFileSync(path.join(home, "tap", "config.json"), config, { mode: 0o600 });

  /** Once the session has the gate in force. @param {any} reply */
  const gated = (reply) => async () => {
    const env = { COPILOT_HOME: home, TAP_GATEWAY_PORT: String(rig.port) };
    const control = await openControl(gatewayFiles(/** @type {any} */ (env)));
    try {
      const { sessions } = await control.request("gateway.inspect", {});
      return sessions[0]?.hooksWanted && sessions[0].hooks === "in-force" && reply;
    } finally {
      control.close();
    }
  };
  const states = [];
  const look = (reply) => () => {
    states.push(pushed());
    return reply;
  };
  const offered = [];
  rig.model.script(
    steps([
      gated(callTool("tap_tools", { group: "goals" })),
      (request) => {
        offered.push(...toolNames(request).filter((name) => /goal|claims/.test(name)));
        return callTool("tap_set_goal", GOAL);
      },
      bash("git push -q origin main"),
      look(callTool("tap_close_goal")),
      bash("echo '# Notes' > notes.md"),
      bash("sh check.sh"),
      callTool("tap_verify_goal_output", {
        commands: [{ command: "sh check.sh", exitCode: 0, output: "all good\n" }],
      }),
      callTool("tap_audit_claims", { claims: ["`sh check.sh` passed", "it should work"] }),
      bash("git push -q origin main"),
      look(callTool("tap_audit_claims", { claims: ["`sh check.sh` passed"] })),
      bash("git push -q origin main"),
      look(callTool("tap_goal_status")),
      callTool("tap_close_goal", { summary: "the notes are there" }),
      say("done"),
    ]),
  );
  await rig.run();
  const results = toolResults(rig.model.last);
  const of = (name) => results.filter((one) => one.name === name).map(({ text }) => text);
  assert.deepEqual(states, [false, false, true], await rig.report());
  assert.deepEqual(offered.sort(), [
    "tap_audit_claims",
    "tap_close_goal",
    "tap_goal_status",
    "tap_set_goal",
    "tap_verify_goal_output",
  ]);
  const [id] = /g-[0-9a-f]{8}/.exec(of("tap_set_goal")[0]) ?? [];
  const [denied, , , claimed] = of("bash");
  assert.match(denied, /Denied by preToolUse hook: tap provider "tap-goals": the goal g-/);
  assert.match(denied, /notes\.md .*: there is no such file; .*nobody has said how it ended/);
  assert.match(claimed, /Denied .* the last audit had the prohibited claim "should work"/);
  const [open, closed] = of("tap_close_goal");
  assert.match(open, new RegExp(`^The goal ${id} stays open`));
  assert.match(closed, new RegExp(`The goal ${id} is closed: publish the notes`));
  assert.match(closed, /notes\.md .*: checked by tap\n.*check\.sh .*: supplied by the model/);
  const [audit] = of("tap_audit_claims").map((text) => JSON.parse(text));
  assert.deepEqual(
    audit.claims.map(({ verdict }) => verdict),
    ["unsupported", "unsupported"],
    "what the model ran with the CLI's own tools is not recorded",
  );
  t.diagnostic(
    [of("tap_set_goal")[0], denied, open, of("tap_verify_goal_output")[0], closed].join("\n---\n"),
  );
});
