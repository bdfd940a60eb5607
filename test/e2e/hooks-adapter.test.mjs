// Hooks and edits of the system message that come into a running session, on the real CLI.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CopilotCli } from "../support/cli.mjs";
import {
  ScriptedModel,
  callTool,
  callTools,
  say,
  systemText,
  toolNames,
  toolResults,
  userTexts,
} from "../support/model.mjs";
import { startInteractive } from "../support/terminal.mjs";
import { waitFor } from "../support/wait.mjs";

const EXTENSION = fileURLToPath(new URL("../support/fixtures/hooks-extension", import.meta.url));

const DIALOG = /wants elevated permissions/;
const DENIED = "Denied by preToolUse hook:";

/** A CLI with the fixture, and the notes of the fixture. */
async function rig(t, script, env = {}) {
  const model = await ScriptedModel.start(script);
  t.after(() => model.close());
  const cli = await CopilotCli.create({ extension: EXTENSION, model, env });
  t.after(() => cli.dispose());
  const log = (cli.env.HOOKS_LOG = path.join(cli.home, "hooks.log"));
  const read = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  const notes = (kind) =>
    read()
      .map((line) => JSON.parse(line))
      .filter((n) => n.kind === kind);
  const noted = (kind) =>
    waitFor(() => notes(kind)[0], { what: () => cli.report().then((text) => `${kind}\n${text}`) });
  const cue = (name) => writeFileSync(`${log}.${name}`, "");
  return { model, cli, notes, noted, cue };
}

/** The results that the model has got, as "tool: text". */
const results = (model) => toolResults(model.last).map(({ name, text }) => `${name}: ${text}`);

/** @returns the results of a prompt, with hooks from its first call on */
async function runGated(t, replies, env) {
  const running = await rig(t, [callTool("register"), ...replies, say("bye")], env);
  const run = await running.cli.runPrompt("go");
  assert.equal(run.code, 0, run.stderr);
  assert.deepEqual(running.model.errors, []);
  assert.equal(toolResults(running.model.last)[0].text, "in-force");
  return { ...running, results: results(running.model).slice(1) };
}

describe("hooks added to a running session", { concurrency: 1 }, () => {
  test("a gate denies from the next call of the same turn, and the tools stay", async (t) => {
    const { results: given, notes } = await runGated(t, [
      callTool("touch", { text: "forbid" }),
      callTool("bash", { command: "touch forbid.txt", description: "touches a file" }),
      callTool("touch", { text: "harmless" }),
      callTool("grow"),
      callTool("touch", { text: "forbid" }),
    ]);
    const denied = `${DENIED} that is forbidden`;
    assert.deepEqual(given, [
      `touch: ${denied}`,
      `bash: ${denied}`,
      "touch: touched",
      "grow: grown",
      `touch: ${denied}`,
    ]);
    assert.deepEqual(
      notes("touched").map(({ text }) => text),
      ["harmless"],
    );
  });

  test("the calls of an answer are judged each by itself; a gate's context follows the results", async (t) => {
    const { results: given, model } = await runGated(t, [
      callTools([
        { name: "touch", args: { text: "forbid" } },
        { name: "touch", args: { text: "advise" } },
      ]),
    ]);
    assert.deepEqual(given, [`touch: ${DENIED} that is forbidden`, "touch: touched"]);
    assert.match(userTexts(model.last).at(-1), /the advice of the gate/);
  });

  // shows: P-HOOK-39
  test("a gate that fails or stays silent denies", async (t) => {
    const replies = ["explode", "stall"].map((text) => callTool("touch", { text }));
    const { results: given, notes } = await runGated(t, replies, { HOOKS_TIMEOUT_MS: "400" });
    assert.deepEqual(given, [
      `touch: ${DENIED} no gate has allowed it: it failed: out of order`,
      `touch: ${DENIED} no gate has allowed it: no answer in 400 ms`,
    ]);
    assert.deepEqual(notes("touched"), []);
  });

  test("an extension that has to end denies pending calls", async (t) => {
    const command = { command: "touch stall.txt", description: "touches a file" };
    const { cli, model, noted } = await rig(t, [
      callTool("register"),
      callTool("bash", command),
      say("bye"),
    ]);
    const { done } = cli.startPrompt("go");
    await noted("tool-use");
    const [extension] = await cli.extensionProcesses();
    process.kill(extension.pid, "SIGTERM");
    await done;
    const denied = `${DENIED} no gate has allowed it: the session's extension is ending`;
    assert.equal(results(model)[1], `bash: ${denied}`);
    assert.ok(!existsSync(path.join(cli.workFolder, "stall.txt")));
  });

  // shows: P-HOOK-40
  test("a sub-agent's calls are judged too, and name no session", async (t) => {
    const { notes } = await runGated(t, [
      callTool("task", {
        description: "helps",
        prompt: "help",
        agent_type: "general-purpose",
        name: "helper",
        mode: "sync",
      }),
      callTool("touch", { text: "forbid" }),
      say("helped"),
    ]);
    const [use] = notes("tool-use").filter(({ agentId }) => agentId);
    assert.equal(use.toolName, "touch");
    assert.equal(use.sessionId, undefined);
    assert.deepEqual(notes("touched"), []);
  });

  test("a prompt gets its context, and survives a hook that fails", async (t) => {
    const { model, cli } = await rig(t, [say("bye")], { HOOKS_AT_JOIN: "register" });
    await cli.runPrompt("please advise");
    assert.match(userTexts(model.last).at(-1), /please advise\s[^]*the advice of the gate/);
    await cli.runPrompt("please explode");
    assert.match(userTexts(model.last).at(-1), /please explode\s*$/);
  });

  test("without a user to ask, hooks are denied and the tools stay", async (t) => {
    const { cli, model, notes } = await rig(t, [], { HOOKS_AT_JOIN: "register grow" });
    // The turn goes on, with calls of the CLI's own, until the awaited state is there.
    const look = callTool("view", { path: cli.workFolder });
    model.script((request) =>
      toolNames(request).includes("shout") || request.index > 200 ? say("bye") : look,
    );
    await cli.runPrompt("go", { allow: [] });
    assert.equal(notes("hooks")[0].outcome, "denied");
    assert.deepEqual(notes("touched"), []);
    assert.ok(toolNames(model.last).includes("shout"));
  });
});

