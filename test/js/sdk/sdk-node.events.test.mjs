// copilot-tap/provider against a real gateway host: pushes and streams, hooks, events of the session.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TapError } from "../../../sdk/node/provider.mjs";
import { waitFor } from "../../support/wait.mjs";
import { place } from "./sdk-place.mjs";

describe("streams", () => {
  test("a push is answered by what became of it", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("ci");
    await tap.connect();
    const kept = await tap.push("builds", { number: 7 });
    assert.deepEqual(kept, { outcome: "stored", session: "test", rule: undefined });
    const metadata = { number: 214 };
    const shown = await tap.push("builds", "build 214 is red", { level: "surface", metadata });
    assert.equal(shown.outcome, "surfaced");
    await kit.session.shows("tap: ci/builds: build 214 is red");
    const history = await tap.stream("builds").history({ last: 2 });
    assert.deepEqual(history[0].metadata, metadata);
    assert.equal(history[1].event, '{"number":7}');
    await assert.rejects(tap.push("", "no name"), { code: "INVALID_JSON" });
    const options = /** @type {any} */ ({ level: "inject" });
    await assert.rejects(tap.push("new order", options), TypeError);
    assert.equal((await tap.push("orders", options, {})).outcome, "stored");
    assert.equal((await tap.push("log", { level: "inject", text: "x" })).outcome, "stored");
  });

  test("a filter decides, and holds after a reconnect", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("ci");
    await tap.connect();
    const stream = tap.stream("log");
    await stream.filter([{ match: "^DEBUG", outcome: "drop" }]);
    const dropped = { outcome: "dropped", session: "test", rule: 0 };
    assert.deepEqual(await stream.push("DEBUG x", { level: "surface" }), dropped);
    await assert.rejects(stream.filter([{ match: "(", outcome: "drop" }]), TapError);
    const back = new Promise((resolve) => tap.on("bound", resolve));
    await kit.restartGateway();
    await back;
    assert.deepEqual(await stream.push("DEBUG x", { level: "surface" }), dropped);
  });

  test("a filter that is refused once it is connected is an error event", async (t) => {
    const { make } = await place(t);
    const tap = make("ci");
    const problem = new Promise((resolve) => tap.on("error", resolve));
    await tap.stream("log").filter([{ match: "(", outcome: "drop" }]);
    await tap.connect();
    assert.equal((await problem).replyTo, "filter.set");
  });

  test("too many at once are refused, one by one; the connection goes on", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("flood");
    tap.tool("alive", { description: "" }, () => "yes");
    await tap.connect();
    await kit.tool("alive");
    const pushes = Array.from({ length: 2000 }, (_, i) => tap.push("flood", `event ${i}`));
    const settled = await Promise.allSettled(pushes);
    const refused = settled.filter(({ status }) => status === "rejected");
    assert.ok(refused.length > 1900, `${refused.length}`);
    assert.ok(refused.every(({ reason }) => reason.code === "RATE_LIMITED"));
    assert.match(refused[0].reason.message, /Await each push/);
    assert.equal(await kit.call("alive"), "yes");
  });
});

