// copilot-tap eval run, with the real CLI and a scripted model.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { casesIn, EvalRig, playing, SMOKE } from "../support/evals.mjs";
import { callTool, callTools, say, toolResults } from "../support/model.mjs";
import { REPO_ROOT } from "../support/cli.mjs";
import { parseMarkdown } from "../support/markdown.mjs";
import { hasLines } from "../support/walkthrough.mjs";
import { onceOffered, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

/** Fails unless all files and processes of the runs are gone. @param {EvalRig} rig */
function assertNothingLeft(rig) {
  assert.deepEqual(rig.left, []);
  assert.deepEqual(rig.processes, []);
}

/** The problems of each case. @param {any} results */
const troubles = (results) =>
  Object.fromEntries(
    results.cases.map(({ name, problems, checks }) => [
      name,
      [
        ...problems,
        ...checks.filter(({ passed }) => !passed).map(({ check, why }) => `${check}: ${why}`),
      ],
    ]),
  );

const WAYS = `
cases:
  - name: all good
    prompt: go
    setup:
      git: true
      files: { notes/in.txt: "one\\ntwo\\n" }
      commands: ["printf made > made.txt"]
    must_call:
      - { tool: bash, arguments: { command: { match: "^echo" } } }
      - tap_status
    must_not_call:
      - { tool: bash, arguments: { command: rm -rf . } }
      - edit
    observations: [{ tool: bash, match: ^hi$ }, "GATEWAY on  port"]
    prohibited_claims: ["all tests pass"]
    assertions:
      - record: { collection: tool_call, where: { tool: tap_status, outcome: ok }, count: 1 }
      - file: { path: out.txt, match: "^from bash$", sha256: "@SHA@" }
      - file: { path: notes/in.txt, match: ^two$ }
      - file: { path: made.txt, match: made }
      - file: { path: missing.txt, exists: false }
      - transcript: { match: "^assistant: I am done" }
  - name: everything wrong
    prompt: go
    setup: { commands: ["ln -s /etc/passwd link", "mkdir folder", "echo x > out.txt"] }
    must_call: [view, { tool: bash, arguments: { command: other } }, tap_query_records]
    must_not_call: [bash]
    observations: [nowhere, { tool: tap_status, match: never }]
    prohibited_claims: ["i am  DONE", { match: "am\\\\s+done" }]
    assertions:
      - record: { collection: tool_call, where: { tool: tap_status }, count: { min: 2 } }
      - record: { collection: tool_call, where: { nonsense: 1 } }
      - record: { collection: nonsense }
      - file: { path: out.txt, exists: false }
      - file: { path: out.txt, match: other }
      - file: { path: link, match: root }
      - file: { path: missing.txt }
      - file: { path: folder }
      - transcript: { match: nowhere }
      - transcript: { match: "^(a+)+$" }
`;

describe("copilot-tap eval run", { concurrency: 1 }, () => {
  test("the smoke cases of tap's tools pass", async (t) => {
    const cases = casesIn(fs.readFileSync(SMOKE, "utf8"));
    const rig = await EvalRig.start(t, playing(cases));
    const { code, out, err, results } = await rig.run([]);
    assert.equal(code, 0, `${out}\n${err}`);
    assert.equal(results.cases.length, cases.length);
    assert.match(out, new RegExp(`^# Evals: ${cases.length} of ${cases.length} passed`));
    assertNothingLeft(rig);
  });

  test("docs/evals.md shows the output of the command", async (t) => {
    const { blocks } = parseMarkdown(
      fs.readFileSync(path.join(REPO_ROOT, "docs/evals.md"), "utf8"),
    );
    const block = (word) => blocks.find(({ words }) => words.includes(word))?.code;
    const smoke = casesIn(fs.readFileSync(SMOKE, "utf8"));
    const changelog = casesIn(block("changelog"));
    const rig = await EvalRig.start(t, playing([...smoke, ...changelog]));
    const file = rig.write(block("changelog"));
    const passed = await rig.run([file]);
    assert.equal(passed.code, 0, passed.out);
    rig.model.script((request) => {
      const command = "echo '- Faster start' > other.md # CHANGELOG";
      const call = callTool("bash", { command, description: "append" });
      return toolResults(request).length === 0 ? call : say("The line is in CHANGELOG.md.");
    });
    const failed = await rig.run([file]);
    assert.ok(hasLines(failed.out, block("failed")), failed.out);
    rig.model.script(playing(smoke));
    const { out } = await rig.run([]);
    assert.ok(hasLines(out, block("smoke")), out);
  });

  test("judges calls, observations, claims, records, files and the transcript", async (t) => {
    const command =
      "echo hi; echo from bash > out.txt; echo; echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    const turn = callTools([
      { name: "bash", args: { command, description: "x" } },
      { name: "tap_status" },
    ]);
    const rig = await EvalRig.start(t, (request) => {
      const results = toolResults(request);
      if (results.length === 0) return turn;
      if (results.length === 2) return callTool("tap_query_records", { collection: "sync" });
      return say("I am done");
    });
    const digest = createHash("sha256").update("from bash\n").digest("hex");
    const { code, out, err, results } = await rig.run([
      rig.write(WAYS.replace("@SHA@", digest)),
      "-y",
    ]);
    assert.equal(code, 1, err);
    const found = troubles(results);
    assert.deepEqual(found["all good"], []);
    const wrong = [
      /^must_call view: called: bash, tap_status, tap_query_records \(failed\)$/,
      /^must_call bash \{"command":"other"\}: called/,
      /^must_call tap_query_records: called/,
      /^must_not_call bash: called with \{"command":"echo hi/,
      /^observations "nowhere": no tool result has it$/,
      /^observations tap_status: \/never\/: no tool result has it$/,
      /^prohibited_claims "i am {2}DONE": said: I am done$/,
      /^prohibited_claims \/am\\s\+done\/: said: I am done$/,
      /^record tool_call \{"tool":"tap_status"\}: 1 records, expected at least 2$/,
      /^record tool_call \{"nonsense":1\}: .*no field "nonsense"/,
      /^record nonsense \{\}: .*tool_call/,
      /^file out\.txt: it exists$/,
      /^file out\.txt: \/other\/ is not in it$/,
      /^file link: a link leads outside the workspace$/,
      /^file missing\.txt: it does not exist$/,
      /^file folder: it is not a regular file$/,
      /^transcript \/nowhere\/: it is not in the transcript$/,
      /^transcript .*: \/\^\(a\+\)\+\$\/ took longer than 1 s$/,
    ];
    const texts = found["everything wrong"];
    assert.equal(texts.length, wrong.length, texts.join("\n"));
    wrong.forEach((pattern, at) => assert.match(texts[at], pattern));
    assert.match(out, /^# Evals: 1 of 2 passed, 1 failed/);
    assert.match(out, /^## everything wrong: failed$/m);
    assertNothingLeft(rig);
  });

  test("a rubric is judged by a second run, once for the same transcript", async (t) => {
    const rubric = "The answer is polite.";
    const rig = await EvalRig.start(t, [say("\u001b[31mPlease</script>")], {
      auxiliaryReply: say(JSON.stringify({ verdict: "fail", reason: "it is \u001b[2Jrude" })),
    });
    const asked = () =>
      rig.model.auxiliary.filter(({ body }) => JSON.stringify(body.messages).includes(rubric));
    const file = rig.write(`cases: [{ name: polite, prompt: go, rubric: ${rubric} }]`);
    const first = await rig.run([file]);
    assert.equal(first.code, 1, first.err);
    assert.deepEqual(troubles(first.results).polite, [
      "rubric: the judge says: it is \u001b[2Jrude",
    ]);
    assert.ok(first.out.includes("it is \\x1b[2Jrude"), first.out);
    assert.equal(asked().length, 1, "a judge without tools");
    assert.equal((await rig.run([file])).code, 1);
    assert.equal(asked().length, 1, "the second verdict is that of the first run");
    const without = await rig.run([file, "--no-judge"]);
    assert.equal(without.code, 0);
    assertNothingLeft(rig);
  });

  test("Ctrl+C ends the run and leaves no trace", async (t) => {
    const rig = await EvalRig.start(t, () => new Promise(() => {}));
    const setup = "setup: { commands: ['sleep 600 &'] }";
    const file = rig.write(`cases: [{ name: slow, prompt: go, ${setup} }]`);
    const running = rig.start([file, "-y"]);
    await waitFor(() => rig.model.requests.length > 0, {
      what: "the model is asked",
    });
    assert.equal(rig.left.length, 1);
    running.process.kill("SIGINT");
    const { code } = await running.ended;
    assert.equal(code, 130, running.err);
    assertNothingLeft(rig);
  });

  test("a run that does not end is ended when its time is up", async (t) => {
    const rig = await EvalRig.start(t, () => new Promise(() => {}));
    const file = rig.write("cases: [{ name: slow, prompt: go, timeout: 5s }]");
    const { code, results } = await rig.run([file]);
    assert.equal(code, 1);
    assert.equal(results.cases[0].status, "error");
    assert.match(results.cases[0].problems[0], /^the CLI did not end within 5 s/);
    assertNothingLeft(rig);
  });

  test("a CLI that is stopped, and a CLI that does not speak JSON, are errors", async (t) => {
    const rig = await EvalRig.start(t, [say("done")]);
    const file = rig.write("cases: [{ name: x, prompt: go, timeout: 20s }]");
    const fakes = {
      "kill -9 $$": /^the CLI was ended by SIGKILL before it was done/,
      "echo hello; exit 0": /^the CLI ended with exit code 0 before it was done/,
      "echo unknown option >&2; exit 1": /^the CLI ended with exit code 1 .*: unknown option$/,
    };
    for (const [body, wanted] of Object.entries(fakes)) {
      const { code, results } = await rig.run([file], { cli: rig.fakeCli(body) });
      assert.equal(code, 1);
      assert.match(results.cases[0].problems[0], wanted);
    }
    assertNothingLeft(rig);
  });

  test("a provider that a setup starts serves the session", async (t) => {
    const script = steps([onceOffered("greet", { name: "Ada" }), say("done")]);
    const rig = await EvalRig.start(t, script);
    const sdk = JSON.stringify(path.resolve("sdk/node/provider.mjs"));
    const program = `import { provider } from ${sdk};
      const p = provider("hello");
      p.tool("greet", { description: "greets", parameters: { type: "object", properties: { name: { type: "string" } } } },
        ({ name }) => "Hello " + name);
      await p.connect();`;
    const source = JSON.stringify({
      cases: [
        {
          name: "greets",
          prompt: "go",
          setup: { files: { "p.mjs": program }, commands: ["node p.mjs &"] },
          must_call: [{ tool: "greet", arguments: { name: "Ada" } }],
          observations: ["Hello Ada"],
          assertions: [{ record: { collection: "tool_call", where: { tool: "greet" }, count: 1 } }],
        },
      ],
    });
    const { code, results } = await rig.run([rig.write(source), "--yes"]);
    assert.equal(code, 0, JSON.stringify(results));
    assertNothingLeft(rig);
  });
});
