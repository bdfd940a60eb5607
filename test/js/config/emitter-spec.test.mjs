// One emitter, as a tool or a config gives it: its defaults, its bounds, and what is refused.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { emitterParameters, readEmitter, readStream } from "../../../js/config/emitter-spec.mjs";

const TOOL = /** @type {const} */ ({ origin: "tool" });
const CONFIG = /** @type {const} */ ({ origin: "config" });
const DAY = 86_400_000;

/** @param {object} given @param {import("../../../js/config/emitter-spec.mjs").Origin} [origin] */
function specOf(given, origin = TOOL) {
  const read = readEmitter({ name: "build", ...given }, origin);
  assert.ok(read.ok, JSON.stringify(read));
  return read.spec;
}

/** @param {unknown} given @param {import("../../../js/config/emitter-spec.mjs").Origin} [origin] */
function problemsOf(given, origin = TOOL) {
  const read = readEmitter(given, origin);
  assert.ok(!read.ok, `expected a problem with ${JSON.stringify(given)}`);
  return read.problems.map(({ field, text }) => `${field}: ${text}`);
}

/** That a field is refused, with a text that matches. @param {object} given @param {string} field @param {RegExp} text */
function refused(given, field, text, origin = TOOL) {
  const found = problemsOf({ name: "build", ...given }, origin);
  assert.ok(
    found.some((one) => one.startsWith(`${field}: `) && text.test(one)),
    `${field} ${text} in ${found.join("\n")}`,
  );
}

describe("defaults", () => {
  test("a command of the model runs until it is stopped, in this session only", () => {
    assert.deepEqual(specOf({ command: "make watch" }), {
      name: "build",
      kind: "command",
      command: "make watch",
      env: {},
      stream: "build",
      includeStderr: false,
      rules: [],
      subscribe: true,
      delivery: "important",
      scope: "temporary",
      managedBy: "modelOwned",
      autoStart: true,
      background: false,
      file: "project",
      missed: "skip",
      overlap: "skip",
      restart: "never",
      continuous: true,
    });
  });

  test("an emitter of a config is persistent and the user's", () => {
    const spec = specOf({ command: "make watch" }, { origin: "config", file: "user" });
    assert.deepEqual(
      [spec.scope, spec.managedBy, spec.autoStart, spec.file],
      ["persistent", "userOwned", true, "user"],
    );
  });

  test("runs of a prompt are bounded", () => {
    assert.equal(specOf({ prompt: "look" }).maxRuns, 1);
    assert.equal(specOf({ prompt: "look", every: "idle" }).maxRuns, 10);
    assert.equal(specOf({ prompt: "look", every: "5m" }).maxRuns, 100);
    assert.equal(specOf({ prompt: "look", cron: "0 9 * * 1-5" }).maxRuns, 100);
    assert.equal(specOf({ prompt: "look", every: "5m", maxRuns: 3 }).maxRuns, 3);
    assert.equal(specOf({ command: "make", every: "5m" }).maxRuns, undefined);
  });

  test("a command with every, cron, onChange or one run is not continuous", () => {
    assert.equal(specOf({ argv: ["make"], every: "5m" }).continuous, false);
    assert.equal(specOf({ argv: ["make"], cron: "*/5 * * * *" }).continuous, false);
    assert.equal(specOf({ argv: ["make"], onChange: "src/**" }).continuous, false);
    assert.equal(specOf({ argv: ["make"], maxRuns: 1 }).continuous, false);
    assert.equal(specOf({ argv: ["make"], maxRuns: 5 }).continuous, true);
  });

  test("a spec is frozen, and what it was read from is not", () => {
    const given = {
      name: "build",
      argv: ["make"],
      env: { A: "1" },
      onChange: ["src/**"],
      eventFilter: [{ match: "x", outcome: "inject", window: { lines: 3, time: "1m" } }],
    };
    const spec = specOf(given);
    assert.ok(Object.isFrozen(spec) && Object.isFrozen(spec.rules[0].window));
    assert.ok(
      Object.isFrozen(spec.argv) && Object.isFrozen(spec.env) && Object.isFrozen(spec.onChange),
    );
    assert.ok(!Object.isFrozen(given.argv) && !Object.isFrozen(given.onChange));
  });
});

