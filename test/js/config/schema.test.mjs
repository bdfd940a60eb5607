// The schema module: one table reads a value, names each problem with its place, and is a JSON Schema.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as schema from "../../../js/config/schema.mjs";

const { about, choice, either, flag, hidden, integer, list, named, object } = schema;
const { readValue, refine, required, text, toJsonSchema, usually } = schema;

const step = object("a step", { run: required(text({ most: 5 })), quiet: hidden(flag) });
const job = object(
  "a job",
  {
    name: about("What it is.", required(text())),
    size: usually(1, integer(1, 9)),
    mode: choice(["fast", "slow"]),
    steps: list(
      either(
        "string",
        refine(text(), (run) => ({ run })),
        step,
      ),
      { most: 2 },
    ),
    env: named(text({ blank: true }), { checkName: (name) => (name === "PATH" ? "no" : "") }),
    every: text(),
    cron: text(),
  },
  { most: ["every", "cron"] },
);

/** @param {unknown} value */
const listProblems = (value) => {
  const read = readValue(job, value);
  return read.ok ? [] : read.problems.map(({ field, isKey }) => (isKey ? `${field}!` : field));
};

test("a value is read with what its fields usually have", () => {
  const read = readValue(job, { name: "a", steps: ["x", { run: "y" }], every: undefined });
  assert.deepEqual(read, {
    ok: true,
    value: { name: "a", size: 1, steps: [{ run: "x" }, { run: "y" }] },
    notes: [],
  });
});

test("each problem has its place, and says whether it is about a name", () => {
  const cases = /** @type {[unknown, string[]][]} */ ([
    [[], [""]],
    [null, [""]],
    [{}, ["name"]],
    [{ name: " " }, ["name"]],
    [{ name: "a\0" }, ["name"]],
    [{ name: "a", nmae: 1 }, ["nmae!"]],
    [JSON.parse('{"name": "a", "__proto__": 1, "toString": 1}'), ["__proto__!", "toString!"]],
    [{ name: "a", size: 10, mode: "Fast" }, ["size", "mode"]],
    [
      { name: "a", steps: [{ run: "123456" }, { run: 1, quiet: 2 }] },
      ["steps[0].run", "steps[1].run", "steps[1].quiet"],
    ],
    [{ name: "a", steps: ["a", "b", "c"] }, ["steps[2]"]],
    [{ name: "a", env: { PATH: "", "A B": 1 } }, ["env.PATH!", 'env["A B"]']],
    [{ name: "a", every: "x", cron: "y" }, ["cron"]],
  ]);
  for (const [given, places] of cases) assert.deepEqual(listProblems(given), places);
  const many = Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`x${i}`, 1]));
  assert.equal(listProblems({ name: "a", ...many }).length, 20);
});

test("the same table is a JSON Schema, without what a model does not see", () => {
  assert.deepEqual(toJsonSchema(job).required, ["name"]);
  const { name, steps, env } = /** @type {any} */ (toJsonSchema(job)).properties;
  assert.deepEqual(name, { type: "string", description: "What it is." });
  assert.deepEqual(steps.items, {
    type: "object",
    required: ["run"],
    properties: { run: { type: "string" } },
  });
  assert.deepEqual(env, { type: "object", additionalProperties: { type: "string" } });
});
