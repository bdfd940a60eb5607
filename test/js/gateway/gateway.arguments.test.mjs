// What a model may give as arguments, and what a program may hand to the addon: on both ways to a gateway
// it is answered at once, and nothing ends the process.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { TestGateway } from "../../support/harness.mjs";

/** Arguments are nested so deeply at most: a provider's message around them has one level more. */
const MOST = 127;
const WAYS = /** @type {const} */ (["attached", "linked"]);

/** An object, nested so deeply. @param {number} depth */
const nested = (depth) =>
  JSON.parse(`{"a":${"[".repeat(depth - 1)}${depth === 1 ? 0 : ""}${"]".repeat(depth - 1)}}`);

/** A provider with an instance, and one without; `seen` is what they were given. */
async function served(t, way) {
  const gateway = new TestGateway(t, {
    limits: { TAP_LIVE_DEBOUNCE_MS: "1", TAP_LIVE_GATHER_MS: "1" },
  });
  const session = await gateway.session(way);
  /** @type {any[]} */
  const seen = [];
  const keep = (/** @type {any} */ args) => {
    seen.push(args);
    return "done";
  };
  await gateway.provider(session, "plain", { read: keep });
  const tabs = await gateway.stranger();
  tabs.handle({ click: { handler: keep } });
  const tools = [{ name: "click", description: "", parameters: { type: "object" } }];
  await tabs.hello({ name: "tabs", instance: "one", session: session.id, tools });
  return { gateway, session, seen };
}

/** What `copilot-tap calls` shows. @returns {Promise<any[]>} */
function callsOf(t, gateway) {
  return new Promise((resolve) => {
    const port = new addon.SessionPort({
      onEvent: (json) => {
        const event = JSON.parse(json);
        if (event.type === "calls") resolve(event.calls);
      },
    });
    t.after(() => port.close());
    port.attach(gateway.addon);
    port.send(JSON.stringify({ type: "control.open", secret: gateway.secret }));
    port.send(JSON.stringify({ type: "calls.list", after: 0 }));
  });
}

/** Fails unless it is refused; what nobody answers ends with another code. */
async function refused(session, tool, args, says) {
  const outcome = await session.call(tool, args, 60_000);
  assert.equal(outcome.code, "INVALID_JSON", JSON.stringify(outcome));
  assert.match(outcome.text, says);
}