describe("times", () => {
  test("durations are texts with a unit, in the ways in which people write them", () => {
    const ways = {
      "30s": 30_000,
      "5m": 300_000,
      "2h": 7_200_000,
      "1d": DAY,
      "every 5 minutes": 300_000,
    };
    for (const [every, ms] of Object.entries({ ...ways, " 10 Secs ": 10_000, "1 hr": 3_600_000 })) {
      assert.equal(specOf({ command: "make", every }).every, ms, every);
    }
    for (const every of [
      "5",
      "m",
      "-5m",
      "1.5h",
      "5 m m",
      "0s",
      "5w",
      "",
      "1e9d",
      "5m".repeat(99),
      "5m\n5m",
    ]) {
      refused({ command: "make", every }, "every", /such as "30s"/);
    }
    for (const every of [5, 300_000, null, true, ["5m"], { m: 5 }]) {
      refused({ command: "make", every }, "every", /a time from/);
    }
  });

  test("every has a least time, which for prompts is longer unless the user has typed it", () => {
    assert.equal(specOf({ command: "make", every: "1s" }).every, 1000);
    refused({ command: "make", every: "999ms" }, "every", /from 1s/);
    refused({ prompt: "look", every: "9s" }, "every", /from 10s/);
    assert.equal(specOf({ prompt: "look", every: "10s" }).every, 10_000);
    assert.equal(specOf({ prompt: "look", every: "1s" }, { ...TOOL, hand: "user" }).every, 1000);
    refused({ prompt: "look", every: "500ms" }, "every", /from 1s/, { ...TOOL, hand: "user" });
    refused({ command: "make", every: "31d" }, "every", /to 30d/);
  });

  test("idle is for prompts", () => {
    assert.equal(specOf({ prompt: "look", every: "Idle" }).idle, true);
    refused({ command: "make", every: "idle" }, "every", /only a prompt/);
  });

  test("cron has five fields, and a time zone that exists", () => {
    const spec = specOf({
      command: "make",
      cron: " 30  9 * * MON-FRI ",
      timezone: "Europe/Berlin",
    });
    assert.deepEqual([spec.cron, spec.timezone], ["30 9 * * MON-FRI", "Europe/Berlin"]);
    for (const cron of ["@daily", "* * * *", "* * * * * *", "a;b * * * *", "$(x) * * * *"]) {
      refused({ command: "make", cron }, "cron", /five fields/);
    }
    refused({ command: "make", cron: "* *" }, "cron", /: it has 2 fields$/);
    refused({ command: "make", cron: "a;b * * * *" }, "cron", /: one of them has a character/);
    refused(
      { command: "make", cron: "0 9 * * *", timezone: "Mars/Base" },
      "timezone",
      /time zone such as/,
    );
    refused(
      { command: "make", timezone: "Europe/Berlin" },
      "timezone",
      /it is for an emitter with "cron"/,
    );
  });

  test("there is one way of being started", () => {
    refused({ command: "make", every: "5m", cron: "0 9 * * *" }, "cron", /one of them/);
    refused({ command: "make", every: "5m", onChange: ["src/**"] }, "onChange", /one of them/);
  });

  test("globs stay in the workspace and are of commands", () => {
    assert.deepEqual(
      specOf({ command: "make", onChange: ["src/**", "!src/gen/**"] }).onChange?.length,
      2,
    );
    for (const glob of ["../x", "/etc/*", "a/../../b", "C:\\x", "!../x", " ", "..\\x"]) {
      refused({ command: "make", onChange: [glob] }, "onChange[0]", /inside the workspace/);
    }
    refused({ command: "make", onChange: [] }, "onChange", /not empty/);
    refused({ command: "make", onChange: [1] }, "onChange[0]", /a text/);
    refused({ prompt: "look", onChange: ["src/**"] }, "onChange", /with a command/);
  });

  test("fields that go with another way of being started are refused", () => {
    refused({ command: "make", missed: "once" }, "missed", /"every" or "cron"/);
    refused({ command: "make", overlap: "queue" }, "overlap", /"every", "cron" or "onChange"/);
    refused({ prompt: "look", every: "5m", overlap: "kill" }, "overlap", /never runs twice/);
    refused({ command: "make", every: "5m", restart: "always" }, "restart", /until it is stopped/);
    refused({ command: "make", maxRuns: 1, restart: "always" }, "restart", /until it is stopped/);
    refused({ prompt: "look", every: "5m", expectEvery: "1h" }, "expectEvery", /lines of its own/);
    refused({ prompt: "look", maxRuns: 2 }, "maxRuns", /runs once/);
    refused({ url: "https://x.test/" }, "every", /is missing/);
    for (const maxRuns of [0, -1, 1.5, NaN, "3", 1e9]) {
      refused({ command: "make", maxRuns }, "maxRuns", /whole number/);
    }
  });
});

