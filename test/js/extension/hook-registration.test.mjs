// The flights against a session whose requests are answered by the test.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { HookRegistration } from "../../../js/extension/hook-registration.mjs";
import { SECTIONS, SystemMessageEditor } from "../../../js/extension/system-message.mjs";
import { deferred } from "../../support/wait.mjs";

/** A session that keeps what it is asked. */
class FakeSession {
  sessionId = "s";
  requests = [];
  hooks;
  transforms;
  answer = async () => {};
  connection = {
    sendRequest: (method, fields) => {
      this.requests.push({ method, ...fields });
      return this.answer(this.requests.length);
    },
  };
  registerHooks(hooks) {
    this.hooks = hooks;
  }
  registerTransformCallbacks(transforms) {
    this.transforms = transforms;
  }
  get sections() {
    return this.requests.map(({ systemMessage }) => systemMessage.sections);
  }
}

const idle = { preToolUse: async () => ({}), promptSubmitted: async () => ({}) };
const use = {
  sessionId: "child",
  timestamp: new Date(),
  toolName: "bash",
  toolArgs: {},
  agentId: "a",
};

const consentDenied = () =>
  Promise.reject(
    new Error(
      'Request session.resume failed with message: Extension "user:tap" was denied permission ' +
        "access and will not be loaded.",
    ),
  );

async function registered(handlers, options) {
  const session = new FakeSession();
  const flight = new HookRegistration(session, { ...idle, ...handlers }, options);
  assert.equal(await flight.register(), "in-force");
  return { session, flight, hooks: session.hooks };
}

describe("HookFlight", () => {
  test("asks once, for hooks only, with the handlers there before the answer", async () => {
    const session = new FakeSession();
    const hold = deferred();
    session.answer = () => hold.promise;
    const flight = new HookRegistration(session, idle);
    const outcomes = [flight.register(), flight.register()];
    assert.equal(typeof session.hooks.onPreToolUse, "function");
    assert.ok(flight.asking);
    hold.resolve();
    assert.deepEqual(await Promise.all(outcomes), ["in-force", "in-force"]);
    assert.ok(!flight.asking);
    assert.equal(session.requests.length, 1);
    assert.equal(session.requests[0].hooks, true);
    assert.ok(!("tools" in session.requests[0]) && !("systemMessage" in session.requests[0]));
  });

  test("tells a denied consent, which stays, from another failure, which may pass", async () => {
    const session = new FakeSession();
    session.answer = () => Promise.reject(new Error("connection got disposed"));
    const flight = new HookRegistration(session, idle);
    assert.equal(await flight.register(), "unavailable");
    assert.equal(session.hooks, undefined);
    session.answer = consentDenied;
    assert.equal(await flight.register(), "denied");
    session.answer = async () => {};
    assert.equal(await flight.register(), "denied");
    assert.equal(session.requests.length, 2);
  });

  test("is unavailable on a session without a connection", async () => {
    assert.equal(
      await new HookRegistration({ registerHooks() {} }, idle).register(),
      "unavailable",
    );
  });

  test("a handler is told neither a session nor a time", async () => {
    let told;
    const preToolUse = async (input) => ((told = input), {});
    const { hooks } = await registered({ preToolUse });
    await hooks.onPreToolUse(use);
    assert.deepEqual(told, { toolName: "bash", toolArgs: {}, agentId: "a" });
  });

  for (const [what, preToolUse] of Object.entries({
    "a throw": () => {
      throw new Error("x");
    },
    "a rejection": () => Promise.reject(new Error("x")),
    "no verdict": async () => undefined,
    silence: () => new Promise(() => {}),
    "a denial without a reason": async () => ({ deny: "" }),
  })) {
    test(`${what} denies`, async () => {
      const { hooks } = await registered({ preToolUse }, { timeoutMs: 20 });
      const decision = await hooks.onPreToolUse(use);
      assert.equal(decision.permissionDecision, "deny");
      assert.equal(typeof decision.permissionDecisionReason, "string");
    });
  }

  // shows: P-HOOK-11
  test("never allows by itself; a context is all that it adds", async () => {
    const preToolUse = async () => ({ context: "c", permissionDecision: "allow" });
    const { hooks } = await registered({ preToolUse });
    assert.deepEqual(await hooks.onPreToolUse(use), { additionalContext: "c" });
  });

  test("a prompt's hook that fails or stays silent adds nothing", async () => {
    for (const promptSubmitted of [
      () => new Promise(() => {}),
      async () => Promise.reject(new Error("x")),
      async () => undefined,
    ]) {
      const { hooks } = await registered({ promptSubmitted }, { timeoutMs: 20 });
      assert.deepEqual(await hooks.onUserPromptSubmitted({ prompt: "p" }), {});
    }
  });

  test("drain denies what is pending; after it only an answer at once counts", async () => {
    const preToolUse = ({ toolArgs }) => (toolArgs.slow ? new Promise(() => {}) : {});
    const { hooks, flight } = await registered({ preToolUse: async (input) => preToolUse(input) });
    const pending = hooks.onPreToolUse({ ...use, toolArgs: { slow: true } });
    await flight.drain();
    assert.equal((await pending).permissionDecision, "deny");
    const late = await hooks.onPreToolUse({ ...use, toolArgs: { slow: true } });
    assert.equal(late.permissionDecision, "deny");
    assert.deepEqual(await hooks.onPreToolUse(use), {});
  });

  test("a program's own hooks stay, and their word is kept", async () => {
    const session = new FakeSession();
    const onSessionEnd = () => {};
    const theirs = { permissionDecision: "ask", additionalContext: "theirs" };
    session.hooks = { onSessionEnd, onPreToolUse: async () => theirs };
    const preToolUse = async () => ({ context: "ours" });
    await new HookRegistration(session, { ...idle, preToolUse }).register();
    assert.equal(session.hooks.onSessionEnd, onSessionEnd);
    assert.deepEqual(await session.hooks.onPreToolUse(use), {
      permissionDecision: "ask",
      additionalContext: "theirs\n\nours",
    });
  });
});

