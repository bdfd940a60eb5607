import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  ScriptedModel,
  callTool,
  callTools,
  say,
  systemText,
  toolNames,
  toolResults,
  userTexts,
} from "./model.mjs";
import { deferred } from "./wait.mjs";

const TOOLS = [{ type: "function", function: { name: "echo", description: "d", parameters: {} } }];

async function post(model, body) {
  const response = await fetch(`${model.url}/chat/completions`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  return { type: response.headers.get("content-type"), text: await response.text() };
}

const chunksOf = (text) =>
  text
    .split("\n\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));

describe("ScriptedModel", () => {
  /** @type {ScriptedModel} */
  let model;
  before(async () => (model = await ScriptedModel.start()));
  after(() => model.close());

  test("streams a text", async () => {
    model.script([say("hello")]);
    const { type, text } = await post(model, { stream: true, tools: TOOLS, messages: [] });
    assert.match(type, /event-stream/);
    assert.match(text, /data: \[DONE\]\n\n$/);
    const chunks = chunksOf(text);
    assert.equal(chunks[0].choices[0].delta.content, "hello");
    assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
    assert.ok(chunks.at(-1).usage);
  });

  test("streams several tool calls, each with an id of its own", async () => {
    model.script([callTools([{ name: "a" }, { name: "b", args: { x: 1 } }])]);
    const chunks = chunksOf((await post(model, { stream: true, tools: TOOLS, messages: [] })).text);
    const calls = chunks[1].choices[0].delta.tool_calls;
    assert.deepEqual(
      calls.map(({ index, function: f }) => [index, f.name, f.arguments]),
      [
        [0, "a", "{}"],
        [1, "b", '{"x":1}'],
      ],
    );
    assert.notEqual(calls[0].id, calls[1].id);
    assert.equal(chunks.at(-2).choices[0].finish_reason, "tool_calls");
  });

  test("answers in plain JSON where no stream is wanted", async () => {
    model.script([callTool("a", { x: 1 })]);
    const { text } = await post(model, { tools: TOOLS, messages: [] });
    const [choice] = JSON.parse(text).choices;
    assert.equal(choice.finish_reason, "tool_calls");
    assert.equal(choice.message.tool_calls[0].function.arguments, '{"x":1}');
  });

  test("keeps requests without tools apart", async () => {
    const turns = model.requests.length;
    await post(model, { messages: [{ role: "user", content: "a title, please" }] });
    assert.equal(model.requests.length, turns);
    assert.equal(model.auxiliary.length, 1);
  });

  test("a script may hold a request", async () => {
    const hold = deferred();
    const marker = { stream: true, tools: TOOLS, messages: [{ role: "user", content: "held" }] };
    model.script(async () => {
      await hold.promise;
      return say("let go");
    });
    const answer = post(model, marker);
    const seen = await model.waitForRequest((request) => userTexts(request).includes("held"));
    assert.equal(seen, model.last);
    hold.resolve();
    assert.match((await answer).text, /let go/);
  });

  test("a failing script is kept and shown", async () => {
    model.script(() => {
      throw new Error("oops");
    });
    assert.match((await post(model, { tools: TOOLS, messages: [] })).text, /script error: oops/);
    assert.equal(model.errors.length, 1);
  });

  test("a wait in vain fails with the requests so far", async () => {
    await assert.rejects(
      model.waitForRequest(() => false, 20),
      /not within 20 ms: a model request[\s\S]*#0: 1 tools/,
    );
  });

  test("reads a request", () => {
    const request = {
      tools: TOOLS,
      messages: [
        { role: "system", content: "be kind" },
        {
          role: "user",
          content: [
            { type: "text", text: "hi " },
            { type: "text", text: "you" },
          ],
        },
        { role: "assistant", tool_calls: [{ id: "c1", function: { name: "echo" } }] },
        { role: "tool", tool_call_id: "c1", content: "result" },
      ],
    };
    assert.deepEqual(toolNames(request), ["echo"]);
    assert.equal(systemText(request), "be kind");
    assert.deepEqual(userTexts(request), ["hi you"]);
    assert.deepEqual(toolResults(request), [{ id: "c1", name: "echo", text: "result" }]);
  });
});
