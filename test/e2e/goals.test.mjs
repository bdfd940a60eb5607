// A goal on the real CLI: its gate stops `git push` until the evidence is there, and then the goal can be closed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { openControl } from "../../js/link/control.mjs";
import { gatewayFiles } from "../../js/lib/paths.mjs";
import { callTool, say, toolNames, toolResults } from "../support/model.mjs";
import { onceOffered, startTap, steps } from "../support/tap.mjs";

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

/** A repository with a commit that can be pushed, and a script that checks. @param {string} folder @param {string} home */
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
      callTool("tap_audit_claims", {
        claims: ["`sh check.sh` passed", "it should work", "I ran `git push -q origin main`"],
      }),
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
  assert.match(denied, /notes\.md .*: there is no such file; .*tap has seen no run of it/);
  assert.match(claimed, /Denied .* the last audit had the prohibited claim "should work"/);
  const [open, closed] = of("tap_close_goal");
  assert.match(open, new RegExp(`^The goal ${id} stays open`));
  assert.match(closed, new RegExp(`The goal ${id} is closed: publish the notes`));
  assert.match(closed, /notes\.md .*: checked by tap\n.*check\.sh .*: recorded by tap on /);
  const [audit] = of("tap_audit_claims").map((text) => JSON.parse(text));
  assert.deepEqual(
    audit.claims.map(({ verdict }) => verdict),
    ["supported", "unsupported", "unsupported"],
    "a possible command is no record, and a denied command has not run",
  );
  t.diagnostic(
    [of("tap_set_goal")[0], denied, open, of("tap_verify_goal_output")[0], closed].join("\n---\n"),
  );
});

test("a command of the CLI's own shell is evidence by its exit code, until a file changes", async (t) => {
  const rig = await startTap(t);
  repository(rig.cli.workFolder, rig.cli.home);
  const close = callTool("tap_close_goal");
  const audit = callTool("tap_audit_claims", { claims: ["`sh check.sh` passed"] });
  rig.model.script(
    steps([
      onceOffered("tap_tools", { group: "goals" }),
      onceOffered("tap_set_goal", { statement: "checked", evidence: [GOAL.evidence[1]] }),
      bash("sh check.sh"),
      callTool("tap_verify_goal_output", {
        commands: [{ command: "sh check.sh", exitCode: 0, output: "all good" }],
      }),
      ...[audit, close],
      bash("echo one > notes.md"),
      bash("sh check.sh"),
      bash("echo two, and more >> notes.md"),
      ...[audit, close],
      bash("sh check.sh"),
      ...[audit, callTool("tap_goal_status"), close],
      say("done"),
    ]),
  );
  await rig.run();
  const results = toolResults(rig.model.last);
  const of = (name) => results.filter((one) => one.name === name).map(({ text }) => text);
  const [{ goals }] = of("tap_verify_goal_output").map((text) => JSON.parse(text));
  const [failed] = goals[0].evidence;
  assert.deepEqual([failed.met, failed.source, failed.exitCode], [false, "recorded by tap", 1]);
  assert.deepEqual(
    of("tap_audit_claims").map((text) => JSON.parse(text).claims[0].verdict),
    ["contradicted", "unsupported", "supported"],
    await rig.report(),
  );
  const [, stale, closed] = of("tap_close_goal");
  assert.match(stale, /stays open.*: stale: /s);
  assert.match(closed, /is closed.*recorded by tap on [0-9a-f]{12} with changes/s);
  const [seen] = JSON.parse(of("tap_goal_status")[0]).goals[0].evidence;
  const head = execFileSync("git", ["rev-parse", "HEAD"], { cwd: rig.cli.workFolder });
  assert.deepEqual([seen.head, seen.clean, seen.exitCode], [String(head).trim(), false, 0]);
  t.diagnostic(
    [goals, of("tap_audit_claims"), stale, closed, seen]
      .map((one) => JSON.stringify(one))
      .join("\n"),
  );
});
