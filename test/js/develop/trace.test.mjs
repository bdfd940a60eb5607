// Recordings: what is taken out of them, what belongs to whom, and calls that are made again.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { openControl } from "../../../js/link/control.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { callsOf, replay } from "../../../js/develop/replay.mjs";
import { redact, REMOVED } from "../../../js/lib/redact.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import {
  eventLine,
  headerLine,
  readTrace,
  toEvent,
  TraceFilter,
} from "../../../js/develop/trace.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

describe("what is taken out of a recording", () => {
  test("the protocol's own tokens and codes", () => {
    const frame = (/** @type {object} */ message) =>
      toEvent({
        at: 1,
        connection: 2,
        provider: "",
        kind: "received",
        text: JSON.stringify(message),
      }).message;
    assert.deepEqual(frame({ type: "auth", token: "ptk-5c1f0e" }), {
      type: "auth",
      token: REMOVED,
    });
    assert.deepEqual(frame({ type: "auth.confirm", code: "084729" }), {
      type: "auth.confirm",
      code: REMOVED,
    });
    assert.equal(frame({ type: "hello", reconnectToken: "tok-1" }).reconnectToken, REMOVED);
    assert.equal(frame({ type: "error", code: "AUTH_FAILED" }).code, "AUTH_FAILED");
  });

  test("what stands under a telling name, however deep and however it is spelt", () => {
    for (const name of [
      "token",
      "accessToken",
      "access_token",
      "TOKEN",
      "clientSecret",
      "password",
      "passwd",
      "apiKey",
      "api_key",
      "API-KEY",
      "x-api-key",
      "Authorization",
      "cookie",
      "set-cookie",
      "privateKey",
      "credentials",
    ]) {
      assert.deepEqual(
        redact({ data: [{ [name]: "hunter2" }] }),
        { data: [{ [name]: REMOVED }] },
        name,
      );
    }
  });

  test("values of any form, in names of any spelling, and in pairs of name and value", () => {
    for (const [name, value] of [
      ["Authorization", ["Bearer abc"]],
      ["set-cookie", ["sid=1; Secure"]],
      ["tokens", ["a", "b"]],
      ["credentials", { user: "ada", other: 1 }],
      ["PGPASSWORD", "x"],
      ["pwd", "x"],
      ["jwt", "x"],
      ["accessKey", "x"],
      ["session_key", "x"],
      ["connectionString", "Server=db;Pwd=x"],
      ["otp", 123456],
    ]) {
      assert.deepEqual(redact({ [name]: value }), { [name]: REMOVED }, name);
    }
    assert.deepEqual(redact([{ name: "DB_PASSWORD", value: "x" }]), [
      { name: "DB_PASSWORD", value: REMOVED },
    ]);
    assert.deepEqual(redact({ name: "city", value: "Oslo" }), { name: "city", value: "Oslo" });
  });

  test("JSON inside of a text, and nothing else of it", () => {
    assert.equal(
      redact('{"password":"x","city":"Oslo"}'),
      `{"password":"${REMOVED}","city":"Oslo"}`,
    );
    assert.equal(redact('{ "city": "Oslo" }'), '{ "city": "Oslo" }');
    assert.equal(redact("[not json"), "[not json");
  });

  // In a process of its own: one that matches for hours does not hear a timeout.
  test("hostile texts take no time, for any of the patterns", () => {
    const pieces = [
      "-eyJaaaaaaaaaa",
      "eyJaaaaaaaaaa.",
      "sk-",
      "xoxb-",
      "ptk-0",
      "gho_a",
      "-----BEGIN PRIVATE KEY-----",
      "-----BEGIN ",
      "://a:",
      "token=",
      "Bearer  ",
      '"code" : ',
      "[",
      '{"a":',
    ];
    const module = new URL("../../../js/lib/redact.mjs", import.meta.url);
    const code = `
      import { redact } from ${JSON.stringify(module)};
      for (const piece of ${JSON.stringify(pieces)}) redact({ text: piece.repeat(1e6 / piece.length) });
      console.log("done");`;
    const args = ["--input-type=module", "-e", code];
    const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
    assert.equal(stdout, "done\n");
  });

  test("not what only sounds like it", () => {
    const harmless = {
      tokens_used: 12,
      author: "ada",
      keyboard: "qwerty",
      secretary: "bob",
      properties: { token: { type: "string", description: "The token." } },
    };
    const kept = redact(harmless);
    assert.deepEqual(kept.properties, harmless.properties, "a schema is no secret");
    assert.deepEqual([kept.author, kept.keyboard, kept.secretary], ["ada", "qwerty", "bob"]);
  });

  test("well-known tokens inside of texts", () => {
    for (const secret of [
      `ptk-${"0a".repeat(32)}`,
      `ghp_${"a1B2".repeat(9)}`,
      `github_pat_${"a1B2_".repeat(8)}`,
      `sk-proj-${"a1B2".repeat(8)}`,
      "AKIAIOSFODNN7EXAMPLE",
      `glpat-${"a1B2".repeat(5)}`,
      `npm_${"a1B2".repeat(9)}`,
      `AIza${"a1B2".repeat(9)}`,
      `sk_live_${"a1B2".repeat(6)}`,
      `xapp-1-${"A1".repeat(10)}`,
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
      "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ]) {
      const text = redact(`curl -H 'x: ${secret}' https://example.com`);
      assert.ok(!text.includes(secret), secret);
      assert.match(text, /^curl -H 'x: <removed>/);
    }
  });

  test("what stands in addresses, headers and queries", () => {
    for (const [text, clean] of [
      ["postgres://ada:hunter2@db/x", `postgres://ada:${REMOVED}@db/x`],
      ["Authorization: Bearer abcdefghij", `Authorization: Bearer ${REMOVED}`],
      ["https://x/?a=1&access_token=abc&b=2", `https://x/?a=1&access_token=${REMOVED}&b=2`],
      ["http://localhost:9400/a:b@c", "http://localhost:9400/a:b@c"],
    ]) {
      assert.equal(redact(text), clean);
    }
  });

  test("a text that is no JSON is kept as it is, without tokens", () => {
    const text = `{"type": ptk-${"0a".repeat(32)}`;
    const event = toEvent({ at: 1, connection: 2, provider: "p", kind: "received", text });
    assert.deepEqual(event, {
      at: 1,
      connection: 2,
      provider: "p",
      kind: "received",
      text: `{"type": ${REMOVED}`,
    });
  });
});

describe("whose events are recorded", () => {
  /** @param {number} connection @param {string} name @param {"received" | "sent" | "opened" | "closed"} kind @param {any} [message] */
  const event = (connection, name, kind, message) => ({
    ...{ at: 1, connection, provider: name, kind, message },
  });
  const hello = (/** @type {string} */ name, /** @type {string} */ session) => ({
    ...{ type: "hello", name, session },
  });

  test("all of them, where nothing is asked for", () => {
    const filter = new TraceFilter({});
    assert.equal(filter.select(event(1, "", "opened")).length, 1);
  });

  test("of a provider, with what it said before its name was known", () => {
    const filter = new TraceFilter({ provider: "ci" });
    assert.deepEqual(filter.select(event(1, "", "opened")), []);
    assert.deepEqual(filter.select(event(2, "", "opened")), []);
    assert.deepEqual(filter.select(event(1, "", "received", { type: "auth" })), []);
    assert.equal(filter.select(event(1, "", "received", hello("ci", "s"))).length, 3);
    assert.deepEqual(filter.select(event(2, "", "received", hello("other", "s"))), []);
    assert.equal(filter.select(event(1, "ci", "sent", { type: "tool.call" })).length, 1);
    assert.deepEqual(filter.select(event(2, "other", "sent", { type: "tool.call" })), []);
    assert.equal(filter.select(event(1, "ci", "closed")).length, 1);
  });

  test("of a provider that was there before", () => {
    const filter = new TraceFilter({ provider: "ci", session: "s" });
    filter.addConnection(1, "ci", ["s"]);
    filter.addConnection(2, "ci", ["t"]);
    assert.equal(filter.select(event(1, "ci", "sent", { type: "tool.call" })).length, 1);
    assert.deepEqual(filter.select(event(2, "ci", "sent", { type: "tool.call" })), []);
  });

  test("of a session, where a provider is in several", () => {
    const filter = new TraceFilter({ session: "s" });
    filter.addConnection(1, "ci", ["s", "t"]);
    const call = (/** @type {string} */ sessionId) =>
      filter.select(event(1, "ci", "sent", { type: "tool.call", sessionId })).length;
    assert.deepEqual([call("s"), call("t")], [1, 0]);
    assert.equal(
      filter.select(event(1, "ci", "received", { type: "tool.result", id: "1" })).length,
      1,
    );
  });

  test("of a session, without the answers to calls of others", () => {
    const filter = new TraceFilter({ session: "s" });
    filter.addConnection(1, "ci", ["s", "t"]);
    filter.select(event(1, "ci", "sent", { type: "tool.call", sessionId: "t", id: "7" }));
    const answer = (/** @type {string} */ type) =>
      filter.select(event(1, "ci", "received", { type, id: "7" })).length;
    assert.deepEqual([answer("tool.progress"), answer("tool.result")], [0, 0]);
  });

  test("nobody who never says hello makes it keep more than a little", () => {
    const filter = new TraceFilter({ provider: "ci" });
    for (let i = 0; i < 100; ++i) filter.select(event(1, "", "received", { type: "auth" }));
    assert.equal(filter.select(event(1, "", "received", hello("ci", "s"))).length, 21);
  });
});

describe("a recording as a file", () => {
  test("is read as it was written", (t) => {
    const file = path.join(temporaryFolder(t), "trace.jsonl");
    const event = {
      at: 5,
      connection: 1,
      provider: "p",
      kind: /** @type {const} */ ("sent"),
      message: { type: "x" },
    };
    fs.writeFileSync(file, headerLine({ version: "1.2.3", at: 4 }) + eventLine(event));
    assert.deepEqual(readTrace(file), { version: "1.2.3", at: 4, events: [event] });
  });

  test("is read without the half line that a recorder leaves when it is killed", (t) => {
    const file = path.join(temporaryFolder(t), "trace.jsonl");
    fs.writeFileSync(file, `${headerLine({ version: "1", at: 1 })}{"at":`);
    assert.deepEqual(readTrace(file).events, []);
  });

  test("that is not a trace, or of another format, is refused with its line", (t) => {
    const file = path.join(temporaryFolder(t), "trace.jsonl");
    for (const [content, message] of [
      ["", /is not a recording/],
      ["{}\n", /is not a recording/],
      ['{"tapTrace":9}\n', /format 9, and this version reads 1/],
      [`${headerLine({ version: "1", at: 1 })}{"at":\n`, /:2 is not a line of a recording/],
      ["null\n", /:1 is not a line/],
      ["hello", /:1 is not a line/],
    ]) {
      fs.writeFileSync(file, /** @type {string} */ (content));
      assert.throws(() => readTrace(file), /** @type {RegExp} */ (message));
    }
  });
});

/**
 * A gateway with a provider whose answers change with `mode`.
 * @param {import("node:test").TestContext} t
 */
async function place(t) {
  const kit = await startTap();
  t.after(() => kit.stop());
  const state = { mode: "before" };
  const shop = provider("shop", kit.where);
  shop.tool("price", { description: "The price." }, ({ item, apiKey }) => {
    if (item === "nothing") throw new Error("no such item");
    return { item, price: state.mode === "before" ? 5 : 7, keyed: Boolean(apiKey) };
  });
  await shop.connect();
  t.after(() => shop.close());
  await kit.tool("price");
  return { kit, state };
}

/** Records what happens during `work`. @param {import("../../../js/develop/testing.mjs").TestTap} kit @param {() => Promise<unknown>} work @param {number} answers */
async function record(kit, work, answers) {
  const control = await openControl(gatewayFiles(/** @type {any} */ (kit.env)));
  /** @type {import("../../../js/develop/trace.mjs").TraceEvent[]} */
  const events = [];
  await control.trace((frame) => events.push(toEvent(frame)));
  await work();
  const answered = () => events.filter(({ message }) => message?.type === "tool.result").length;
  await waitFor(() => answered() === answers, { what: "the answers in the recording" });
  control.close();
  return events;
}

describe("a recording that is replayed", () => {
  test("is made of the calls that were answered, in order", async (t) => {
    const { kit } = await place(t);
    const events = await record(
      kit,
      async () => {
        await kit.call("price", { item: "tea" });
        await kit.call("price", { item: "nothing" }).catch(() => {});
      },
      2,
    );
    assert.deepEqual(callsOf(events), [
      {
        provider: "shop",
        tool: "price",
        args: { item: "tea" },
        data: { item: "tea", price: 5, keyed: false },
      },
      { provider: "shop", tool: "price", args: { item: "nothing" }, code: "INTERNAL" },
    ]);
    assert.deepEqual(callsOf(events, { provider: "other" }), []);
  });

  test("passes where the answers are the same, and says what is not", async (t) => {
    const { kit, state } = await place(t);
    const events = await record(kit, () => kit.call("price", { item: "tea" }), 1);
    const calls = callsOf(events);
    assert.deepEqual(
      (await replay(kit, calls)).map(({ ok, detail }) => ({ ok, detail })),
      [{ ok: true, detail: "the same" }],
    );
    state.mode = "after";
    const [changed] = await replay(kit, calls);
    assert.equal(changed?.ok, false);
    assert.match(changed?.detail ?? "", /was .*"price":5.*, is .*"price":7/);
    assert.equal((await replay(kit, calls, { compare: "shape" }))[0]?.ok, true);
    assert.equal((await replay(kit, calls, { compare: "outcome" }))[0]?.ok, true);
  });

  test("fails where a call ends otherwise, or a tool is gone", async (t) => {
    const { kit } = await place(t);
    const call = { provider: "shop", tool: "price", args: { item: "nothing" }, data: 5 };
    const [failed] = await replay(kit, [call], { compare: "outcome" });
    assert.equal(failed?.detail, "it succeeded, and now failed with INTERNAL");
    const [other] = await replay(kit, [{ ...call, args: { item: "tea" }, code: "NOT_FOUND" }]);
    assert.equal(other?.detail, "it failed with NOT_FOUND, and now succeeded");
  });

  test("compares images by their bytes, and what was taken out with anything", async (t) => {
    const { kit } = await place(t);
    const pixel = "iVBORw0KGgo=";
    const painter = provider("painter", kit.where);
    painter.tool("paint", { description: "A picture." }, () => ({
      image: `data:image/png;base64,${pixel}`,
      title: "x",
    }));
    await painter.connect();
    t.after(() => painter.close());
    const call = { provider: "painter", tool: "paint", args: {} };
    const image = (/** @type {string} */ data) => ({
      image: `data:image/png;base64,${data}`,
      title: "y",
    });
    const verdicts = await replay(kit, [
      { ...call, data: image(pixel) },
      { ...call, data: image("AAAA") },
      { ...call, file: true },
    ]);
    assert.deepEqual(
      verdicts.map(({ ok }) => ok),
      [true, false, true],
    );
    const price = { provider: "shop", tool: "price", args: { item: "tea" } };
    const [removed] = await replay(kit, [
      { ...price, data: { item: `a ${REMOVED}`, price: REMOVED, keyed: false } },
    ]);
    assert.equal(removed?.ok, true);
  });

  test("makes no call whose secret was taken out, and compares what it can", async (t) => {
    const { kit } = await place(t);
    const events = await record(
      kit,
      async () => {
        await kit.call("price", { item: "tea", apiKey: "hunter2" });
      },
      1,
    );
    assert.ok(!JSON.stringify(events).includes("hunter2"));
    const [skipped] = await replay(kit, callsOf(events));
    assert.deepEqual([skipped?.ok, skipped?.skipped], [true, true]);
  });
});
