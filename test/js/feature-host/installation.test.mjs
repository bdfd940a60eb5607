// install(context): what a feature gets, and what becomes of one that misbehaves. Nobody else notices.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toCallError } from "../../../js/feature-host/results.mjs";
import { RequestFailed } from "../../../js/feature-host/gateway-requests.mjs";
import { installed, wanted } from "../../support/feature-rig.mjs";
import { waitFor } from "../../support/wait.mjs";

const tool = (name, fields) => ({ name, description: "does it", ...fields });
const texts = (report) => report.diagnostics.map(({ text }) => text).join("\n");

describe("a feature", () => {
  test("has what it registers, and its report says so", async (t) => {
    const fields = {
      tools: [tool("hi"), tool("forgotten")],
      hooks: [{ name: "no-rm", point: "onPreToolUse" }],
      commands: [{ name: "tap-hi", description: "greets" }],
      channels: ["news"],
      capabilities: [wanted("event")],
    };
    const { session, report, installation } = await installed(
      t,
      fields,
      ({ tools, hooks, commands }) => {
        assert.equal(
          tools.register("hi", ({ name }) => `hello ${name}`),
          true,
        );
        hooks.deny("no-rm", { tool: "bash", args: "rm -rf" }, "not here");
        commands.register("tap-hi", ({ args }) => `hello ${args}`);
      },
    );
    assert.equal(await session.call("hi", { name: "ada" }), "hello ada");
    const seen = report();
    assert.deepEqual(
      [seen.granted, seen.tools, seen.hooks, seen.commands, seen.channels],
      [["event"], ["hi"], ["no-rm"], ["tap-hi"], ["news"]],
    );
    assert.deepEqual(seen.skipped, [
      { what: "tool forgotten", reason: "install did not register it" },
    ]);
    const typed = { args: "x", session: { id: "s", cwd: "/" } };
    assert.equal(await installation.command("tap-hi")?.(typed), "hello x");
  });

  test("has a frozen context without a gateway, a session, a socket or a log", async (t) => {
    let context;
    await installed(t, {}, (given) => void (context = given));
    assert.deepEqual(Object.keys(context), [
      ...[
        "id",
        "grants",
        "hangs",
        "tools",
        "hooks",
        "commands",
        "events",
        "notify",
        "prompts",
        "diagnostics",
        "services",
      ],
    ]);
    for (const part of [
      context,
      ...Object.values(context).filter((one) => typeof one === "object"),
    ]) {
      assert.ok(Object.isFrozen(part));
    }
  });

  test("that is removed takes all of it along: calls, tools, sinks, services", async (t) => {
    let context;
    const fields = { tools: [tool("hi")], capabilities: [wanted("event")], channels: ["news"] };
    const { session, installation, report } = await installed(t, fields, (given) => {
      context = given;
      given.tools.register("hi", () => "hello");
    });
    await installation.stop("it was disabled");
    await waitFor(
      () =>
        session.events.findLast(({ type }) => type === "tools").set.length === 0 ||
        session.events.findLast(({ type }) => type === "tools").drop.length > 0,
    );
    assert.deepEqual([report().tools, report().channels], [[], []]);
    assert.throws(() => context.tools.register("hi", () => ""), /it was disabled/);
    await assert.rejects(context.events.emit("news", { summary: "x" }), { code: "unavailable" });
    await assert.rejects(context.services.records.query({}), { code: "unavailable" });
  });
});