describe("work", () => {
  test("an emitter has one kind of work", () => {
    assert.deepEqual(problemsOf({ name: "build" }), [
      'command: is missing: give "command", "argv", "prompt" or "url"',
    ]);
    refused({ command: "make", prompt: "look" }, "prompt", /one of them/);
    refused({ command: "make", argv: ["make"] }, "argv", /one of them/);
    for (const command of ["", "  ", 5, null, "a\0b", "x".repeat(8001), "\ud800"]) {
      refused({ command }, "command", /expected/);
    }
    for (const argv of [
      [],
      [""],
      ["a", 1],
      "make",
      Array(201).fill("x"),
      Array(9).fill("x".repeat(2000)),
    ]) {
      assert.ok(
        problemsOf({ name: "b", argv }).every((one) => one.startsWith("argv")),
        String(argv).slice(0, 50),
      );
    }
  });

  test("a URL is of the web, without a password; a path names a part of its answer", () => {
    const spec = specOf({
      url: "https://x.test/runs",
      every: "5m",
      jsonPath: '$.runs[0]["a key"]',
    });
    assert.deepEqual(
      [spec.kind, spec.url, spec.jsonPath],
      ["http", "https://x.test/runs", '$.runs[0]["a key"]'],
    );
    for (const url of ["file:///etc/passwd", "javascript:1", "x", "//x.test", "data:,x"]) {
      refused({ url, every: "5m" }, "url", /https/);
    }
    refused({ url: "https://u:p@x.test/", every: "5m" }, "url", /password/);
    refused({ url: "https://x.test/", every: "5m", jsonPath: "a..b" }, "jsonPath", /path such as/);
    refused({ command: "make", jsonPath: "$.a" }, "jsonPath", /with "url"/);
  });

  test("the folder is inside the workspace", () => {
    assert.equal(specOf({ command: "make", cwd: "tools/a" }).cwd, "tools/a");
    for (const cwd of [
      "..",
      "../x",
      "/tmp",
      "a/../../x",
      "C:\\x",
      "\\\\host\\x",
      "c:x",
      "a\\..\\..\\x",
      "",
    ]) {
      refused({ command: "make", cwd }, "cwd", /expected/);
    }
  });

  test("variables are texts with names that are names", () => {
    assert.deepEqual(specOf({ command: "make", env: { PORT: "1", EMPTY: "" } }).env, {
      PORT: "1",
      EMPTY: "",
    });
    const bad = JSON.parse('{"__proto__": "x"}');
    for (const env of [{ "A=B": "1" }, { "": "1" }, { "1A": "1" }, { "BASH_FUNC_x%%": "1" }, bad]) {
      assert.match(problemsOf({ name: "b", command: "make", env }).join(), /name of a variable/);
    }
    refused(
      { command: "make", env: { TAP_PROVIDER_TOKEN: "x" } },
      "env.TAP_PROVIDER_TOKEN",
      /by tap/,
    );
    for (const name of ["BASH_ENV", "PATH", "NODE_OPTIONS", "LD_PRELOAD", "bash_env"]) {
      refused({ command: "make", env: { [name]: "x" } }, `env.${name}`, /in the command/);
    }
    refused({ command: "make", env: { A: 1 } }, "env.A", /a text/);
    refused({ command: "make", env: { A: "x\0" } }, "env.A", /zero byte/);
    refused({ command: "make", env: ["A"] }, "env", /an object/);
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`A${i}`, ""]));
    refused({ command: "make", env: many }, "env", /at most 50/);
  });

  test("what a prompt has no use for is a note", () => {
    const read = readEmitter(
      {
        name: "b",
        prompt: "look",
        includeStderr: true,
        cwd: "x",
        eventFilter: [{ match: "x", outcome: "drop" }],
      },
      CONFIG,
    );
    assert.ok(read.ok);
    assert.deepEqual(read.spec.rules, []);
    assert.equal(read.notes.length, 3);
  });
});

