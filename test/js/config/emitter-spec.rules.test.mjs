// The rules of an emitter's filter, their short form, and hostile input of every kind.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  parseDuration,
  formatDuration,
  parseJsonPath,
  resolveJsonPath,
} from "../../../js/config/emitter-values.mjs";
import { readRules } from "../../../js/config/emitter-rules.mjs";
import { readEmitter, readStream } from "../../../js/config/emitter-spec.mjs";

const CONFIG = /** @type {const} */ ({ origin: "config" });

/** @param {Record<string, unknown>} given */
function rulesOf(given) {
  const read = readRules(given);
  assert.ok(read.ok, JSON.stringify(read));
  return read.value;
}

/** @param {Record<string, unknown>} rule @param {string} field @param {RegExp} text */
function refused(rule, field, text) {
  const read = readRules({ eventFilter: [{ match: "x", outcome: "inject", ...rule }] });
  assert.ok(!read.ok, JSON.stringify(rule));
  const found = read.problems.map((problem) => `${problem.field}: ${problem.text}`);
  assert.ok(
    found.some((one) => one.startsWith(`eventFilter[0].${field}: `) && text.test(one)),
    found.join("\n"),
  );
}

describe("rules", () => {
  test("a rule has a pattern, an outcome, and bounds in time and number", () => {
    const rule = {
      match: "(?<id>\\d+) red",
      outcome: "inject",
      not: "flaky",
      count: 3,
      window: { lines: 20, time: "1m" },
      capture: true,
    };
    assert.deepEqual(rulesOf({ eventFilter: [rule] }), [
      { ...rule, window: { lines: 20, time: 60_000 } },
    ]);
    const [slow] = rulesOf({
      eventFilter: [{ match: "x", outcome: "Surface", cooldown: "5m", capture: false }],
    });
    assert.deepEqual(slow, { match: "x", outcome: "surface", cooldown: 300_000 });
  });

  test("the limits are those of the native filter", () => {
    refused({ cooldown: "0s" }, "cooldown", /from 1ms to 1d/);
    refused({ cooldown: "2d" }, "cooldown", /from 1ms to 1d/);
    refused({ cooldown: 5 }, "cooldown", /a time/);
    refused({ count: 0 }, "count", /from 1 to 1000000/);
    refused({ count: 1_000_001 }, "count", /from 1 to 1000000/);
    refused({ window: { lines: 1001, time: "1m" } }, "window.lines", /from 1 to 1000/);
    refused({ window: { lines: 10, time: "25h" } }, "window.time", /to 1d/);
    refused({ window: { lines: 10 } }, "window.time", /is missing/);
    refused({ window: 5 }, "window", /an object/);
    refused({ window: { lines: 1, time: "1m" }, cooldown: "1m" }, "cooldown", /no cooldown/);
    for (const outcome of ["drop", "keep"]) {
      refused({ outcome, cooldown: "1m" }, "cooldown", /"surface" or "inject"/);
      refused({ outcome, count: 2 }, "count", /"surface" or "inject"/);
    }
    refused({ match: "x".repeat(1025) }, "match", /at most 1024/);
    refused({ match: "é".repeat(600) }, "match", /at most 1024 bytes/);
    refused({ not: 5 }, "not", /regular expression/);
    refused({ match: null }, "match", /regular expression/);
    refused({ outcome: "explode" }, "outcome", /one of "drop"/);
    refused({ unknown: 1 }, "unknown", /unknown field/);
    const many = readRules({ eventFilter: Array(51).fill({ match: "x", outcome: "drop" }) });
    assert.ok(!many.ok && /at most 50/.test(many.problems[0].text));
  });

  test("patterns become rules that ignore case", () => {
    const patterns = { includePattern: "a|b", excludePattern: "c", notifyPattern: "d" };
    const rules = [
      { match: "(?i)c", outcome: "drop" },
      { match: "(?i)d", outcome: "inject" },
      { match: "(?i)a|b", outcome: "keep" },
      { match: "", outcome: "drop" },
    ];
    assert.deepEqual(rulesOf(patterns), rules);
    assert.deepEqual(rulesOf({ notifyPattern: "", includePattern: "" }), []);
    const long = readRules({ notifyPattern: "x".repeat(1021) });
    assert.ok(!long.ok);
  });

  test("a filter has one form", () => {
    const both = readRules({ eventFilter: [], notifyPattern: "x" });
    assert.ok(!both.ok && both.problems[0].field === "notifyPattern");
    const object = readRules({ eventFilter: { rules: [] } });
    assert.ok(!object.ok && object.problems[0].field === "eventFilter");
  });
});

test("durations are written as they are read", () => {
  for (const ms of [1, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 30 * 86_400_000]) {
    assert.equal(parseDuration(formatDuration(ms)), ms, formatDuration(ms));
  }
});

