// copilot-tap rules and use: what may deny or change something, and which session a provider serves.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { provider } from "../../../sdk/node/provider.mjs";
import { TestProvider } from "../../support/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { served, tap, tapJson, tapProcess } from "../../support/cli-process.mjs";

/** A provider with rules and gates for what the agent does. @param {import("node:test").TestContext} t */
async function guarded(t) {
  const it = await served(t);
  const guard = provider("guard", it.kit.where);
  guard.deny({ tool: "shell", args: "rm -rf" }, "Not here.");
  guard.gate({ tool: "shell", args: "git push" }, () => ({ decision: "allow" }));
  guard.context("CI is green.");
  t.after(() => guard.close());
  await guard.connect();
  return it;
}

describe("copilot-tap rules", () => {
  test("lists each rule with what it matches and what it does", async (t) => {
    const { at } = await guarded(t);
    const { code, out } = await tapProcess(["rules"], at);
    assert.equal(code, 0);
    assert.match(out, /^test test\n +provider +action +matches +effect\n/);
    assert.match(out, /\n +guard +deny +tool shell, args rm -rf +Not here\.\n/);
    assert.match(out, /\n +guard +gate +tool shell, args git push +asks ".+"\n/);
    assert.match(out, /\n +guard +context +every prompt +12 bytes\n/);
    const { value } = await tapJson(["rules"], at);
    assert.equal(value[0].provider, "guard");
    assert.equal(value[0].rules[0].reason, "Not here.");
    assert.equal(value[0].rules[0].failOpen, false);
  });

  test("lists what is held of a provider whose connection was lost", async (t) => {
    const { kit, at } = await served(t);
    const { port } = kit;
    const guard = await TestProvider.connect({ port });
    await guard.auth({ tokenFile: gatewayFiles(at.env).token });
    const rule = { match: { tool: "shell" }, action: "deny", reason: "Not here." };
    const note = { action: "context", content: "CI is green." };
    const hooks = { onPreToolUse: [rule, note] };
    await guard.hello({ name: "guard", session: "all", hooks });
    guard.terminate();
    const held = async () => {
      const { value } = await tapJson(["rules"], at);
      return value.length === 1 && value[0].held === true && value;
    };
    const value = await waitFor(held, { what: "rules that are held" });
    assert.equal(value[0].provider, "guard");
    assert.ok(value[0].leftMs > 0 && value[0].leftMs <= 30_000, `${value[0].leftMs}`);
    assert.equal(value[0].rules.length, 1, "the note is not held");
    const { out } = await tap(["rules"], at);
    assert.match(out, /Not here\. \(connection lost; holds for \d+ s more\)\n/);
    assert.match((await tap(["status"], at)).out, /the rules of guard hold for \d+ s more/);
  });

  test("says where there is none", async (t) => {
    const { at } = await served(t);
    assert.match((await tap(["rules"], at)).out, /^No provider has rules/);
    assert.deepEqual((await tapJson(["rules"], at)).value, []);
  });

  test("status has a column for them", async (t) => {
    const { at } = await guarded(t);
    const { out } = await tap(["status"], at);
    assert.match(out, /\n +name +session +access +tools +running +rules\n/);
    assert.match(out, /\n +guard +test +token +0 +0 +1 gate, 1 deny, 1 note\n/);
    assert.match(out, /\n +weather +test +token +2 +0 *\n/);
  });
});

describe("copilot-tap use", () => {
  test("brings a provider to another session, and back", async (t) => {
    const { at, kit } = await served(t);
    const other = await kit.addSession("other");
    const moved = await tapProcess(["use", "weather", "--session", "oth"], at);
    assert.equal(moved.code, 0, moved.err);
    assert.equal(moved.out, "weather serves other (other) now\n");
    await other.until(
      () => other.tools.get("forecast"),
      () => "forecast in the other session",
    );
    const again = await tapJson(["use", "weather", "--session", "other"], at);
    assert.deepEqual(again.value, {
      ...{ provider: "weather", session: "other", label: "other", moved: false },
    });
    assert.equal((await tap(["use", "weather", "--session", "test"], at)).code, 0);
    await kit.tool("forecast");
  });

  test("is not for the agent, which could move a gate out of its way", async (t) => {
    const { at } = await served(t);
    const agents = { COPILOT_AGENT_SESSION_ID: "test" };
    const { code, err } = await tap(["use", "weather"], at, agents);
    assert.equal(code, 1);
    assert.match(err, /the agent cannot move providers/);
  });

  test("says why a provider does not come", async (t) => {
    const { at, kit } = await served(t);
    await kit.addSession("other");
    const fixed = provider("fixed", { ...kit.where, session: "test" });
    fixed.tool("stay", { description: "Stays." }, () => "here");
    t.after(() => fixed.close());
    await fixed.connect();
    const cases = /** @type {const} */ ([
      [["nobody"], /no provider named "nobody" is connected/],
      [["fixed", "--session", "other"], /"fixed" was asked, and did not come within 3 s/],
      [["weather", "--session", "x"], /there is no session "x"/],
    ]);
    for (const [args, message] of cases) {
      const { code, err } = await tap(["use", ...args], at);
      assert.equal(code, 1);
      assert.match(err, message);
    }
  });
});
