// How the emitters begin where the gateway's host does not answer at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AutoStart } from "../../../js/features/emitters/auto-start.mjs";
import { install } from "../../../js/features/emitters/feature.mjs";

const LATE = "unavailable: nothing came within 35 s";
const SAVED = {
  id: "e-1",
  spec: { name: "build", stream: "build", kind: "command", rules: [], env: {} },
  owner: { folder: "/w", session: "s", cliPid: 7 },
  schedule: { runs: 1, failures: 0, due: null },
};

/** @param {import("node:test").TestContext} t */
const timePasses = (t) => async (/** @type {number} */ ms) => {
  t.mock.timers.tick(ms);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
};

test("what could not go on at first leaves the file and the hold to the next try", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const pass = timePasses(t);
  const asked = /** @type {string[]} */ ([]);
  const said = /** @type {string[]} */ ([]);
  const tools = /** @type {Record<string, (args: object, from: object) => Promise<any>>} */ ({});
  const note = (/** @type {string} */ what) => async () => void asked.push(what);
  let isLate = true;
  let listeners = /** @type {any} */ ({});
  const list = async () => {
    if (isLate) throw new Error(LATE);
    return [{ id: "other", cwd: "/elsewhere", cliPid: 8 }];
  };
  let reads = 0;
  const read = async () => {
    reads += 1;
    return { version: 1, value: [SAVED] };
  };
  const files = { read, list: async () => ["emitters"] };
  const services = {
    files: { ...files, write: note("write"), remove: note("remove") },
    holds: { set: note("hold"), release: note("release") },
    sessions: { list, watch: async (/** @type {any} */ told) => (listeners = told) },
    emitters: { configured: async () => ({ stamp: "", emitters: [], streams: [], problems: [] }) },
  };
  const { stop } = await install(
    /** @type {any} */ ({
      services,
      tools: {
        register: (/** @type {string} */ name, /** @type {any} */ run) => (tools[name] = run),
      },
      commands: { register: () => {} },
      diagnostics: { add: (/** @type {string} */ text) => said.push(text) },
    }),
  );
  t.after(() => stop());
  assert.match(said.join(), /what ran before could not go on/);
  assert.deepEqual(asked, [], "the file and the hold are as they were");
  await pass(2999);
  const started = pass(1); // the next try
  listeners.onStarted("other");
  await started;
  await pass(59_000);
  listeners.onIdle("other");
  assert.deepEqual(asked, []);
  assert.equal(said.length, 1, "said once");
  const call = () => tools.tap_list_emitters({}, { session: "other" });
  await assert.rejects(call(), { message: LATE });
  isLate = false;
  const before = reads;
  await pass(3000);
  assert.equal(reads, before + 1, "it goes on without being asked for");
  assert.deepEqual((await call()).emitters, []);
  assert.equal(reads, before + 1);
  asked.length = 0;
  await pass(1500);
  assert.deepEqual(asked, [], "nothing of the first try is left");
  isLate = true;
  await pass(60_000);
  await pass(1000);
  assert.deepEqual(asked, [], "its session may be there");
});

test("a config is looked at again where the answer was late, until its session has ended", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const pass = timePasses(t);
  const allowed = { stamp: "2", emitters: [{ allowed: true }], streams: [], problems: [] };
  const answers = /** @type {any[]} */ ([new Error(LATE), new Error(LATE), allowed]);
  let looks = 0;
  const configured = async () => {
    looks += 1;
    const answer = answers.shift() ?? new RangeError("there is no such session");
    if (answer instanceof Error) throw answer;
    return answer;
  };
  let begun = 0;
  const services = /** @type {any} */ ({ emitters: { configured } });
  const beginning = new AutoStart(services, async () => (begun += 1));
  assert.equal(await beginning.checkConfig("s"), undefined);
  await pass(3000);
  assert.deepEqual([looks, begun], [2, 0]);
  await pass(3000);
  assert.deepEqual([looks, begun], [3, 1]);
  assert.equal(await beginning.checkConfig("s"), undefined);
  await pass(60_000);
  assert.deepEqual([looks, begun], [4, 1]);
});
