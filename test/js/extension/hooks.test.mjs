// A session's hooks against a gateway and a CLI that the test plays.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { GATE, guarded, rig, settled } from "./hooks-rig.mjs";

const PUSH = { toolName: "bash", toolArgs: { command: "git push" } };
const LIST = { toolName: "bash", toolArgs: { command: "ls" } };
const COVERED = /^tap provider "ci" decides about this tool use/;

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"] }));
afterEach(() => mock.timers.reset());

describe("SessionHooks", () => {
  test("asks the CLI for hooks only when they are wanted", async () => {
    const { session, tell } = rig();
    assert.equal((await tell({})).hooks, "in-force");
    assert.deepEqual(session.requests, []);
    await tell({ wanted: true });
    assert.deepEqual(
      session.requests.map(({ hooks }) => hooks),
      [true],
    );
  });

  test("puts each tool use to the gateway, and does what it says", async () => {
    const { hooks, use, asked } = await guarded();
    const denied = use(PUSH);
    const { checkId, tool, args } = asked("hook.check");
    assert.deepEqual({ tool, args }, { tool: "bash", args: { command: "git push" } });
    hooks.receive({ type: "hook.verdict", checkId, deny: "no" });
    assert.deepEqual(await denied, {
      permissionDecision: "deny",
      permissionDecisionReason: "no",
    });
    const informed = use(LIST);
    hooks.receive({ type: "hook.verdict", checkId: asked("hook.check").checkId, context: "c" });
    assert.deepEqual(await informed, { additionalContext: "c" });
  });

  test("answers at once where nothing is wanted any more", async () => {
    const { tell, use, sent } = await guarded();
    await tell({});
    sent.length = 0;
    assert.deepEqual(await use(PUSH), {});
    assert.deepEqual(sent, []);
  });

  // shows: P-HOOK-38
  test("a gateway that does not answer: what a rule covers is denied, the rest passes", async () => {
    const { use } = await guarded();
    const push = use(PUSH);
    const list = use(LIST);
    mock.timers.tick(5500);
    assert.match((await push).permissionDecisionReason, COVERED);
    assert.deepEqual(await list, {});
  });

  test("alone it judges a file however it is written, from the session's folder", async () => {
    const { hooks, link, use, tell } = rig();
    const rule = { match: { file: "{/etc,src}/**" }, action: "deny" };
    await tell({ wanted: true, guards: [{ provider: "ci", rules: [rule] }] });
    link.connected = false;
    hooks.gatewayGone();
    const edit = (path) => use({ toolName: "edit", toolArgs: { path } });
    for (const path of ["/tmp/../etc/hosts", "../../../etc/hosts", "/home/ada/shop/src/a.c"]) {
      assert.match((await edit(path)).permissionDecisionReason, COVERED, path);
    }
    for (const path of ["/tmp/hosts", "../src/a.c"]) assert.deepEqual(await edit(path), {}, path);
  });

  // shows: P-HOOK-38
  test("a link that breaks settles what waits, and the guard holds for ten seconds", async () => {
    const { hooks, link, use } = await guarded();
    const pending = use(PUSH);
    link.connected = false;
    hooks.gatewayGone();
    assert.match((await pending).permissionDecisionReason, COVERED);
    assert.deepEqual(await use(LIST), {});
    mock.timers.tick(9_999);
    assert.match((await use(PUSH)).permissionDecisionReason, COVERED);
    mock.timers.tick(2);
    assert.deepEqual(await use(PUSH), {});
  });

  // shows: P-HOOK-28
  test("rules of a lost provider are guarded when the gateway is lost, too", async () => {
    const { hooks, link, use, tell, asked } = await guarded();
    const held = use(PUSH);
    const { checkId } = asked("hook.check");
    hooks.receive({ type: "hook.verdict", checkId, deny: 'tap provider "ci": it was lost' });
    assert.match((await held).permissionDecisionReason, /it was lost/);
    link.connected = false;
    hooks.gatewayGone();
    mock.timers.tick(9_000);
    assert.match((await use(PUSH)).permissionDecisionReason, COVERED);
    link.connected = true;
    await tell({}); // the next gateway has not met that provider
    assert.match((await use(PUSH)).permissionDecisionReason, COVERED);
    mock.timers.tick(1_001);
    assert.deepEqual(await use(PUSH), {});
  });

  test("a wall clock that jumps neither ends a guard nor prolongs it", async (t) => {
    const { hooks, link, use } = await guarded();
    const hour = 3_600_000;
    let jump = 0;
    const now = Date.now();
    t.mock.method(Date, "now", () => now + jump);
    link.connected = false;
    hooks.gatewayGone();
    jump = hour;
    assert.match((await use(PUSH)).permissionDecisionReason, COVERED);
    jump = -hour;
    mock.timers.tick(10_001);
    assert.deepEqual(await use(PUSH), {});
  });

  test("a new gateway without the provider does not end its guard, with the provider it does", async () => {
    const { hooks, use, asked, tell } = await guarded();
    hooks.gatewayGone();
    await tell({ wanted: true, guards: [{ provider: "other", rules: [GATE] }] });
    const early = use(PUSH);
    hooks.receive({ type: "hook.verdict", checkId: asked("hook.check").checkId });
    assert.match((await early).permissionDecisionReason, COVERED);
    await tell({ wanted: true, guards: [{ provider: "ci", rules: [GATE] }] });
    const allowed = use(PUSH);
    hooks.receive({ type: "hook.verdict", checkId: asked("hook.check").checkId });
    assert.deepEqual(await allowed, {});
  });

  test("a rule for a provider's tools guards these", async () => {
    const { tell, use } = rig();
    const rules = [{ match: { provider: "ci" }, action: "deny" }];
    await tell({ wanted: true, guards: [{ provider: "ci", rules }] });
    const deploy = use({ toolName: "deploy", toolArgs: {} });
    mock.timers.tick(5500);
    assert.match((await deploy).permissionDecisionReason, COVERED);
  });

  test("a denied consent is reported, and a wait for the user holds nothing else up", async () => {
    const { session, tell, hooks, sent } = rig();
    let deny = () => {};
    session.answer = ({ hooks: wanted }) =>
      wanted
        ? new Promise((_resolve, reject) => {
            deny = () => reject(new Error("was denied permission access"));
          })
        : Promise.resolve();
    assert.equal(await tell({ wanted: true }), undefined);
    assert.ok(hooks.asking);
    deny();
    await settled();
    assert.equal(sent.at(-1).hooks, "denied");
    assert.ok(!hooks.asking);
  });

  // shows: P-TEXT-13
  test("context goes with the user's prompts, not with a sub-agent's", async () => {
    const { hooks, session, asked, tell, sent } = rig();
    await tell({ wanted: true, prompts: true });
    const answer = session.hooks.onUserPromptSubmitted({ prompt: "p" }, {});
    hooks.receive({
      type: "prompt.context",
      promptId: asked("prompt.submitted").promptId,
      context: "green",
    });
    assert.deepEqual(await answer, { additionalContext: "green" });
    sent.length = 0;
    assert.deepEqual(
      await session.hooks.onUserPromptSubmitted({ prompt: "p", agentId: "a" }, {}),
      {},
    );
    assert.deepEqual(sent, []);
  });

  test("a prompt does not wait for a gateway that does not answer", async () => {
    const { session, tell } = rig();
    await tell({ wanted: true, prompts: true });
    const answer = session.hooks.onUserPromptSubmitted({ prompt: "p" }, {});
    mock.timers.tick(2500);
    assert.deepEqual(await answer, {});
  });

  // shows: P-TEXT-2
  test("a section with a callback is asked for once a turn", async () => {
    const { hooks, session, sent, tell, asked } = rig();
    await tell({ sections: [{ section: "tone", callback: true, append: "end" }] });
    const build = (text) => session.transforms.get("tone")(text);
    const first = build("calm");
    const again = build("calm");
    hooks.receive({
      type: "section.text",
      buildId: asked("section.build").buildId,
      content: "loud",
    });
    assert.equal(await first, "loud\nend");
    assert.equal(await again, "loud\nend");
    assert.equal(sent.filter(({ type }) => type === "section.build").length, 1);
    const before = session.requests.length;
    hooks.endTurn();
    await settled();
    assert.ok(session.requests.length > before, "the CLI builds it again");
    const next = build("calm");
    mock.timers.tick(2500);
    assert.equal(await next, "calm\nend", "no answer: as it is");
    assert.equal(sent.filter(({ type }) => type === "section.build").length, 2);
  });

  test("without callbacks nothing is sent when a turn ends", async () => {
    const { hooks, session, tell } = rig();
    await tell({ sections: [{ section: "tone", append: "end" }] });
    const before = session.requests.length;
    hooks.endTurn();
    await settled();
    assert.equal(session.requests.length, before);
  });

  test("edits that the CLI refuses are reported and tried again with the next", async () => {
    const { session, tell, log } = rig();
    session.answer = () => Promise.reject(new Error("no"));
    assert.equal(
      (await tell({ sections: [{ section: "tone", append: "a" }] })).sections,
      "unavailable",
    );
    assert.match(log.join(), /is not edited: Error: no/);
    session.answer = async () => {};
    assert.equal(
      (await tell({ sections: [{ section: "tone", append: "a" }] })).sections,
      "in-force",
    );
  });

  // shows: P-HOOK-39
  test("the end of the process denies what is pending", async () => {
    const { hooks, use } = await guarded();
    const pending = use(LIST);
    const drained = hooks.drain();
    mock.timers.tick(50);
    await drained;
    assert.equal((await pending).permissionDecision, "deny");
  });
});

