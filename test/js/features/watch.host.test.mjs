// Watchers in the feature host, with real tools: what the model and the user read of a build that breaks and is mended.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { setUp, setUpProcesses, until } from "./emitters-rig.mjs";

const tsc = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));

/** @param {any} rig */
function watching({ control, session, cwd, injected, shown }) {
  const ask = async (/** @type {object} */ what) => {
    const asked = { name: "tap-emit", arguments: JSON.stringify(what), session: session.id };
    const { text } = await control.request("features.command", asked);
    const { answer, error } = JSON.parse(text);
    if (error !== undefined) throw new Error(error);
    return answer;
  };
  const slash = async (/** @type {string} */ name, /** @type {string} */ args) =>
    (await control.request("features.command", { name, arguments: args, session: session.id }))
      .text;
  const write = (/** @type {string} */ file, /** @type {string} */ text) =>
    fs.writeFileSync(path.join(cwd, file), text);
  const view = async (/** @type {string} */ name) => {
    const { parts, wakes } = await ask({ do: "watch.show", name });
    return { ...parts[0], wakes };
  };
  const isState = (/** @type {string} */ name, /** @type {string} */ state) =>
    until(
      async () => (await view(name)).state === state,
      async () => `${name} is ${state}: ${JSON.stringify(await ask({ do: "watch.show", name }))}`,
    );
  const texts = (/** @type {number} */ count) =>
    until(
      () => injected().length >= count && injected(),
      () => [injected(), shown()].join("\n"),
    );
  return { ask, slash, write, view, isState, texts };
}

test("tsc --watch: red is told with file, line and message, the same again is not, green starts no turn", async (t) => {
  const rig = await setUpProcesses(t);
  const { ask, write, isState, texts, view } = watching(rig);
  write("tsconfig.json", JSON.stringify({ compilerOptions: { noEmit: true }, files: ["a.ts"] }));
  write("a.ts", "export const a: string = 'x';\n");
  const started = await ask({ do: "watch", command: `${tsc} --watch`, name: "types", hold: "1ms" });
  assert.equal(started.tool, "tsc");
  assert.deepEqual(started.added, ["--preserveWatchOutput", "--pretty false"]);
  await isState("types", "green");
  write("a.ts", "export const a: string = 1;\n");
  const [red] = await texts(1);
  assert.match(
    red,
    /Watcher types \(.*\) is RED since .*\. Green for \d+ s before\. 1 failure\.\n/,
  );
  assert.match(
    red,
    /\na\.ts:1:14 {2}TS2322 {2}Type 'number' is not assignable to type 'string'\.\n/,
  );
  write("a.ts", "\nexport const a: string = 1;\n");
  await until(async () => (await view("types")).failures[0]?.seen === 2, "the same failure again");
  rig.becomes("busy");
  rig.becomes("idle");
  write("a.ts", "export const a: string = 'y';\n");
  await isState("types", "green");
  await until(
    () => rig.shown().some((/** @type {string} */ text) => /types is green again/.test(text)),
    rig.shown,
  );
  assert.equal(rig.injected().length, 1, "the same failure, and green, start no turn");
  const states = await rig.records("state");
  assert.deepEqual(states.map(({ body }) => [body.from, body.to]).reverse(), [
    ["unknown", "green"],
    ["green", "red"],
    ["red", "green"],
  ]);
});

test("a command that ends reports once, and again after each change where --on-change is given", async (t) => {
  const rig = await setUp(t);
  const { ask, write, texts, isState } = watching(rig);
  write("check.sh", "echo 'main.c:3:5: error: expected ; before }' >&2; exit 1\n");
  await ask({ do: "watch", command: "sh check.sh", name: "once", hold: "1ms" });
  const [red] = await texts(1);
  assert.match(red, /Watcher once \(sh check\.sh\) is RED since .*, exit code 1/);
  assert.match(red, /\nmain\.c:3:5 {2}expected ; before }/);
  write("good.sh", "echo fine\n");
  await ask({ do: "watch", command: "sh good.sh", name: "many", onChange: ["*.sh"], hold: "1ms" });
  await isState("many", "green");
  write("good.sh", "echo 'FAIL: test_x'; exit 2\n");
  await isState("many", "red");
});

test("a watcher that ends on its own is reported, and one that the user stops is not", async (t) => {
  const rig = await setUp(t);
  const { ask, texts, isState } = watching(rig);
  await ask({
    do: "watch",
    command: "nodemon() { sleep 0.1; }; nodemon x",
    name: "dies",
    tool: "nodemon",
  });
  await ask({ do: "watch", command: "sleep 100", name: "stopped" });
  await ask({ do: "watch.stop", name: "stopped" });
  await isState("stopped", "unknown");
  const [text] = await texts(1);
  assert.match(text, /Watcher dies .* has ENDED/);
  assert.equal(rig.injected().length, 1);
});

