// The session gets the texts of a provider unchanged, up to the largest that are allowed.

import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { TestGateway } from "../../support/harness.mjs";
import { waitFor } from "../../support/wait.mjs";

const MB = 1024 * 1024;

/** As large as it gets without going over `bytes` of JSON. @param {string} unit @param {number} bytes */
const filled = (unit, bytes) => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

/** Bytes that JavaScript keeps outside of V8's heap after a garbage collection. */
async function usedOutside() {
  await nextTurn();
  collect();
  await nextTurn();
  return process.memoryUsage().external;
}

/** JSON text of a string of about `bytes`, by kind. */
const kinds = {
  ascii: (bytes) => `"${filled("plain text, ", bytes)}"`,
  CJK: (bytes) => `"${filled("道可道非常道", bytes)}"`,
  emoji: (bytes) => `"${filled("🦊a", bytes)}"`,
  "ASCII at first": (bytes) => `"${filled("plain\\n", bytes)}${bytes > 0 ? "é\\t" : ""}"`,
  escapes: (bytes) => `"${filled('\\n\\"\\\\\\/\\u00e9\\u0041\\t', bytes)}"`,
  "lone surrogates": (bytes) => `"${filled("\\ud800x\\udc00\\udbff", bytes)}"`,
  "pairs of escapes": (bytes) => `"${filled("\\ud83e\\udd8a", bytes)}"`,
};

for (const way of /** @type {const} */ (["attached", "linked"])) {
  test(`results, ${way}`, async (t) => {
    const gateway = new TestGateway(t);
    const session = await gateway.session(way);
    /** @type {string} */
    let data;
    const provider = await gateway.stranger();
    provider.onMessage((message) => {
      if (message.type !== "tool.call") return;
      provider.sendRaw(
        `{"type":"tool.result","id":"${message.id}"${data === "" ? "" : `,"data":${data}`}}`,
      );
    });
    const tools = [{ name: "say", description: "", parameters: {} }];
    await provider.hello({ name: "speaker", session: session.id, tools });
    const answerTo = (text) => {
      data = text;
      return session.call("say");
    };

    for (const [kind, make] of Object.entries(kinds)) {
      for (const [label, size] of Object.entries({
        none: 0,
        little: 16,
        "1 MB": MB,
        "4.9 MB": 4.9 * MB,
      })) {
        await t.test(`${kind}, ${label}: the string that JSON.parse gives`, async () => {
          const text = make(Math.floor(size));
          const answer = await answerTo(text);
          assert.equal(typeof answer, "string");
          // Compared here: assert.equal would print megabytes.
          assert.ok(answer === JSON.parse(text).toWellFormed(), `differs, length ${answer.length}`);
        });
      }
    }
    await t.test("what is no string arrives as its JSON text, unchanged", async () => {
      for (const text of [
        '{"b":1,"a":[1.50,1e999,{"\\u0061":null}],"b":"twice"}',
        "[ ]",
        "1.0",
        "-0",
        "true",
        "null",
        `{"large":"${filled("列", 2 * MB)}"}`,
        `{"large":"${filled("plain", 2 * MB)}"}`,
      ]) {
        const answer = await answerTo(text);
        assert.ok(answer === text, `got ${String(answer).slice(0, 100)}`);
      }
    });
    await t.test("half of a surrogate pair arrives as U+FFFD", async () => {
      assert.equal(await answerTo('"caf\\udce9.txt \\ud83d\\ude00"'), "caf\ufffd.txt \u{1f600}");
      assert.equal(await answerTo('{"a":["\\ud83d"]}'), '{"a":["\\ufffd"]}');
    });
    await t.test("a large image arrives beside its text", async () => {
      const image = `iVBORw0KGgoA${filled("iVBORw0K", MB)}`;
      const answer = await answerTo(`{"image":"data:image/png;base64,${image}","of":"a ship"}`);
      assert.equal(answer.mimeType, "image/png");
      assert.ok(answer.data === image);
      assert.equal(answer.text, '{"of":"a ship"}');
    });
    await t.test("large results stay what they are, and their memory goes with them", async () => {
      const unlike = (index) => filled(`${index} ${index % 2 ? "é" : "e"}\\n`, MB);
      const kept = [];
      for (let index = 0; index < 12; ++index) {
        kept.push(await answerTo(`"${unlike(index)}"`));
        if (index % 3 === 0) await usedOutside();
      }
      for (const [index, text] of kept.entries()) {
        assert.ok(text === JSON.parse(`"${unlike(index)}"`), `${index} differs`);
      }
      const withThem = await usedOutside();
      kept.length = 0;
      const gone = async () => (await usedOutside()) < withThem - 6 * MB;
      await waitFor(gone, { what: "12 large results to be collected" });
    });
    await t.test("no data at all is an empty text", async () => {
      assert.equal(await answerTo(""), "");
    });
    await t.test("arguments arrive as they were", async () => {
      data = '"ok"';
      const args = { text: filled('aé道🦊\\"\n', MB), list: [1, { deep: null }], lone: "\ud800" };
      await session.call("say", args);
      const last = provider.received.at(-1);
      assert.deepEqual(last.args, args);
    });
  });
}

test("errors of a tool name the provider, the code, and what to do", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session();
  const fail = (error, code) => () => {
    throw Object.assign(new Error(error), { code });
  };
  await gateway.provider(session, "files", {
    find: fail("no such file\u001b[31m", "NOT_FOUND"),
    odd: fail("?", "SOMETHING_ELSE"),
  });
  const missing = await session.call("find");
  assert.equal(missing.code, "NOT_FOUND");
  assert.match(missing.text, /"files".*NOT_FOUND.*no such file/s);
  assert.ok(!missing.text.includes("\u001b"));
  assert.equal((await session.call("odd")).code, "INTERNAL");
});