describe("names and owners", () => {
  test("names are names, and not tap's own", () => {
    for (const name of ["", " a", "a  b", "a\u202eb", "a\nb", "x".repeat(129), "\ufb01le", "a\0"]) {
      refused({ name, command: "make" }, "name", /a name/);
    }
    for (const name of ["__proto__", "constructor", "tap-x", "TAP-x", "a@b"]) {
      refused({ name, command: "make" }, "name", /reserved|without "@"/);
      refused({ channel: name, command: "make" }, "channel", /reserved|without "@"/);
    }
    refused({ name: 5, command: "make" }, "name", /found 5/);
    assert.equal(specOf({ name: "Größe 2", command: "make" }).name, "Größe 2");
  });

  test("a background emitter and a file are of persistent ones", () => {
    refused({ command: "make", background: true }, "background", /persistent/);
    refused({ command: "make", file: "user" }, "file", /persistent/);
    const spec = specOf({ command: "make", scope: "persistent", background: true, file: "user" });
    assert.deepEqual([spec.background, spec.file, spec.scope], [true, "user", "persistent"]);
    refused(
      { prompt: "look", every: "5m", scope: "persistent", background: true },
      "background",
      /session/,
    );
    refused({ command: "make", scope: "temporary" }, "scope", /is persistent/, CONFIG);
  });

  test("unknown fields are refused with the known ones", () => {
    assert.match(
      problemsOf({ name: "b", command: "make", evry: "5m" }).join(),
      /did you mean "every"/,
    );
    assert.match(
      problemsOf({ name: "b", command: "make", frobnicate: 1 }).join(),
      /known are name, command/,
    );
    refused({ command: "make", force: true }, "force", /unknown field/, CONFIG);
    refused({ command: "make", file: "user" }, "file", /unknown field/, CONFIG);
    for (const name of ["stream", "ownership", "runInterval", "lifespan", "classifier"]) {
      refused({ command: "make", [name]: "x" }, name, /unknown field/);
      refused({ command: "make", [name]: "x" }, name, /unknown field/, CONFIG);
    }
    refused({ command: "make", notifyPattern: "x" }, "notifyPattern", /unknown field/, CONFIG);
  });
});

test("a stream says what happens to its lines", () => {
  const eventFilter = [{ match: "x", outcome: "drop" }];
  const read = readStream({ name: "ops", description: "", subscribe: false, eventFilter });
  assert.deepEqual(read, {
    ok: true,
    spec: {
      ...{ name: "ops", subscribe: false, delivery: "important" },
      ...{ managedBy: "userOwned", rules: eventFilter },
    },
    notes: [],
  });
  for (const given of [null, [], 5, {}, { name: "a@b" }, { name: "a", delivery: "surface" }]) {
    assert.equal(readStream(given).ok, false);
  }
});

test("the tool's parameters are short, and each is read", () => {
  assert.ok(JSON.stringify(emitterParameters).length < 2400);
  const read = readEmitter({ name: "b", command: "make", ...{ unknown: 1 } }, TOOL);
  assert.ok(!read.ok);
  for (const name of Object.keys(emitterParameters.properties)) {
    const found = readEmitter({ [name]: Symbol.iterator }, TOOL);
    assert.ok(!found.ok);
    assert.ok(!found.problems.some(({ text }) => text.startsWith("unknown field")), name);
  }
});