test("/tap-watch says how it reads the command, /tap-quiet holds its turns back", async (t) => {
  const rig = await setUp(t);
  const { slash, ask, write, isState, texts } = watching(rig);
  write("build.sh", "echo 'error: none knows this'; exit 1\n");
  assert.match(await slash("tap-watch", "sh build.sh"), /watches sh build\.sh \(general\)/);
  const isHint = (/** @type {string} */ text) => /no entry knows this command/.test(text);
  await until(() => rig.shown().some(isHint), rig.shown);
  write("ok.sh", "echo 'error: broken'; exit 1\n");
  await ask({ do: "watch", command: "sh ok.sh", name: "build", every: "1s", hold: "1ms" });
  assert.match(await slash("tap-quiet", "build 5m"), /build starts no turn for 5m/);
  await isState("build", "red");
  const { wakes } = await ask({ do: "watch.show", name: "build" });
  assert.equal(wakes.quiet, true);
  const before = rig.injected().filter((/** @type {string} */ one) => /Watcher build/.test(one));
  assert.equal(before.length, 0);
  assert.match(await slash("tap-quiet", "build 5m extra"), /no watcher is called "build 5m extra"/);
  assert.match(await slash("tap-quiet", "off"), /may start turns again/);
  await until(
    () => rig.injected().some((/** @type {string} */ one) => /Watcher build .* RED/.test(one)),
    () => texts(0),
  );
  assert.match(await slash("tap-watch", ""), /build: red for/);
  assert.match(await slash("tap-watch", "show build"), /error: broken|broken/);
});

test("without a tool the lines count, each with those around it", async (t) => {
  const rig = await setUp(t);
  const { ask, write, texts, isState, view } = watching(rig);
  write("log.sh", "echo fine; echo NOK 1; echo why; echo more; sleep 100\n");
  const asked = { do: "watch", command: "sh log.sh", tool: "none", name: "log" };
  const started = await ask({ ...asked, red: "^NOK", before: 1, after: 1 });
  assert.deepEqual([started.rules, started.parts], [1, undefined]);
  const [text] = await texts(1);
  assert.match(text, /line 1\] fine\n\[run 1, line 2\] NOK 1\n\[run 1, line 3\] why\n/);
  assert.doesNotMatch(text, /more/);
  await ask({
    ...asked,
    tool: undefined,
    name: "state",
    red: "^NOK",
    before: 1,
    after: 1,
    hold: "1ms",
  });
  await isState("state", "red");
  const [{ what, lines }] = (await view("state")).failures;
  assert.deepEqual([what, lines], ["NOK 1", ["fine", "why"]]);
});

test("a part of concurrently is red by itself, and the text names it", async (t) => {
  const rig = await setUp(t);
  const { ask, write, texts } = watching(rig);
  const lines = [
    "[web] main.c:3:5: error: expected ;",
    "[api] listening",
    "[web] w exited with code 1",
  ];
  write("both.sh", `${lines.map((line) => `echo '${line}'`).join("; ")}; sleep 100\n`);
  const asked = {
    do: "watch",
    command: "sh both.sh",
    tool: "concurrently",
    name: "both",
    hold: "1ms",
  };
  await ask({ ...asked });
  const [text] = await texts(1);
  assert.match(text, /Red: web\.\n\[web\] {2}main\.c:3:5/);
  const { parts } = await ask({ do: "watch.show", name: "both" });
  assert.deepEqual(
    parts.map((/** @type {any} */ one) => [one.part, one.tool, one.state]).slice(1),
    [["web", "cc", "red"]],
  );
});

test("watchers that are due together share one turn, and edits of the model's that stay red are attempts", async (t) => {
  const rig = await setUp(t);
  const { ask, slash, write, isState, texts, view } = watching(rig);
  for (const name of ["one", "two"]) {
    write(`${name}.sh`, `echo '${name}.c:1:1: error: bad'; exit 1\n`);
    const given = { command: `sh ${name}.sh`, name, onChange: [`${name}.sh`], hold: "1ms" };
    await ask({ do: "watch", ...given });
    await slash("tap-quiet", `${name} 5m`);
    await isState(name, "red");
  }
  assert.equal(rig.injected().length, 0);
  await slash("tap-quiet", "off");
  const [both] = await texts(1);
  assert.match(both, /Watcher one .* RED[^]*one\.c[^]*Watcher two .* RED[^]*two\.c/);
  assert.equal(rig.injected().length, 1);
  const inject = rig.session.events.find((/** @type {any} */ { type }) => type === "inject");
  assert.match(inject.display, /^tap: one is red: one\.c:1 bad .*; two is red: two\.c:1 bad /);
  for (const activity of ["busy", "idle"]) rig.becomes(activity);
  const edit = { tool: "edit", args: {}, result: { type: "success" }, durationMs: 1 };
  rig.session.send({ type: "event", event: "tool.execution_complete", data: edit });
  write("one.sh", "echo 'other.c:1:1: error: worse'; exit 1\n");
  await texts(2);
  assert.equal((await view("one")).wakes.attempts, 1);
  assert.equal((await view("two")).wakes.attempts, 0);
  rig.becomes("user-prompt");
  await until(async () => (await view("one")).wakes.attempts === 0, "the user has spoken");
});
