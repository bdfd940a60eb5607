// Emitters whose programs, patterns, times and configs are as bad as they can be: nothing hangs, nothing
// grows, and what went wrong is said. Real processes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MAX_EMITTERS } from "../../../js/features/emitters/manager.mjs";
import { MAX_RESULT_BYTES } from "../../../js/feature-host/results.mjs";
import { processCpuMs } from "../../support/cost.mjs";
import { isAlive } from "../../support/processes.mjs";
import { homeFolder, setUp, setUpProcesses, until, USER_HOME } from "./emitters-rig.mjs";

const MB = 1024;
/** @param {number} pid @returns {number} KB */
const memoryOf = (pid) => Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)]));

/** @param {any} rig @param {string} channel @param {number} [limit] */
const textsOf = async ({ call }, channel, limit = 200) =>
  (await call("tap_stream_history", { channel, limit })).lines.map(({ text }) => text);

/** @param {any} rig @param {string} name */
const emitterOf = async ({ call }, name) => (await call("tap_list_emitters", { name })).emitters[0];

/** Until an emitter has ended: calls are answered meanwhile, one after the other. @param {any} rig @param {string} name */
async function answersUntilEnd(rig, name) {
  let answers = 0;
  await until(async () => {
    await rig.call("tap_list_emitters");
    answers += 1;
    return /^ended/.test((await emitterOf(rig, name)).state);
  }, "its end");
  // A call that waited for the end would be one of two.
  assert.ok(answers > 5, `${answers} calls were answered`);
}

