// Tools that come, change and go while the CLI works: in the same turn, by the same process.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { declareTools } from "../support/provider.mjs";
import { callTool, say, toolDefinition, toolNames, toolResults } from "../support/model.mjs";
import { answering, onceGone, onceOffered, resultOf, startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const timelineLines = (output, pattern) => output.split("\n").filter((line) => pattern.test(line));

describe("live tools", { concurrency: 1 }, () => {
  // shows: P-SYNC-1
  test("a provider that starts after the first model request is called in the same turn by the same process", async (t) => {
    const pids = new Set();
    const rig = await startTap(t);
    const look = async () => {
      for (const { pid } of await rig.cli.extensionProcesses()) pids.add(pid);
    };
    const greet = {
      description: "Greets someone",
      parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      handler: ({ name }) => `Hello, ${name}!`,
    };
    rig.model.script(
      steps([
        async (request) => {
          await look();
          assert.ok(toolNames(request).includes("tap_status"));
          assert.ok(!toolNames(request).includes("greet"));
          await rig.provide({ greet }, { name: "greeter" });
          return callTool("tap_status");
        },
        onceOffered("greet", { name: "Ada" }),
        async () => {
          await look();
          return say("bye");
        },
      ]),
    );
    const { stdout } = await rig.run();
    assert.equal(rig.result("greet"), "Hello, Ada!");
    const offered = toolDefinition(rig.model.last, "greet");
    assert.equal(offered.description, "Greets someone");
    assert.deepEqual(offered.parameters, greet.parameters);
    assert.equal(pids.size, 1);
    assert.equal(rig.model.last.body.messages.filter(({ role }) => role === "user").length, 1);
    assert.match(stdout, /tap: greeter is here: greet/);
  });

  // shows: P-LIFE-6
  test("goodbye takes the tools along", async (t) => {
    let provider;
    const rig = await startTap(
      t,
      steps([
        async () => {
          provider = await rig.provide(
            { first: answering("one"), second: answering("two") },
            { name: "leaver" },
          );
          return callTool("tap_status");
        },
        onceOffered("first"),
        async () => {
          await provider.close("done");
          return callTool("tap_status");
        },
        onceGone("first", say("bye")),
      ]),
    );
    const { stdout } = await rig.run();
    assert.equal(rig.result("first"), "one");
    assert.ok(!toolNames(rig.model.last).includes("second"));
    assert.match(stdout, /tap: leaver left/);
  });

  // shows: P-CALL-17
  test("a call of a tool that went away while the model was thinking is answered", async (t) => {
    let provider;
    const rig = await startTap(
      t,
      steps([
        async () => {
          provider = await rig.provide(
            { first: answering("one"), second: answering("two") },
            { name: "leaver" },
          );
          return callTool("tap_status");
        },
        onceOffered("first"),
        async (request) => {
          assert.ok(toolNames(request).includes("second"));
          const before = await rig.countInLog("extension.log", /revision \d+:/);
          await provider.close("done");
          await waitFor(
            async () => (await rig.countInLog("extension.log", /revision \d+:/)) > before,
          );
          return callTool("second");
        },
        say("bye"),
      ]),
    );
    await rig.run();
    assert.match(
      rig.result("second"),
      /second.*(DISCONNECTED: the provider of this tool is not connected|does not exist)/s,
    );
  });

  // shows: P-CALL-15
  test("kill -9 of a provider fails its call at once, naming it, DISCONNECTED and a remedy", async (t) => {
    const rig = await startTap(t);
    let program;
    rig.model.script(
      steps([
        async () => {
          program = await rig.spawnProvider({ name: "victim", tool: "wait_for_it", hang: true });
          return callTool("tap_status");
        },
        onceOffered("wait_for_it"),
        onceGone("wait_for_it", say("bye")),
      ]),
    );
    const started = rig.cli.startPrompt("go");
    await rig.model.waitForRequest((request) => toolNames(request).includes("wait_for_it"));
    await program.called();
    program.child.kill("SIGKILL");
    await rig.ended(started);
    const text = rig.result("wait_for_it");
    assert.match(text, /victim/);
    assert.match(text, /DISCONNECTED/);
    assert.match(text, /Check that the provider is running/);
  });

  // shows: P-UPDATE-9
  test("tools.update: a tool is added, a second is removed, a third changes its description", async (t) => {
    let provider;
    const changed = {
      kept: { description: "after", handler: () => "kept" },
      fresh: answering("fresh answer"),
    };
    const rig = await startTap(
      t,
      steps([
        async () => {
          provider = await rig.provide(
            {
              kept: { description: "before", handler: () => "kept" },
              gone: answering("gone"),
              fresh: answering("fresh answer"),
            },
            {
              name: "changer",
              hello: { tools: declareTools({ kept: { description: "before" }, gone: {} }) },
            },
          );
          return callTool("tap_status");
        },
        onceOffered("gone"),
        () => {
          provider.updateTools(declareTools(changed));
          return callTool("tap_status");
        },
        onceOffered("fresh"),
        say("bye"),
      ]),
    );
    await rig.run();
    const before = rig.model.requests.find((request) => toolNames(request).includes("gone"));
    assert.equal(toolDefinition(before, "kept").description, "before");
    assert.equal(toolDefinition(rig.model.last, "kept").description, "after");
    assert.ok(!toolNames(rig.model.last).includes("gone"));
    assert.equal(rig.result("fresh"), "fresh answer");
  });

  test("tap_status names gateway, port, providers and tools", async (t) => {
    const rig = await startTap(
      t,
      steps([
        callTool("tap_status"),
        async () => {
          await rig.provide({ alpha: answering("a"), beta: answering("b") }, { name: "letters" });
          return callTool("tap_status");
        },
        onceOffered("tap_status"),
        say("bye"),
      ]),
    );
    await rig.run();
    const texts = toolResults(rig.model.last).map(({ text }) => text);
    assert.match(texts[0], /No provider is connected/);
    assert.match(texts.at(-1), new RegExp(`port ${rig.port}`));
    assert.match(texts.at(-1), /letters.*alpha, beta/);
  });

  // shows: P-CALL-3
  test("failures reach the model with provider, code and message", async (t) => {
    const failing = (message, code) => ({
      handler: () => {
        throw Object.assign(new Error(message), { code });
      },
    });
    const tools = {
      lost: failing("no such page", "NOT_FOUND"),
      broken: failing("it broke", "INTERNAL"),
      slow: { timeout: 100, handler: () => new Promise(() => {}) },
    };
    const rig = await startTap(
      t,
      steps([
        async () => {
          await rig.provide(tools, { name: "flaky" });
          return callTool("tap_status");
        },
        onceOffered("lost"),
        callTool("broken"),
        callTool("slow"),
        say("bye"),
      ]),
    );
    await rig.run();
    assert.match(
      rig.result("lost"),
      /"flaky" failed with NOT_FOUND: no such page\. Check the arguments/,
    );
    assert.match(rig.result("broken"), /"flaky" failed with INTERNAL: it broke\./);
    assert.match(rig.result("slow"), /"flaky" failed with TIMEOUT/);
  });

  // shows: P-CALL-2
  test("results of every JSON kind, and a result of 4 MB, arrive", async (t) => {
    let saved;
    const big = `start ${"abcdefgh".repeat(512 * 1024)} end`;
    const tools = {
      text: answering('quote " and ünï'),
      object: answering({ a: [1, null, "x"] }),
      number: answering(42),
      big: answering(big),
    };
    const rig = await startTap(
      t,
      steps([
        async () => {
          await rig.provide(tools);
          return callTool("tap_status");
        },
        onceOffered("text"),
        callTool("object"),
        callTool("number"),
        callTool("big"),
        async (request) => {
          // The CLI writes a large result to a file, for as long as it runs, and shows its beginning.
          const [, file] = /Saved to: (\S+)/.exec(resultOf(request, "big"));
          saved = await readFile(file, "utf8");
          return say("bye");
        },
      ]),
    );
    await rig.run();
    assert.equal(rig.result("text"), 'quote " and ünï');
    assert.deepEqual(JSON.parse(rig.result("object")), { a: [1, null, "x"] });
    assert.equal(rig.result("number"), "42");
    assert.ok(saved === big, `${saved.length} characters of ${big.length}`);
  });

  // shows: P-HELLO-11, P-ID-12
  test("the timeline shows an arrival once, and no reconnect", async (t) => {
    const tools = { ping: answering("pong") };
    const rig = await startTap(t);
    let provider;
    rig.model.script(
      steps([
        async () => {
          provider = await rig.provide(tools, { name: "blinker" });
          return callTool("tap_status");
        },
        onceOffered("ping"),
        () => {
          provider.terminate();
          return callTool("tap_status");
        },
        onceGone("ping", callTool("tap_status")),
        async () => {
          provider = await rig.provide(tools, { name: "blinker" });
          return callTool("tap_status");
        },
        onceOffered("ping"),
        say("bye"),
      ]),
    );
    const { stdout } = await rig.run();
    assert.equal(rig.result("ping"), "pong");
    assert.equal(timelineLines(stdout, /blinker is here/).length, 1, stdout);
    assert.equal(timelineLines(stdout, /blinker left/).length, 0, stdout);
  });
});