test("a path of JSON leads to a part that is the document's own", () => {
  const document = { runs: [{ status: "red", "a key": 1 }], "": 2 };
  assert.deepEqual(parseJsonPath("$.runs[0].status"), ["runs", 0, "status"]);
  assert.deepEqual(parseJsonPath("runs[0]['a key']"), ["runs", 0, "a key"]);
  assert.deepEqual(parseJsonPath("$"), []);
  for (const text of [
    "",
    "$x",
    "a..b",
    "a[",
    "a[-1]",
    "a[01]",
    "a b",
    "a[*]",
    "x.".repeat(400),
    "a[0]b",
    "$..a",
  ]) {
    assert.equal(parseJsonPath(text), undefined, text);
  }
  const at = (/** @type {string} */ text) =>
    resolveJsonPath(document, parseJsonPath(text) ?? ["?"]);
  assert.equal(at("runs[0].status"), "red");
  assert.equal(at('runs[0]["a key"]'), 1);
  for (const text of [
    "runs.length",
    "runs[1]",
    "runs[0].constructor",
    "__proto__",
    "runs.0",
    "runs[0].status.length",
  ]) {
    assert.equal(at(text), undefined, text);
  }
});

// ---- hostile input ---------------------------------------------------------------------------------

/** Numbers from 0 to 1, the same for a seed. @param {number} seed */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const NAMES = [
  ...[
    "name",
    "command",
    "argv",
    "prompt",
    "url",
    "jsonPath",
    "channel",
    "stream",
    "cwd",
    "env",
    "every",
  ],
  ...[
    "runInterval",
    "cron",
    "timezone",
    "onChange",
    "missed",
    "overlap",
    "restart",
    "maxRuns",
    "lifespan",
  ],
  ...[
    "eventFilter",
    "classifier",
    "rules",
    "match",
    "outcome",
    "window",
    "lines",
    "time",
    "cooldown",
  ],
  ...["subscribe", "delivery", "scope", "managedBy", "sessionInjector", "enabled", "file", "force"],
  ...["__proto__", "constructor", "toString", "", "\0", "length", "BASH_ENV", "A"],
];
const SCALARS = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1,
    1.5,
    1e308,
    -0,
    2 ** 53,
    "",
    " ",
    "\0",
    "idle",
    "5m",
    "inject",
    "a",
  ],
  ...[
    "__proto__",
    "\ud800",
    "\u202e",
    "x".repeat(10_000),
    "every ".repeat(6),
    "* * * * *",
    "Europe/Berlin",
  ],
  ...[
    "https://x.test/",
    "https://",
    "../..",
    "persistent",
    "drop",
    "(".repeat(500),
    "$.a[0]",
    "1".repeat(39),
  ],
];

/** @param {() => number} random @param {number} depth @returns {unknown} */
function anything(random, depth) {
  const pick = (/** @type {readonly unknown[]} */ from) => from[Math.floor(random() * from.length)];
  if (depth === 0 || random() < 0.4) return pick(SCALARS);
  const size = Math.floor(random() * 8);
  if (random() < 0.3) return Array.from({ length: size }, () => anything(random, depth - 1));
  const object = JSON.parse("{}");
  for (let i = 0; i < size; i += 1) {
    const value = anything(random, depth - 1);
    Object.defineProperty(object, String(pick(NAMES)), {
      value,
      enumerable: true,
      configurable: true,
    });
  }
  return object;
}

test("whatever is given, the answer is a spec or problems with a field and a text", () => {
  const random = randomOf(7);
  let good = 0;
  for (let i = 0; i < 4000; i += 1) {
    const seedling = random() < 0.5 ? { name: "a", command: "make" } : {};
    const some = anything(random, 4);
    const given =
      typeof some === "object" && some !== null && !Array.isArray(some)
        ? { ...some, ...seedling }
        : some;
    const before = JSON.stringify(given);
    const origin = random() < 0.5 ? CONFIG : /** @type {const} */ ({ origin: "tool" });
    const read = random() < 0.8 ? readEmitter(given, origin) : readStream(given);
    assert.equal(JSON.stringify(given), before, "nothing is changed");
    if (read.ok) {
      good += 1;
      assert.ok(Object.isFrozen(read.spec) && read.spec.name !== "");
      assert.ok(JSON.stringify(read.spec).length < 500_000);
      continue;
    }
    assert.ok(read.problems.length >= 1 && read.problems.length <= 20, before);
    for (const { field, text } of read.problems) {
      assert.ok(text !== "" && text.length < 2000 && field.length < 500, `${field}: ${text}`);
      assert.doesNotMatch(`${field}${text}`, /[\0\u202e\n]/);
    }
  }
  assert.ok(good > 5, `${good} were good`);
});
