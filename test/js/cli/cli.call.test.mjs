// copilot-tap tools and call, with a real gateway and a provider.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { waitFor } from "../../support/wait.mjs";
import { ToolError } from "../../../sdk/node/provider.mjs";
import { InTerminal, place, Running, served, tap, tapJson } from "../../support/cli-process.mjs";

const NOBODY = { TAP_GATEWAY_PORT: "1" };

describe("copilot-tap tools", () => {
  test("lists the tools of each session", async (t) => {
    const { at } = await served(t);
    const terminal = new InTerminal(t, ["tools"], at);
    assert.equal(await terminal.end(), 0);
    assert.match(terminal.text, /^test test\n +tool +provider +description\n/);
    assert.match(terminal.text, /\n +forecast +weather +The weather\.\n +wait +weather +Waits\./);
  });

  test("shows what one takes", async (t) => {
    const { at } = await served(t);
    const { out } = await tap(["tools", "forecast"], at);
    assert.match(
      out,
      /^forecast of weather, in test\n\n {2}The weather\.\n {2}Of a city\.\n\n {2}\{\n/,
    );
    assert.match(out, /"city"/);
    const { value } = await tapJson(["tools", "forecast", "--session", "test"], at);
    assert.deepEqual(
      value.map(({ name, provider, session, offered }) => ({ name, provider, session, offered })),
      [{ name: "forecast", provider: "weather", session: "test", offered: true }],
    );
  });

  test("says which tools the CLI does not take", async (t) => {
    const { at, tools, kit } = await served(t);
    const send = kit.session.send.bind(kit.session);
    kit.session.send = (message) => {
      kit.session.send = send;
      const refusal = { type: "sync.failed", message: "clash", refused: ["bash"] };
      send(message.type === "synced" ? { ...refusal, revision: message.revision } : message);
    };
    await tools.tool("bash", { description: "A name that is taken." }, () => "");
    await kit.session.shows('"bash" is left out');
    assert.match((await tap(["tools"], at)).out, /\n +bash: the CLI does not take it/);
    assert.match((await tap(["status"], at)).out, /\n +weather: the CLI does not take its bash/);
    const { value } = await tapJson(["tools", "bash"], at);
    assert.equal(value[0].offered, false);
  });

  test("without that tool, that session, or a gateway, says so", async (t) => {
    const { at } = await served(t);
    const tool = await tap(["tools", "nothing"], at);
    assert.equal(tool.code, 1);
    assert.match(tool.err, /unknown tool "nothing"\ncopilot-tap tools lists them/);
    const session = await tapJson(["tools", "--session", "nope"], at);
    assert.equal(session.value.error.code, "INVALID_SESSION");
    assert.equal((await tap(["tools"], place(t), NOBODY)).code, 3);
  });
});

describe("copilot-tap call", () => {
  test("prints the result", async (t) => {
    const { at, tools } = await served(t);
    const { code, out } = await tap(["call", "forecast", '{"city":"Bern"}'], at);
    assert.equal(code, 0);
    assert.equal(out, "rain in Bern\n");
    await tools.tool("table", { description: "A table." }, () => "a\tb\r\n\u001b[2Jc");
    assert.equal((await tap(["call", "table"], at)).out, "a    b\n\\x1b[2Jc\n");
    const { value } = await tapJson(["call", "table"], at);
    assert.deepEqual(value, { tool: "table", result: "a\tb\r\n\u001b[2Jc" });
  });

  test("takes key=value pairs, with the types that the tool wants", async (t) => {
    const { at, tools, kit } = await served(t);
    const properties = { text: { type: "string" }, number: { type: "number" } };
    const parameters = { type: "object", properties, required: ["text"] };
    await tools.tool("echo", { description: "It.", parameters }, (args) => args);
    await kit.tool("echo");
    const { code, out } = await tap(["call", "echo", "text=1", "number=2", "more=[3]"], at);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), { text: "1", number: 2, more: [3] });
    const wrong = await tap(["call", "echo", "number=two"], at);
    assert.deepEqual([wrong.code, wrong.out], [2, ""]);
    assert.match(wrong.err, /number must be a number, not "two"/);
    const refused = await tapJson(["call", "echo", "number=2"], at);
    assert.equal(refused.value.error.code, "INVALID_ARGUMENTS");
    assert.match(refused.value.error.message, /echo needs "text" \(text\)/);
    assert.equal(refused.value.error.advice, undefined);
  });

  test("leaves the advice to the tool where the tool has refused", async (t) => {
    const { at, tools, kit } = await served(t);
    await tools.tool("find", { description: "It." }, () => {
      throw new ToolError("NOT_FOUND", "there is no Atlantis");
    });
    await kit.tool("find");
    const { code, err } = await tap(["call", "find"], at);
    assert.equal(code, 1);
    assert.match(err, /there is no Atlantis/);
    assert.doesNotMatch(err, /copilot-tap tools/);
  });

  test("takes the arguments from stdin, and writes the result to a file", async (t) => {
    const { at, tools, kit } = await served(t);
    const args = ["call", "forecast", "--stdin", "--output", "result.txt"];
    const { code, out } = await new Running(args, at, { input: '{"city":"Ulm"}' }).end();
    assert.deepEqual([code, out], [0, ""]);
    assert.equal(fs.readFileSync(path.join(kit.home, "result.txt"), "utf8"), "rain in Ulm");
    const png = Buffer.from("89504e470d0a1a0a", "hex");
    const image = `data:image/png;base64,${png.toString("base64")}`;
    await tools.tool("picture", { description: "An image." }, () => ({ image }));
    assert.match((await tap(["call", "picture"], at)).out, /\(image\/png, 8 bytes: --output/);
    assert.equal((await tap(["call", "picture", "-o", "a.png"], at)).code, 0);
    assert.deepEqual(fs.readFileSync(path.join(kit.home, "a.png")), png);
    const nowhere = await tap(["call", "picture", "-o", "no/a.png"], at);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.err, /no\/a\.png cannot be written/);
  });

  test("says who failed, and with which code", async (t) => {
    const { at } = await served(t);
    const { code, err } = await tap(["call", "forecast"], at);
    assert.equal(code, 1);
    assert.match(err, /weather.*INTERNAL: no city/);
    const nothing = await tapJson(["call", "nothing"], at);
    assert.equal(nothing.code, 1);
    assert.equal(nothing.value.error.code, "NOT_FOUND");
    assert.match(nothing.value.error.advice, /^copilot-tap tools/);
    const typo = await tap(["call", "forcast", "city=Bern"], at);
    assert.match(typo.err, /\ndid you mean "forecast"\? copilot-tap tools lists the tools/);
  });

  test("of a session is its tool, and of no other", async (t) => {
    const { at, kit } = await served(t);
    await kit.addSession("other");
    const args = ["call", "forecast", '{"city":"Bern"}', "--session"];
    assert.equal((await tap([...args, "test"], at)).code, 0);
    assert.equal((await tap([...args, "other"], at)).code, 1);
  });

  test("is cancelled by Ctrl-C, and after its time", async (t) => {
    const { at, weather } = await served(t);
    const terminal = new InTerminal(t, ["call", "wait"], at);
    await waitFor(() => weather.waits === 1);
    terminal.type("\u0003");
    assert.equal(await terminal.end(), 130);
    assert.match(terminal.text, /CANCELLED/);
    await waitFor(() => weather.aborted === 1);
    const { code, value } = await tapJson(["call", "wait", "--timeout", "0.2"], at);
    assert.equal(code, 1);
    assert.equal(value.error.code, "TIMEOUT");
    await waitFor(() => weather.aborted === 2);
  });

  for (const args of [
    ["{"],
    ["[]"],
    ["null"],
    ["1"],
    ["-"],
    ["Bern"],
    ["city=Bern", "days"],
    ["city=Bern", "city=Ulm"],
    ["{}", "--stdin"],
    ["{}", "--timeout", "soon"],
    ["{}", "--timeout", "0"],
    ["{}", "--timeout", "1e9"],
  ]) {
    test(`${args.join(" ")} is wrong usage`, async (t) => {
      const { code, out, err } = await tap(["call", "forecast", ...args], place(t), NOBODY);
      assert.deepEqual([code, out], [2, ""]);
      assert.match(
        err,
        /^copilot-tap: .*\n(copilot-tap tools <tool> shows|--timeout 30|give one of the two)/,
      );
    });
  }

  test("without a gateway says so", async (t) => {
    const nowhere = await tap(["call", "x"], place(t), NOBODY);
    assert.equal(nowhere.code, 3);
    assert.match(
      nowhere.err,
      /no gateway runs on port 1\n.+; without Copilot, use copilot-tap dev --/,
    );
  });
});
