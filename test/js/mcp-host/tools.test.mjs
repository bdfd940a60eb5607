// Names, schemas and the choice of the tools of MCP servers.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { createFilter, nameTools, readTools } from "../../../js/mcp-host/tools.mjs";

const digest = (/** @type {string} */ text) =>
  createHash("sha256").update(text).digest("hex").slice(0, 8);
const ALL = { prefix: "p_", isWanted: () => true, most: 100 };

test("a name has the prefix, and only signs that a tool may have", () => {
  const names = nameTools("gh_", ["list", "issues.get", "a/b c", "ü"]);
  assert.deepEqual([...names.values()], ["gh_list", "gh_issues-get", "gh_a-b-c", "gh_-"]);
});

test("a name of more than 64 characters is cut, with a digest of all of it", () => {
  const original = "x".repeat(200);
  const name = nameTools("p_", [original]).get(original);
  assert.equal(name, `p_${"x".repeat(53)}-${digest(`p_${original}`)}`);
  assert.equal(name?.length, 64);
});

test("of two names that become equal those that were changed get a digest, in any order", () => {
  const originals = ["a-b", "a.b", "a/b"];
  const expected = {
    "a-b": "p_a-b",
    "a.b": `p_a-b-${digest("p_a.b")}`,
    "a/b": `p_a-b-${digest("p_a/b")}`,
  };
  for (const order of [originals, originals.toReversed()])
    assert.deepEqual(
      Object.fromEntries([...nameTools("p_", order)].sort()),
      Object.fromEntries(Object.entries(expected).sort()),
    );
});

test("globs choose by the server's own names, and ! takes precedence in any order", () => {
  const filter = createFilter(["!get_secret*", "get_*", "list_?"]);
  const wanted = ["get_a", "get_secret_b", "list_x", "list_xy", "other"].filter(filter);
  assert.deepEqual(wanted, ["get_a", "list_x"]);
  assert.deepEqual(["a", "b"].filter(createFilter(["!b"])), ["a"]);
  assert.equal(createFilter(["a.b"])("aXb"), false);
  assert.equal(createFilter(["a**b".repeat(50)])("a".repeat(200)), false);
});

test("schemas pass unchanged; a missing type or schema is completed", () => {
  const schema = { $schema: "x", type: "object", $defs: { a: {} }, "x-own": 1 };
  const [whole, untyped, none] = readTools(
    [
      { name: "a", inputSchema: schema },
      { name: "b", inputSchema: { properties: {} } },
      { name: "c" },
    ],
    ALL,
  );
  assert.deepEqual(whole.parameters, schema);
  assert.deepEqual(untyped.parameters, { properties: {}, type: "object" });
  assert.deepEqual(none.parameters, { type: "object", properties: {} });
});

test("a tool that cannot be offered is left out with its reason, and no other with it", () => {
  /** @type {any} */
  let deep = {};
  for (let level = 0; level < 200; ++level) deep = { properties: deep };
  const list = [
    ...[null, 7, { name: 7 }, { name: "" }],
    { name: "array", inputSchema: { type: "array" } },
    { name: "list", inputSchema: [] },
    { name: "deep", inputSchema: deep },
    { name: "long", inputSchema: { description: "x".repeat(70_000) } },
    ...[{ name: "good" }, { name: "good", description: "again" }],
    { name: "__proto__", title: "a title" },
  ];
  const tools = readTools(list, ALL);
  const offered = tools.filter(({ why }) => why === undefined);
  assert.deepEqual(
    offered.map(({ original, description }) => [original, description]),
    [
      ["good", "good"],
      ["__proto__", "a title"],
    ],
  );
  assert.equal(tools.filter(({ why }) => why !== undefined).length, 4);
});

test("at most so many are offered, of those that are chosen", () => {
  const list = ["a", "b", "c", "d"].map((name) => ({ name }));
  const isWanted = (/** @type {string} */ name) => name !== "a";
  const tools = readTools(list, { prefix: "", isWanted, most: 2 });
  const offered = tools.filter(({ why }) => why === undefined).map(({ name }) => name);
  assert.deepEqual(offered, ["b", "c"]);
});