describe("install", () => {
  /** @type {[string, import("../../../js/feature-host/installation.mjs").Install, RegExp][]} */
  const broken = [
    [
      "throws",
      () => {
        throw new Error("no database");
      },
      /^install failed: no database$/,
    ],
    ["rejects", () => Promise.reject(new Error("no database")), /^install failed: no database$/],
    ["never returns", () => new Promise(() => {}), /^install did not return within 0.1 s$/],
    [
      "throws something else",
      () => {
        throw null; // eslint-disable-line no-throw-literal
      },
      /^install failed: null$/,
    ],
    [
      "returns tasks that are none",
      () => /** @type {any} */ ({ tasks: null }),
      /^install failed: Cannot convert/,
    ],
    [
      "returns what cannot be read",
      () => ({
        get tasks() {
          throw new Error("no tasks");
        },
      }),
      /^install failed: no tasks$/,
    ],
  ];
  for (const [what, install, pattern] of broken) {
    test(`that ${what} leaves nothing of the feature but a reason`, async (t) => {
      const fields = { tools: [tool("hi")], tasks: [{ name: "watch" }] };
      const { session, report } = await installed(
        t,
        fields,
        (context) => {
          context.tools.register("hi", () => "hello");
          return install(context);
        },
        { installMs: 100 },
      );
      assert.deepEqual([report().tools, report().tasks], [[], []]);
      assert.match(texts(report()), pattern);
      assert.match(report().skipped[0].reason, pattern);
      assert.ok(session.events.every(({ type, set = [] }) => type !== "tools" || set.length === 0));
    });
  }

  test("that comes back too late finds its context closed", async (t) => {
    let late;
    const { report } = await installed(
      t,
      { tools: [tool("hi")] },
      async ({ tools }) => {
        await new Promise((resolve) => setTimeout(resolve, 150));
        try {
          tools.register("hi", () => "");
        } catch (error) {
          late = error;
        }
      },
      { installMs: 50 },
    );
    await waitFor(() => late);
    assert.match(late.message, /did not return/);
    assert.deepEqual(report().tools, []);
  });
});

describe("services", () => {
  test("that were not granted say `denied` with the capability's name", async (t) => {
    let error;
    const { report } = await installed(t, {}, async ({ services }) => {
      error = await services.records.query({}).catch((one) => one);
    });
    assert.deepEqual([error.code, error.capability], ["denied", "records:read"]);
    assert.match(error.message, /records:read/);
    assert.match(texts(report()), /asked for records:read, which was not granted/);
  });

  test("that are broken say `unavailable` with the reason", async (t) => {
    const errors = [];
    const implementations = { records: { query: () => Promise.reject(new Error("disk full")) } };
    const fields = { capabilities: [wanted("records:read"), wanted("process")] };
    await installed(
      t,
      fields,
      async ({ services }) => {
        errors.push(await services.records.query({}).catch((one) => one));
        errors.push(await services.process.run({}).catch((one) => one));
      },
      { implementations },
    );
    assert.deepEqual(
      errors.map(({ code }) => code),
      ["unavailable", "unavailable"],
    );
    assert.match(errors[0].message, /disk full/);
    assert.match(errors[1].message, /this host has no process.run/);
  });

  test("that cannot be reached fail a call with their code, others with INTERNAL", async (t) => {
    let error = new Error("");
    const implementations = { records: { query: () => Promise.reject(error) } };
    const fields = { capabilities: [wanted("records:read")], tools: [tool("ask")] };
    const { session } = await installed(
      t,
      fields,
      ({ tools, services }) => void tools.register("ask", () => services.records.query({})),
      { implementations, failure: toCallError },
    );
    const failsWith = async (/** @type {Error} */ thrown) => {
      error = thrown;
      return session.call("ask").catch(({ message }) => message);
    };
    const ended = new RequestFailed("DISCONNECTED", "the link to the gateway has ended: EPIPE");
    assert.match(
      JSON.stringify(await failsWith(ended)),
      /DISCONNECTED: unavailable: the link to the gateway has ended: EPIPE/,
    );
    const late = new RequestFailed("TIMEOUT", "nothing came within 35 s");
    assert.match(JSON.stringify(await failsWith(late)), /TIMEOUT: unavailable: nothing came/);
    for (const other of [new RequestFailed("INVALID", "no field x"), new Error("disk full")]) {
      assert.match(JSON.stringify(await failsWith(other)), /INTERNAL: ServiceError: unavailable/);
    }
  });
});

