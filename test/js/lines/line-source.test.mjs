// The addon's LineSource with real programs: from the pipe to the outcome.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { signalGroup } from "../../../js/process/group.mjs";

const PATH = `PATH=${process.env.PATH}`;

/**
 * A source, and what it has said. Its run ends when its program and its output have.
 * @param {Partial<import("../../../js/lib/addon.js").LineSourceOptions>} [options]
 */
function makeSource(options = {}) {
  const seen = { surfaced: /** @type {any[]} */ ([]), injects: /** @type {any[]} */ ([]) };
  const rows = /** @type {any[]} */ ([]);
  const notices = /** @type {any[]} */ ([]);
  let exit = /** @type {{code: number, signal: number} | undefined} */ (undefined);
  let read = false;
  /** @type {() => void} */
  let ended = () => {};
  const end = new Promise((resolve) => (ended = () => resolve(undefined)));
  const settle = () => exit && read && ended();
  const source = new addon.LineSource({
    delivery: "important",
    onEffects: (json) => {
      const effects = JSON.parse(json);
      seen.surfaced.push(...effects.surfaced);
      seen.injects.push(...effects.injects);
      notices.push(...effects.notices);
    },
    onRows: (json) => void rows.push(...JSON.parse(json)),
    onExit: (code, signal) => {
      exit = { code, signal };
      settle();
    },
    onOutputEnd: () => {
      read = true;
      settle();
    },
    ...options,
  });
  source.setRun(1);
  /** @param {string} script @param {{stderr?: boolean, args?: string[]}} [more] */
  const run = (script, { stderr = false } = {}) =>
    source.start({ file: "bash", args: ["-c", script], cwd: "/", env: [PATH], stderr });
  return { source, run, seen, rows, notices, end, exited: () => exit };
}

const textsOf = (/** @type {string} */ json) =>
  JSON.parse(json).map((/** @type {any} */ { text }) => text);

test("lines of a program meet the rules, and stderr is marked", async () => {
  const { source, run, seen, end, exited } = makeSource();
  source.setRules([
    { match: "^skip", outcome: "drop" },
    { match: "error", outcome: "inject" },
    { match: "warn", outcome: "surface" },
  ]);
  run("echo hello; echo skip me; echo an error; echo a warn >&2; sleep 0.3; exit 3", {
    stderr: true,
  });
  await end;
  assert.deepEqual(exited(), { code: 3, signal: 0 });
  source.finish({ exitCode: 3 });
  assert.deepEqual(
    seen.surfaced.map(({ text, source: from }) => [text, from]),
    [["a warn", "stderr"]],
  );
  const injected = seen.injects.flatMap(({ lines }) => lines);
  assert.equal(injected[0].text, "an error");
  assert.equal(injected[0].run, 1);
  assert.match(injected[1].text, /^run 1 ended with exit code 3 after/);
  const { lines, dropped, kept } = source.counters();
  assert.deepEqual({ lines, dropped }, { lines: 4, dropped: 1 });
  assert.equal(kept, 3);
  assert.ok(!textsOf(source.history()).includes("skip me"));
});

test("kept lines come as rows, and only a hundred a second", async () => {
  const { source, run, rows, end } = makeSource();
  run("seq 1 5000");
  await end;
  source.finish({ exitCode: 0, isExpected: true });
  const told = rows.filter(({ line }) => line > 0).length;
  assert.ok(told >= 99 && told < 300, `${told} rows`);
  assert.ok(source.counters().rowsLeftOut >= 5000 - told);
  assert.equal(source.counters().lines, 5000);
});

test("a program that is not there is said at once, and the source can go on", async () => {
  const { source, run, end } = makeSource();
  const start = (/** @type {string} */ file, cwd = "/") =>
    source.start({ file, args: [], cwd, env: [PATH], stderr: false });
  assert.throws(() => start("no-such-program"), /no such file/);
  assert.throws(() => start("true", "/no/such/folder"), /no such file/);
  run("true");
  assert.throws(() => start("true"), /a run has not ended/);
  await end;
  source.finish({ exitCode: 0, isExpected: true });
  assert.match(textsOf(source.history()).at(-1), /^run 1 ended with exit code 0/);
});

