// copilot-tap eval run: what it refuses, and what it says, without a run of the CLI. test/e2e/evals.test.mjs runs it.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { InTerminal, place, placeOf, tap, tapJson } from "../../support/cli-process.mjs";
import { Host } from "../../support/test-host.mjs";
import { waitFor } from "../../support/wait.mjs";

/** A place with a file of cases. @param {import("node:test").TestContext} t @param {string} source */
function withCases(t, source) {
  const at = place(t);
  const file = path.join(at.workspace, "cases.yaml");
  fs.writeFileSync(file, source);
  return { at, file };
}

/** A CLI that says it has run, and what it has done. @param {string} folder @param {string} [body] of a shell */
function fakeCli(folder, body = `echo '{"type":"result","exitCode":0}'`) {
  const file = path.join(folder, "copilot");
  fs.writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return file;
}

/** What it refuses, and how it says so. @type {Record<string, [source: string, wanted: RegExp]>} */
const REFUSED = {
  "malformed YAML": ["cases:\n  - name: [x\n", /cases\.yaml:3:1: /],
  "an unknown field": [
    "cases:\n  - name: x\n    prompt: y\n    must_cal: [z]\n",
    /cases\.yaml:4:5: .*unknown field "must_cal" .*"must_call"/,
  ],
  "an unknown field of an assertion": [
    "cases:\n- {name: x, prompt: y, assertions: [{file: {path: a, exist: true}}]}\n",
    /cases\.yaml:2:\d+: .*unknown field "exist" .*"exists"/,
  ],
  "two assertions in one": [
    "cases:\n- {name: x, prompt: y, assertions: [{file: {path: a}, transcript: {match: b}}]}\n",
    /cases\.yaml:2:55: cases\[0\]\.assertions\[0\]\.transcript: /,
  ],
  "a path outside the workspace": [
    "cases:\n- {name: x, prompt: y, assertions: [{file: {path: ../../etc/passwd}}]}\n",
    /"\.\.\/\.\.\/etc\/passwd" is not a path inside the workspace/,
  ],
  "a file of a setup outside the workspace": [
    "cases:\n- {name: x, prompt: y, setup: {files: {/etc/x: y}}}\n",
    /cases\.yaml:2:\d+: .*"\/etc\/x" is not a path inside the workspace/,
  ],
  "an alias bomb": [
    ["a: &a [x, x, x, x, x, x, x, x, x]", "b", "c", "d", "e", "f", "g"]
      .map((line, at, all) => {
        const before = at > 0 ? all[at - 1][0] : "";
        return at === 0 ? line : `${line}: &${line} [${Array(9).fill(`*${before}`).join(", ")}]`;
      })
      .join("\n"),
    /[Ee]xcessive alias count/,
  ],
  "nesting without end": [`cases: ${"[".repeat(100_000)}`, /cases\.yaml:1:\d+: /],
  "a name twice": [
    "cases:\n- {name: x, prompt: y}\n- {name: x, prompt: y}\n",
    /cases\.yaml:3:\d+: there is a second case "x"/,
  ],
  "a pattern that is not one": [
    "cases:\n- {name: x, prompt: y, observations: [{match: '('}]}\n",
    /Unterminated group/,
  ],
  "a duration that is not one": [
    "cases:\n- {name: x, prompt: y, timeout: 0s}\n",
    /cases\.yaml:2:24: cases\[0\]\.timeout: .* from 1s to 1h/,
  ],
  "no cases": ["cases: []\n", /has no case/],
  "a file that is not a map": ["hello\n", /cases\.yaml:1:1: .*"hello"/],
};

