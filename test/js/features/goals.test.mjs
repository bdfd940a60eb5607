// Goals: what they need, what counts as evidence, and when they can be closed.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { descriptor } from "../../../js/features/goals/feature.mjs";
import { note } from "../../../js/features/goals/ledger.mjs";
import { evaluateConditions } from "../../../js/feature-host/capability-grants.mjs";
import { preflight } from "../../../js/feature-host/preflight.mjs";
import { MAX_RESULT_BYTES } from "../../../js/feature-host/results.mjs";
import { cpuMs } from "../../support/cost.mjs";
import { goals, runner } from "./goals-rig.mjs";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const evidenceOf = ({ goals: [one] }) => one.evidence;

describe("a goal", () => {
  test("is closed once the file that it names is there and matches", async (t) => {
    const { call, failing, set, folder } = await goals(t);
    const id = await set("write the report", [{ file: "report.md", match: "^# Report" }]);
    assert.match(await call("tap_close_goal"), /stays open.*report\.md.*: there is no such file/s);
    fs.writeFileSync(path.join(folder, "report.md"), "nothing yet");
    assert.match(await call("tap_close_goal", { goal: id }), /the pattern does not match it/);
    fs.writeFileSync(path.join(folder, "report.md"), "# Report\nall is well\n");
    const [seen] = evidenceOf(await call("tap_verify_goal_output"));
    assert.deepEqual([seen.met, seen.source, seen.changed], [true, "checked by tap", true]);
    assert.match(await call("tap_close_goal"), new RegExp(`^The goal ${id} is closed: write the`));
    assert.match(await failing("tap_close_goal"), /no open goal/);
    assert.match(await failing("tap_close_goal", { goal: id }), /is closed/);
    assert.deepEqual(
      (await call("tap_goal_status")).ended.map(({ goal, state }) => [goal, state]),
      [[id, "closed"]],
    );
  });

  test("says whether a file is what it was, and holds it to its digest", async (t) => {
    const { call, set, folder } = await goals(t);
    const file = path.join(folder, "a.txt");
    fs.writeFileSync(file, "one");
    await set("a", [{ file: "a.txt", sha256: sha256("two").toUpperCase() }, { file: "a.txt" }]);
    const before = evidenceOf(await call("tap_goal_status"));
    assert.deepEqual(
      before.map(({ met, changed }) => [met, changed]),
      [
        [false, false],
        [true, false],
      ],
    );
    assert.equal(before[0].reason, `its SHA-256 is ${sha256("one")}`);
    fs.writeFileSync(file, "two");
    const after = evidenceOf(await call("tap_goal_status"));
    assert.deepEqual(
      after.map(({ met, changed }) => [met, changed]),
      [
        [true, true],
        [true, true],
      ],
    );
  });

  test("has in each of its records the trace of the call that made it", async (t) => {
    const { call, set, query } = await goals(t);
    const goal = await set("write it", [{ file: "notes.txt" }]);
    await call("tap_audit_claims", { claims: ["I ran the tests"] });
    const { records: calls } = await query({ collection: "tool_call" });
    const traceOf = (tool) => calls.find(({ body }) => body.tool === tool).trace;
    const { records: goalRecords } = await query({ collection: "goal", where: { goal } });
    assert.ok(goalRecords.length > 1);
    for (const { trace } of goalRecords) assert.equal(trace, traceOf("tap_set_goal"));
    const { records: claims } = await query({ collection: "claim" });
    assert.deepEqual(
      claims.map(({ trace }) => trace),
      [traceOf("tap_audit_claims")],
    );
  });

  test("takes an entry of a stream as evidence, only one that came after it", async (t) => {
    const { call, set, session, gateway } = await goals(t);
    const ci = await gateway.provider(session, "ci", { nothing: () => "" });
    const push = (event) => ci.send({ type: "push", stream: "builds", event, level: "keep" });
    push("build 6 passed");
    await session.call("nothing");
    await new Promise((resolve) => setTimeout(resolve, 10));
    await set("a green build", [{ stream: "builds", match: "build \\d+ passed" }]);
    const before = evidenceOf(await call("tap_verify_goal_output"))[0];
    assert.deepEqual([before.met, before.source], [false, "recorded by tap"]);
    assert.match(before.reason, /^0 entries since the goal was set/);
    push("build 7 failed");
    push("build 8 passed");
    await session.call("nothing");
    const after = evidenceOf(await call("tap_verify_goal_output"))[0];
    assert.deepEqual([after.met, after.reason], [true, "said by ci"]);
    assert.ok(Number.isInteger(after.record));
  });

  test("keeps what the model says of a command as a comment, which is no evidence", async (t) => {
    const { call, set } = await goals(t);
    const command = "npm test";
    await set("tests pass", [{ command, exitCode: 0, match: "\\d+ passed" }]);
    assert.match(await call("tap_close_goal"), /tap has seen no run of it/);
    const verify = (exitCode, output, said = command) =>
      call("tap_verify_goal_output", { commands: [{ command: said, exitCode, output }] });
    assert.match(evidenceOf(await verify(1, "12 passed"))[0].comment, /its exit code was 1/);
    assert.match(evidenceOf(await verify(0, "boom"))[0].comment, /does not match its output/);
    const other = await verify(0, "12 passed", "npm run test");
    assert.deepEqual([other.notAskedFor, other.goals[0].missing], [["npm run test"], 1]);
    const [said] = evidenceOf(await verify(0, "12 passed", " npm   test "));
    assert.deepEqual([said.met, said.source], [false, "nothing"]);
    assert.match(said.comment, /it ended as required/);
    assert.match(await call("tap_close_goal"), /stays open/);
  });

  test("believes the record of a run, and not the model", async (t) => {
    const rig = await goals(t);
    let exitCode = 1;
    await runner(rig, () => ({ exitCode, stdout: `${exitCode} failed` }));
    await rig.set("tests pass", [{ command: "npm test", exitCode: 0 }]);
    await rig.session.call("run_command", { command: "npm test" });
    const commands = [{ command: "npm test", exitCode: 0, output: "all fine" }];
    const lied = evidenceOf(await rig.call("tap_verify_goal_output", { commands }))[0];
    assert.deepEqual(
      [lied.met, lied.source, lied.reason],
      [false, "recorded by tap", "its exit code was 1"],
    );
    assert.match(await rig.call("tap_close_goal"), /its exit code was 1/);
    exitCode = 0;
    await rig.session.call("run_command", { command: "npm test" });
    const [met] = evidenceOf(await rig.call("tap_goal_status"));
    assert.deepEqual([met.met, met.source], [true, "recorded by tap"]);
    assert.match(await rig.call("tap_close_goal"), /recorded by tap/);
  });

  test("keeps open what claims a prohibited text, in the summary or in the last audit", async (t) => {
    const { call, set, folder } = await goals(t);
    fs.writeFileSync(path.join(folder, "a"), "");
    await set("a", [{ file: "a" }], ["Should work"]);
    assert.match(
      await call("tap_close_goal", { summary: "it  should\nwork now" }),
      /the summary claims "Should work", which is prohibited/,
    );
    const audit = await call("tap_audit_claims", { claims: ["This SHOULD work."] });
    assert.deepEqual(audit.claims[0].prohibited, ["Should work"]);
    assert.match(await call("tap_close_goal"), /the last audit had the prohibited claim/);
    await call("tap_audit_claims", { claims: ["a is there"] });
    assert.match(await call("tap_close_goal", { summary: "done" }), /is closed/);
  });

  test("has a stream with what happened to it, and that is no evidence", async (t) => {
    const { call, failing, set, query, folder } = await goals(t);
    fs.writeFileSync(path.join(folder, "a"), "");
    const id = await set("a", [{ file: "a" }]);
    await call("tap_close_goal", { summary: "made it" });
    const where = { stream: `goal:${id}` };
    const { records } = await query({ collection: "stream_entry", where });
    assert.deepEqual(
      records.map(({ body }) => body.text),
      ["closed: made it", "set by the model: a"],
    );
    const evidence = [{ stream: `goal:${id}`, match: "." }];
    assert.match(await failing("tap_set_goal", { statement: "b", evidence }), /is no evidence/);
  });

  test("takes nothing as evidence that the feature itself has written", async (t) => {
    const { call, set, append, session } = await goals(t);
    await set("a green build", [{ stream: "builds", match: "passed" }]);
    const body = { stream: "builds", text: "build 7 passed" };
    await append({ collection: "stream_entry", session: session.id, body });
    const [seen] = evidenceOf(await call("tap_verify_goal_output"));
    assert.deepEqual([seen.met, seen.reason?.slice(0, 9)], [false, "0 entries"]);
  });

  test("belongs to its session: another one in the folder sees it, and cannot close it", async (t) => {
    const { append, call, failing, folder, records } = await goals(t);
    const body = { goal: "g-00000001", event: "evidence", n: 0, kind: "file", file: "x" };
    const other = { collection: "goal", session: "former" };
    await append({ ...other, body: { ...body, before: "" } });
    const set = { event: "set", statement: "theirs", by: "model", cwd: folder, parts: 1 };
    await append({ ...other, body: { goal: "g-00000001", ...set } });
    records.flush(5000);
    const { goals: own, ofOtherSessions, note: said } = await call("tap_goal_status");
    assert.deepEqual(own, []);
    assert.deepEqual(ofOtherSessions, [
      {
        goal: "g-00000001",
        statement: "theirs",
        state: "open",
        setBy: "model",
        evidence: ["the file x"],
      },
    ]);
    assert.match(said, /not taken over/);
    assert.match(await failing("tap_close_goal", { goal: "g-00000001" }), /has no goal "g-0000/);
  });

  test("whose evidence the store has lost stays open", async (t) => {
    const { append, call, folder, records, session } = await goals(t);
    const set = { goal: "g-00000001", event: "set", statement: "x", by: "model", cwd: folder };
    const body = { ...set, parts: 2 };
    await append({ collection: "goal", session: session.id, body });
    records.flush(5000);
    assert.match(await call("tap_close_goal"), /records of it are gone/);
  });
});

describe("/tap-goal", () => {
  test("sets the user's goal, for which the model names the evidence", async (t) => {
    const { type, said, call, failing, set, folder } = await goals(t);
    assert.match(await type(""), /no goal is open\. \/tap-goal <statement> sets one/);
    const text = await type("  ship it ");
    const [, id] = /the goal (g-[0-9a-f]{8}) is set; the model is told/.exec(text) ?? [];
    assert.match(said.prompts[0][0], new RegExp(`^The user has set the goal ${id}: ship it`));
    assert.deepEqual(said.model, [], "it is work to do, and no news");
    assert.match(await call("tap_close_goal"), /the goal has none yet/);
    const evidence = [{ file: "dist.txt" }];
    assert.notEqual(await set("ship it", evidence), id);
    const { goals: open } = await call("tap_goal_status");
    assert.deepEqual(
      open.map(({ statement, setBy, missing }) => [statement, setBy, missing]),
      [["ship it", "user", 1]],
    );
    assert.match(
      await failing("tap_set_goal", { statement: "ship it", evidence: [{ file: "." }] }),
      /its evidence cannot be changed/,
    );
    assert.match(await type(""), /ship it\n {2}lacks the file dist\.txt: there is no such file/);
    fs.writeFileSync(path.join(folder, "dist.txt"), "");
    assert.match(await type(""), /ship it\n {2}complete/);
  });

  test("drops a goal, which no tool does", async (t) => {
    const { type, set, failing } = await goals(t);
    const id = await set("a", [{ file: "a" }]);
    assert.match(await type(`drop ${id}`), /is dropped: a/);
    assert.match(await type(`drop ${id}`), /no open goal/);
    assert.match(await failing("tap_close_goal", { goal: id }), /is dropped/);
  });

  test("drops a goal by the id that the user was told, also once it has evidence", async (t) => {
    const { type, set } = await goals(t);
    const [, told = ""] = /the goal (g-[0-9a-f]{8}) is set/.exec(await type("ship it")) ?? [];
    const id = await set("ship it", [{ file: "dist.txt" }]);
    assert.notEqual(id, told);
    assert.match(await type(`drop ${told}`), new RegExp(`the goal ${id} is dropped: ship it`));
    assert.match(await type(""), /no goal is open/);
  });
});

describe("what is refused", () => {
  const bad = [
    ["nothing", {}, /expected one of file, stream and command/],
    ["two kinds", { file: "a", stream: "b", match: "c" }, /expected one of/],
    ["a stream without a pattern", { stream: "a" }, /a stream needs match/],
    ["a command without an exit code", { command: "a" }, /a command needs exitCode/],
    ["a digest of a command", { command: "a", exitCode: 0, sha256: sha256("") }, /has no sha256/],
    ["a bad pattern", { file: "a", match: "(" }, /evidence\[0\]\.match: .*[Uu]nterminated/],
    ["a short digest", { file: "a", sha256: "abc" }, /INVALID_ARGUMENTS/],
    ["a pattern of 1 MB", { file: "a", match: "a".repeat(1_000_000) }, /INVALID_ARGUMENTS/],
    ["a path with a zero", { file: "a\0b" }, /expected a path/],
    ["a path out of the workspace", { file: "../outside" }, /outside of the workspace|no such/],
    ["a secret", { file: "a", match: `ghp_${"0123456789abcdefghijABCDEFGHIJ012345"}` }, /secret/],
  ];
  for (const [what, evidence, why] of bad) {
    test(`${what} as evidence`, async (t) => {
      const { failing, folder, call } = await goals(t);
      fs.writeFileSync(path.join(folder, "..", "outside"), "");
      t.after(() => fs.rmSync(path.join(folder, "..", "outside"), { force: true }));
      const text = await failing("tap_set_goal", { statement: "x", evidence: [evidence] });
      assert.match(text, /** @type {RegExp} */ (why));
      assert.deepEqual((await call("tap_goal_status")).goals, []);
    });
  }

  test("a file that a link takes out of the workspace, now or later", async (t) => {
    const { failing, call, set, folder } = await goals(t);
    fs.symlinkSync("/etc/passwd", path.join(folder, "link"));
    fs.symlinkSync("/etc", path.join(folder, "etc"));
    for (const file of ["link", "etc/passwd", "/etc/passwd", "../../../etc/passwd"]) {
      const evidence = [{ file, match: "root" }];
      assert.match(await failing("tap_set_goal", { statement: "x", evidence }), /outside of the/);
    }
    await set("later", [{ file: "sub/passwd", match: "root" }]);
    fs.symlinkSync("/etc", path.join(folder, "sub"));
    const [seen] = evidenceOf(await call("tap_verify_goal_output"));
    assert.deepEqual([seen.met, seen.reason], [false, "it is outside of the workspace"]);
  });

  test("a statement of 1 MB, 10,000 claims, and too many goals", async (t) => {
    const { failing, set, call } = await goals(t);
    const evidence = [{ file: "a" }];
    const long = await failing("tap_set_goal", { statement: "x".repeat(1_000_000), evidence });
    assert.match(long, /INVALID_ARGUMENTS/);
    const claims = Array.from({ length: 10_000 }, (_, i) => `claim ${i}`);
    assert.match(await failing("tap_audit_claims", { claims }), /INVALID_ARGUMENTS/);
    const wide = { statement: "\u{1F600}".repeat(1500), evidence };
    assert.match(await failing("tap_set_goal", wide), /may have 3800 bytes as JSON/);
    for (let i = 0; i < 10; i += 1) await set(`goal ${i}`, evidence);
    assert.match(await failing("tap_set_goal", { statement: "one more", evidence }), /close one/);
    assert.equal((await call("tap_goal_status")).goals.length, 10);
    assert.match(await failing("tap_close_goal"), /several goals are open: name one of g-/);
  });

  test("a goal where nothing can be recorded", async (t) => {
    const { failing } = await goals(t, { mode: "notify" });
    const args = { statement: "x", evidence: [{ file: "a" }] };
    assert.match(await failing("tap_set_goal", args), /records cannot be written/);
  });
});

describe("the gate", () => {
  /** What the gateway says of a use of a tool. */
  const check = async ({ session }, tool, args = {}) => {
    const checkId = `c${Math.random()}`;
    session.send({ type: "hook.check", checkId, tool, args });
    return session.waitFor("hook.verdict", (verdict) => verdict.checkId === checkId);
  };

  test("stops a push and task_complete while evidence is missing, and says what is missing", async (t) => {
    const rig = await goals(t, { gated: true });
    const push = () => check(rig, "bash", { command: "cd x && git push origin main" });
    assert.equal((await push()).deny, undefined, "no goal is open");
    const id = await rig.set("ship", [{ file: "notes.md" }], ["should work"]);
    const why = new RegExp(
      `the goal ${id} \\(ship\\) lacks the file notes.md: there is no such file`,
    );
    assert.match((await push()).deny, why);
    assert.match((await check(rig, "task_complete")).deny, why);
    assert.equal((await check(rig, "bash", { command: "git pull" })).deny, undefined);
    await rig.call("tap_audit_claims", { claims: ["it should work"] });
    fs.writeFileSync(path.join(rig.folder, "notes.md"), "");
    assert.match((await push()).deny, /the last audit had the prohibited claim/);
    await rig.call("tap_audit_claims", { claims: ["notes.md is there"] });
    assert.equal((await push()).deny, undefined);
  });

  test("is there only where the user's config asks for it", async (t) => {
    const { report, session } = await goals(t);
    assert.deepEqual(report().hooks, []);
    assert.ok(!session.events.some(({ type, wanted }) => type === "hooks" && wanted));
    const hooksWith = (gated) => {
      const conditions = evaluateConditions({ variables: {}, recorded: true }, gated);
      const [{ descriptor: left }] = preflight([{ descriptor, origin: "tap" }], {
        conditions,
      });
      return left.hooks?.map(({ name }) => name);
    };
    assert.deepEqual(hooksWith(["push"]), ["push"]);
    assert.deepEqual(hooksWith(["task_complete"]), ["task-complete"]);
    assert.deepEqual(hooksWith([]), []);
  });
});

test("answers are bounded, however much they have to say", async (t) => {
  const { call, set, session } = await goals(t);
  const name = (i) => `${'\u202e\\"/'.repeat(250)}${i}`;
  const evidence = Array.from({ length: 20 }, (_, i) => ({
    file: name(i),
    match: "\\\\".repeat(400),
  }));
  for (let i = 0; i < 10; i += 1) await set(`${i}${"\\".repeat(1500)}`, evidence);
  const all = await session.call("tap_goal_status");
  assert.ok(all.length <= MAX_RESULT_BYTES, `${all.length}`);
  assert.equal(JSON.parse(all).goals.length, 10);
  const claims = Array.from({ length: 50 }, () => '\\"\u0007'.repeat(160));
  const audit = await session.call("tap_audit_claims", { claims });
  assert.ok(audit.length <= MAX_RESULT_BYTES, `${audit.length}`);
  assert.equal((await call("tap_audit_claims", { claims })).unsupported, 50);
});

test("answers are bounded in bytes, in any script", async (t) => {
  const { call, set, session, folder, append } = await goals(t);
  const texts = (/** @type {number} */ most) =>
    Array.from({ length: 20 }, (_, n) => `${n}${"目標".repeat(most)}`);
  const evidence = texts(40).map((file) => ({ file, match: "一致".repeat(60) }));
  for (let n = 0; n < 10; n += 1) {
    await set(`${n}${"目標".repeat(200)}`, evidence, texts(95));
    const given = { collection: "goal", session: "former" };
    const goal = `g-0000000${n}`;
    for (const [i, file] of texts(40).entries()) {
      const body = { goal, event: "evidence", n: i, kind: "file", file, before: "" };
      await append({ ...given, body });
    }
    const statement = `${n}${"目標".repeat(200)}`;
    const told = { statement, by: "model", cwd: folder, parts: 20 };
    await append({ ...given, body: { goal, event: "set", ...told } });
  }
  const bytesOf = (/** @type {unknown} */ answer) => {
    assert.equal(typeof answer, "string", JSON.stringify(answer));
    return Buffer.byteLength(String(answer));
  };
  const status = await session.call("tap_goal_status");
  assert.ok(bytesOf(status) <= MAX_RESULT_BYTES, `${bytesOf(status)}`);
  assert.equal(JSON.parse(status).goals.length, 10);
  assert.equal(JSON.parse(status).ofOtherSessions.length, 10);
  const claims = Array.from({ length: 50 }, (_, n) => `${n}${"テストが通った".repeat(60)}`);
  const audit = await session.call("tap_audit_claims", { claims });
  assert.ok(bytesOf(audit) <= MAX_RESULT_BYTES, `${bytesOf(audit)}`);
  assert.equal((await call("tap_audit_claims", { claims })).claims.length, 50);
});

test("a catastrophic pattern costs an answer, and does not block", async (t) => {
  const { call, set, folder } = await goals(t);
  fs.writeFileSync(path.join(folder, "a"), `${"a".repeat(50)}b`);
  await set("x", [{ file: "a", match: "^(a+)+$" }]);
  let last = cpuMs();
  let longest = 0;
  const timer = setInterval(() => {
    longest = Math.max(longest, cpuMs() - last);
    last = cpuMs();
  }, 5);
  const [seen] = evidenceOf(await call("tap_verify_goal_output"));
  clearInterval(timer);
  assert.deepEqual([seen.met, seen.reason], [false, "the pattern takes too long on it"]);
  assert.ok(longest < 2000, `${longest} ms of CPU in one turn`);
});

test("half a secret is in no line of a ledger", async () => {
  const lines = /** @type {string[]} */ ([]);
  const append = async (/** @type {any} */ { body }) => void lines.push(body.text);
  const services = /** @type {any} */ ({ records: { append } });
  for (let before = 440; before < 500; before += 1) {
    const text = `${"y".repeat(before)} https://user:hunter2hunter2@host.example/ ${"z".repeat(500)}`;
    await note(services, "s", "g-1", text);
  }
  assert.deepEqual(
    lines.filter((line) => line.includes("hunter2")),
    [],
  );
});
