// copilot-tap/provider: whatever a user's function does, the call is answered once, and its author reads why.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { root } from "../../../tools/commands.mjs";
import { makeTool } from "../../../sdk/node/tools.mjs";
import { provider, ToolError } from "../../../sdk/node/provider.mjs";
import { waitFor, withTimeout } from "../../support/wait.mjs";
import { place } from "./sdk-place.mjs";

/** @typedef {import("node:test").TestContext} TestContext */

/** What is printed to stderr meanwhile. @param {TestContext} t */
function stderr(t) {
  const printed = { text: "" };
  t.mock.method(console, "error", (text) => void (printed.text += `${text}\n`));
  return printed;
}

/** What is thrown, with what the model reads. @type {Record<string, [() => unknown, RegExp]>} */
const THROWN = {
  type: [() => new TypeError("x is undefined"), /INTERNAL: TypeError: x is undefined\./],
  plain: [() => new Error("no luck"), /INTERNAL: no luck\./],
  own: [() => new (class NoSuchRow extends Error {})("row 7"), /INTERNAL: NoSuchRow: row 7\./],
  silent: [() => new RangeError(), /INTERNAL: RangeError\./],
  text: [() => "just a text", /INTERNAL: just a text\./],
  nothing: [() => undefined, /INTERNAL: it threw undefined\./],
  symbol: [() => Symbol("s"), /INTERNAL: it threw Symbol\(s\)\./],
  bare: [() => Object.create(null), /INTERNAL: it threw \[Object: null prototype\] \{\}\./],
  getter: [
    () =>
      Object.defineProperty(new Error("x"), "message", {
        get() {
          throw new Error("no message");
        },
      }),
    /INTERNAL: it threw something that cannot be shown\./,
  ],
  proxy: [
    () =>
      new Proxy(new Error("x"), {
        getPrototypeOf() {
          throw new Error("no prototype");
        },
        get() {
          throw new Error("no properties");
        },
      }),
    /INTERNAL: it threw something that cannot be shown\./,
  ],
  numbered: [() => new ToolError(/** @type {any} */ (404), "gone"), /INTERNAL: gone\./],
  long: [() => new Error("x".repeat(6_000_000)), /INTERNAL: x{1000}/],
};

/** What is returned, with what the model reads. @type {Record<string, [() => unknown, RegExp]>} */
const RETURNED = {
  bigint: [() => 1n, /INTERNAL: TypeError: Do not know how to serialize a BigInt/],
  loop: [
    () => {
      const loop = /** @type {any} */ ({});
      loop.loop = loop;
      return loop;
    },
    /INTERNAL: TypeError: Converting circular structure/,
  ],
  function: [() => () => 1, /INTERNAL: TypeError: the tool returned a function, which is no JSON/],
  symbol: [() => Symbol("s"), /INTERNAL: TypeError: the tool returned a symbol/],
  error: [
    () => Object.assign(new RangeError("x"), { code: 1 }),
    /of the type RangeError, .*throw it/,
  ],
  inner: [() => ({ list: [Promise.resolve()] }), /of the type Promise, which is no JSON/],
  iterator: [() => [1].values(), /of the type Array Iterator/],
  generator: [() => (async function* generate() {})(), /of the type AsyncGenerator/],
  keys: [() => new Map([[{}, 1]]), /of the type Map/],
  thenable: [
    () => ({
      then() {
        throw new Error("no then");
      },
    }),
    /INTERNAL: no then/,
  ],
};

