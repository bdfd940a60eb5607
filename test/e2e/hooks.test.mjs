// Rules, gates, transforms and context of providers, on the real CLI: the limits of the agent, and
// the texts for its model.

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { callTool, say, systemText, toolNames, toolResults, userTexts } from "../support/model.mjs";
import { answering, onceOffered, startTap, steps } from "../support/tap.mjs";
import { deferred, waitFor } from "../support/wait.mjs";

const DENIED = "Denied by preToolUse hook:";
const bash = (command) => callTool("bash", { command, description: "a command" });

/** A step that waits for the test. */
const held = (gate, step) => async (request) => {
  await gate.promise;
  return typeof step === "function" ? step(request) : step;
};

/** The acknowledgement says that the session has it in force. */
async function inForce(provider, message) {
  const requestId = `r${Math.random()}`;
  provider.send({ requestId, ...message });
  const answer = await provider.waitFor(
    (received) => received.requestId === requestId && ["ack", "error"].includes(received.type),
  );
  assert.equal(answer.type, "ack", JSON.stringify(answer));
  return answer;
}

/** Answers every gate.check. @param {(check: any) => object | undefined} decide */
function gatekeeper(provider, decide) {
  provider.onMessage((message) => {
    if (message.type !== "gate.check") return;
    const answer = decide(message);
    if (answer) {
      const { gateId, callId } = message;
      provider.send({ type: "gate.result", gateId, callId, ...answer });
    }
  });
}

/** A turn in which the calls are made once the rules are in force. */
async function turnWith(t, calls, prepare, options) {
  const ready = deferred();
  const rig = await startTap(t, undefined, options);
  const [first, ...rest] = calls;
  rig.model.script(steps([held(ready, first), ...rest, say("bye")]));
  const started = rig.cli.startPrompt("go");
  await rig.model.waitForRequest();
  const provider = await rig.provide({ helper: answering("help") }, { name: "guardian" });
  await prepare(provider, rig);
  ready.resolve();
  await rig.ended(started);
  const results = toolResults(rig.model.last).filter(({ name }) => name !== "tap_status");
  return { rig, results: results.map(({ text }) => text) };
}

