// Several sessions, instances, pairing and session events, on the real CLI.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { callTool, say, toolNames } from "../support/model.mjs";
import { TestProvider, declareTools } from "../support/provider.mjs";
import { answering, onceOffered, startTap, steps } from "../support/tap.mjs";
import { deferred, waitFor } from "../support/wait.mjs";

/** A step that waits for the test. */
const held = (gate, reply) => async () => {
  await gate.promise;
  return reply;
};

describe("several sessions and providers", { concurrency: 1 }, () => {
  // shows: P-BIND-2
  test('a provider bound to "all" serves a session that starts later, once it is ready for it', async (t) => {
    const rig = await startTap(t, steps([onceOffered("everywhere"), say("bye")]));
    const started = rig.cli.startPrompt("go");
    await rig.model.waitForRequest();
    const { provider, sessions } = await rig.connect();
    const tools = { everywhere: answering("here, too") };
    const ack = await provider.hello({ name: "omni", session: "all", tools: declareTools(tools) });
    provider.handle(tools);
    assert.equal(ack.sessionId, "all");
    await rig.ended(started);
    assert.equal(rig.result("everywhere"), "here, too");

    rig.model.script(steps([onceOffered("everywhere"), say("bye")]));
    const second = rig.cli.startPrompt("again");
    const known = new Set(sessions.active.map(({ id }) => id));
    const updated = await provider.waitFor(
      ({ type, active }) => type === "sessions.updated" && active.some(({ id }) => !known.has(id)),
    );
    const late = updated.active.find(({ id }) => !known.has(id));
    provider.send({ type: "session.ready", sessionId: late.id });
    await provider.waitFor(
      ({ type, sessionId, state }) =>
        type === "session.lifecycle" && sessionId === late.id && state === "started",
    );
    await rig.ended(second);
    assert.equal(rig.result("everywhere"), "here, too");
  });

  // shows: P-INST-1
  test("two instances share a tool: the model picks one by target, and tabs come without a sync", async (t) => {
    const ready = deferred();
    const rig = await startTap(t);
    rig.model.script(
      steps([
        held(ready, callTool("tap_status")),
        onceOffered("title", { target: "tab-1" }),
        callTool("list_browser_instances"),
        say("bye"),
      ]),
    );
    const started = rig.cli.startPrompt("go");
    await rig.model.waitForRequest();
    const tab = (name) => ({
      name: "browser",
      instance: name,
      metadata: { title: `page of ${name}` },
    });
    await rig.provide({ title: answering("one") }, { hello: tab("tab-1") });
    await waitFor(async () => (await rig.countInLog("extension.log", /revision \d+: 3 /)) === 1, {
      what: () => rig.report(),
    });
    await rig.provide({ title: answering("two") }, { hello: tab("tab-2") });
    ready.resolve();
    await rig.ended(started);
    assert.equal(rig.result("title"), "one");
    assert.match(rig.result("list_browser_instances"), /tab-1.*|tab-2.*/);
    assert.match(rig.result("list_browser_instances"), /page of tab-2/);
    assert.equal(await rig.countInLog("extension.log", /revision \d+: /), 1);
  });

  // shows: P-PAIR-2, P-TRUST-4
  test("a web page pairs with the code that the CLI's own screen shows, and its token is its own", async (t) => {
    const rig = await startTap(t, (request) =>
      toolNames(request).includes("page_title") && !rig.result("page_title")
        ? callTool("page_title")
        : say("no more to do"),
    );
    const terminal = await rig.interactive();
    const { provider: watcher, sessions } = await rig.connect();
    const origin = "https://app.example.com";
    const page = await TestProvider.connect({ port: rig.port, origin });
    t.after(() => page.terminate());
    page.send({ type: "auth", mode: "pair", name: "Example App" });
    await page.waitFor("auth.pairing");
    await terminal.waitForScreen(/Pairing code: \d{6}/);
    const code = /Pairing code: (\d{6})/.exec(terminal.screenText())?.[1];
    assert.ok(!JSON.stringify(page.received).includes(code), "the code goes to the user only");
    page.send({ type: "auth.confirm", code });
    const admitted = await page.waitFor("sessions");
    assert.match(admitted.token, /^ext-tok-[0-9a-f]{64}$/);
    const tools = { page_title: answering("Dashboard") };
    await page.hello({ name: "page", session: sessions.active[0].id, tools: declareTools(tools) });
    page.handle(tools);
    await watcher.close();
    await waitFor(
      async () => {
        if (rig.result("page_title") === undefined) await terminal.prompt("what page?", /no more/);
        return rig.result("page_title") === "Dashboard";
      },
      { what: () => rig.report() },
    );

    const thief = await TestProvider.connect({ port: rig.port, origin: "https://evil.example" });
    t.after(() => thief.terminate());
    await assert.rejects(thief.auth(admitted.token), /AUTH_FAILED/);
  });

  // shows: P-RUN-9, P-RUN-14
  test("an image of a page, and a file of a provider, reach the CLI as attachments", async (t) => {
    const rig = await startTap(t);
    const ready = deferred();
    rig.model.script(
      steps([
        held(ready, callTool("tap_status")),
        onceOffered("screenshot"),
        onceOffered("list_files"),
        onceOffered("read_report"),
        say("done"),
      ]),
    );
    const started = rig.cli.startPrompt("what is on the page?");
    await rig.model.waitForRequest();
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const { provider, sessions } = await rig.connect();
    const tools = {
      screenshot: answering({ image: `data:image/png;base64,${png}`, title: "Dashboard" }),
      list_files: answering("caf\udce9.txt"),
      read_report: { handler: () => "unused" },
    };
    provider.onMessage(async ({ type, id, tool }) => {
      if (type !== "tool.call") return;
      if (tool !== "read_report") return provider.result(id, tools[tool].handler());
      const file = path.join(persistDir, "report.txt");
      await writeFile(file, "all is well");
      const reference = { path: file, mimeType: "text/plain", size: 11, ttl: 60 };
      provider.send({ type: "tool.result", id, file: reference });
    });
    const { persistDir } = await provider.hello({
      name: "camera",
      session: sessions.active[0].id,
      tools: declareTools(tools),
    });
    assert.equal(persistDir, path.join(rig.cli.home, "providers", "camera") + path.sep);
    ready.resolve();
    await rig.ended(started);
    assert.match(rig.result("screenshot"), /^{"title":"Dashboard"}/);
    assert.equal(rig.result("list_files"), "caf\ufffd.txt", "half of a surrogate pair");
    assert.equal(rig.result("read_report"), "all is well");
    const complete = (await rig.cli.events()).filter(
      ({ type }) => type === "tool.execution_complete",
    );
    const images = complete.flatMap(({ data }) => data.result?.binaryResultsForLlm ?? []);
    assert.equal(images.length, 1, JSON.stringify(complete).slice(0, 2000));
    // The CLI keeps the bytes next to its log, by their digest.
    const bytes = Buffer.from(png, "base64");
    const assetId = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    const [{ type, mimeType, byteLength }] = images;
    assert.deepEqual(
      { type, mimeType, byteLength },
      { type: "image", mimeType: "image/png", byteLength: bytes.length },
    );
    assert.equal(images[0].assetId, assetId);
  });

  // shows: P-PROGRESS-1, P-LIFE-7
  test("a subscriber hears of prompts, answers and tools; progress shows in the timeline", async (t) => {
    const rig = await startTap(t);
    const ready = deferred();
    rig.model.script(
      steps([held(ready, callTool("tap_status")), onceOffered("slow"), say("done")]),
    );
    const started = rig.cli.startPrompt("please be slow");
    await rig.model.waitForRequest();
    const provider = await rig.provide(
      {
        slow: {
          handler: (_args, { id, provider: self }) => {
            self.send({ type: "tool.progress", id, message: "half way" });
            return "at last";
          },
        },
      },
      {
        name: "snail",
        hello: { subscribe: ["assistant.message", "tool.execution_complete"] },
      },
    );
    ready.resolve();
    const complete = await provider.waitFor(
      ({ type, event, data }) =>
        type === "session.event" && event === "tool.execution_complete" && data.tool === "slow",
    );
    assert.equal(complete.data.provider, "snail");
    assert.deepEqual(complete.data.result, { type: "success", output: "at last" });
    assert.ok(complete.data.durationMs >= 0);
    await provider.waitFor(
      ({ event, data }) => event === "assistant.message" && data.content === "done",
    );
    await rig.ended(started);
    assert.ok((await rig.timeline()).includes("tap: snail slow: half way"));
  });
});