/** @param {number} ms */
const really = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

describe("numbers that the session is given", () => {
  // Real timers: one with too long a delay fires at once.
  beforeEach(() => mock.timers.reset());

  // shows: P-LIMIT-13
  test("a variable that is no number switches no guard off", async (t) => {
    const before = process.env.TAP_GUARD_MS;
    t.after(() => {
      if (before === undefined) delete process.env.TAP_GUARD_MS;
      else process.env.TAP_GUARD_MS = before;
    });
    const texts = [
      "10s",
      "",
      "4294967296",
      "2147483648",
      "-1",
      "1e3",
      " 5",
      "0x10",
      "NaN",
      "9".repeat(40),
    ];
    const guarding = texts.map(async (text) => {
      const { hooks, link, use } = await guarded();
      process.env.TAP_GUARD_MS = text;
      link.connected = false;
      hooks.gatewayGone();
      return { text, use };
    });
    const all = await Promise.all(guarding);
    await really(60);
    for (const { text, use } of all) {
      assert.match((await use(PUSH)).permissionDecisionReason ?? "allowed", COVERED, text);
      assert.deepEqual(await use(LIST), {}, text);
    }
  });

  test("a gate without a time limit is waited for, not denied at once", async () => {
    for (const gateMs of [2 ** 31 - 1, 2 ** 31, 2 ** 40]) {
      const { hooks, tell, use, asked } = rig();
      await tell({ wanted: true, gateMs, guards: [{ provider: "ci", rules: [GATE] }] });
      const answer = use(PUSH);
      await really(20);
      hooks.receive({ type: "hook.verdict", checkId: asked("hook.check").checkId });
      assert.deepEqual(await answer, {}, `${gateMs}`);
    }
  });

  test("a check that cannot be sent denies at once", async () => {
    const { link, use } = await guarded();
    link.send = () => {
      throw new TypeError("link frame is nested more than 128 levels deep");
    };
    const { permissionDecision, permissionDecisionReason } = await use(LIST);
    assert.equal(permissionDecision, "deny");
    assert.match(
      permissionDecisionReason,
      /^tap cannot check this use of "bash": .* 128 levels deep/,
    );
  });
});
