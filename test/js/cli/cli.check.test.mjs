// copilot-tap check: real programs, each with one fault, beside a gateway of its own.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { programFolder } from "../../../js/lib/paths.mjs";
import { badArguments, schemaProblems } from "../../../js/develop/check/tool-schema.mjs";
import { describesTools } from "../../../js/develop/check/connection-checks.mjs";
import { REASONS } from "../../../js/develop/check/findings.mjs";
import { PROTOCOL_PAGES } from "../../../tools/conformance.mjs";
import { place, Running, tap, tapJson } from "../../support/cli-process.mjs";
import { isAlive } from "../../support/processes.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";

const SDK = path.join(programFolder, "sdk", "node", "provider.mjs");
const CARELESS = path.join(programFolder, "test/support/fixtures/careless-provider.mjs");

/** A provider of the SDK in a file. @param {import("node:test").TestContext} t @param {string} handler of "slow" */
function sdkProgram(t, handler) {
  const file = path.join(temporaryFolder(t), "provider.mjs");
  fs.writeFileSync(
    file,
    `import { provider } from ${JSON.stringify(SDK)};
     const tap = provider("timer");
     const parameters = {
       type: "object",
       properties: { seconds: { type: "number" } },
       required: ["seconds"],
     };
     tap.tool("slow", { description: "Waits.", parameters }, ${handler});
     await tap.connect();`,
  );
  return file;
}

const HEEDS = `({ seconds }, { signal }) => new Promise((resolve, reject) => {
  setTimeout(resolve, seconds * 1000);
  signal.addEventListener("abort", () => reject(signal.reason));
})`;
const IGNORES = `({ seconds }) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))`;

/** Seconds for a program to be in the session: Node starts slowly where much else runs. */
const WAIT = "20";

/**
 * The report on a careless provider.
 * @param {import("node:test").TestContext} t @param {string[]} faults @param {string[]} [options]
 */
async function report(t, faults, options = []) {
  const words = ["check", "--json", "--wait", WAIT, ...options, "--", "node", CARELESS, ...faults];
  const { code, out, err } = await tap(words, place(t));
  assert.equal(err, "");
  const value = JSON.parse(out);
  const codes = value.checks.flatMap((/** @type {any} */ { id, findings }) =>
    findings.map((/** @type {{code: string}} */ found) => `${id} ${found.code}`),
  );
  return { code, value, codes };
}

