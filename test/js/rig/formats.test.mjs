// What tap keeps on disk, sends over a wire and shows to a model or a script stays as it was: files of an earlier build
// are read with the same answers, and the same messages come. test/snapshots/formats has what was accepted.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { addon } from "../../../js/lib/addon.mjs";
import { programFolder } from "../../../js/lib/paths.mjs";
import { readExport } from "../../../js/features/plans/export-import.mjs";
import { tap } from "../../support/cli-process.mjs";
import { TestGateway } from "../../support/harness.mjs";
import { checkSnapshot } from "../../support/snapshot.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";
import { waitFor } from "../../support/wait.mjs";
import { plansRig } from "../features/plans-rig.mjs";

const FILES = path.join(programFolder, "test", "fixtures", "formats");
const LONG_AFTER = 2_000_000_000_000;

/** A copy: opening it may write. @param {import("node:test").TestContext} t @param {string} name */
function copyFile(t, name) {
  const file = path.join(temporaryFolder(t), name);
  fs.copyFileSync(path.join(FILES, name), file);
  return file;
}

/** @param {string} name @param {unknown} answers */
const check = (name, answers) =>
  checkSnapshot(`formats/${name}`, `${JSON.stringify(answers, null, 2)}\n`);

test("a journal of plans that were at work is read as before", async (t) => {
  const plans = new addon.Plans({ file: copyFile(t, "plans.sqlite") });
  t.after(() => plans.close());
  const listed = JSON.parse(plans.open());
  const view = (/** @type {object} */ request) => JSON.parse(plans.view(JSON.stringify(request)));
  /** @type {Record<string, object>} */
  const answers = {};
  for (const { planId } of listed) {
    assert.equal(await plans.load(planId, LONG_AFTER, 2 ** 40), "");
    const plan = view({ view: "plan", planId });
    const graph = view({ view: "graph", planId });
    const nodes = graph.nodes.map((/** @type {any} */ { id }) =>
      view({ view: "node", planId, nodeId: id }),
    );
    const entries = JSON.parse(await plans.entries(planId));
    answers[planId] = { plan, graph, nodes, entries };
  }
  check("journal", { listed, answers, state: plans.state() });
});

test("a store of records is read as before", async (t) => {
  const file = copyFile(t, "records.sqlite");
  const records = new addon.Records({ file, maxAgeMs: Number.MAX_SAFE_INTEGER });
  t.after(() => records.close());
  const { rows } = JSON.parse(await records.sql("SELECT DISTINCT collection FROM records"));
  const collections = rows.flat().toSorted();
  assert.ok(collections.length >= 6, "records are found at all");
  /** @type {Record<string, object>} */
  const answers = {};
  for (const collection of collections) {
    answers[collection] = JSON.parse(await records.query(JSON.stringify({ collection, limit: 5 })));
  }
  const all = JSON.parse(await records.sql("SELECT * FROM records ORDER BY id LIMIT 3"));
  check("records", { answers, all });
});

test("an export of a plan is read as before", () => {
  const text = fs.readFileSync(path.join(FILES, "export.json"), "utf8");
  check("export", readExport(JSON.parse(text)));
});

/** Names that differ each time have their kind in place of themselves. @param {unknown} value */
function withoutNames(value) {
  const text = JSON.stringify(value)
    .replaceAll(/\bsession-[0-9a-f-]{36}/g, "SESSION")
    .replaceAll(/\btok-[0-9a-f]{48}\b/g, "TOKEN")
    .replaceAll(/\bp-[0-9a-f]{8}\b/g, "PROVIDER")
    .replaceAll(/"(at|port|pid|number|expiresAt)":\d+/g, '"$1":0')
    .replaceAll(/\b[0-9a-f]{32}-[0-9a-f]{16}\b/g, "TRACE-SPAN");
  return JSON.parse(text);
}