describe("sinks", () => {
  const fields = { channels: ["news"], capabilities: [wanted("event"), wanted("notify")] };

  test("are flooded in vain: what is too much is left out and said once", async (t) => {
    let refused = 0;
    const { said, report } = await installed(t, fields, async ({ events, notify, diagnostics }) => {
      for (let i = 0; i < 1000; i += 1) {
        await events.emit("news", { summary: `${i}` }).catch(() => (refused += 1));
        await notify.model(`${i}`).catch(() => (refused += 1));
        diagnostics.add(`${i}`);
      }
    });
    assert.ok(said.events.length <= 30 && said.model.length <= 30, `${said.events.length}`);
    assert.ok(refused > 1900);
    assert.ok(report().diagnostics.length <= 20);
    assert.match(texts(report()), /the others are dropped/);
  });

  test("take bounded text without secrets", async (t) => {
    const secret = "ghp_0123456789abcdefghijABCDEFGHIJ";
    const { said } = await installed(t, fields, async ({ events, notify }) => {
      const long = `${secret} ${"x".repeat(100_000)}`;
      await events.emit("news", { summary: long, detail: long, level: "error" });
      await notify.model(long);
    });
    const all = JSON.stringify([said.events, said.model]);
    assert.ok(all.length < 9000 && !all.includes(secret), `${all.length}`);
  });

  test("refuse a channel that the descriptor lacks, an unknown level, and no text", async (t) => {
    const { said } = await installed(t, fields, async ({ events, notify }) => {
      await assert.rejects(events.emit("other", { summary: "x" }), /channel/);
      await assert.rejects(events.emit("news", { summary: "" }), /summary/);
      await assert.rejects(events.emit("news", { summary: "x", level: "loud" }), /level/);
      await assert.rejects(notify.model(/** @type {any} */ ({})), /text/);
    });
    assert.deepEqual(said, { events: [], model: [], prompts: [] });
  });
});

describe("tasks", () => {
  test("run with a signal and the sinks, and end with the feature", async (t) => {
    let context;
    let ended = false;
    const { report, installation } = await installed(t, { tasks: [{ name: "watch" }] }, () => ({
      tasks: {
        watch: (given) => {
          context = given;
          return new Promise((resolve) =>
            given.signal.addEventListener("abort", () => {
              ended = true;
              resolve(undefined);
            }),
          );
        },
      },
    }));
    await waitFor(() => context);
    assert.deepEqual(Object.keys(context), [
      "signal",
      "events",
      "notify",
      "prompts",
      "diagnostics",
    ]);
    assert.deepEqual(report().tasks, ["watch"]);
    await installation.stop("it was disabled");
    assert.ok(ended);
  });

  test("that fail are a diagnostic of their feature", async (t) => {
    const { report } = await installed(t, { tasks: [{ name: "watch" }, { name: "gone" }] }, () => ({
      tasks: { watch: () => Promise.reject(new Error("no file")) },
    }));
    await waitFor(() => texts(report()).includes("task watch failed: no file"));
    assert.deepEqual(report().skipped, [
      { what: "task gone", reason: "install did not return it" },
    ]);
  });

  test("whose schedule nobody can read are not started", async (t) => {
    const { report } = await installed(
      t,
      { tasks: [{ name: "watch", schedule: "now and then" }] },
      () => ({
        tasks: { watch: () => assert.fail("it runs") },
      }),
    );
    assert.match(texts(report()), /"now and then" is not like 30s/);
  });
});

test("a result is bounded: text goes on in a file, JSON is never cut", async (t) => {
  const kept = [];
  const commands = [{ name: "long", description: "says much" }];
  const fields = { tools: [tool("text"), tool("json"), tool("string"), tool("secret")], commands };
  const { session, installation } = await installed(
    t,
    fields,
    ({ tools, commands: registrar }) => {
      registrar.register("long", () => "x".repeat(100_000));
      tools.register("string", () => JSON.stringify({ list: Array(100_000).fill(1) }));
      tools.register("text", () => "é".repeat(100_000));
      tools.register("json", () => ({ list: Array(100_000).fill(1) }));
      tools.register("secret", () => ({ api_key: "abcdef", text: "ptk-0123456789abcdef0123" }));
    },
    { overflow: async (text) => (kept.push(text), "/folder/text.txt") },
  );
  const text = await session.call("text");
  assert.ok(text.length <= 32 * 1024 && text.endsWith("the whole text is in /folder/text.txt)"));
  assert.equal(kept[0].length, 100_000);
  const json = await session.call("json").catch((error) => error);
  assert.match(json.text ?? json.message, /the limit is 32768/);
  const string = await session.call("string").catch((error) => error);
  assert.match(string.text ?? string.message, /the limit is 32768/);
  const typed = { args: "", session: { id: "s", cwd: "/" } };
  const said = await installation.command("long")?.(typed);
  assert.ok(said?.endsWith("the whole text is in /folder/text.txt)"));
  assert.deepEqual(JSON.parse(await session.call("secret")), {
    api_key: "<removed>",
    text: "<removed>",
  });
});
