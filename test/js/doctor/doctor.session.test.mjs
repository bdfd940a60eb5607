// The doctor, where the gateway is well and the tool is missing all the same: each test breaks one thing.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { readDoctorReport } from "../../../js/gateway-host/doctor-report.mjs";
import { providerLogFile } from "../../../js/process/log.mjs";
import { declareTools, TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { running, staged } from "./doctor-place.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** One more provider of a real host. @param {TestContext} t @param {Awaited<ReturnType<typeof running>>} at */
async function another(t, at) {
  const provider = await TestProvider.connect({ port: at.files.port });
  t.after(() => provider.terminate());
  await provider.auth({ tokenFile: at.files.token });
  return provider;
}

/** A session that waits with its answer until it is told. @param {TestContext} t */
async function hesitant(t) {
  const at = await staged(t);
  at.session.confirms = false;
  await at.gateway.echo(at.session, "late");
  const { revision } = await at.session.waitFor("tools", ({ set }) =>
    set.some(({ provider }) => provider === "late"),
  );
  return { at, revision };
}

describe("copilot-tap doctor, the session", () => {
  test("none", async (t) => {
    const at = await staged(t, { session: null });
    assert.equal((await at.diagnose()).code, "NO_SESSION");
    await at.gateway.session("linked", { cwd: at.workspace });
    assert.equal((await at.diagnose()).code, undefined);
  });

  test("one whose extension process is gone", async (t) => {
    const at = await staged(t);
    at.session.close();
    await waitFor(async () => (await at.diagnose()).code === "NO_SESSION");
  });

  test("one that has not confirmed its tools yet", async (t) => {
    const { at, revision } = await hesitant(t);
    assert.deepEqual((await at.diagnose()).warned, ["NOT_READY"]);
    at.session.send({ type: "synced", revision });
    await waitFor(async () => (await at.diagnose()).warned.length === 0);
  });

  test("one whose CLI has not taken its tools", async (t) => {
    const { at, revision } = await hesitant(t);
    at.session.send({ type: "sync.failed", revision, message: "no more memory" });
    await waitFor(async () => (await at.diagnose()).code === "TOOL_REFUSED");
    const { first } = await at.diagnose();
    assert.match(first.problem, /no more memory/);
  });

  for (const [answer, expected] of [
    ["denied", "HOOKS_UNAVAILABLE"],
    ["unavailable", "HOOKS_UNAVAILABLE"],
    ["pending", "HOOKS_UNAVAILABLE"],
  ]) {
    test(`one whose hooks are ${answer}`, async (t) => {
      const at = await staged(t);
      const provider = await at.gateway.stranger();
      const hooks = { onPreToolUse: [{ action: "deny", reason: "no" }] };
      await provider.hello({ name: "ci", session: at.session.id, hooks });
      const { revision } = await at.session.waitFor("hooks", ({ wanted }) => wanted);
      const state = { type: "hooks.state", revision, hooks: answer, sections: answer };
      if (answer !== "pending") at.session.send(state);
      await waitFor(async () => (await at.diagnose()).warned.includes(expected));
    });
  }

  test("one with more tools than models take", async (t) => {
    const at = await staged(t, { limits: { TAP_MAX_TOOLS: "200" } });
    const names = Array.from({ length: 130 }, (_, i) => [`tool_${i}`, () => i]);
    await at.gateway.provider(at.session, "many", Object.fromEntries(names));
    await waitFor(async () => (await at.diagnose()).warned.includes("TOO_MANY_TOOLS"));
  });

  test("the agent's own is meant, else the one of this folder, else the one last used", async (t) => {
    const at = await staged(t, { session: { label: "here" } });
    const away = await at.gateway.session("linked", { label: "away", cwd: "/nowhere" });
    away.send({ type: "activity", activity: "user-prompt" });
    const seen = async (extra = {}) =>
      (await at.diagnose([], extra)).value.checks.find(({ id }) => id === "session").seen;
    assert.equal(await seen(), "here");
    assert.equal(await seen({ COPILOT_AGENT_SESSION_ID: away.id }), "away");
    at.workspace = path.dirname(at.workspace);
    await waitFor(async () => (await seen()) === "away");
  });
});

test("/tap-doctor speaks of the session in which it was typed", async (t) => {
  const at = await staged(t, { session: { label: "first" } });
  const second = await at.gateway.session("linked", { label: "second", cwd: at.workspace });
  for (const [id, label] of [
    [at.session.id, "first"],
    [second.id, "second"],
  ]) {
    const text = await readDoctorReport({ id, cwd: at.workspace }, undefined, at.env);
    assert.match(text, new RegExp(`^✓ \\d+ checks {2}session ${label}$`, "m"));
  }
});

describe("copilot-tap doctor, the providers of a project", () => {
  const config = (/** @type {object} */ provider) =>
    JSON.stringify({ providers: [{ name: "ci", ...provider }] });

  /** A session of a folder with a config. @param {TestContext} t @param {string} text @param {boolean} [allowed] */
  async function project(t, text, allowed = false) {
    const at = await running(t);
    fs.writeFileSync(path.join(at.workspace, "tap.config.json"), text);
    const cli = new URL("../../../js/cli/cli.mjs", import.meta.url).pathname;
    if (allowed) await at.do(`"${process.execPath}" "${cli}" allow --yes`);
    await at.kit.addSession("project", at.workspace);
    return at;
  }

  test("a config with a mistake: an error, but none for a tool that is there", async (t) => {
    const at = await project(t, '{"providers": [{"nam": "ci"}]}');
    const { code, first } = await at.diagnose();
    assert.equal(code, "CONFIG_INVALID");
    assert.match(first.problem, /nam/);
    const asked = await at.diagnose(["roll_die"], { COPILOT_AGENT_SESSION_ID: "test" });
    assert.deepEqual([asked.code, asked.warned], [undefined, []]);
    const here = await at.diagnose(["roll_die"]);
    assert.deepEqual([here.code, here.warned], ["TOOL_ELSEWHERE", ["CONFIG_INVALID"]]);
  });

  test("a config that is not allowed: a warning, an error for a tool that nobody has", async (t) => {
    const at = await project(t, config({ command: "sleep", args: ["300"] }));
    const { warned, warnings, code } = await at.diagnose();
    assert.ok(warned.includes("CONFIG_NOT_ALLOWED"));
    assert.equal(code, undefined);
    assert.equal((await at.diagnose(["build_status"])).code, "CONFIG_NOT_ALLOWED");
    const found = warnings.find((/** @type {any} */ one) => one.code === "CONFIG_NOT_ALLOWED");
    await at.do(`${found?.command} --yes`);
    const after = await at.diagnose();
    assert.ok(!after.warned.includes("CONFIG_NOT_ALLOWED"));
  });

  test("a provider that cannot be started", async (t) => {
    const at = await project(t, config({ command: "no-such-command-anywhere" }), true);
    await waitFor(async () => (await at.diagnose()).code === "PROVIDER_CRASHES");
    const { first } = await at.diagnose();
    assert.match(first.problem, /"ci".*was not found/);
    assert.ok(first.problem.includes(providerLogFile(at.files.logs, "ci")));
  });

  test("a provider that keeps ending", async (t) => {
    const at = await project(
      t,
      config({ command: process.execPath, args: ["-e", "throw new Error('no config')"] }),
      true,
    );
    await waitFor(async () => (await at.diagnose()).code === "PROVIDER_CRASHES");
    const { first } = await at.diagnose();
    assert.match(
      first.problem,
      /keeps ending \(restart \d+ in [\d.]+ s: ended with exit code 1, saying "Error: no config"\)/,
    );
  });
});

describe("copilot-tap doctor, the providers", () => {
  test("none: a warning, an error for a tool", async (t) => {
    const at = await staged(t);
    const { warned, code, exit } = await at.diagnose();
    assert.deepEqual([warned, code, exit], [["NO_PROVIDER"], undefined, 0]);
    const asked = await at.diagnose(["roll_die"]);
    assert.deepEqual([asked.code, asked.exit], ["NO_PROVIDER", 1]);
  });

  test("one that has not authenticated", async (t) => {
    const at = await staged(t);
    const stranger = await TestProvider.connect({ port: at.files.port });
    t.after(() => stranger.terminate());
    assert.deepEqual((await at.diagnose()).warned, ["PROVIDER_REFUSED"]);
    assert.equal((await at.diagnose(["roll_die"])).code, "PROVIDER_REFUSED");
  });

  test("one that has not said hello", async (t) => {
    const at = await staged(t);
    await at.gateway.stranger();
    assert.deepEqual((await at.diagnose()).warned, ["PROVIDER_REFUSED"]);
    assert.equal((await at.diagnose(["roll_die"])).code, "PROVIDER_REFUSED");
  });

  test("one whose hello was refused, with the gateway's words", async (t) => {
    const at = await running(t);
    const provider = await another(t, at);
    await assert.rejects(provider.hello({ name: "lost", session: "no such" }));
    await waitFor(async () => (await at.diagnose()).code === "PROVIDER_REFUSED");
    const { first } = await at.diagnose(["other"]);
    assert.equal(first.code, "PROVIDER_REFUSED");
    assert.match(first.problem, /INVALID_SESSION, there is no session "no such"/);
    assert.equal((await at.diagnose(["roll_die"])).code, undefined, "roll_die is not its tool");
  });
});

describe("copilot-tap doctor, a tool", () => {
  test("that the model has", async (t) => {
    const at = await running(t);
    const { exit, value } = await at.diagnose(["roll_die"]);
    assert.equal(exit, 0);
    assert.equal(value.tool, "roll_die");
    assert.equal(value.checks.at(-1).seen, "roll_die, of provider die");
  });

  test("of a name that no tool can have", async (t) => {
    const at = await running(t);
    assert.equal((await at.diagnose(["roll die"])).code, "TOOL_NOT_DECLARED");
  });

  test("that nobody offers: what is offered is named", async (t) => {
    const at = await running(t);
    const { code, first } = await at.diagnose(["roll_dice"]);
    assert.equal(code, "TOOL_NOT_DECLARED");
    assert.match(first.problem, /die \(roll_die\)/);
  });

  test("that is bound to another session", async (t) => {
    const at = await running(t);
    await at.kit.addSession("other", at.workspace);
    const { code, first } = await at.diagnose(["roll_die"]);
    assert.equal(code, "TOOL_ELSEWHERE");
    assert.match(first.problem, /to session "test", not to "other"/);
    assert.match(first.command ?? "", / use die --session other/);
    // As the fix says: bound to the session that is meant.
    await at.provider.hello({
      name: "die",
      session: "other",
      tools: declareTools({ roll_die: {} }),
    });
    await waitFor(async () => (await at.diagnose(["roll_die"])).code === undefined);
  });

  test("of the CLI's own name", async (t) => {
    const at = await running(t);
    at.kit.session.send({ type: "update", builtins: ["bash"] });
    const provider = await another(t, at);
    const hello = { name: "shell", session: "test", tools: declareTools({ bash: {} }) };
    await waitFor(() =>
      provider.hello(hello).then(
        () => false,
        ({ code }) => code === "TOOL_CONFLICT",
      ),
    );
    await waitFor(async () => (await at.diagnose(["bash"])).code === "TOOL_REFUSED");
    const { first } = await at.diagnose(["bash"]);
    assert.match(first.problem, /"shell" was refused: "bash" is a tool of the CLI itself/);
    // As the fix says: renamed.
    await provider.hello({ ...hello, tools: declareTools({ my_bash: {} }) });
    await waitFor(async () => (await at.diagnose(["my_bash"])).code === undefined);
  });

  test("that is bound to another session of the same folder: ids tell them apart", async (t) => {
    const label = "work (main)";
    const at = await staged(t, { session: { label } });
    await at.gateway.echo(at.session, "die");
    const twin = { sessionId: "twin-of-it", cwd: at.workspace, label };
    await at.gateway.session("linked", twin);
    const { first } = await at.diagnose(["echo_die"]);
    assert.ok(
      first.problem.endsWith(`session "${label}" (session-), not to "${label}" (twin-of-).`),
      first.problem,
    );
  });

  test("that another provider has", async (t) => {
    const at = await running(t);
    const provider = await another(t, at);
    const tools = declareTools({ roll_die: {} });
    await assert.rejects(provider.hello({ name: "rival", session: "test", tools }));
    await waitFor(async () => (await at.diagnose(["roll_die"])).warned.includes("TOOL_REFUSED"));
    const { warnings, exit } = await at.diagnose(["roll_die"]);
    assert.match(
      warnings[0].problem,
      /"rival" was refused: "roll_die" is a tool of provider "die"/,
    );
    assert.equal(exit, 0, "the model has it");
    const other = await at.kit.addSession("other", at.workspace);
    assert.equal(
      (await at.diagnose(["roll_die"])).code,
      "TOOL_ELSEWHERE",
      "it is there, and serves",
    );
    other.end();
    at.provider.terminate();
    await waitFor(async () => (await at.diagnose(["roll_die"])).code === "TOOL_REFUSED");
  });

  test("that the CLI has refused", async (t) => {
    const { at, revision } = await hesitant(t);
    const failed = { revision, message: "clash: echo_late", refused: ["echo_late"] };
    at.session.send({ type: "sync.failed", ...failed });
    at.session.confirms = true;
    await waitFor(async () => (await at.diagnose(["echo_late"])).code === "TOOL_REFUSED");
    assert.equal((await at.diagnose()).code, "TOOL_REFUSED");
  });
});