describe("copilot-tap check", { concurrency: 4 }, () => {
  test("finds nothing wrong with a good provider of the SDK", async (t) => {
    const at = place(t);
    const command = ["--", process.execPath, sdkProgram(t, HEEDS)];
    const { code, out } = await tap(
      ["check", "--wait", WAIT, "--call", "slow", "seconds=60", ...command],
      at,
    );
    assert.equal(code, 0, out);
    assert.match(out, /^Checking .*provider\.mjs with a gateway and a session of its own\.$/m);
    assert.match(out, /only calls with bad arguments are made, and those that --call names/);
    assert.equal(out.match(/^ {4}✓ ok/gm)?.length, 7, out);
    assert.match(out, /^4\/7 settles a cancelled call\n {4}✓ ok: "slow" was settled \d+ ms after/m);
    assert.match(out, /Nothing is wrong \(7 checks\)\.\n$/);
  });

  test("makes no good call that is not named, and says so", async (t) => {
    const called = path.join(temporaryFolder(t), "called");
    const handler = `() => (await import("node:fs")).writeFileSync(${JSON.stringify(called)}, "")`;
    const file = sdkProgram(t, `async ${handler}`);
    const { code, out } = await tap(
      ["check", "--wait", WAIT, "--", process.execPath, file],
      place(t),
    );
    assert.equal(code, 0, out);
    assert.match(out, /Tools may have effects: only calls with bad arguments are made\.\n/);
    assert.match(out, /- not applicable: name a call that takes a while, with --call/);
    assert.match(out, /Nothing is wrong \(7 checks, 1 not applicable\)/);
    assert.ok(!fs.existsSync(called));
  });

  test("finds a handler that ignores its signal", async (t) => {
    const file = sdkProgram(t, IGNORES);
    const words = [
      "check",
      "--wait",
      WAIT,
      "--call",
      "slow seconds=60",
      "--",
      process.execPath,
      file,
    ];
    const { code, out } = await tap(words, place(t));
    assert.equal(code, 1, out);
    assert.match(out, /✗ wrong: "slow" sent no `tool\.result` within 5 s of `tool\.cancel`\./);
    assert.match(out, /Why it matters: .*\n +Fix: .*With the SDKs, use the signal/);
    assert.match(out, /IGNORES_CANCEL, docs\/protocol\.md P-CALL-12, P-CALL-13, P-RUN-7/);
    assert.match(out, /1 check found something wrong \(7 checks\)\.\n$/);
  });

  test("says of a call that is over at once that it cannot be cancelled", async (t) => {
    const file = sdkProgram(t, `() => "done"`);
    const words = [
      "check",
      "--wait",
      WAIT,
      "--call",
      "slow",
      "seconds=1",
      "--",
      process.execPath,
      file,
    ];
    const { code, out } = await tap(words, place(t));
    assert.equal(code, 0, out);
    assert.match(out, /- not applicable: "slow" answered after \d+ ms, too soon to be cancelled/);
  });

  test("goes on after a crash by bad arguments", async (t) => {
    const { code, value, codes } = await report(t, ["crash"]);
    assert.equal(code, 1);
    assert.deepEqual(codes, ["bad-arguments CRASHES", "bad-arguments CRASHES"]);
    const [first] = value.checks[2].findings;
    assert.match(first.happened, /^After a call of "shout" without "text".*exit code 1\)\.$/);
    assert.ok(value.checks[2].printed.join().includes("TypeError"));
    assert.equal(value.checks.at(-1).verdict, "ok");
  });

  for (const [fault, expected] of /** @type {[string, string[]][]} */ ([
    ["bad-tools", ["tools NO_DESCRIPTION", "tools BAD_SCHEMA"]],
    ["accepts", ["bad-arguments ACCEPTS_BAD_ARGUMENTS", "bad-arguments ACCEPTS_BAD_ARGUMENTS"]],
    ["bad-push", ["connect MESSAGE_REFUSED"]],
    ["bad-answer", ["bad-arguments BAD_ANSWER", "bad-arguments BAD_ANSWER"]],
    ["forgets-tools", ["clear TOOLS_MISSING"]],
    ["ends-with-gateway", ["restart ENDS_WITH_GATEWAY"]],
    ["ends-with-session", ["clear ENDS_WITH_SESSION"]],
    ["stays-unbound", ["clear NOT_IN_NEXT_SESSION"]],
    ["keeps-token", ["restart NOT_BACK"]],
    ["ignores-sigterm", ["end IGNORES_SIGTERM"]],
    ["twice", ["connect CONNECTS_TWICE"]],
  ])) {
    test(`finds what is wrong with a provider that has the fault ${fault}`, async (t) => {
      const { code, value, codes } = await report(t, [fault], ["--call", 'shout {"text":"a"}']);
      assert.deepEqual(codes.slice(0, expected.length), expected, JSON.stringify(value, null, 2));
      assert.equal(code, 1);
      assert.equal(value.well, false);
      assert.equal(value.checks.length, 7);
    });
  }

  test("finds calls without an answer, unless the tool is left out", async (t) => {
    const silent = ["silent", "ignores-cancel"];
    const { codes } = await report(t, silent);
    assert.deepEqual(codes, ["bad-arguments NO_ANSWER", "bad-arguments NO_ANSWER"]);
    const left = await report(t, silent, ["--skip", "shout"]);
    assert.deepEqual([left.code, left.codes], [0, []]);
    assert.equal(left.value.checks[2].verdict, "not applicable");
  });

  for (const [fault, code, happened] of /** @type {[string, string, RegExp][]} */ ([
    ["never-connects", "NEVER_CONNECTED", /opened no WebSocket within 20 s/],
    ["no-auth", "NO_AUTH", /connected and sent no `auth`/],
    ["no-hello", "NO_HELLO", /authenticated and sent no `hello`/],
    ["wrong-token", "AUTH_REFUSED", /AUTH_FAILED/],
    ["old", "HELLO_REFUSED", /UNSUPPORTED_VERSION/],
  ])) {
    test(`says why a provider with the fault ${fault} is not in the session`, async (t) => {
      const { value, codes } = await report(t, [fault]);
      assert.deepEqual(codes, [`connect ${code}`]);
      assert.match(value.checks[0].findings[0].happened, happened);
      const others = value.checks.slice(1);
      assert.ok(others.every((/** @type {any} */ one) => one.verdict === "not applicable"));
    });
  }

  test("a command that does not exist, or ends at once, is named", async (t) => {
    const none = await tap(["check", "--", "/no/such/program"], place(t));
    assert.equal(none.code, 1);
    assert.match(none.out, /✗ wrong: "\/no\/such\/program" does not start: .*ENOENT/);
    const script = 'console.error("no key"); process.exit(3)';
    const short = await tap(
      ["check", "--wait", WAIT, "--", process.execPath, "-e", script],
      place(t),
    );
    assert.equal(short.code, 1);
    assert.match(short.out, /The program ended \(exit code 3\) before it connected\./);
    assert.match(short.out, /The program printed last:\n {8}no key\n/);
  });

  test("what a program prints is counted, and its end is shown where something is wrong", async (t) => {
    const { value } = await report(t, ["prints", "no-auth"]);
    assert.equal(value.printedBytes, 4_000_000);
    assert.ok(value.checks[0].printed.join("").length < 4000);
    const words = ["check", "--wait", WAIT, "--skip", "shout", "--", "node", CARELESS, "prints"];
    const { code, out } = await tap(words, place(t));
    assert.equal(code, 0, "that alone is not wrong");
    assert.match(out, /The program printed 3\.8 MB/);
  });

  test("leaves nothing behind when it is interrupted", async (t) => {
    const folder = temporaryFolder(t);
    const file = path.join(folder, "pid");
    const script = `require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid));
                    setInterval(() => {}, 1000)`;
    const checking = new Running(
      ["check", "--wait", WAIT, "--", process.execPath, "-e", script],
      place(t),
    );
    await waitFor(() => fs.existsSync(file) && fs.readFileSync(file, "utf8") !== "");
    checking.process.kill("SIGINT");
    const { code, err } = await checking.end();
    assert.equal(code, 130);
    assert.match(err, /interrupted/);
    assert.ok(!(await isAlive(Number(fs.readFileSync(file, "utf8")))));
  });

  test("refuses a command line that cannot be meant", async (t) => {
    const at = place(t);
    for (const [words, said] of /** @type {[string[], RegExp][]} */ ([
      [[], /expected the provider's program/],
      [["node", "provider.mjs"], /the provider's program|does not belong to a call/],
      [["--wait", "soon", "--", "node"], /--wait is "soon"/],
      [["--call", " ", "--", "node"], /--call needs a tool/],
      [["a=1", "--call", "x", "--call", "y", "--", "node"], /"a=1" does not belong to a call/],
    ])) {
      const { code, err } = await tap(["check", ...words], at);
      assert.equal(code, 2, err);
      assert.match(err, said);
    }
    const words = ["check", "--wait", WAIT, "--call", "shou", "--json", "--", "node", CARELESS];
    const { code, out } = await tap(words, at);
    assert.equal(code, 1);
    assert.match(JSON.parse(out).error.message, /no tool "shou"; it has: shout; did you mean/);
    const { value } = await tapJson(["check"], at);
    assert.equal(value.error.code, "USAGE");
  });
});

test("a description that the gateway cuts is found", async () => {
  const tool = { name: "long", description: "é".repeat(2049) };
  const subject = /** @type {any} */ ({ declared: new Map([["long", tool]]) });
  const { findings } = /** @type {any} */ (await describesTools(subject));
  assert.equal(findings[0].code, "LONG_DESCRIPTION");
  assert.equal(findings[0].happened, 'The description of "long" has 4098 bytes.');
});

describe("bad arguments", () => {
  test("follow from the schema, each property being wrong", () => {
    const properties = { city: { $ref: "#/$defs/city" }, days: { type: "integer" }, any: {} };
    const $defs = { city: { type: "string" } };
    const schema = { type: "object", properties, required: ["city"], $defs };
    assert.deepEqual(badArguments(schema), [
      { problem: 'without "city", which the schema requires', args: {} },
      { problem: 'with a wrong type for "city", "days"', args: { city: 12345, days: "tap-check" } },
    ]);
  });

  test("do not exist where everything fits, or nothing can be checked", () => {
    for (const schema of [undefined, {}, { type: "object", properties: { any: {} } }]) {
      assert.deepEqual(badArguments(schema), []);
    }
  });
});

describe("a schema", () => {
  const object = (/** @type {object} */ properties, more = {}) => ({
    type: "object",
    properties,
    ...more,
  });

  test("that models take has no problems", () => {
    const nested = object({ list: { type: "array", items: { type: "string" } } });
    const parts = object({ a: {}, b: {}, c: { anyOf: [{ required: ["x"] }, nested] } });
    for (const schema of [
      undefined,
      {},
      nested,
      parts,
      object({ a: { type: ["string", "null"] } }),
    ]) {
      assert.deepEqual(schemaProblems(schema), []);
    }
  });

  for (const [schema, problem] of /** @type {[any, RegExp][]} */ ([
    [{ type: "array" }, /type is not "object"/],
    [[], /parameters is not a schema/],
    [object({ a: { type: "text" } }), /parameters\.properties\.a\.type is "text"/],
    [object({ a: { type: "array" } }), /parameters\.properties\.a is an array without "items"/],
    [object({ a: { enum: [] } }), /a\.enum is not a list with a value/],
    [object({}, { required: ["b"] }), /parameters\.required names "b"/],
    [object({}, { required: true }), /required is not a list/],
    [object({ a: { type: "string", required: true } }), /a\.required is not a list/],
    [object({}, { anyOf: [{}] }), /"anyOf" at the top/],
    [object({ a: "text" }), /properties\.a is not a schema/],
    [{ type: "object", properties: [] }, /properties is not an object/],
    [object({ a: { items: { properties: { b: 1 } } } }), /a\.items\.properties\.b is not a schema/],
  ])) {
    test(`${JSON.stringify(schema)} has a problem: ${problem.source}`, () => {
      assert.ok(
        schemaProblems(schema).some((text) => problem.test(text)),
        String(problem),
      );
    });
  }
});

test("every finding cites rules that exist", () => {
  const protocol = PROTOCOL_PAGES.map((file) =>
    fs.readFileSync(path.join(programFolder, file), "utf8"),
  ).join("\n");
  for (const [code, { why, fix, rules }] of Object.entries(REASONS)) {
    assert.ok(why.endsWith(".") && fix.endsWith("."), code);
    for (const rule of rules) assert.ok(protocol.includes(`- **${rule}** `), rule);
  }
});