describe("the user's consent to hooks", { concurrency: 1 }, () => {
  /** The dialog is on the screen; tools and an edit have come meanwhile. */
  async function asked(t, script) {
    const env = { HOOKS_AT_JOIN: "cue=ask ask cue=change grow reword=WITHOUT-WAITING" };
    const running = await rig(t, script, env);
    const terminal = await startInteractive(running.cli, { allow: [] });
    t.after(() => terminal.dispose());
    running.cue("ask");
    await terminal.waitForScreen(DIALOG);
    running.cue("change");
    await running.noted("edited");
    assert.equal(running.notes("grown").length, 1);
    assert.deepEqual(running.notes("hooks"), []);
    assert.match(terminal.screenText(), DIALOG);
    return { ...running, terminal };
  }

  const script = (request) =>
    request.body.messages.at(-1).role === "tool"
      ? say(`result: ${toolResults(request).at(-1).text}`)
      : callTool("touch", { text: "forbid" });

  test("tools and the system message change while it is asked for; Yes puts the hooks in force", async (t) => {
    const { terminal, noted, model, notes } = await asked(t, script);
    await terminal.choose(["enter"]);
    assert.equal((await noted("hooks")).outcome, "in-force");
    await terminal.prompt("go", /result: Denied by preToolUse hook: that is forbidden/);
    assert.ok(toolNames(model.requests[0]).includes("shout"));
    assert.match(systemText(model.requests[0]), /WITHOUT-WAITING/);
    assert.deepEqual(notes("touched"), []);
  });

  test("Escape denies; the extension and its tools go on", async (t) => {
    const { terminal, noted, model } = await asked(t, script);
    await terminal.choose(["escape"]);
    assert.equal((await noted("hooks")).outcome, "denied");
    await terminal.submit("go");
    await terminal.waitForScreen(/Run extension tool "touch"/);
    await terminal.choose(["enter"]);
    await terminal.waitForScreen(/result: touched/);
    assert.ok(toolNames(model.last).includes("shout"));
  });
});

describe("the system message of a running session", { concurrency: 1 }, () => {
  test("edits show from the next turn on, and go again", async (t) => {
    const edits = {
      custom_instructions: { append: "ADDED" },
      guidelines: { prepend: "BEFORE", append: "BEHIND" },
      tone: { replace: "INSTEAD" },
      safety: { prepend: "NOT-BEFORE-SAFETY", append: "BEHIND-SAFETY" },
      identity: { replace: "NOBODY" },
      nonsuch: { append: "NOWHERE" },
    };
    const turns = [callTool("reword", { edits }), say("one"), say("two"), say("three")];
    const { cli, model } = await rig(t, turns);
    const terminal = await startInteractive(cli);
    t.after(() => terminal.dispose());
    await terminal.prompt("first", /one/);
    await terminal.prompt("second", /two/);
    assert.doesNotMatch(systemText(model.requests[1]), /ADDED/);
    const text = systemText(model.requests[2]);
    assert.match(text, /\nADDED\n/);
    assert.match(text, /\nBEFORE\n[^]+\nBEHIND\n/);
    assert.match(text, /\nINSTEAD\n/);
    assert.match(text, /\nBEHIND-SAFETY/);
    assert.doesNotMatch(text, /NOT-BEFORE-SAFETY|NOBODY|NOWHERE/);
    model.script((request) =>
      request.body.messages.at(-1).role === "tool"
        ? say("removed")
        : userTexts(request).at(-1).includes("remove")
          ? callTool("reword", { edits: {} })
          : say("four"),
    );
    await terminal.prompt("remove", /removed/);
    await terminal.prompt("last", /four/);
    assert.doesNotMatch(systemText(model.last), /ADDED|BEFORE|BEHIND|INSTEAD/);
  });
});