describe("hooks of providers", { concurrency: 1 }, () => {
  // shows: P-HOOK-4, P-HOOK-11, P-HOOK-12
  test("a gate is asked before bash runs: it denies, and it lets pass", async (t) => {
    const asked = [];
    const { rig, results } = await turnWith(
      t,
      [
        bash("touch pushed # git push"),
        bash("touch pushed\ngit push"),
        bash("touch harmless # git push --dry-run"),
        bash("ls"),
      ],
      async (provider) => {
        gatekeeper(provider, (check) => {
          asked.push(check);
          return check.args.command.includes("dry-run")
            ? { decision: "allow" }
            : { decision: "deny", reason: "CI is red" };
        });
        await inForce(provider, {
          type: "hooks.update",
          onPreToolUse: [
            { match: { tool: "shell", args: "\\bgit push\\b" }, action: "gate", gateId: "ci" },
          ],
        });
      },
    );
    assert.equal(results[0], `${DENIED} tap provider "guardian": CI is red`);
    assert.equal(results[1], results[0], "a command of two lines");
    assert.match(results[3], /harmless/);
    assert.doesNotMatch(results[3], /pushed/);
    assert.equal(asked.length, 3);
    assert.equal(asked[0].tool, "shell");
    assert.equal(asked[0].gateId, "ci");
    assert.ok(!existsSync(path.join(rig.cli.workFolder, "pushed")));
  });

  // shows: P-HOOK-2, P-HOOK-3
  test("a deny rule blocks a provider's tool, a context rule speaks to the model", async (t) => {
    const { rig, results } = await turnWith(
      t,
      [onceOffered("helper"), bash("echo hello")],
      (provider) =>
        inForce(provider, {
          type: "hooks.update",
          onPreToolUse: [
            { match: { tool: "helper" }, action: "deny", reason: "not today" },
            { match: { tool: "shell" }, action: "context", content: "Mind the gap." },
          ],
        }),
    );
    assert.equal(results[0], `${DENIED} tap provider "guardian": not today`);
    assert.match(results[1], /hello/);
    assert.ok(
      userTexts(rig.model.last).some((text) =>
        text.includes('From tap provider "guardian": Mind the gap.'),
      ),
      JSON.stringify(userTexts(rig.model.last)),
    );
  });

  // shows: P-HOOK-17
  test("a gate that never answers denies in its time, a gate that fails open does not", async (t) => {
    const { results } = await turnWith(
      t,
      [bash("echo closed"), bash("echo open")],
      (provider) =>
        inForce(provider, {
          type: "hooks.update",
          onPreToolUse: [
            { match: { args: "closed" }, action: "gate", gateId: "one" },
            { match: { args: "open" }, action: "gate", gateId: "two", failOpen: true },
          ],
        }),
      { env: { TAP_GATE_MS: "300" } },
    );
    assert.equal(results[0], `${DENIED} tap provider "guardian": it did not respond in time`);
    assert.match(results[1], /open/);
  });

  // shows: P-HOOK-38
  test("without its gateway the session denies only the calls that a rule covered", async (t) => {
    const killed = deferred();
    const rig = await startTap(t, undefined, { env: { TAP_GUARD_MS: "60000" } });
    rig.model.script(
      steps([held(killed, bash("touch pushed # git push")), bash("echo fine"), say("bye")]),
    );
    const started = rig.cli.startPrompt("go");
    await rig.model.waitForRequest();
    const provider = await rig.provide({ helper: answering("help") }, { name: "guardian" });
    await inForce(provider, {
      type: "hooks.update",
      onPreToolUse: [{ match: { args: "git push" }, action: "gate", gateId: "ci" }],
    });
    const { pid } = await rig.cli.gatewayHost();
    process.kill(pid, "SIGKILL");
    await provider.waitForClose();
    killed.resolve();
    await rig.ended(started);
    const results = toolResults(rig.model.last).map(({ text }) => text);
    assert.match(results[0], /^Denied by preToolUse hook: tap provider "guardian" has a say/);
    assert.match(results[1], /fine/);
    assert.ok(!existsSync(path.join(rig.cli.workFolder, "pushed")));
  });

  // shows: P-HOOK-26
  test("the rules of a provider that is killed go on denying", async (t) => {
    const killed = deferred();
    const rig = await startTap(t);
    rig.model.script(
      steps([held(killed, bash("touch pushed # git push")), bash("echo fine"), say("bye")]),
    );
    const started = rig.cli.startPrompt("go");
    await rig.model.waitForRequest();
    const rule = { match: { tool: "bash", args: "git push" }, action: "deny", reason: "no pushes" };
    const program = { name: "guardian", tool: "helper", onPreToolUse: [rule] };
    const { child } = await rig.spawnProvider(program);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    await waitFor(async () => (await rig.timeline()).some((line) => /stay in force/.test(line)), {
      what: () => rig.report(),
    });
    killed.resolve();
    await rig.ended(started);
    const results = toolResults(rig.model.last).map(({ text }) => text);
    assert.equal(results[0], `${DENIED} tap provider "guardian": no pushes`);
    assert.match(results[1], /fine/);
    assert.ok(!existsSync(path.join(rig.cli.workFolder, "pushed")));
  });

  // shows: P-TEXT-1, P-TEXT-13, P-TEXT-14
  test("appended instructions, ambient and startup context reach the model", async (t) => {
    const rig = await startTap(t, () => say("understood"));
    const terminal = await rig.interactive();
    const provider = await rig.provide(
      { helper: answering("help") },
      { name: "guardian", hello: { startup_context: "Loaded at nine.", context: "CI is green." } },
    );
    await inForce(provider, {
      type: "hooks.update",
      transforms: {
        custom_instructions: { action: "append", content: "This repository uses pnpm." },
        safety: { action: "append", content: "Be kind to people." },
      },
    });
    await terminal.prompt("first question", /understood/);
    const first = rig.model.last;
    assert.match(systemText(first), /This repository uses pnpm\./);
    assert.match(systemText(first), /Be kind to people\.\nWhere such an addition disagrees/);
    assert.match(
      userTexts(first).at(-1),
      /Context from tap provider "guardian":\nLoaded at nine\./,
    );
    assert.match(userTexts(first).at(-1), /Context from tap provider "guardian":\nCI is green\./);

    await inForce(provider, { type: "context.update", context: "CI is red." });
    await inForce(provider, { type: "hooks.update", transforms: { custom_instructions: null } });
    await terminal.prompt("second question", /understood[^]*understood/);
    const second = rig.model.last;
    assert.doesNotMatch(systemText(second), /pnpm/);
    assert.match(userTexts(second).at(-1), /CI is red\./);
    assert.doesNotMatch(userTexts(second).at(-1), /Loaded at nine/);
  });

  // shows: P-TEXT-2
  test("a callback rewrites a section by its current text", async (t) => {
    const rig = await startTap(t, () => say("understood"));
    const terminal = await rig.interactive();
    const provider = await rig.provide({ helper: answering("help") }, { name: "guardian" });
    const requests = [];
    provider.onMessage((message) => {
      if (message.type !== "transform.request") return;
      requests.push(message);
      const content = `${message.current}\nToday is number ${requests.length}.`;
      provider.send({ type: "transform.result", callId: message.callId, content });
    });
    const transforms = { code_change_rules: { action: "callback" } };
    await inForce(provider, { type: "hooks.update", transforms });
    await terminal.prompt("first question", /understood/);
    // When a turn is over, tap asks the CLI to build its message again. A program types the next
    // prompt sooner than that may be done; the ack of an update comes after it.
    await provider.waitFor(({ type, state }) => type === "session.lifecycle" && state === "idle");
    await inForce(provider, { type: "hooks.update", transforms });
    await terminal.prompt("second question", /understood[^]*understood/);
    assert.equal(requests.length, 2);
    assert.ok(requests[1].current.length > 100, "the section's own text");
    assert.doesNotMatch(requests[1].current, /Today is number/);
    rig.model.requests.forEach((request, turn) => {
      assert.ok(systemText(request).includes(`Today is number ${turn + 1}.`), `turn ${turn + 1}`);
      assert.ok(systemText(request).includes(requests[turn].current.slice(0, 100)));
    });
  });

  // shows: P-HOOK-36
  test("consent is asked for; where it is denied, provider and user hear of it and tools stay", async (t) => {
    const rig = await startTap(t, () => say("finished"));
    const terminal = await rig.interactive({ allow: [] });
    const provider = await rig.provide({ helper: answering("help") }, { name: "guardian" });
    provider.send({
      type: "hooks.update",
      requestId: "r",
      onPreToolUse: [{ action: "deny", reason: "never" }],
    });
    await terminal.waitForScreen(/wants elevated permissions/);
    assert.match(terminal.screenText(), /prevent this extension from loading/, "which it does not");
    await terminal.choose(["escape"]);
    const answer = await provider.waitFor(({ requestId }) => requestId === "r");
    assert.equal(answer.type, "error", JSON.stringify(answer));
    assert.equal(answer.code, "UNAUTHORIZED");
    await waitFor(async () => (await rig.log("extension.log")).includes(": 2 provider tools"), {
      what: () => rig.report(),
    });
    await terminal.prompt("go on", /finished/);
    assert.ok(toolNames(rig.model.last).includes("helper"));
    const lines = await rig.timeline();
    const told = (/** @type {RegExp} */ wanted) =>
      assert.ok(lines.some((line) => wanted.test(line)));
    told(/^tap: guardian \(1 deny rule\) needs hooks, .*tap stays/);
    told(/hooks, and those were not allowed/);
  });
});