for (const way of WAYS) {
  describe(`arguments of a session that is ${way}`, () => {
    // shows: P-CONN-7
    test(`that are no object are refused at once (${way})`, async (t) => {
      const { gateway, session, seen } = await served(t, way);
      const odd = [[1, 2], "a string", [{}], "target", [["a"]], ["x"], 5, true, [], ""];
      for (const tool of ["click", "read"]) {
        for (const args of odd) await refused(session, tool, args, /must be a JSON object/);
        // People see them, too: the gateway has refused them.
        const logged = (await callsOf(t, gateway)).filter((call) => call.tool === tool);
        assert.deepEqual(
          logged.map(({ args, code }) => [JSON.parse(args), code]),
          odd.map((args) => [args, "INVALID_JSON"]),
        );
        assert.equal(await session.call(tool, null), "done"); // no arguments at all are fine
        assert.deepEqual(seen.pop(), {});
      }
      assert.deepEqual(seen, []);
    });

    test(`arrive at every depth that a provider's message may have (${way})`, async (t) => {
      const { session, seen } = await served(t, way);
      for (const tool of ["click", "read"]) {
        for (const depth of [1, 2, 100, 124, 125, 126, MOST]) {
          assert.equal(await session.call(tool, nested(depth)), "done");
          assert.deepEqual(seen.pop(), nested(depth), `${depth}`);
        }
        for (const depth of [MOST + 1, MOST + 2, 140, 1000]) {
          await refused(session, tool, nested(depth), /nested more than 127 levels deep/);
        }
      }
      assert.deepEqual(seen, []);
    });

    test(`that are broken JSON text are refused, and others are served (${way})`, async (t) => {
      const { gateway, session, seen } = await served(t, way);
      const broken = ["", "{", '{"a"', '{"a":}', '{"target":"', '{"a":1}x', '"', "[", "nul", " "];
      /** @type {any[]} */
      const outcomes = [];
      const port = new addon.SessionPort({
        onSettled: (...pairs) => {
          for (let i = 0; i < pairs.length; i += 2) outcomes[Number(pairs[i])] = pairs[i + 1];
        },
      });
      t.after(() => port.close());
      // Another session of the gateway, attached: over a link the frame around them would be broken, too.
      port.attach(gateway.addon);
      port.send(
        JSON.stringify({
          type: "control.open",
          secret: gateway.secret,
          sessionId: session.id,
        }),
      );
      for (const [id, text] of broken.entries()) {
        port.call(2 * id, "click", text);
        port.call(2 * id + 1, "read", text);
      }
      assert.equal(outcomes.length, 2 * broken.length);
      for (const outcome of outcomes) assert.equal(outcome?.code, "INVALID_JSON");
      assert.equal(await session.call("read", {}), "done");
      assert.deepEqual(seen, [{}]);
    });

    test(`of a check that are nested too deeply deny it at once (${way})`, async (t) => {
      const { gateway, session } = await served(t, way);
      await gateway.provider(session, "guard", {});
      const check = { type: "hook.check", checkId: "c", tool: "bash", args: nested(MOST + 1) };
      // The session's own end says so before anything is sent.
      assert.throws(() => session.send(check), /nested more than 128 levels deep/);
      session.send({ ...check, args: nested(MOST) });
      assert.deepEqual(await session.waitFor("hook.verdict"), {
        type: "hook.verdict",
        checkId: "c",
      });
    });

    test(`a definition or a result that is as deep as can be arrives (${way})`, async (t) => {
      const { gateway, session } = await served(t, way);
      const provider = await gateway.stranger();
      const parameters = { type: "object", properties: {}, x: nested(123) };
      provider.handle({ deep: { handler: () => nested(MOST) } });
      const tools = [{ name: "deep", description: "", parameters }];
      const metadata = nested(MOST);
      await provider.hello({ name: "deep", instance: "i", session: session.id, tools, metadata });
      await session.waitFor("tools", ({ set }) => set.some((one) => one.provider === "deep"));
      assert.deepEqual(JSON.parse(String(await session.call("deep"))), nested(MOST));
      const [instance] = JSON.parse(String(await session.call("list_deep_instances")));
      assert.deepEqual(instance, { target: "i", metadata });
    });
  });
}