describe("SystemMessageFlight", () => {
  test("knows the sections that the gateway knows", () => {
    const file = new URL("../../../native/protocol/hook_rules.cc", import.meta.url);
    const [, list] = /kSections\{([^}]+)\}/.exec(readFileSync(file, "utf8"));
    const gateway = [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name);
    assert.deepEqual([...SECTIONS].sort(), gateway.sort());
  });

  test("sends only a change, and nothing before the first edit", async () => {
    const session = new FakeSession();
    const flight = new SystemMessageEditor(session);
    await flight.apply({});
    assert.equal(session.requests.length, 0);
    await flight.apply({ tone: { append: "a" }, guidelines: { prepend: "p" } });
    await flight.apply({ guidelines: { prepend: "p" }, tone: { append: "a" } });
    await flight.apply({});
    assert.deepEqual(session.sections, [
      {
        guidelines: { action: "prepend", content: "p\n" },
        tone: { action: "append", content: "\na" },
      },
      {},
    ]);
    assert.ok(!("tools" in session.requests[0]) && !("hooks" in session.requests[0]));
  });

  test("one request at a time; of the edits that come meanwhile, the last", async () => {
    const session = new FakeSession();
    const hold = deferred();
    session.answer = () => hold.promise;
    const flight = new SystemMessageEditor(session);
    const outcomes = ["a", "b", "c"].map((append) => flight.apply({ tone: { append } }));
    await new Promise(setImmediate);
    assert.equal(session.requests.length, 1);
    hold.resolve();
    assert.deepEqual(await Promise.all(outcomes), ["in-force", "in-force", "in-force"]);
    assert.deepEqual(
      session.sections.map(({ tone }) => tone.content),
      ["\na", "\nc"],
    );
  });

  test("an edit right after another's end is not lost", async () => {
    const session = new FakeSession();
    const flight = new SystemMessageEditor(session);
    await Promise.all([
      flight.apply({ tone: { append: "a" } }),
      flight.apply({ tone: { append: "a" } }).then(() => flight.apply({ tone: { append: "b" } })),
    ]);
    assert.equal(session.sections.at(-1).tone.content, "\nb");
  });

  test("a refused edit rejects with the CLI's words and is tried again", async () => {
    const session = new FakeSession();
    session.answer = async (count) => {
      if (count === 1) throw new Error("not now");
    };
    const flight = new SystemMessageEditor(session);
    await assert.rejects(flight.apply({ tone: { append: "a" } }), /not now/);
    assert.equal(await flight.apply({ tone: { append: "a" } }), "in-force");
    assert.equal(session.requests.length, 2);
  });

  // shows: P-TEXT-1
  test("both sides of a section take a transform, which is sent twice", async () => {
    const session = new FakeSession();
    const flight = new SystemMessageEditor(session);
    await flight.apply({ tone: { prepend: "p", append: "a" } });
    assert.deepEqual(session.sections, [
      { tone: { action: "transform" } },
      { tone: { action: "transform" } },
    ]);
    assert.equal(await session.transforms.get("tone")("x"), "p\nx\na");
    await flight.apply({});
    assert.equal(session.transforms, undefined);
  });

  // shows: P-TEXT-1
  test("a replacement takes the additions along", async () => {
    const session = new FakeSession();
    await new SystemMessageEditor(session).apply({
      tone: { prepend: "p", append: "a", replace: "r" },
    });
    assert.deepEqual(session.sections, [{ tone: { action: "replace", content: "p\nr\na" } }]);
  });

  // shows: P-TEXT-5
  test("protected sections are only appended to, unknown sections are left out", async () => {
    const edits = {
      identity: { replace: "r" },
      preamble: { prepend: "p", append: "a" },
      safety: { replace: "" },
      nonsuch: { append: "a" },
      __proto__: { append: "a" },
    };
    const session = new FakeSession();
    await new SystemMessageEditor(session).apply(edits);
    assert.deepEqual(session.sections, [{ preamble: { action: "append", content: "\na" } }]);
  });

  test("is unavailable on a session without a connection", async () => {
    const flight = new SystemMessageEditor({ registerTransformCallbacks() {} });
    assert.equal(await flight.apply({ tone: { append: "a" } }), "unavailable");
  });
});
