// Tools that the CLI cannot take cost their place, never the join or a neighbour.

import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ScriptedModel, callTool, say, toolDefinition, toolNames } from "../support/model.mjs";
import { declareTools } from "../support/provider.mjs";
import { answering, onceOffered, resultOf, startTap, steps } from "../support/tap.mjs";
import { waitFor } from "../support/wait.mjs";

const RIVAL = fileURLToPath(new URL("../support/fixtures/rival-extension", import.meta.url));

const countOf = (request, name) => toolNames(request).filter((tool) => tool === name).length;

describe("tools that the CLI does not take", { concurrency: 1 }, () => {
  // shows: P-TOOL-7
  test("a tool named like the CLI's own is refused, and the tool of a second provider works", async (t) => {
    const rig = await startTap(t);
    rig.model.script(
      steps([
        async () => {
          // Known once the session has introduced itself, which is right after the join.
          const bad = { bash: answering("mine"), innocent: answering("yes") };
          await assert.rejects(rig.provide(bad, { name: "bad" }), {
            code: "TOOL_CONFLICT",
            message: /"bash" is a tool of the CLI/,
          });
          const { provider, sessions } = await rig.connect();
          provider.handle({ good: answering("good answer") });
          const session = sessions.active[0].id;
          await assert.rejects(
            provider.hello({ name: "same", session, tools: declareTools({ view: {} }) }),
            { code: "TOOL_CONFLICT" },
          );
          // The connection is not lost: a renamed tool is taken.
          await provider.hello({ name: "same", session, tools: declareTools({ good: {} }) });
          return callTool("tap_status");
        },
        onceOffered("good"),
        callTool("bash", { command: "echo from the shell", description: "d" }),
        say("bye"),
      ]),
    );
    await rig.run();
    assert.equal(rig.result("good"), "good answer");
    assert.match(rig.result("bash"), /from the shell/);
    assert.equal(countOf(rig.model.last, "bash"), 1);
  });

  // shows: P-TOOL-8
  test("a builtin's name that came before the session could say so is left out, the rest is called", async (t) => {
    const env = { TAP_LINGER_MS: "30000", TAP_GRACE_MS: "30000" };
    const rig = await startTap(t, undefined, { env });
    let release;
    const held = new Promise((resolve) => (release = resolve));
    rig.model.script(async () => (await held, say("bye")));
    const first = rig.cli.startPrompt("first");
    await rig.model.waitForRequest();
    const { provider, sessions } = await rig.connect();
    const tools = { view: answering("mine"), decent: answering("decent answer") };
    provider.handle(tools);
    // Binds the moment that the second session is listed: before it has joined.
    const bound = provider
      .waitFor(({ type, active }) => type === "sessions.updated" && active.length === 2)
      .then(({ active }) => active.find(({ id }) => id !== sessions.active[0].id).id)
      .then((session) => provider.hello({ name: "early", session, tools: declareTools(tools) }));
    const other = await ScriptedModel.start(steps([onceOffered("decent"), say("bye")]));
    t.after(() => other.close());
    const second = rig.cli.startPrompt("second", { env: { COPILOT_PROVIDER_BASE_URL: other.url } });
    const outcome = await bound.then(
      () => "bound",
      (error) => error.code,
    );
    assert.equal(outcome, "bound");
    await rig.ended(second);
    assert.equal(resultOf(other.last, "decent"), "decent answer");
    assert.ok(other.requests.every((request) => countOf(request, "view") === 1));
    assert.notEqual(toolDefinition(other.last, "view").description, "view");
    const refused = await provider.waitFor(
      ({ type, code }) => type === "error" && code === "TOOL_CONFLICT",
    );
    assert.match(refused.message, /"view"/);
    assert.ok((await rig.timeline()).some((line) => /early's tool "view" is left out/.test(line)));
    release();
    await rig.ended(first);
  });

  for (const sync of ["live", "reload"]) {
    test(`a tool that a second extension has is left out, the rest is called (${sync})`, async (t) => {
      const rig = await startTap(t, undefined, {
        env: { TAP_TOOL_SYNC: sync, TAP_RELOAD_WAIT_MS: "300" },
      });
      await cp(RIVAL, path.join(rig.cli.home, "extensions", "rival"), { recursive: true });
      let provider;
      rig.model.script(
        steps([
          // The rival's process may be slower than the prompt.
          (request) => toolNames(request).includes("contested") && callTool("tap_status"),
          async () => {
            const tools = { contested: answering("mine"), mine: answering("my answer") };
            provider = await rig.provide(tools, { name: "challenger" });
            return callTool("tap_status");
          },
          onceOffered("mine"),
          callTool("contested"),
          callTool("tap_status"),
          say("bye"),
        ]),
      );
      await rig.run();
      assert.equal(rig.result("mine"), "my answer");
      // A reload restarts the rival, too: then the faster process gets the name, and
      // where that is ours no tool is refused.
      if (sync === "reload" && rig.result("contested") === "mine") return;
      assert.equal(rig.result("contested"), "the rival's answer");
      assert.match(rig.result("tap_status"), /contested \(not accepted by the CLI\)/);
      const refused = await waitFor(() =>
        provider.received.find(({ code }) => code === "TOOL_CONFLICT"),
      );
      assert.match(refused.message, /"contested"/);
      const left = (await rig.timeline()).filter((line) => /"contested" is left out/.test(line));
      assert.equal(left.length, 1);
    });
  }
});
