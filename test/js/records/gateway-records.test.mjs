// What the gateway records, in a real store (js/lib/addon.d.ts, `setRecords`).

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { installRules } from "../../../js/gateway-host/config-rules.mjs";
import { inProcess } from "../../../js/gateway-host/in-process.mjs";
import { LinkTransport } from "../../../sdk/node/link.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { TestGateway } from "../../support/harness.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-gateway-records-"));
after(() => fs.rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A gateway whose records are kept, and a session. @param {import("node:test").TestContext} t */
async function recorded(t, mode = "all", spans = true) {
  const gateway = new TestGateway(t);
  const records = new addon.Records({ file: path.join(folder, `${++files}.sqlite`) });
  let open = true;
  const close = async () => open && ((open = false), await records.close());
  t.after(close);
  gateway.addon.setRecords(records, mode, spans);
  const session = await gateway.session("linked");
  /** The bodies of a collection, oldest first. */
  const rows = async (collection) => {
    records.flush(5_000);
    const answer = JSON.parse(await records.query(JSON.stringify({ collection, limit: 100 })));
    return answer.records.map(({ body, ...rest }) => ({ ...rest, ...body })).reverse();
  };
  /** A feature of tap's own. */
  const feature = async (name) => {
    const where = { link: gateway.link, token: gateway.addon.issueFeatureToken() };
    const tap = provider(name, { session: "all", transport: new LinkTransport(where) });
    t.after(() => tap.close());
    await tap.connect();
    return tap;
  };
  return { gateway, session, rows, feature, close };
}

test("a call is a record, with its spans", async (t) => {
  const { gateway, session, rows } = await recorded(t);
  await gateway.provider(session, "echo", { echo: ({ say }) => ({ said: say }) });
  await session.call("echo", { say: "hi" });
  const [call] = await rows("tool_call");
  assert.equal(call.outcome, "ok");
  assert.equal(call.tool, "echo");
  assert.equal(call.session, session.id);
  assert.equal(call.source, "echo");
  assert.deepEqual(call.arguments, { say: "hi" });
  assert.deepEqual(call.result, { said: "hi" });
  const spans = await rows("span");
  const own = spans.find(({ name }) => name === "execute_tool echo");
  const work = spans.find(({ name }) => name === "provider echo");
  assert.equal(work.parentSpanId, own.spanId);
  assert.equal(work.traceId, own.traceId);
  assert.equal(call.trace, own.traceId);
});

test("without spans a call is a record, and no span", async (t) => {
  const { gateway, session, rows } = await recorded(t, "all", false);
  await gateway.provider(session, "echo", { echo: () => "" });
  await session.call("echo", {});
  const [call] = await rows("tool_call");
  assert.match(call.trace, /^[\da-f]{32}$/);
  assert.deepEqual(await rows("span"), []);
});

for (const mode of ["all", "notify"]) {
  test(`what a feature puts before the model is in the store first (${mode})`, async (t) => {
    const { session, rows, feature } = await recorded(t, mode);
    const tap = await feature("tap-watch");
    const receipt = await tap.push("tap-watch", "the build is red", {
      level: "inject",
      session: session.id,
    });
    assert.equal(receipt.outcome, "queued");
    const { prompt } = await session.waitFor("inject");
    const [notify] = await rows("notify");
    assert.equal(notify.prompt, prompt);
    assert.equal(notify.session, session.id);
  });
}

/** All ways of a feature to the model, and what each says. Its session's answers are told by `ask`. */
const WAYS = {
  push: {
    declare: (tap, session) => tap.push("news", "by push", { level: "inject", session }),
    ask: async (session) => (await session.waitFor("inject")).prompt,
  },
  context: { declare: (tap) => tap.context("by context"), ask: promptContext },
  note: { declare: (tap) => tap.note({ tool: "bash" }, "by note").inForce, ask: verdict },
  deny: { declare: (tap) => tap.deny({ tool: "bash" }, "by deny").inForce, ask: verdict },
  "gate that denies": {
    declare: (tap) => tap.gate({ tool: "bash" }, () => "by gate that denies").inForce,
    ask: verdict,
  },
  "gate that adds": {
    declare: (tap) =>
      tap.gate({ tool: "bash" }, () => ({ decision: "context", reason: "by gate that adds" }))
        .inForce,
    ask: verdict,
  },
};

async function promptContext(session) {
  session.send({ type: "prompt.submitted", promptId: "p" });
  return (await session.waitFor("prompt.context")).context;
}

async function verdict(session) {
  session.send({ type: "hook.check", checkId: "c", tool: "bash", args: { command: "ls" } });
  const { deny = "", context = "" } = await session.waitFor("hook.verdict");
  return deny + context;
}

/** The same feature in the gateway's process, over the link, or as the rules of a config. */
const PLACES = {
  "in the gateway's process": async ({ gateway, t }) => {
    const transport = inProcess(gateway.addon, { feature: true });
    const tap = provider("tap-watch", { session: "all", transport });
    t.after(() => tap.close());
    await tap.connect();
    return tap;
  },
  "over the link": ({ feature }) => feature("tap-watch"),
};

for (const [place, open] of Object.entries(PLACES)) {
  for (const [way, { declare, ask }] of Object.entries(WAYS)) {
    test(`what a feature says ${place} by ${way} is in the store before the model has it`, async (t) => {
      const { gateway, session, rows, feature, close } = await recorded(t, "notify");
      const tap = await open({ gateway, feature, t });
      await declared(session, declare(tap, session.id));
      const text = await ask(session);
      assert.ok(text.includes(`by ${way}`), text);
      const said = await rows("notify");
      assert.equal(said.length, 1);
      assert.equal(said[0].source, "builtin:watch");
      assert.ok(text.includes(said[0].prompt) || said[0].prompt.includes(text));
      if (way === "push") return;
      await close();
      session.events.length = 0;
      assert.ok(!(await ask(session)).includes(`by ${way}`), "without a store it is left out");
    });
  }
}

test("the rules and the context of a config's entry are in the store before the model has them", async (t) => {
  const { gateway, session, rows } = await recorded(t, "notify");
  const config = {
    name: "freeze",
    deny: [{ match: { tool: "bash" }, reason: "by deny" }],
    context: "by context",
  };
  const rules = installRules(gateway.addon, session.id, "project:freeze", config, assert.fail);
  t.after(() => rules.stop());
  await session.waitFor("hooks", ({ prompts, guards }) => prompts && guards.length > 0);
  assert.match(await promptContext(session), /by context/);
  assert.match(await verdict(session), /by deny/);
  const said = await rows("notify");
  assert.deepEqual(
    said.map(({ source, stream }) => [source, stream]),
    [
      ["project:freeze", "context"],
      ["project:freeze", "rule"],
    ],
  );
});

/** Waits for a declaration, and answers as a session does whose hooks are in force. */
async function declared(session, declaration) {
  const answered = new Set();
  let done = false;
  const all = Promise.resolve(declaration).finally(() => (done = true));
  while (!done) {
    for (const { type, revision } of session.events) {
      if (type !== "hooks" || answered.has(revision)) continue;
      answered.add(revision);
      session.send({ type: "hooks.state", revision, hooks: "in-force", sections: "in-force" });
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await all;
}

test("what cannot be recorded does not reach the model, and the timeline says so", async (t) => {
  const { gateway, session, feature, close } = await recorded(t);
  const tap = await feature("tap-watch");
  await close();
  await tap.push("tap-watch", "one", { level: "inject", session: session.id });
  const isSaid = ({ text }) => text.includes("is left out: it could not be recorded");
  await session.waitFor("timeline", isSaid);
  gateway.addon.setRecords(null);
  await tap.push("tap-watch", "two", { level: "inject", session: session.id });
  assert.equal(session.events.filter(({ type }) => type === "inject").length, 0);
});

test("setRecords takes a Records, a mode and a flag", (t) => {
  const gateway = new TestGateway(t, { listen: false });
  const records = new addon.Records({ file: path.join(folder, `${++files}.sqlite`) });
  t.after(() => records.close());
  const set = /** @type {any} */ (gateway.addon).setRecords.bind(gateway.addon);
  for (const wrong of [
    [{}, "all", true],
    [records],
    [records, "some", true],
    [records, "all", 1],
  ]) {
    assert.throws(() => set(...wrong), TypeError);
  }
  set(records, "notify", false);
  set(records, "all", true);
  set(null);
});