describe("a call is answered once", () => {
  test("whatever its tool throws", async (t) => {
    const { kit, make } = await place(t);
    stderr(t);
    const tap = make("odd");
    for (const [name, [thrown]] of Object.entries(THROWN)) {
      tap.tool(`throws_${name}`, { description: "" }, () => {
        throw thrown();
      });
      tap.tool(`rejects_${name}`, { description: "" }, () => Promise.reject(thrown()));
    }
    await tap.connect();
    await kit.tool("rejects_long");
    for (const [name, [, message]] of Object.entries(THROWN)) {
      await assert.rejects(kit.call(`throws_${name}`), { code: "INTERNAL", message }, name);
      await assert.rejects(kit.call(`rejects_${name}`), { code: "INTERNAL", message }, name);
    }
  });

  test("whatever its tool has made of its arguments", async (t) => {
    const { kit, make } = await place(t);
    const printed = stderr(t);
    const tap = make("odd", { concurrency: 1 });
    /** @type {Record<string, (args: any) => void>} */
    const changes = {
      loop: (args) => (args.loop = args),
      bigint: (args) => (args.n = 1n),
      json: (args) => (args.toJSON = () => undefined),
      fails: (args) => {
        args.toJSON = () => {
          throw new Error("no JSON");
        };
      },
    };
    for (const [name, change] of Object.entries(changes)) {
      tap.tool(`makes_${name}`, { description: "" }, (args) => {
        change(args);
        throw new Error("no luck");
      });
    }
    await tap.connect();
    await kit.tool("makes_fails");
    for (const name of Object.keys(changes)) {
      const message = /INTERNAL: no luck/;
      await assert.rejects(kit.call(`makes_${name}`, { id: 7 }), { message }, name);
    }
    assert.match(printed.text, /makes_loop \(its arguments, changed by the tool, are not JSON\)/);
  });

  test("whatever its tool returns", async (t) => {
    const { kit, make } = await place(t);
    stderr(t);
    const tap = make("odd", { concurrency: 1 });
    for (const [name, [made]] of Object.entries(RETURNED)) {
      tap.tool(name, { description: "" }, made);
    }
    let times = 0;
    const fickle = {
      toJSON() {
        if (++times > 1) throw new Error("not twice");
        return "once";
      },
    };
    tap.tool("fickle", { description: "" }, () => fickle);
    await tap.connect();
    await kit.tool("fickle");
    for (const [name, [, message]] of Object.entries(RETURNED)) {
      await assert.rejects(kit.call(name), { code: "INTERNAL", message }, name);
    }
    assert.equal(await kit.call("fickle"), "once");
    await assert.rejects(kit.call("fickle"), { code: "INTERNAL", message: /not twice/ });
  });

  test("arguments that do not fit are told in words", async (t) => {
    const { kit, make } = await place(t);
    const printed = stderr(t);
    const tap = make("die");
    const parameters = {
      type: "object",
      properties: {
        name: { type: "string" },
        times: { type: "integer", minimum: 1 },
        unit: { enum: ["c", "k"] },
        place: { $ref: "#/$defs/place" },
        tag: { anyOf: [{ type: "string" }, { type: "null" }] },
      },
      required: ["name"],
      additionalProperties: false,
      $defs: { place: { properties: { city: { type: "string" } }, required: ["city"] } },
    };
    tap.tool("greet", { description: "", parameters }, () => "hello");
    await tap.connect();
    await kit.tool("greet");
    const refused = (args, text) =>
      assert.rejects(kit.call("greet", args), ({ code, message }) => {
        assert.equal(code, "INVALID_ARGUMENTS");
        const whole = `Provider "die" failed with INVALID_ARGUMENTS: greet ${text}. Check the arguments, then call again.`;
        assert.equal(message, whole);
        return true;
      });
    await refused({}, 'needs "name" (text)');
    await refused({ name: 7 }, 'needs "name" to be text, not 7');
    await refused({ name: "", times: 1.5 }, 'needs "times" to be a whole number, not 1.5');
    await refused({ name: "", times: 0 }, 'refuses "times": 0 is less than 1');
    await refused({ name: "", unit: "x" }, 'needs "unit" to be one of "c", "k", not "x"');
    await refused({ name: "", place: {} }, 'needs "place.city" (text)');
    await refused({ name: "", tag: 1 }, 'needs "tag" to be text or null, not 1');
    await refused({ gift: 1 }, 'needs "name" (text); does not take "gift"');
    await refused({ name: ["x".repeat(99)] }, 'needs "name" to be text, not a list');
    assert.equal(printed.text, "", "that is the model's mistake");
  });
});

