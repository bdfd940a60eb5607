// The actions of a user in the terminal: /clear, Esc Esc; and a provider's texts there.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { declareTools } from "../support/provider.mjs";
import { callTool, say, toolNames, toolResults, userTexts } from "../support/model.mjs";
import { answering, startTap } from "../support/tap.mjs";
import { deferred, waitFor } from "../support/wait.mjs";

const TOOLS = { ping: { handler: (_args, { sessionId }) => `pong in ${sessionId}` } };

/** Per prompt: calls the tool if it is offered, then reports its result. */
function pingEachPrompt(request) {
  const last = request.body.messages.at(-1);
  if (last.role === "tool") return say(`heard ${toolResults(request).at(-1).text}`);
  return toolNames(request).includes("ping") ? callTool("ping") : say("no ping here");
}

/** Prompts until the model is offered the tool, as a user would try again. */
async function promptUntilPong(rig, terminal, session) {
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await terminal.prompt(`attempt ${attempt}`, /heard pong|no ping here/);
    if (rig.result("ping") === `pong in ${session}`) return;
  }
  assert.fail(`the provider was not called in ${session}\n${await rig.report()}`);
}

describe("in the terminal", { concurrency: 1 }, () => {
  test("/clear: a provider that leaves at shutdown.pending and reconnects serves the new session", async (t) => {
    const rig = await startTap(t, pingEachPrompt);
    const terminal = await rig.interactive();
    const bound = [];
    let over = false;
    const serve = async () => {
      if (over) return;
      const provider = await rig.provide(TOOLS, { name: "core" });
      bound.push(provider.sessionId);
      // As in examples/hello.mjs: say goodbye, close, connect again.
      provider.onMessage((message) => {
        if (message.type !== "session.lifecycle" || message.state !== "shutdown.pending") return;
        void provider.close("session ending").then(serve);
      });
    };
    await serve();
    await promptUntilPong(rig, terminal, bound[0]);
    const next = await terminal.clear();
    await waitFor(() => bound.length === 2, { what: () => rig.report() });
    assert.equal(bound[1], next);
    await promptUntilPong(rig, terminal, next);
    over = true;
    await terminal.exit();
  });

  // shows: P-LIFE-3, P-HOST-2
  test("/clear: a provider that stays connected binds again when it is unbound", async (t) => {
    const rig = await startTap(t, pingEachPrompt, { env: { TAP_SHUTDOWN_MS: "300" } });
    const terminal = await rig.interactive();
    const provider = await rig.provide(TOOLS, { name: "stayer" });
    const former = provider.sessionId;
    await promptUntilPong(rig, terminal, former);
    const next = await terminal.clear();
    await provider.waitFor(
      ({ state, sessionId }) => state === "shutdown.pending" && sessionId === former,
    );
    await waitFor(async () => {
      const listed = provider.received.findLast(({ active }) => active)?.active ?? [];
      return listed[0]?.id === next;
    });
    // Until its deadline it is still bound to the former session; it asks until it is let in.
    const hello = { name: "stayer", session: next, tools: declareTools(TOOLS) };
    await waitFor(() => provider.hello(hello), { what: () => provider.summary() });
    await promptUntilPong(rig, terminal, next);
    assert.equal(provider.closed, undefined);
    await terminal.exit();
  });

  // shows: P-CALL-12
  test("Esc Esc: the call in flight is cancelled at the provider", async (t) => {
    const aborted = deferred();
    const tools = {
      ping: {
        handler: (_args, { signal }) => {
          signal.addEventListener("abort", () => aborted.resolve(signal.reason));
          return new Promise(() => {});
        },
      },
    };
    const rig = await startTap(t, pingEachPrompt);
    const terminal = await rig.interactive();
    const provider = await rig.provide(tools, { name: "slow" });
    await waitFor(
      async () => (await rig.countInLog("extension.log", /revision \d+: 2 provider/)) > 0,
    );
    await terminal.submit("call it");
    const call = await provider.waitFor("tool.call");
    await terminal.interruptTurn();
    const cancel = await provider.waitFor("tool.cancel");
    assert.equal(cancel.id, call.id);
    assert.match(String(await aborted.promise), /user/);
    // The session is still alive.
    rig.model.script(() => say("still here"));
    await terminal.prompt("and now?", /still here/);
    await terminal.exit();
  });

  // shows: P-PUSH-2, P-PUSH-3
  test("surface is a line in the timeline; inject is a fenced prompt that names its source", async (t) => {
    const rig = await startTap(t, () => say("noted"));
    const terminal = await rig.interactive();
    const provider = await rig.provide({ ping: answering("pong") }, { name: "watcher" });
    provider.push("keep", "kept quietly");
    provider.push("surface", "the build is red", { stream: "ci" });
    await terminal.waitForScreen(/tap: watcher\/ci: the build is red/);
    assert.equal(rig.model.requests.length, 0);
    provider.push("inject", "please look at ```this```", { stream: "ci" });
    const request = await rig.model.waitForRequest();
    const prompt = userTexts(request).at(-1);
    assert.match(prompt, /Event from tap provider "watcher", stream "ci"/);
    assert.match(prompt, /not an instruction of the user/);
    assert.match(prompt, /^````\nplease look at ```this```\n````$/m);
    await terminal.waitForScreen(/noted/);
    assert.doesNotMatch(terminal.allText(), /kept quietly|not an instruction/);
    assert.equal(
      terminal.allText().match(/please look at/g)?.length,
      1,
      "each event is there once",
    );
    await provider.waitFor(({ type, state }) => type === "session.lifecycle" && state === "idle");
    await terminal.exit();
  });
});