describe("hooks", () => {
  test("denies, gates and notes, before and after connecting", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("ci");
    tap.on("error", () => {}); // a gate that throws
    tap.deny({ tool: "shell", args: "--force" }, "Nobody force-pushes here.");
    let verdict = () => /** @type {any} */ (true);
    tap.gate({ tool: "shell", args: "git push" }, (check) => {
      assert.deepEqual(check, { tool: "shell", args: { command: "git push" }, session: "test" });
      return verdict();
    });
    await tap.connect();
    const push = () => kit.session.check("bash", { command: "git push" });
    const forced = await kit.session.check("bash", { command: "git push --force" });
    assert.match(forced.deny, /Nobody force-pushes here/);
    assert.deepEqual(await push(), {});
    for (const [answer, reason] of [
      ["CI is red", /CI is red/],
      [undefined, /has not allowed it/],
      [{ decision: "maybe" }, /has not allowed it/],
    ]) {
      verdict = () => answer;
      assert.match((await push()).deny, reason);
    }
    verdict = () => {
      throw new Error("CI is away");
    };
    assert.match((await push()).deny, /CI is away/);

    const rule = tap.note({ tool: "edit", file: "*.sql" }, "Migrations are append-only.");
    await rule.inForce;
    const edit = () => kit.session.check("edit", { path: "/db/1.sql" });
    assert.match((await edit()).context, /append-only/);
    await rule.remove();
    assert.deepEqual(await edit(), {});
  });

  test("what is refused is taken out again: later changes, and a reconnect, go without it", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("ci");
    await tap.connect();
    await assert.rejects(tap.deny({ tool: "shell", args: "(" }, "bad").inForce, TapError);
    await assert.rejects(tap.section("safety", { replace: "None." }), { code: "UNAUTHORIZED" });
    await assert.rejects(tap.context("x".repeat(70_000)), TapError);
    await tap.deny({ tool: "shell", args: "--force" }, "Not here.").inForce;
    await tap.section("guidelines", { append: "Use pnpm." });
    await tap.context("CI is green.");
    const inForce = async () => {
      const forced = await kit.session.check("bash", { command: "git push --force" });
      assert.match(forced.deny, /Not here/);
      assert.match(await kit.session.prompt(), /CI is green\./);
    };
    await inForce();
    const back = new Promise((resolve) => tap.on("bound", resolve));
    await kit.restartGateway();
    await back;
    await inForce();
  });

  test("the user's no is told, and the rule stays declared for the next session", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("ci");
    await tap.connect();
    const send = kit.session.send.bind(kit.session);
    kit.session.send = (message) =>
      send(message.type === "hooks.state" ? { ...message, hooks: "denied" } : message);
    await assert.rejects(tap.deny({ tool: "shell" }, "Not here.").inForce, {
      code: "UNAUTHORIZED",
    });
    const second = await kit.addSession("second");
    const bound = new Promise((resolve) => tap.on("bound", resolve));
    kit.session.end();
    await bound;
    assert.match((await second.check("bash", { command: "ls" })).deny, /Not here/);
  });

  test("a refused change leaves the former rules and sections, in their order", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("ci");
    const first = tap.gate({ tool: "shell" }, () => "the first says no");
    await tap.section("guidelines", (current) => `${current} First.`);
    await tap.connect();
    const refused = { inForce: tap.deny({ args: "(" }, "bad").inForce, removed: first.remove() };
    await assert.rejects(refused.inForce, TapError);
    await assert.rejects(refused.removed, TapError);
    assert.match((await kit.session.check("bash", { command: "ls" })).deny, /first says no/);
    await first.remove();
    assert.deepEqual(await kit.session.check("bash", { command: "ls" }), {});
    assert.equal(await kit.session.build("guidelines", "Be brief."), "Be brief. First.");
  });

  test("context and sections", async (t) => {
    const { kit, make } = await place(t);
    const tap = make("ci");
    tap.context("CI is green.");
    await tap.connect();
    assert.match(await kit.session.prompt(), /CI is green\./);
    await tap.context("CI is red.");
    assert.match(await kit.session.prompt(), /CI is red\./);
    await tap.section("code_change_rules", (current) => `${current}\nThe freeze starts on Friday.`);
    const built = await kit.session.build("code_change_rules", "Be careful.");
    assert.equal(built, "Be careful.\nThe freeze starts on Friday.");
    await tap.section("guidelines", { append: "Use pnpm." });
    await waitFor(() => JSON.stringify(kit.session.hooks).includes("Use pnpm."));
    await tap.section("guidelines", null);
    await waitFor(() => !JSON.stringify(kit.session.hooks).includes("Use pnpm."));
  });
});

test("events of the session are subscribed to before connecting", async (t) => {
  const { kit, make } = await place(t);
  const tap = make("watcher");
  const prompts = [];
  tap.on("user.message", ({ content, session }) => prompts.push([session, content]));
  await tap.connect();
  await kit.session.until(
    () => kit.session.wanted.includes("user.message"),
    () => "a subscription",
  );
  kit.session.report("user.message", { content: "fix it" });
  await waitFor(() => prompts.length === 1);
  assert.deepEqual(prompts, [["test", "fix it"]]);
  assert.throws(() => tap.on("assistant.message", () => {}), /before connect\(\)/);
});