describe("a schema as it comes from elsewhere", () => {
  const CAT = { properties: { kind: { const: "cat" }, n: { type: "number" } }, required: ["n"] };
  const DOG = {
    type: "object",
    properties: { kind: { const: "dog" }, m: { type: "string" } },
    additionalProperties: false,
  };
  const accepts = (property, more = {}) => {
    const parameters = { type: "object", properties: { "größe %": property }, ...more };
    const { validate } = makeTool("t", { description: "", parameters }, () => 1);
    return async (value) => (await validate({ "größe %": value }))["größe %"];
  };
  const refused = (message) => ({ code: "INVALID_ARGUMENTS", message });

  test("may have patterns that the flag u refuses, and bounds of OpenAPI 3.0", async () => {
    const patterns = {
      [String.raw`^https\:\/\/`]: ["https://x", "http://x"],
      [String.raw`^[\w-.]{2}\-{y}]$`]: ["a--{y}]", "a+-{y}]"],
      [String.raw`^\p{Lu}\@$`]: ["Ä@", "ä@"],
    };
    for (const [pattern, [good, bad]] of Object.entries(patterns)) {
      const check = accepts({ pattern });
      assert.equal(await check(good), good);
      await assert.rejects(check(bad), refused(/refuses "größe %"/));
      const byName = makeTool(
        "t",
        {
          description: "",
          parameters: { type: "object", patternProperties: { [pattern]: { type: "null" } } },
        },
        () => 1,
      );
      await assert.rejects(byName.validate({ [good]: 1 }), { code: "INVALID_ARGUMENTS" });
      assert.deepEqual(await byName.validate({ [bad]: 1 }), { [bad]: 1 });
    }
    const exclusive = accepts({
      minimum: 1,
      exclusiveMinimum: false,
      maximum: 9,
      exclusiveMaximum: true,
    });
    assert.equal(await exclusive(1), 1);
    await assert.rejects(exclusive(9), refused(/9/));
  });

  test("is read by the rules of its draft", async () => {
    const limited = { $ref: "#/definitions/any", maximum: 3 };
    const more = { definitions: { any: { type: "number" } } };
    const draft7 = { ...more, $schema: "http://json-schema.org/draft-07/schema#" };
    assert.equal(await accepts(limited, draft7)(4), 4);
    await assert.rejects(accepts(limited, more)(4), refused(/4/));
  });

  test("of a union: the problems of the way that is meant, else of each", async () => {
    const union = accepts({ anyOf: [CAT, DOG] });
    await assert.rejects(union({ kind: "cat" }), refused(/t needs "größe %.n" \(a number\)$/));
    await assert.rejects(union({ kind: "dog", x: 1 }), refused(/t does not take "größe %.x"$/));
    await assert.rejects(union({ kind: "cow" }), refused(/kind".*"cat".*, or .*kind".*"dog"/));
    const either = accepts({ oneOf: [{ type: "number" }, { type: "integer" }, DOG] });
    await assert.rejects(either("x"), refused(/to be a number or a whole number or an object/));
    await assert.rejects(either(7), refused(/2 matches/));
  });

  test("is refused at once where no call could be checked", async () => {
    for (const property of [
      { pattern: "(?i)x" },
      { pattern: String.raw`x\Z` },
      { items: { patternProperties: { "(?P<x>y)": {} } } },
      { $ref: "#/$defs/missing" },
      { $ref: "#/$defs/constructor" },
      { $ref: "#/type" },
      { $ref: "#/$defs/loop" },
      { anyOf: [{ $ref: "other.json" }] },
    ]) {
      const $defs = { loop: { $ref: "#/$defs/loop" } };
      assert.throws(() => accepts(property, { $defs }), /^TypeError: tool t: parameters: /);
    }
    const $defs = { größe: { $id: "size.json", $anchor: "size", type: "number" } };
    for (const $ref of ["#/$defs/gr%C3%B6%C3%9Fe", "#/$defs/größe", "size.json", "#size"]) {
      await assert.rejects(accepts({ $ref }, { $defs })("x"), refused(/to be a number, not "x"/));
    }
    await assert.rejects(accepts({ $ref: "#" })(7), refused(/to be an object, not 7/));
    assert.deepEqual(
      await accepts({ enum: [{ $ref: "x", pattern: "(" }], default: { $ref: "y" } })({
        $ref: "x",
        pattern: "(",
      }),
      { $ref: "x", pattern: "(" },
    );
  });
});