test("a session gets the same messages for the same events", async (t) => {
  const gateway = new TestGateway(t);
  const session = await gateway.session("linked");
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const provider = await gateway.stranger();
  provider.handle({ forecast: { handler: ({ city }) => `rain in ${city}` } });
  const ack = await provider.hello({
    name: "weather",
    session: session.id,
    context: "It rains.",
    instructions: "Ask for the forecast.",
    tools: [{ name: "forecast", description: "The weather", parameters, timeoutMs: 5000 }],
    hooks: {
      onPreToolUse: [
        { match: { tool: "bash" }, action: "deny", reason: "no" },
        { match: { tool: "edit" }, action: "gate", gateId: "g" },
      ],
    },
  });
  await session.waitFor("tools", ({ set }) => set.length > 0);
  assert.equal(await session.call("forecast", { city: "Ulm" }), "rain in Ulm");
  const failure = await session.call("forecasts", {});
  provider.send({ type: "push", streamId: "log", event: "a line", level: "surface" });
  await session.waitFor("timeline");
  provider.send({ type: "goodbye" });
  await session.waitFor("tools", ({ drop }) => drop.length > 0);
  const types = [...new Set(session.events.map(({ type }) => type))];
  assert.ok(types.length >= 4, types.join());
  check("link-session", withoutNames({ ack, failure, events: session.events }));
});

const isObject = (/** @type {unknown} */ value) => typeof value === "object" && value !== null;

/** What two shapes have together; "|": what else than an object it is. @param {any} one @param {any} other @returns {any} */
function merge(one, other) {
  if (one === "nothing") return other;
  if (other === "nothing") return one;
  if (isObject(one) && isObject(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    const both = (/** @type {string} */ name) =>
      name in one && name in other ? merge(one[name], other[name]) : (one[name] ?? other[name]);
    return Object.fromEntries(names.map((name) => [name, both(name)]));
  }
  if (isObject(one)) return merge(one, { "|": other });
  if (isObject(other)) return merge({ "|": one }, other);
  return [...new Set([...one.split("|"), ...other.split("|")])].toSorted().join("|");
}

/** Names of types in place of values; a list has one element, with the fields of all. @param {any} value @returns {any} */
function shape(value) {
  if (Array.isArray(value)) return { "[]": value.map(shape).reduce(merge, "nothing") };
  if (!isObject(value)) return value === null ? "null" : typeof value;
  if ("type" in value && "properties" in value) return "schema";
  const isKeyed = Object.keys(value).some((name) => /[0-9a-f]{8}|\d{4}-|^\//.test(name));
  if (isKeyed) return { "{}": Object.values(value).map(shape).reduce(merge, "nothing") };
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shape(one)]));
}

const COMMANDS = [
  ["status"],
  ["status", "--limits"],
  ["tools"],
  ["rules"],
  ["features"],
  ["limits"],
  ["logs"],
  ["records"],
  ["records", "plan"],
  ["spans"],
  ["doctor"],
  ["plan", "list"],
  ["plan", "clean", "--yes"],
];

test("a model gets the same tools, and a script the same fields of each command", async (t) => {
  const rig = await plansRig(t, { config: { toolGroups: ["plans", "goals", "emitters"] } });
  const { session, host, repo, create, ended } = rig;
  const definitions = () =>
    session.events
      .filter(({ type }) => type === "tools")
      .flatMap(({ set }) => set.flatMap((/** @type {any} */ one) => one.definitions));
  await waitFor(() =>
    ["create_copilot_plan", "tap_status"].every((name) =>
      definitions().some((one) => one.name === name),
    ),
  );
  const byName = new Map(definitions().map((one) => [one.name, one]));
  check(
    "tools",
    [...byName.keys()].toSorted().map((name) => byName.get(name)),
  );

  const nodes = [{ id: "a", work: "echo a > new.txt" }];
  const planId = await create({ targetBranch: "out", nodes });
  await ended(planId);
  const at = { env: { ...host.env, NO_COLOR: "1" }, workspace: repo };
  /** @type {Record<string, object>} */
  const answers = {};
  const plan = [
    ...["show", "export"].map((name) => ["plan", name, planId]),
    ...["show", "diff", "logs"].map((name) => ["plan", name, `${planId}/a`]),
  ];
  for (const args of [...COMMANDS, ...plan]) {
    const name = args.join(" ").replace(planId, "PLAN");
    const { code, out } = await tap([...args, "--json"], at);
    answers[name] = { code, value: out && shape(JSON.parse(out)) };
  }
  check("commands", answers);
});
