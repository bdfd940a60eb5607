// `dev` as a person uses it: in a terminal, with key=value arguments, and with a program that changes.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { findNearest } from "../../../js/lib/suggestion.mjs";
import { parseArguments, parseArgumentLine } from "../../../js/develop/tool-arguments.mjs";
import { root } from "../../../tools/commands.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { InTerminal, Running } from "../../support/cli-process.mjs";

const SDK = JSON.stringify(path.join(root, "sdk/node/provider.mjs"));

/** @param {string} answer of its tool */
const programOf = (answer) => `
  import { provider } from ${SDK};
  const tap = provider("timer");
  const properties = { label: { type: "string" }, seconds: { type: "number" } };
  const parameters = { type: "object", properties, required: ["label"] };
  tap.tool("set_timer", { description: "Sets it", parameters }, (args) => ${JSON.stringify(answer)} + JSON.stringify(args));
  await tap.connect();
`;

/** A folder with that program. @param {import("node:test").TestContext} t */
function developed(t) {
  const { NODE_TEST_CONTEXT: _context, NO_COLOR: _color, ...env } = process.env;
  const workspace = temporaryFolder(t);
  const write = (/** @type {string} */ text) =>
    writeFileSync(path.join(workspace, "timer.mjs"), text);
  write(programOf("set "));
  return { at: { workspace, env }, write };
}

describe("dev in a terminal", () => {
  test("has a prompt below what is said, and takes calls as the command does", async (t) => {
    const { at } = developed(t);
    const dev = new InTerminal(t, ["dev", "--", "node", "timer.mjs"], at, { cols: 120 });
    await dev.shows(/\[tools\] set_timer\n>$/);
    dev.type('set_timer label="egg timer" seconds=2\r');
    await dev.shows('set {"label":"egg timer","seconds":2}');
    dev.type('call set_timer {"label":"tea"}\r');
    await dev.shows('set {"label":"tea"}');
    dev.type("set_timr\r");
    await dev.shows(
      'unknown tool "set_timr"; known: tap_status, tap_tools, set_timer; did you mean "set_timer"?',
    );
    dev.type("set_timer seconds=2\r");
    await dev.shows('set_timer needs "label" (text)');
    dev.type("set_timer seconds=soon\r");
    await dev.shows('seconds must be a number, not "soon"');
    dev.type("set_t");
    await dev.shows(/^> set_t$/m);
    dev.type("\t"); // by itself: what is pasted is not completed
    await dev.shows(/^> set_timer *$/m);
    dev.type(" label=x\r");
    await dev.shows('set {"label":"x"}');
    await dev.shows(/\n>$/);
    dev.type("\x03");
    assert.equal(await dev.end(), 0);
  });

  test("--watch starts the program again when it has changed, also one that has ended", async (t) => {
    const { at, write } = developed(t);
    const dev = new InTerminal(t, ["dev", "--watch", "--", "node", "timer.mjs"], at, { cols: 120 });
    await dev.shows("[tools] set_timer");
    write(programOf("again "));
    await dev.shows("timer.mjs has changed: the provider starts again");
    const calls = async (/** @type {string} */ answer) => {
      await waitFor(
        async () => {
          dev.type("set_timer label=a\r");
          await new Promise((resolve) => setTimeout(resolve, 100));
          return dev.text.includes(answer);
        },
        { what: () => dev.text },
      );
    };
    await calls('again {"label":"a"}');
    write("process.exit(3);");
    await dev.shows("the provider has ended (3)");
    write(programOf("back "));
    await calls('back {"label":"a"}');
    dev.type("quit\r");
    assert.equal(await dev.end(), 0);
  });

  test("--watch needs a program", async (t) => {
    const { at } = developed(t);
    const { code, err } = await new Running(["dev", "--watch"], at).end();
    assert.equal(code, 2);
    assert.match(err, /--watch needs the provider's program/);
  });

  test("piped it has no prompt", async (t) => {
    const { at } = developed(t);
    const options = { input: "call set_timer label=tea\n" };
    const { code, out } = await new Running(["dev", "--", "node", "timer.mjs"], at, options).end();
    assert.equal(code, 0, out);
    assert.match(out, /^set \{"label":"tea"\}$/m);
    assert.doesNotMatch(out, /^>/m);
  });
});

describe("arguments as they are typed", () => {
  const parameters = {
    properties: {
      n: { type: "number" },
      i: { type: "integer" },
      b: { type: "boolean" },
      s: { type: "string" },
      l: { type: "array" },
      o: { anyOf: [{ type: "string" }, { type: "null" }] },
      e: { enum: ["a", 1] },
    },
  };
  for (const [line, wanted] of /** @type {[string, object][]} */ ([
    ["", {}],
    ['{"a":1}', { a: 1 }],
    [`'{"a":1}'`, { a: 1 }],
    ["n=1 i=2 b=true l=[1,2] e=1", { n: 1, i: 2, b: true, l: [1, 2], e: 1 }],
    ["s=5 o=5", { s: "5", o: "5" }],
    ["o=null", { o: null }],
    [`s='"q"'`, { s: '"q"' }],
    ["s=", { s: "" }],
    ["s=a=b", { s: "a=b" }],
    [`s="egg timer" t='a b' u=a\\ b`, { s: "egg timer", t: "a b", u: "a b" }],
    ["unknown=7 other=abc more={} toString=1", { unknown: 7, other: "abc", more: {}, toString: 1 }],
  ])) {
    test(`${line || "nothing"}`, () => {
      assert.deepEqual(parseArgumentLine(line, parameters), wanted);
    });
  }

  for (const [line, message] of /** @type {[string, RegExp][]} */ ([
    ["n=x", /^n must be a number, not "x"$/],
    ["i=1.5", /^i must be a whole number, not "1.5"$/],
    ["b=yes", /^b must be true or false, not "yes"$/],
    ["l=a", /^l must be JSON, e\.g\. '\["a","b"\]', not "a"$/],
    ["n=1 n=2", /^n is given twice$/],
    ["s=1 {", /^arguments must be a JSON object, e\.g\. '\{"city":"Bern"\}', or .*; got "\{"$/],
    ["Bern", /city=Bern; got "Bern"$/],
    [`s="x`, /^a " is not closed/],
    ["[1]", /got "\[1\]"$/],
  ])) {
    test(`${line} is not a line of the console`, () => {
      assert.throws(() => parseArgumentLine(line, parameters), { message });
    });
  }

  test("words of a shell are taken as they are", () => {
    assert.deepEqual(parseArguments(["s=a b", "n=2"], parameters), { s: "a b", n: 2 });
    assert.deepEqual(parseArguments(['{"s": "a"}']), { s: "a" });
  });

  test("a name that was perhaps meant is found", () => {
    const names = ["tap_status", "tap_tools", "die_greet", "set_timer"];
    assert.equal(findNearest("greet", names), "die_greet");
    assert.equal(findNearest("set_tiemr", names), "set_timer");
    assert.equal(findNearest("foo", names), undefined);
  });
});