describe("the addon's arguments", () => {
  /** Of every kind of value, with those whose conversion throws. */
  const hostile = [
    undefined,
    null,
    true,
    NaN,
    -1,
    1.5,
    2 ** 70,
    10n,
    Symbol("s"),
    "",
    "text",
    "[",
    '"\\u12',
    "\ud800",
    {},
    [],
    () => {},
    Object.create(null),
    {
      toString() {
        throw new Error("thrown");
      },
    },
    new Proxy(
      {},
      {
        get() {
          throw new Error("thrown");
        },
      },
    ),
  ];

  /** Every method with every value in every place: it returns or throws, and nothing else happens. */
  function tryAll(make, methods) {
    for (const [method, ...usual] of methods) {
      for (let place = 0; place < Math.max(1, usual.length); ++place) {
        for (const value of hostile) {
          const given = [...usual];
          given[place] = value;
          const object = make();
          try {
            object[method](...given);
          } catch (error) {
            assert.ok(error instanceof Error, `${method}(${place})`);
          }
          object.close?.();
        }
      }
      const object = make();
      try {
        object[method]();
      } catch (error) {
        assert.ok(error instanceof Error);
      }
      object.close?.();
    }
  }

  test("of every kind do no more than throw", () => {
    const options = { version: "1", token: "t", linkSecret: "", pid: 1 };
    tryAll(
      () => new addon.Gateway(options),
      [
        ["start"],
        ["listen", 0],
        ["listenLink", "/nowhere/at/all"],
        ["setPlainAnswer", "{}"],
        ["openProvider", {}],
        ["sendProvider", 1, "{}"],
        ["status", "s"],
        ["issueSpawnToken", "s"],
        ["forgetSpawnToken", "t"],
        ["tellTimeline", "s", "info", "text"],
        ["close", false],
      ],
    );
    tryAll(
      () => new addon.SessionPort({}),
      [
        ["connect", "/nowhere/at/all"],
        ["attach", {}],
        ["send", "{}"],
        ["call", 1, "tool", "{}", 5],
        ["cancel", 1, "why"],
        ["close", "why"],
      ],
    );
    tryAll(
      () => new addon.HookGuards('[{"match":{"file":"**/x"},"action":"deny","reason":"no"}]'),
      [["covers", "edit", "", '{"path":"x"}', "/"]],
    );
    for (const value of /** @type {any[]} */ (hostile)) {
      for (const Class of [addon.Gateway, addon.SessionPort, addon.HookGuards]) {
        try {
          const made = /** @type {any} */ (new Class(value));
          made.close?.();
        } catch (error) {
          assert.ok(error instanceof Error);
        }
        assert.throws(() => Reflect.apply(/** @type {any} */ (Class), undefined, [value]));
      }
      for (const key of ["version", "token", "linkSecret", "persistRoot", "pid", "onLog"]) {
        try {
          new addon.Gateway({ ...options, [key]: value }).close();
        } catch (error) {
          assert.ok(error instanceof TypeError, key);
        }
      }
      try {
        addon.readLimits(value);
        addon.readLimits({ TAP_GRACE_MS: value });
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }
  });

  test("of a wrong type throw a TypeError", (t) => {
    const gateway = new TestGateway(t, { listen: false }).addon;
    const port = new addon.SessionPort({});
    t.after(() => port.close());
    const guards = new addon.HookGuards("[]");
    const wrong = /** @type {[any, string, any[]][]} */ ([
      [gateway, "status", [Symbol("s")]],
      [gateway, "status", []],
      [gateway, "setPlainAnswer", [5]],
      [gateway, "listenLink", [{}]],
      [gateway, "openProvider", [{ onMessage: 5 }]],
      [gateway, "sendProvider", ["1", "{}"]],
      [gateway, "sendProvider", [1.5, "{}"]],
      [gateway, "sendProvider", [1, {}]],
      [gateway, "tellTimeline", ["s", "loud", "text"]],
      [port, "send", [{}]],
      [port, "call", [1.5, "tool", "{}"]],
      [port, "call", [NaN, "tool", "{}"]],
      [port, "call", [1, "tool", {}]],
      [port, "call", [1, "tool", "{}", NaN]],
      [port, "call", [1, "tool", "{}", "5"]],
      [port, "cancel", ["1", "why"]],
      [port, "cancel", [1]],
      [port, "close", [5]],
      [guards, "covers", ["bash", "", {}, "/"]],
      [guards, "covers", ["bash", "", "{}"]],
    ]);
    for (const [object, method, given] of wrong) {
      assert.throws(() => object[method](...given), TypeError, method);
    }
    const handlers = ["onConnected", "onEvent", "onSettled", "onQuiet", "onClosed"];
    for (const name of handlers) {
      assert.throws(() => new addon.SessionPort({ [name]: /** @type {any} */ (5) }), TypeError);
    }
    assert.throws(() => addon.refuseArguments("tool", /** @type {any} */ (5)), TypeError);
    for (const token of [5, null, {}]) {
      const options = /** @type {any} */ ({ version: "1", token, linkSecret: "", pid: 1 });
      assert.throws(() => new addon.Gateway(options), /expected a string as token/);
    }
    assert.throws(() => gateway.listen(80.5), RangeError);
  });

  test("a method of one class refuses an object of another", (t) => {
    const gateway = new TestGateway(t, { listen: false }).addon;
    const port = new addon.SessionPort({});
    t.after(() => port.close());
    for (const other of [port, {}, null, Object.create(addon.Gateway.prototype)]) {
      assert.throws(() => Reflect.apply(addon.Gateway.prototype.status, other, ["s"]), TypeError);
    }
    const send = addon.SessionPort.prototype.send;
    assert.throws(() => Reflect.apply(send, gateway, ["{}"]), TypeError);
  });

  test("rules see broken text without stepping out of it", () => {
    const guards = new addon.HookGuards(
      '[{"match":{"file":"**/x"},"action":"deny","reason":"no"}]',
    );
    for (const text of ["{", '{"path', '{"path":"', '{"path":"\\', '{"path":"\\u00', '{"path":}']) {
      assert.equal(guards.covers("edit", "", text, "/"), false);
    }
    assert.equal(guards.covers("edit", "", '{"path":"x"}', "/"), true);
  });
});
