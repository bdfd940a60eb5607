// Descriptors, capabilities, policy and preflight: what is installed, and what not.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FEATURES } from "../../../js/features/list.mjs";
import { parseCapability } from "../../../js/feature-host/capabilities.mjs";
import { evaluateConditions } from "../../../js/feature-host/capability-grants.mjs";
import { preflight } from "../../../js/feature-host/preflight.mjs";
import { createReport, MAX_REPORT_BYTES, readReport } from "../../../js/feature-host/report.mjs";

/** @param {object} [fields] */
const feature = (fields) => ({
  id: "builtin:one",
  displayName: "One",
  version: "1",
  runtime: "builtin",
  ...fields,
});
const tool = (name, fields) => ({ name, description: "does it", ...fields });
const wanted = (capability, required = true) => ({ capability, required, reason: "a test" });

describe("capabilities", () => {
  test("have parts", () => {
    const read = /** @type {any} */ (parseCapability("fs:read:/srv/a:b"));
    assert.deepEqual([read.area, read.operation, read.scope], ["fs", "read", "/srv/a:b"]);
    const own = /** @type {any} */ (parseCapability("fs:write:own"));
    assert.equal(own.scope, "own");
    assert.equal(/** @type {any} */ (parseCapability("records:read")).area, "records");
  });

  const unknown = [
    "",
    "fs",
    "fs:",
    "fs:read",
    "fs:delete:own",
    "fs:read:relative",
    "fs:read:/a/../b",
  ]
    .concat(["records", "constructor", "notify:x", "fs:read:own\n", "x".repeat(2000)])
    .concat(/** @type {any[]} */ ([undefined, 1, {}]));
  for (const name of unknown) {
    test(`${JSON.stringify(name)?.slice(0, 40)} is not one`, () => {
      assert.equal(typeof parseCapability(name), "string");
    });
  }
});

test("the descriptor of each built-in feature is data, and lists what its tools require", () => {
  for (const { descriptor } of FEATURES) {
    assert.deepEqual(JSON.parse(JSON.stringify(descriptor)), descriptor, "data only");
    const listed = (descriptor.capabilities ?? []).map(({ capability }) => capability);
    assert.equal(new Set(listed).size, listed.length, descriptor.id);
    for (const { name, requires = [] } of descriptor.tools ?? [])
      assert.deepEqual(
        requires.filter((one) => !listed.includes(one)),
        [],
        name,
      );
  }
});

