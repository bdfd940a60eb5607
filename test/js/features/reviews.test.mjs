// Reviews as records, and the commands of companions. The record store is a list here.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  monitor,
  orchestrate,
  reviewPrompt,
} from "../../../js/features/reviews/slash-commands.mjs";
import { addReview } from "../../../js/features/reviews/findings.mjs";
import { MAX_PROMPT } from "../../../js/feature-host/sinks.mjs";

const FINDING = {
  finding: "the login is open",
  severity: /** @type {const} */ ("high"),
  evidence: "src/login.js:12",
  status: /** @type {const} */ ("open"),
};
const SESSION = { id: "s", cwd: "/code/shop" };

/** @param {{durable?: boolean, grants?: string[], failure?: string}} [how] */
function world({ durable = true, grants = ["prompt"], failure } = {}) {
  const stored = [];
  const told = [];
  const services = /** @type {any} */ ({
    sessions: {
      list: async () => [SESSION, { id: "other", cwd: "/code/other" }],
    },
    records: {
      commit: async (record) => {
        if (durable) stored.unshift({ ...record, body: { ...record.body } });
        return durable;
      },
      query: async ({ collection, where }) => {
        return {
          records: stored.filter(
            (one) => one.collection === collection && one.body.cwd === where.cwd,
          ),
        };
      },
    },
  });
  const prompts = {
    start: async (text, how) => {
      if (failure) throw new Error(failure);
      told.push([text, how]);
    },
  };
  const context = /** @type {any} */ ({ services, prompts, grants });
  const add = (more = {}, session = "s") => addReview(services, session, { ...FINDING, ...more });
  const type = (args, session = SESSION) => monitor(context, { args, session });
  return { stored, told, add, type };
}

const idIn = (text) => /r-[0-9a-f]{8}/.exec(text)?.[0] ?? "";

describe("tap_add_review", () => {
  test("records a finding, and its next status under the same id", async () => {
    const { add, stored, type } = world();
    const id = idIn(await add());
    assert.deepEqual(stored[0], {
      collection: "review",
      session: "s",
      body: { review: id, ...FINDING, cwd: "/code/shop" },
    });
    assert.match(await type("list"), new RegExp(`1 open in this folder\n${id} high: the login`));
    assert.match(
      await add({ review: id, status: "fixed" }),
      new RegExp(`${id} is recorded.*fixed`),
    );
    assert.match(await type("list"), /no finding of a review is open/);
    assert.equal(stored.length, 2);
  });

  test("knows no review of another folder, and none that is not there", async () => {
    const { add, type } = world();
    const id = idIn(await add({}, "other"));
    for (const review of [id, "r-00000000", "../x", "\u001b[2J"]) {
      await assert.rejects(add({ review }), /there is no review "[ -~]*" in this folder/);
    }
    assert.match(await type("list"), /no finding/);
  });

  test("says that a review is too long, or that it could not be written", async () => {
    const { add } = world();
    await assert.rejects(add({ evidence: "é".repeat(2000) }), /3800 bytes as JSON/);
    await assert.rejects(world({ durable: false }).add(), /records cannot be written/);
  });

  test("takes a hundred open findings, and then asks for some to be closed", async () => {
    const { add, type } = world();
    for (let count = 0; count < 100; count += 1) await add({ finding: `finding ${count}` });
    await assert.rejects(add(), /100 reviews are open/);
    const shown = await type("list");
    assert.match(shown, /^tap: 100 open in this folder\n/);
    assert.match(shown, /and 70 more$/);
  });
});

describe("/tap-monitor", () => {
  test("asks the model for a review of the session, or of a stream", async () => {
    const { told, type } = world();
    assert.match(await type(""), /the model is asked for a review/);
    await type(" build\u001b[2J ");
    assert.deepEqual(told[0], [reviewPrompt(""), { session: "s" }]);
    assert.match(told[0][0], /tap_add_review once for each finding/);
    assert.match(told[1][0], /the stream "build\\\\x1b\[2J" says: .*tap_stream_history/);
    for (const text of [reviewPrompt(""), reviewPrompt("x".repeat(256))]) {
      assert.ok(text.length < MAX_PROMPT);
    }
    assert.match(await type("x".repeat(257)), /at most 256 characters/);
  });

  test("shows the most severe finding first, with nothing hidden", async () => {
    const { add, type } = world();
    await add({ severity: "low", finding: "a typo" });
    await add({ severity: "critical", finding: "a \u202esecret" });
    const lines = (await type("list")).split("\n");
    assert.match(lines[1], /critical: a \\u\{202e\}secret/);
    assert.match(lines[3], /low: a typo/);
  });

  test("says why the model could not be asked", async () => {
    assert.match(await world({ grants: [] }).type(""), /may not start a turn/);
    assert.match(await world({ failure: "too many" }).type(""), /could not be asked: too many/);
  });
});

test("/tap-orchestrate asks the model for a plan of the task", async () => {
  /** @type {any[]} */
  const prompts = [];
  const context = /** @type {any} */ ({
    prompts: { start: async (/** @type {any[]} */ ...given) => void prompts.push(given) },
  });
  assert.match(await orchestrate(context, { args: " ", session: SESSION }), /which task\?/);
  assert.deepEqual(prompts, []);
  const text = await orchestrate(context, { args: "add a dark theme", session: SESSION });
  assert.match(text, /asked to make a plan/);
  const [[prompt, how]] = prompts;
  assert.match(prompt, /add a dark theme[^]*create_copilot_plan[^]*targetBranch/);
  assert.deepEqual(how, { session: SESSION.id });
});