test("a tool that is declared wrongly throws at once", () => {
  const tap = provider("wrong");
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const handler = () => 1;
  for (const [args, text] of /** @type {[any[], RegExp][]} */ ([
    [
      ["t", { descripton: "" }, handler],
      /^tool t: unknown option "descripton"; the options are desc/,
    ],
    [["t", { description: "", inputSchema: parameters }, handler], /unknown option "inputSchema"/],
    [
      ["t", { description: "" }],
      /^tool t: expected tool\(name, \{ description, parameters \}, func/,
    ],
    [["t", handler], /^tool t: expected tool\(name/],
    [[{ name: "t", description: "" }, handler], /^expected tool\(name/],
    [
      ["t", { parameters: parameters.properties }, handler],
      /^tool t: parameters must be a JSON Sch/,
    ],
    [["t", { parameters: { type: "array" } }, handler], /of an object: \{ type: "object", prop/],
    [["t", { parameters: "city" }, handler], /^tool t: parameters must be a JSON Schema, or a sch/],
  ])) {
    assert.throws(
      () => tap.tool(.../** @type {[any, any, any]} */ (args)),
      (error) => {
        assert.ok(error instanceof TypeError);
        assert.match(error.message, text);
        return true;
      },
    );
  }
});

describe("its author reads on stderr", () => {
  test("which call a tool has failed in, and where, unless a listener takes it", async (t) => {
    const { kit, make } = await place(t);
    const printed = stderr(t);
    const tap = make("slow");
    tap.tool("boom", { description: "" }, function explode() {
      throw new TypeError("x is undefined", { cause: new Error("the cause\u001b[2J") });
    });
    tap.tool("meant", { description: "" }, () => {
      throw new ToolError("NOT_FOUND", "nobody is there");
    });
    await tap.connect();
    await kit.tool("meant");
    await assert.rejects(kit.call("meant"), { code: "NOT_FOUND" });
    assert.equal(printed.text, "");
    await assert.rejects(kit.call("boom", { a: "\u001b[2J", long: "y".repeat(500) }));
    assert.match(
      printed.text,
      /^provider slow: boom \{"a":"\\u001b\[2J","long":"y{100,200}… failed:\nTypeError: x is undefined\n +at .*explode.*sdk-node\.failures/,
    );
    assert.match(printed.text, /\[cause\]: Error: the cause\\x1b\[2J/);
    const errors = [];
    tap.on("error", (error) => errors.push(error));
    printed.text = "";
    await assert.rejects(kit.call("boom"));
    await waitFor(() => errors.length === 1);
    assert.equal(errors[0].message, "x is undefined");
    assert.equal(printed.text, "");
  });

  test("what gates, sections and listeners throw", async (t) => {
    const { kit, make } = await place(t);
    const printed = stderr(t);
    const tap = make("hooked");
    const fail = (what) => () => {
      throw new RangeError(what);
    };
    tap.gate({ tool: "bash" }, fail("of the gate"));
    tap.gate({ tool: "read" }, () => ({ decision: "deny", reason: /** @type {any} */ (1n) }));
    tap.section("code_change_rules", fail("of the section"));
    tap.on("session.idle", fail("of the listener"));
    await tap.connect();
    await waitFor(() => kit.session.hooks);
    const { deny } = await kit.session.check("bash", { command: "ls" });
    assert.match(deny, /the gate failed: RangeError: of the gate/);
    assert.ok((await kit.session.check("read", {})).deny);
    await kit.session.build("code_change_rules", "text");
    kit.session.become("user-prompt");
    kit.session.become("idle");
    const stack = (head, what) =>
      new RegExp(`^provider hooked: ${head} failed:\nRangeError: ${what}\n +at `, "m");
    const wanted = [
      stack('the gate of bash {"command":"ls"}', "of the gate"),
      stack("the function of section code_change_rules", "of the section"),
      stack('on\\("session.idle"\\)', "of the listener"),
    ];
    const all = () => wanted.every((one) => one.test(printed.text));
    await waitFor(all, { what: () => printed.text });
  });

  test("what an error listener throws itself", async (t) => {
    const { kit, make } = await place(t);
    const printed = stderr(t);
    const tap = make("hooked");
    tap.tool("boom", { description: "" }, () => Promise.reject(new Error("first")));
    tap.on("error", () => {
      throw new Error("second");
    });
    await tap.connect();
    await kit.tool("boom");
    await assert.rejects(kit.call("boom"));
    await waitFor(() => printed.text.includes("second"));
    assert.match(printed.text, /^provider hooked: on\("error"\) failed:\nError: second\n +at /);
  });
});

describe("a refusal that nobody catches", () => {
  /** @param {TestContext} t @param {object} env @param {string} code */
  async function run(t, env, code) {
    const from = `import { provider } from "copilot-tap/provider"; const tap = provider("slow");`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", from + code], {
      cwd: root,
      env: { ...process.env, ...env, TAP_PROVIDER_TOKEN: "ptk-wrong" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => (output += text));
    const ended = new Promise((resolve) => child.on("close", resolve));
    return { status: await withTimeout(ended, () => output), output };
  }
  const ONE_LINE = /^provider slow: AUTH_FAILED: .* Unset an old TAP_PROVIDER_TOKEN[^\n]*\n$/;

  for (const [how, code] of [
    ["awaited", "await tap.connect();"],
    ["floating", "tap.connect();"],
    ["within a function", "async function main() { await tap.connect(); } main();"],
  ]) {
    test(`ends the process in one line, ${how}`, async (t) => {
      const { kit } = await place(t);
      const { status, output } = await run(t, kit.env, code);
      assert.equal(status, 1, output);
      assert.match(output, ONE_LINE);
    });
  }

  test("is the program's own where it catches it", async (t) => {
    const { kit } = await place(t);
    const code = `await tap.connect().catch((error) => console.log("caught", error.code));`;
    const { status, output } = await run(t, kit.env, code);
    assert.deepEqual([status, output], [0, "caught AUTH_FAILED\n"]);
    const own = `process.on("uncaughtException", (error) => console.log("own", error.code)); tap.connect();`;
    assert.equal((await run(t, kit.env, own)).output, "own AUTH_FAILED\n");
  });
});