describe("a program", () => {
  test("that exits at once is begun again ever more seldom, and each run is a record", async (t) => {
    const rig = await setUp(t);
    const began = performance.now();
    await rig.call("tap_start_emitter", { name: "bad", command: "exit 9", restart: "always" });
    await until(async () => (await emitterOf(rig, "bad")).runs === 4, "four runs");
    // 0.5 s, 1 s and 2 s are between them.
    assert.ok(performance.now() - began > 3400, "too early");
    const records = await until(async () => {
      const all = await rig.records("emitter_run");
      return all.length >= 4 && all;
    }, "their records");
    assert.ok(records.length <= 5);
    assert.ok(records.every(({ body }) => body.status === "failed" && body.exitCode === 9));
  });

  test("that leaves children behind ends with them, and one that has left its group holds nothing up", async (t) => {
    const rig = await setUp(t);
    await rig.call("tap_start_emitter", {
      name: "forks",
      command: "sleep 1000 & echo kept $!; setsid sleep 200 & echo left $!; sleep 0.3",
    });
    await until(async () => /^ended/.test((await emitterOf(rig, "forks")).state), "its end");
    const texts = await textsOf(rig, "forks");
    const pidOf = (/** @type {RegExp} */ pattern) =>
      Number(texts.map((text) => pattern.exec(text)?.[1]).find(Boolean));
    assert.ok(!(await isAlive(pidOf(/^kept (\d+)/))), "the child is gone");
    const left = pidOf(/^left (\d+)/);
    assert.ok(await isAlive(left), "beyond reach, as the documentation says");
    process.kill(left, "SIGKILL");
  });

  test("that ignores SIGTERM is killed after 3 s, with what it has started", async (t) => {
    const rig = await setUp(t);
    await rig.call("tap_start_emitter", {
      name: "deaf",
      command: "trap '' TERM; (trap '' TERM; while :; do sleep 0.2; done) & echo $!; wait",
    });
    const child = await until(async () => {
      const [text] = (await textsOf(rig, "deaf")).filter((one) => /^\d+$/.test(one));
      return Number(text);
    }, "its child");
    const began = performance.now();
    await rig.call("tap_stop_emitter", { name: "deaf" });
    const took = performance.now() - began;
    assert.ok(took > 2700, `${took.toFixed(0)} ms`);
    assert.ok(!(await isAlive(child)));
    const records = await until(async () => {
      const all = await rig.records("emitter_run");
      return all.length === 1 && all;
    }, "the record");
    assert.deepEqual([records[0].body.status, records[0].body.signal], ["stopped", "SIGKILL"]);
  });

  test("that writes 1 GB without a line end costs no memory, and delays no call", async (t) => {
    const rig = await setUpProcesses(t);
    await rig.call("tap_start_emitter", { name: "first", command: "echo one" });
    const pid = await rig.hostPid();
    const before = memoryOf(pid);
    await rig.call("tap_start_emitter", {
      name: "long",
      command: "head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo done",
    });
    await answersUntilEnd(rig, "long");
    const texts = await textsOf(rig, "long");
    assert.ok(texts.some((text) => text === "done"));
    assert.ok(texts.every((text) => text.length <= 1020));
    assert.match(texts.join("\n"), /run 1 ended with exit code 0 after .* 2 lines/);
    assert.ok(memoryOf(pid) - before < 20 * MB, `${before} KB, then ${memoryOf(pid)} KB`);
  });

  test("that writes NULs, broken UTF-8 and escapes is shown without them", async (t) => {
    const rig = await setUp(t);
    const command = String.raw`printf 'a\0b\nc\377\376d\n\033[31mred\033[0m\n\033]0;title\007e\n10%%\r99%%\r100%%\n\342\200\256dcba\n'`;
    await rig.call("tap_start_emitter", {
      ...{ name: "odd", command, eventFilter: [{ match: ".", outcome: "inject" }] },
    });
    const prompt = await until(
      () => rig.injected().find((text) => /dcba/.test(text)),
      () => JSON.stringify(rig.injected()),
    );
    for (const line of ["a\\x00b", "c\ufffd\ufffdd", "red", "e", "100%", "\\u{202e}dcba"]) {
      assert.ok(prompt.includes(`] ${line}\n`), line + prompt);
    }
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(prompt, /[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  test("that writes as fast as it is read costs no memory, delays no call, and is told with its count", async (t) => {
    const rig = await setUpProcesses(t);
    await rig.call("tap_start_emitter", { name: "first", command: "echo one" });
    const pid = await rig.hostPid();
    const before = memoryOf(pid);
    const line = "2026-11-22T10:15:00Z INFO [worker-17] GET /api/v1/items ERROR id=4711";
    await rig.call("tap_start_emitter", {
      name: "flood",
      command: `timeout 4 yes '${line}'`,
      eventFilter: [{ match: "ERROR", outcome: "inject" }],
    });
    const cpuBefore = processCpuMs(pid);
    await answersUntilEnd(rig, "flood");
    const seconds = (processCpuMs(pid) - cpuBefore) / 1000;
    const { kept, leftOut } = (await emitterOf(rig, "flood")).lines;
    const perSecond = (kept * line.length) / 1e6 / seconds;
    assert.ok(perSecond > 10, `${perSecond.toFixed(0)} MB a second of CPU`);
    assert.ok(leftOut > kept / 2);
    assert.ok(rig.injected().length <= 4, "the budget of pushes");
    assert.ok(
      rig.injected().every((text) => text.length < 4000),
      "each text is bounded",
    );
    assert.ok(rig.shown().some((text) => /too many lines/.test(text)));
    assert.ok(memoryOf(pid) - before < 20 * MB, `${before} KB, then ${memoryOf(pid)} KB`);
  });
});

test("a pattern that takes for ever is said, and delays nothing", async (t) => {
  const rig = await setUpProcesses(t);
  await rig.call("tap_start_emitter", {
    name: "slow",
    command: `for i in $(seq 200); do echo ${"a".repeat(60)}!; done; sleep 100`,
    eventFilter: [
      { match: "(a+)+$", outcome: "inject" },
      { match: "(?:a|aa)+$", not: "(a*)*b", outcome: "surface" },
    ],
  });
  const pid = await rig.hostPid();
  let longest = 0;
  await until(async () => {
    const before = processCpuMs(pid);
    await rig.call("tap_list_emitters");
    longest = Math.max(longest, processCpuMs(pid) - before);
    return rig.shown().some((text) => /rule 1 takes too long/.test(text));
  }, rig.shown);
  assert.ok(longest < 2000, `${longest} ms of CPU before a call was answered`);
  await until(async () => (await emitterOf(rig, "slow")).lines.kept >= 200, "all lines");
  const tried = await rig.call("tap_set_event_filter", {
    ...{ name: "slow", test: true, eventFilter: [{ match: "(x+x+)+y", outcome: "inject" }] },
  });
  assert.equal(tried.applied, false);
});

test(`there are ${MAX_EMITTERS} emitters and no more, and their lists fit into a result`, async (t) => {
  const rig = await setUpProcesses(t);
  rig.becomes("busy");
  const name = (/** @type {number} */ index) => `${"e".repeat(100)}-${index}`;
  const start = (/** @type {number} */ index) =>
    rig.call("tap_start_emitter", { name: name(index), prompt: "look", every: "1d" });
  await start(0);
  const pid = await rig.hostPid();
  const before = memoryOf(pid);
  for (let index = 1; index < MAX_EMITTERS; index += 1) {
    assert.equal((await start(index)).state, "waiting");
  }
  const each = (memoryOf(pid) - before) / MAX_EMITTERS;
  assert.ok(each < 60, `${each} KB each`);
  const refused = await start(MAX_EMITTERS);
  assert.match(refused.message ?? refused.text, /there are 500 emitters: stop one/);
  for (const [tool, list] of [
    ["tap_list_emitters", "emitters"],
    ["tap_list_streams", "streams"],
  ]) {
    const answer = await rig.call(tool);
    assert.ok(JSON.stringify(answer).length < MAX_RESULT_BYTES);
    assert.equal(answer[list].length + answer.more, MAX_EMITTERS, tool);
  }
  assert.equal((await emitterOf(rig, name(77))).does, "prompt, every 1d, at most 100 times");
  const none = await rig.call("tap_stop_emitter", { name: "none" });
  assert.match(none.text, /and 480 more/);
  await rig.call("tap_stop_emitter", { name: name(3) });
  assert.equal((await start(MAX_EMITTERS)).state, "waiting", "one that has ended makes room");
});

test("times that cannot be are refused, with what to write instead", async (t) => {
  const { call } = await setUp(t);
  for (const [given, wanted] of /** @type {[object, RegExp][]} */ ([
    [{ every: "0s" }, /every: .*1s/],
    [{ every: "-5m" }, /every: /],
    [{ every: "99999999999999d" }, /every: /],
    [{ cron: "0 0 30 2 *" }, /cron: .*never due/],
    [{ cron: "* * * * * *" }, /cron: /],
    [{ cron: "0 9 * * *", timezone: "Mars/Olympus" }, /timezone: /],
    [{ every: "5m", maxRuns: 0 }, /maxRuns: /],
    [{ every: "5m", expectEvery: "0s" }, /expectEvery: /],
  ])) {
    const refused = await call("tap_start_emitter", { name: "bad", command: "true", ...given });
    assert.equal(refused.code, "INVALID_ARGUMENTS", JSON.stringify([given, refused]));
    assert.match(refused.message ?? refused.text, wanted);
  }
  assert.deepEqual((await call("tap_list_emitters")).emitters, []);
});

test("an emitter that the agent's answers set off again stops at the limit of answers in a row", async (t) => {
  const rig = await setUp(t);
  fs.mkdirSync(path.join(rig.cwd, "src"));
  rig.becomes("idle");
  await rig.call("tap_start_emitter", {
    name: "test",
    command: "echo error: again",
    onChange: ["src/**"],
    eventFilter: [{ match: "^error", outcome: "inject" }],
  });
  const runs = async () => (await emitterOf(rig, "test")).runs;
  let answered = 0;
  for (; answered < 3; answered += 1) {
    await until(() => rig.injected().length > answered, `answer ${answered + 1}`);
    rig.becomes("busy");
    const before = await runs();
    fs.writeFileSync(path.join(rig.cwd, "src", "a.txt"), `try ${answered}\n`);
    await until(async () => (await runs()) > before, "the run that it sets off");
    rig.becomes("idle");
  }
  await new Promise((resolve) => setTimeout(resolve, 3000));
  assert.equal(rig.injected().length, 3, "three answers in a row, and the next run is not heard");
  rig.becomes("user-prompt");
  rig.becomes("idle");
  await until(() => rig.injected().length > answered, "the next, once the user has said something");
});

describe("a config", () => {
  /** @param {string} home @param {string} text */
  const writeOwn = (home, text) =>
    fs.writeFileSync(path.join(home, "tap", "config.json"), text, { mode: 0o600 });
  const configOf = (/** @type {object[]} */ emitters) =>
    JSON.stringify({ ...USER_HOME, emitters }, null, 2);

  test("of mistakes stops nothing that runs, and what is right again is read", async (t) => {
    const home = homeFolder(t);
    const one = { name: "one", command: "echo alive; sleep 1000" };
    writeOwn(home, configOf([one]));
    const rig = await setUp(t, {}, home);
    const names = async () =>
      (await rig.call("tap_list_emitters")).emitters
        .filter(({ state }) => state === "running")
        .map(({ name }) => name)
        .sort();
    await until(async () => (await names()).join() === "one", names);
    const { id } = await emitterOf(rig, "one");
    writeOwn(home, `${configOf([one]).slice(0, -3)} oops`);
    await new Promise((resolve) => setTimeout(resolve, 4000));
    assert.deepEqual(await names(), ["one"], "a syntax error");
    writeOwn(home, configOf([one, { ...one, command: "sleep 2000" }]));
    await new Promise((resolve) => setTimeout(resolve, 4000));
    assert.deepEqual(await names(), ["one"], "the same name twice");
    writeOwn(home, configOf([one, { name: "two", command: "sleep 1000" }]));
    await until(async () => (await names()).join() === "one,two", names);
    assert.equal((await emitterOf(rig, "one")).id, id, "it was not begun again");
    writeOwn(home, configOf([]));
    await until(async () => (await names()).length === 0, names);
  });
});