describe("copilot-tap eval run", () => {
  for (const [what, [source, wanted]] of Object.entries(REFUSED)) {
    test(`refuses ${what}`, async (t) => {
      const { at, file } = withCases(t, source);
      const { code, err } = await tap(["eval", "run", file, "--list"], at);
      assert.equal(code, 2, err);
      assert.match(err, wanted);
    });
  }

  test("refuses a file, a case and a CLI that do not exist", async (t) => {
    const { at, file } = withCases(t, "cases: [{ name: x, prompt: y }]");
    for (const [args, wanted] of /** @type {[string[], RegExp][]} */ ([
      [["nowhere.yaml"], /there is no .*nowhere\.yaml/],
      [["."], /is not a file/],
      [[file, "--case", "other"], /there is no case "other"/],
      [[file, "--cli", "nowhere"], /there is no nowhere/],
      [[file, "--output", "nowhere/x.json"], /the folder of nowhere\/x\.json does not exist/],
    ])) {
      const { code, err } = await tap(["eval", "run", ...args], at);
      assert.equal(code, 2, err);
      assert.match(err, wanted);
    }
    const { code, err } = await tap(["eval", "run", file], at, { PATH: "/nowhere" });
    assert.equal(code, 2);
    assert.match(err, /there is no copilot on PATH/);
  });

  test("is not for an agent", async (t) => {
    const { at, file } = withCases(t, "cases: [{ name: x, prompt: y }]");
    const extra = { COPILOT_AGENT_SESSION_ID: "s" };
    const { code, err } = await tap(["eval", "run", file], at, extra);
    assert.equal(code, 1);
    assert.match(err, /run this in a terminal of your own/);
    assert.equal((await tap(["eval", "run", file, "--list"], at, extra)).code, 0);
  });

  test("runs the commands of a setup only with a yes", async (t) => {
    const { at, file } = withCases(
      t,
      "cases: [{ name: x, prompt: y, setup: { commands: ['touch \"$HOME/ran\"', 'exit 3'] } }]",
    );
    const cli = fakeCli(at.workspace);
    const extra = { HOME: at.workspace };
    const refused = await tap(["eval", "run", file, "--cli", cli], at, extra);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /these cases run 2 commands on this machine/);
    const terminal = new InTerminal(t, ["eval", "run", file, "--cli", cli], at, { extra });
    await terminal.shows('touch "$HOME/ran"');
    await terminal.shows("Run them? [y/N]");
    terminal.type("n\r");
    assert.equal(await terminal.end(), 1);
    assert.equal(fs.existsSync(path.join(at.workspace, "ran")), false);
    const run = await tapJson(["eval", "run", file, "--cli", cli, "--yes"], at, extra);
    assert.equal(fs.existsSync(path.join(at.workspace, "ran")), true);
    assert.equal(run.code, 1);
    assert.match(run.value.cases[0].problems[0], /the setup's command "exit 3" ended with 3/);
  });

  test("has a record of each case while a gateway runs", async (t) => {
    const host = await Host.elected(t);
    const at = placeOf(host);
    const file = path.join(at.workspace, "cases.yaml");
    const good = "{ name: good, prompt: x }";
    const bad = `{ name: bad, prompt: x, must_call: [a], prohibited_claims: ["done"] }`;
    fs.writeFileSync(file, `cases: [${good}, ${bad}]`);
    const cli = fakeCli(at.workspace);
    const run = await tapJson(["eval", "run", file, "--cli", cli], at);
    assert.equal(run.code, 1);
    const { value } = await tapJson(["records", "eval"], at);
    const bodies = value.map(({ source, body }) => [source, body.case, body.status, body.failed]);
    assert.deepEqual(bodies.sort(), [
      ["copilot-tap", "bad", "failed", 1],
      ["copilot-tap", "good", "passed", 0],
    ]);
    const failed = value.find(({ body }) => body.case === "bad").body;
    assert.equal(failed.run, run.value.startedAt);
    assert.match(failed.reasons[0], /must_call.*a/);
  });

  test("a case whose examples it cannot tell apart is broken, and not run", async (t) => {
    const { at, file } = withCases(
      t,
      `cases:
        - name: fails for a good run
          prompt: x
          must_call: [a]
          examples: { pass: [{ calls: [{ tool: b }] }] }
        - name: passes for a bad run
          prompt: x
          must_call: [a]
          examples: { fail: [{ calls: [{ tool: a }] }] }
        - name: good
          prompt: x
          must_not_call: [a]
          assertions:
            - file: { path: f, match: z }
            - record: { collection: gate, where: { outcome: denied, ms: { gt: 3 } }, count: { max: 1 , min: 1 } }
          examples:
            pass:
              - files: { f: xyz }
                records: [{ collection: gate, body: { outcome: denied, ms: 4 } }, { collection: gate }]
            fail:
              - files: { f: xyz }
              - records: [{ collection: gate, body: { outcome: denied, ms: 4 } }]
              - { calls: [{ tool: a }], files: { f: xyz } }
      `,
    );
    const cli = fakeCli(at.workspace, "exit 9");
    const { code, value } = await tapJson(["eval", "run", file, "--cli", cli], at);
    assert.equal(code, 1);
    assert.deepEqual(
      value.cases.map(({ status, problems }) => [status, problems[0]]),
      [
        ["broken", "pass example 1 fails: must_call a: called: b"],
        ["broken", "fail example 1 passes every check"],
        ["error", "the CLI ended with exit code 9 before it was done"],
      ],
    );
  });

  test("ends at the first case where nobody is logged in", async (t) => {
    const { at, file } = withCases(t, "cases:\n- {name: x, prompt: y}\n- {name: z, prompt: y}\n");
    const ran = path.join(at.workspace, "ran");
    const body = `echo x >> ${ran}; echo "Error: No authentication information found." >&2; exit 1`;
    const args = ["eval", "run", file, "--cli", fakeCli(at.workspace, body)];
    const { code, value } = await tapJson(args, at);
    assert.deepEqual([code, value.error.code], [1, "NO_LOGIN"]);
    assert.equal(fs.readFileSync(ran, "utf8"), "x\n");
  });

  test("goes on where only the model has said so", async (t) => {
    const words = "No authentication information found";
    const answer = JSON.stringify({ type: "assistant.message", data: { content: words } });
    const { at, file } = withCases(t, "cases:\n- {name: x, prompt: y}\n- {name: z, prompt: y}\n");
    const cli = fakeCli(at.workspace, `echo '${answer}'; exit 9`);
    const { value } = await tapJson(["eval", "run", file, "--cli", cli], at);
    assert.deepEqual(
      value.cases.map((/** @type {any} */ { status, code }) => [status, code]),
      [
        ["error", undefined],
        ["error", undefined],
      ],
    );
  });

  test("keeps the results in the home, and no secret in them", async (t) => {
    const { at, file } = withCases(t, "cases: [{ name: x, prompt: y }]");
    const said = JSON.stringify({
      type: "assistant.message",
      data: { content: "it is ghp_0123456789abcdefghijABCDEFGHIJ012345" },
    });
    const cli = fakeCli(at.workspace, `echo '${said}'; echo '{"type":"result","exitCode":0}'`);
    const { code, out } = await tap(["eval", "run", file, "--cli", cli], at);
    assert.equal(code, 0);
    const [, results] = /^All results: (.*)$/m.exec(out) ?? [];
    assert.equal(path.dirname(results), path.join(at.home, "tap", "evals"));
    assert.equal(fs.statSync(results).mode & 0o077, 0);
    assert.doesNotMatch(fs.readFileSync(results, "utf8"), /ghp_/);
  });

  test("of 10,000 cases it lists all and runs the one that is chosen", async (t) => {
    const cases = Array.from(
      { length: 10_000 },
      (_, at) => `- { name: case ${at}, prompt: go, must_call: [a] }`,
    );
    const { at, file } = withCases(t, `cases:\n${cases.join("\n")}\n`);
    const { value } = await tapJson(["eval", "run", file, "--list"], at);
    assert.equal(value.length, 10_000);
    const one = ["eval", "run", file, "--case", "case 9999", "--cli", fakeCli(at.workspace)];
    const { code, value: results } = await tapJson(one, at);
    assert.equal(code, 1);
    assert.equal(results.cases[0].checks[0].why, "no tool was called");
  });

  test("a terminal shows which case runs, and for how long", async (t) => {
    const { at, file } = withCases(t, "cases: [{ name: slow one, prompt: y }]");
    const cli = fakeCli(at.workspace, `sleep 3; echo '{"type":"result","exitCode":0}'`);
    const terminal = new InTerminal(t, ["eval", "run", file, "--cli", cli], at);
    await terminal.shows(/1\/1 slow one … \d s/);
    assert.equal(await terminal.end(), 0);
    assert.match(terminal.text, /^# Evals: 1 of 1 passed/);
  });

  test("what a setup leaves in the background ends with its case, also if the setup fails", async (t) => {
    const background = 'sleep 600 & echo $! > "$HOME/pid"';
    const { at, file } = withCases(
      t,
      `cases: [{ name: x, prompt: y, setup: { commands: ['${background}', exit 3] } }]`,
    );
    const args = ["eval", "run", file, "--cli", fakeCli(at.workspace), "--yes"];
    const { value } = await tapJson(args, at, { HOME: at.workspace });
    assert.equal(value.cases[0].status, "error");
    const pid = fs.readFileSync(path.join(at.workspace, "pid"), "utf8").trim();
    const gone = () => !fs.existsSync(`/proc/${pid}`);
    await waitFor(gone, { what: "the end of what the setup has left" });
  });

  test("a run with calls without end is an error, not a full memory", async (t) => {
    const { at, file } = withCases(t, "cases: [{ name: x, prompt: y, must_not_call: [z] }]");
    const lines = `{"type":"tool.execution_start","data":{"toolCallId":"'$i'","toolName":"a"}}`;
    const body = `i=0; while [ $i -lt 12000 ]; do i=$((i+1)); echo '${lines}'; done; echo '{"type":"result","exitCode":0}'`;
    const { value } = await tapJson(
      ["eval", "run", file, "--cli", fakeCli(at.workspace, body)],
      at,
    );
    assert.match(value.cases[0].problems[0], /more than 10000 messages and calls/);
  });

  test("a CLI that ignores SIGTERM is killed", async (t) => {
    const { at, file } = withCases(t, "cases: [{ name: deaf, prompt: y, timeout: 1s }]");
    const pid = path.join(at.workspace, "pid");
    const cli = fakeCli(
      at.workspace,
      `trap '' TERM; echo $$ > ${pid}; while :; do sleep 0.1; done`,
    );
    const { code, value } = await tapJson(["eval", "run", file, "--cli", cli], at);
    assert.equal(code, 1);
    assert.match(value.cases[0].problems[0], /did not end within 1 s/);
    const gone = () => !fs.existsSync(`/proc/${fs.readFileSync(pid, "utf8").trim()}`);
    await waitFor(gone, { what: "the end of the CLI" });
  });
});