test("a program gets only the environment that it is given", async () => {
  const { source, end } = makeSource();
  const env = [PATH, "GREETING=hello"];
  source.start({ file: "env", args: [], cwd: "/", env, stderr: false });
  await end;
  source.finish({ exitCode: 0, isExpected: true });
  const lines = JSON.parse(source.history()).filter((/** @type {any} */ { line }) => line > 0);
  assert.deepEqual(lines.map((/** @type {any} */ { text }) => text).sort(), [...env].sort());
});

test("a child that holds the pipe is found in the program's group, and ended with it", async () => {
  const { source, run, exited } = makeSource();
  const pid = run("sleep 100 & echo left");
  const hasRead = () => textsOf(source.history()).includes("left");
  while (!exited() || !hasRead()) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(signalGroup(pid, 0), "something of it still runs");
  signalGroup(pid, "SIGKILL");
  source.finish({ exitCode: 0, isExpected: true });
  assert.match(textsOf(source.history()).at(-1), /^run 1 ended with exit code 0/);
});

test("a signal that ends a program is said", async () => {
  const { source, run, end, exited } = makeSource();
  const pid = run("sleep 100");
  signalGroup(pid, "SIGTERM");
  await end;
  assert.deepEqual(exited(), { code: 0, signal: 15 });
  source.finish({ signal: "SIGTERM" });
  assert.match(textsOf(source.history()).at(-1), /^run 1 ended by SIGTERM/);
});

test("a flood without a line end, with NULs and bytes of no character takes no memory", async () => {
  const { source, run, end } = makeSource();
  run("head -c 300000000 /dev/zero; head -c 1000000 /dev/urandom");
  await end;
  source.finish({ exitCode: 0, isExpected: true });
  assert.ok(source.counters().bytes > 300_000_000);
  assert.ok(source.counters().memory < 1024 * 1024);
  for (const text of textsOf(source.history())) assert.ok(Buffer.byteLength(text) <= 9000);
});

test("rules tried on the history change nothing", async () => {
  const { source, run, end } = makeSource();
  run("echo one; echo two");
  await end;
  source.finish({ exitCode: 0, isExpected: true });
  const { lines, slow } = JSON.parse(source.test([{ match: "two", outcome: "inject" }], 200));
  assert.deepEqual(
    lines.map((/** @type {any} */ { text, outcome }) => [text, outcome]),
    [
      ["one", "keep"],
      ["two", "inject"],
    ],
  );
  assert.deepEqual(slow, [""]);
  assert.equal(source.counters().injected, 0);
});

test("a rule that is wrong is refused with its number, and the former rules stay", () => {
  const { source } = makeSource();
  source.setRules([{ match: "a", outcome: "drop" }]);
  const wrong = [
    { match: "a", outcome: "drop" },
    { match: "(", outcome: "drop" },
  ];
  assert.throws(
    () => source.setRules(/** @type {any} */ (wrong)),
    (error) => error instanceof RangeError && /** @type {any} */ (error).rule === 1,
  );
  source.post("a\nb");
  assert.equal(source.counters().dropped, 1);
});

test("arguments of every other kind are refused, and crash nothing", () => {
  const { source } = makeSource();
  const odd = [undefined, null, 1, "x", Symbol("s"), [], {}, () => {}, [1], [{}], [[]], NaN];
  /** @type {any} */
  const any = source;
  for (const method of ["setRules", "setDelivery", "expectEvery", "start", "post", "note"]) {
    for (const one of odd) {
      try {
        any[method](one, one);
      } catch (error) {
        assert.ok(error instanceof TypeError || error instanceof RangeError || error, method);
      }
    }
  }
  for (const one of odd) {
    for (const work of [
      () => new addon.LineSource(/** @type {any} */ (one)),
      () => any.history(one),
      () => any.test(one, one),
      () => any.finish(one),
    ]) {
      try {
        work();
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }
  }
  assert.equal(typeof source.counters().lines, "number");
});