describe("the preflight", () => {
  const candidates = (...descriptors) =>
    descriptors.map((descriptor, at) => ({ descriptor, origin: `file ${at}` }));
  const check = (policy, ...descriptors) => preflight(candidates(...descriptors), policy);

  test("of a duplicate id names both, and neither is installed, in either order", () => {
    for (const versions of [
      ["1", "2"],
      ["2", "1"],
    ]) {
      const checked = check({}, ...versions.map((version) => feature({ version })));
      for (const { decision, problems } of checked) {
        assert.match(decision.obstacle, /declared by file 0 and by file 1: neither is installed/);
        assert.equal(problems.length, 1);
      }
    }
  });

  test("of a duplicate tool name names both features, and neither has the tool", async () => {
    const one = feature({ tools: [tool("a"), tool("mine")] });
    const two = feature({ id: "builtin:two", tools: [tool("a")] });
    for (const both of [
      [one, two],
      [two, one],
    ]) {
      const checked = check({}, ...both);
      const byId = new Map(checked.map((each) => [each.descriptor.id, each]));
      for (const { problems, skipped } of checked) {
        assert.match(
          problems[0],
          /^builtin:one and builtin:two both declare tool a: neither has it$/,
        );
        assert.equal(skipped[0].what, "tool a");
      }
      const left = byId.get("builtin:one")?.descriptor.tools ?? [];
      assert.deepEqual(
        left.map(({ name }) => name),
        ["mine"],
      );
    }
  });

  test("lets a tool be where the other feature is disabled", async () => {
    const two = feature({ id: "builtin:two", tools: [tool("a")] });
    const policy = { features: { "builtin:two": false } };
    const [one] = check(policy, feature({ tools: [tool("a")] }), two);
    assert.deepEqual(one.problems, []);
    assert.equal(one.descriptor.tools?.length, 1);
  });

  test("lets a tool be where the other feature is not allowed, or lacks what it needs", async () => {
    const tools = [tool("a")];
    const other = feature({ id: "project:x", runtime: "declarative", tools });
    const poor = feature({ id: "builtin:poor", capabilities: [wanted("telepathy")], tools });
    const withheld = () => "you have not allowed it";
    const [one, ...left] = check({ withheld }, feature({ tools }), other, poor);
    assert.deepEqual([one.problems, one.descriptor.tools?.length], [[], 1]);
    assert.ok(left.every(({ decision }) => decision.obstacle));
  });

  test("denies an unknown capability; only what needs it is left out", async () => {
    const capabilities = [wanted("telepathy", false), wanted("records:read")];
    const tools = [
      tool("a", { requires: ["telepathy"] }),
      tool("b", { requires: ["records:read"] }),
    ];
    const [one] = check({}, feature({ capabilities, tools }));
    assert.deepEqual(one.decision.granted, ["records:read"]);
    assert.equal(one.decision.obstacle, "");
    assert.match(one.decision.denied[0].reason, /no such capability; known are event/);
    assert.deepEqual(
      one.descriptor.tools?.map(({ name }) => name),
      ["b"],
    );
    const [two] = check({}, feature({ capabilities: [wanted("telepathy")] }));
    assert.match(two.decision.obstacle, /it needs telepathy/);
  });

  test("grants nothing to a feature of a project or of MCP without a policy that says so", async () => {
    const capabilities = [wanted("process", false)];
    const project = feature({ id: "project:x", runtime: "declarative", capabilities });
    const bridge = feature({ id: "mcp:x", runtime: "mcp-bridge" });
    const [one, two] = check({}, project, bridge);
    assert.deepEqual(one.decision.granted, []);
    assert.match(one.decision.denied[0].reason, /no policy allows it/);
    assert.equal(two.decision.obstacle, one.decision.obstacle);
    const [allowed] = check({ withheld: () => "" }, project);
    assert.deepEqual(allowed.decision.granted, ["process"]);
  });

  test("leaves out a task whose condition is not met, and says so where it was asked for", async () => {
    const one = feature({ tasks: [{ name: "post", when: "spans-exported" }, { name: "wait" }] });
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost" };
    const under = async (/** @type {any} */ conditions) => {
      const [{ descriptor, skipped }] = check({ conditions }, one);
      return { tasks: descriptor.tasks?.map(({ name }) => name), skipped };
    };
    const none = { tasks: ["wait"], skipped: [] };
    assert.deepEqual(await under(undefined), none);
    assert.deepEqual(await under(evaluateConditions({ variables: {}, recorded: true })), none);
    const met = await under(evaluateConditions({ variables, recorded: true }));
    assert.deepEqual(met, { tasks: ["post", "wait"], skipped: [] });
    const refused = await under(evaluateConditions({ variables, recorded: false }));
    assert.deepEqual([refused.tasks, refused.skipped[0].what], [["wait"], "task post"]);
    assert.match(refused.skipped[0].reason, /config.json has "records": false or "spans": false/);
  });

  test("of the built-in features finds nothing, whatever their order", () => {
    const all = FEATURES.map(({ descriptor }) => ({ descriptor, origin: "tap" }));
    for (const order of [all, all.toReversed()]) {
      for (const { decision, problems, skipped } of preflight(order, {})) {
        assert.deepEqual([decision.obstacle, problems, skipped], ["", [], []]);
      }
    }
  });
});

describe("a report", () => {
  const secret = "ghp_0123456789abcdefghijABCDEFGHIJ";

  test("is bounded and has no secret, whatever it is made of", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `${i}`.repeat(500));
    const pairs = many.map((what) => ({ what, reason: `${secret} ${what}`, capability: what }));
    const diagnostics = many.map((text) => ({ at: "", text: `token=${secret} ${text}` }));
    const report = readReport({
      ...{ id: "builtin:x\u001b[2J", enabled: true, runtime: "builtin" },
      ...{ granted: many, tools: many, hooks: many, commands: many, channels: many, tasks: many },
      ...{ denied: pairs, skipped: pairs, diagnostics, more: many },
    });
    const json = JSON.stringify(report);
    assert.ok(json.length < MAX_REPORT_BYTES, `${json.length}`);
    assert.ok(!json.includes(secret) && !json.includes("\\u001b"));
    assert.equal(Object.hasOwn(report ?? {}, "more"), false);
  });

  test("keeps the latest of what several sessions have said, the oldest first", () => {
    const said = (/** @type {number} */ first) =>
      Array.from({ length: 15 }, (_, at) => {
        const minute = String(first + 2 * at).padStart(2, "0");
        return { at: `2026-11-26T10:${minute}:00.000Z`, text: minute };
      });
    const { diagnostics } = createReport({
      ...{ id: "builtin:x", runtime: "builtin", diagnostics: [...said(1), ...said(0)] },
    });
    const kept = Array.from({ length: 20 }, (_, at) => String(10 + at));
    assert.deepEqual(
      diagnostics.map(({ text }) => text),
      kept,
    );
  });

  test("has the fields of the interface, in its order", () => {
    const fields = ["id", "enabled", "runtime", "granted", "denied", "tools", "hooks", "commands"];
    const report = createReport({ id: "builtin:x", runtime: "builtin" });
    assert.deepEqual(Object.keys(report), [
      ...fields,
      "channels",
      "tasks",
      "skipped",
      "diagnostics",
    ]);
  });

  for (const [index, value] of [null, 7, "x", {}, { id: 1 }].entries()) {
    test(`of another shape is not read (${index})`, () => {
      assert.equal(readReport(value), undefined);
    });
  }
});
