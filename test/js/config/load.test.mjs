// tap.config.json: what is taken, and where each mistake is said to be.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import {
  hashText,
  loadProjectConfig,
  MAX_CONFIG_BYTES,
  parseConfig,
} from "../../../js/config/load.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** The config of one provider with these fields. */
/** What a config has that names providers only. */
const REST = {
  ...{ declarative: [], toolGroups: [], features: {} },
  ...{ emitters: [], watch: [], tools: [], streams: [] },
};
const one = (fields) => JSON.stringify({ providers: [{ name: "a", command: "node", ...fields }] });

const denyArgs = (args) =>
  JSON.stringify({ declarative: [{ name: "a", deny: [{ match: { args }, reason: "no" }] }] });

const problems = (text) => {
  const result = parseConfig(text);
  assert.equal(result.ok, false, `expected problems in ${text.slice(0, 200)}`);
  return result.problems;
};

/** The text has one problem, at this place. */
function assertProblem(text, line, column, message) {
  const found = problems(text);
  assert.equal(found.length, 1, found.map((problem) => problem.text).join("\n"));
  assert.match(found[0].message, message);
  assert.deepEqual([found[0].line, found[0].column], [line, column], found[0].text);
  assert.equal(found[0].text, `tap.config.json:${line}:${column}: ${found[0].message}`);
}

describe("a good config", () => {
  test("may name the argument that a rule is about", () => {
    const args = { path: "/command/0/a~1b", pattern: "^git push" };
    const { declarative } = /** @type {any} */ (parseConfig(denyArgs(args)));
    assert.deepEqual(declarative[0].deny[0].match, { args });
  });

  test("gets its defaults", () => {
    assert.deepEqual(parseConfig(one({})), {
      ok: true,
      ...REST,
      providers: [
        { name: "a", command: "node", args: [], env: {}, restart: { policy: "on-failure" } },
      ],
    });
  });

  test("may have every field, comments, a trailing comma and a byte order mark", () => {
    const text = `\ufeff{ // who runs
      "$schema": "x",
      "providers": [{ "name": "é 1", "command": "./run", "args": ["-a", ""], "env": {"A": "b"},
        "cwd": "tools/x", "restart": {"policy": "always", "maxRestarts": 0} /* , */ },]
    }`;
    const result = parseConfig(text);
    assert.deepEqual(result.providers, [
      {
        name: "é 1",
        command: "./run",
        args: ["-a", ""],
        env: { A: "b" },
        cwd: "tools/x",
        restart: { policy: "always", maxRestarts: 0 },
      },
    ]);
  });

  test("of the user may say who changes the mode of a session", () => {
    const read = (session) => parseConfig(JSON.stringify({ session }), "config.json", "user");
    for (const mode of ["ask", "allow", "deny"]) {
      assert.deepEqual(/** @type {any} */ (read({ mode })).session, { mode });
    }
    assert.deepEqual(/** @type {any} */ (read({})).session, { mode: "ask" });
    const [problem] = /** @type {any} */ (read({ mode: "always" })).problems;
    assert.match(problem.message, /^session\.mode: .*"always"/);
    assert.equal(read({ mode: 5 }).ok, false);
    assert.match(problems('{"session": {"mode": "allow"}}')[0].message, /unknown field "session"/);
  });

  test("of the user may have goals gate what the agent does", () => {
    const read = (goals) => parseConfig(JSON.stringify({ goals }), "config.json", "user");
    assert.deepEqual(/** @type {any} */ (read({ gate: ["push", "task_complete"] })).goals, {
      gate: ["push", "task_complete"],
    });
    assert.deepEqual(/** @type {any} */ (read({})).goals, { gate: [] });
    for (const wrong of [{ gate: ["pull"] }, { gate: "push" }, { gates: [] }, []]) {
      assert.equal(read(wrong).ok, false, JSON.stringify(wrong));
    }
    assert.match(problems('{"goals": {"gate": ["push"]}}')[0].message, /unknown field "goals"/);
  });

  test("is the one of the documentation", () => {
    const page = new URL("../../../docs/project-providers.md", import.meta.url);
    const text = /```json\n(.*?)```/s.exec(fs.readFileSync(page, "utf8"))?.[1] ?? "";
    assert.deepEqual(
      parseConfig(text).providers?.map(({ name, restart }) => [name, restart]),
      [
        ["ci", { policy: "on-failure" }],
        ["database", { policy: "always", maxRestarts: 5 }],
      ],
    );
  });

  test("may name the restart policy alone", () => {
    assert.deepEqual(parseConfig(one({ restart: "never" })).providers[0].restart, {
      policy: "never",
    });
  });

  test("may have no providers", () => {
    assert.deepEqual(parseConfig('{"providers": []}'), { ok: true, providers: [], ...REST });
  });

  test("keeps a variable named __proto__ as a variable", () => {
    const { providers } = parseConfig(
      '{"providers":[{"name":"a","command":"b","env":{"__proto__":"x"}}]}',
    );
    assert.deepEqual(Object.entries(providers[0].env), [["__proto__", "x"]]);
  });
});

describe("a syntax error is named with line and column", () => {
  const cases = [
    ["", 1, 1, /expected a value/],
    ['{"providers": [}', 1, 16, /expected/],
    ['{\n  "providers" []\n}', 2, 15, /colon/],
    ['{\r\n  "providers": [\r\n    {"name": "a" "command": "b"}]}', 3, 18, /comma/],
    ["{\n\tproviders: []}", 2, 2, /double quotes/],
    ['{"providers": []', 1, 17, /closing brace/],
    ['{"providers": [', 1, 16, /closing bracket/],
    ['{"providers": ["a\n"]}', 1, 16, /closing "/],
    ['{"providers": []} x', 1, 19, /expected/],
    ['{"providers": [] /* ', 1, 18, /end of the comment/],
    ['{"providers": ["\\q"]}', 1, 16, /after the backslash/],
    ["[".repeat(100_000), 1, 33, /at most 32 levels/],
  ];
  for (const [text, line, column, message] of cases) {
    test(JSON.stringify(text.slice(0, 40)), () => assertProblem(text, line, column, message));
  }
});

describe("a mistake is named with what was expected", () => {
  /** Text, where in it the mistake is, and what is said. */
  const cases = [
    ["[]", "[]", /an object for the config/],
    ['{"providers": {}}', "{}", /^providers: expected a list/],
    [
      '{"provider": [], "providers": []}',
      '"provider"',
      /field "provider".*did you mean "providers"/,
    ],
    ['{"providers": [], "zzz": 1}', '"zzz"', /unknown field "zzz".*known are providers/],
    ['{"providers": [3]}', "3", /^providers\[0\]: expected an object/],
    ['{"providers": [{"name": "a"}]}', '{"name"', /^providers\[0\]\.command: is missing/],
    ['{"providers": [{"command": "a"}]}', '{"command"', /^providers\[0\]\.name: is missing/],
    ['{"providers": [{"name": "a", "command": "b", "command": "c"}]}', '"command": "c"', /twice/],
    [one({ comand: "x" }), '"comand"', /did you mean "command"/],
    [one({ name: "" }), '""', /a name that is not empty/],
    [one({ name: " a" }), '" a"', /without spaces at its ends/],
    [one({ name: "a\u001b[2J" }), '"a\\u001b', /visible characters, found U\+001B/],
    [one({ name: "a\u202eb" }), '"a\u202e', /visible characters, found U\+202E/],
    [one({ name: 5 }), "5", /^providers\[0\]\.name: .*found 5$/],
    [one({ name: null }), "null", /^providers\[0\]\.name: .*found null$/],
    [one({ name: "é".repeat(65) }), '"é', /at most 128 bytes/],
    [one({ command: " " }), '" "', /^providers\[0\]\.command: .*not empty/],
    [one({ command: "a\0b" }), '"a\\u0000', /zero byte/],
    [one({ args: "x" }), '"x"', /^providers\[0\]\.args: expected a list/],
    [one({ args: ["x", 1] }), "1", /^providers\[0\]\.args\[1\]: .*found 1$/],
    [one({ env: { A: 1 } }), "1", /^providers\[0\]\.env\.A: .*found 1$/],
    [one({ env: { A_B: 1 } }), "1", /^providers\[0\]\.env\.A_B: .*found 1$/],
    [one({ env: { "A=": "1" } }), '"A="', /name of a variable/],
    [one({ env: { tap_provider_token: "1" } }), '"tap_', /set by tap itself/],
    [one({ env: [] }), "[]", /^providers\[0\]\.env: expected an object/],
    [one({ cwd: "../x" }), '"../x"', /inside the workspace/],
    [one({ cwd: "a/../../x" }), '"a/', /inside the workspace/],
    [one({ cwd: "/tmp" }), '"/tmp"', /inside the workspace/],
    [one({ cwd: "C:\\x" }), '"C:', /inside the workspace/],
    [one({ cwd: "" }), '""', /^providers\[0\]\.cwd: /],
    [one({ restart: "sometimes" }), '"sometimes"', /one of "on-failure", "always", "never"/],
    [one({ restart: 1 }), "1", /^providers\[0\]\.restart: expected an object/],
    [one({ restart: { max: 1 } }), '"max"', /unknown field "max"/],
    [one({ restart: { maxRestarts: 101 } }), "101", /whole number from 0 to 100/],
    [one({ restart: { maxRestarts: 1.5 } }), "1.5", /whole number/],
    [one({ restart: { maxRestarts: "1" } }), '"1"', /whole number/],
    [
      '{"declarative": [{"name": "a", "ask": [{"match": {"tool": "bash"}}]}]}',
      '[{"match"',
      /cannot make the CLI ask you: .*; or use "deny" with a "reason"/,
    ],
    [denyArgs({ path: "command", pattern: "x" }), '"command"', /a JSON Pointer/],
    [denyArgs({ path: "/a~2", pattern: "x" }), '"/a~2"', /a JSON Pointer/],
    [denyArgs({ path: "/a" }), '{"path"', /deny\[0\]\.match\.args\.pattern: /],
    [denyArgs({ path: "/a", pattern: "x", flags: "i" }), '"flags"', /unknown field "flags"/],
  ];
  for (const [text, place, message] of cases) {
    test(text.slice(0, 90), () => assertProblem(text, 1, text.indexOf(place) + 1, message));
  }

  test("all of them at once, up to 20", () => {
    assert.equal(problems('{"providers": [1, 2, {}]}').length, 4);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`x${i}`, 1]));
    assert.equal(problems(one(many)).length, 20);
  });

  test("a variable cannot pass for the command", () => {
    const names = ["node tools/ci.mjs #", "", "1A", "A B", "A=B", "\u0410", "A\u200b", "A-B"];
    for (const name of names) {
      const [problem] = problems(one({ env: { [name]: "1" } }));
      assert.match(
        problem.message,
        /expected the name of a variable \(letters, digits and _/,
        name,
      );
    }
    assert.equal(parseConfig(one({ env: { _A1: "1", lower_case: "2" } })).ok, true);
  });

  test("a name is seen as it is", () => {
    const names = [
      "",
      " ",
      "ci ",
      "c\u00a0i",
      "c  i",
      "ci\u200b",
      "ci\u3164",
      "\u0301ci",
      "\uff43i",
    ];
    for (const name of names) {
      const [problem] = problems(one({ name }));
      assert.match(problem.message, /^providers\[0\]\.name: expected a name /, name);
    }
  });

  test("control characters of a file do not reach the message", () => {
    const [problem] = problems(one({ "\u001b[2J\u202e": 1 }));
    assert.ok(problem.message.includes("\\x1b[2J\\u{202e}"), problem.message);
  });
});

describe("limits", () => {
  const list = (count) =>
    JSON.stringify({
      providers: Array.from({ length: count }, (_, i) => ({ name: `p${i}`, command: "a" })),
    });

  test("20 providers, not 21", () => {
    assert.equal(parseConfig(list(20)).providers.length, 20);
    assert.match(problems(list(21))[0].message, /at most 20 providers, found 21/);
  });

  test("a name of 128 bytes", () => {
    assert.ok(parseConfig(one({ name: "é".repeat(64) })).ok);
  });

  test("256 KB, not a byte more", () => {
    const padded = (bytes) => one({}).padEnd(bytes, " ");
    assert.ok(parseConfig(padded(MAX_CONFIG_BYTES)).ok);
    assert.match(problems(padded(MAX_CONFIG_BYTES + 1))[0].message, /at most 256 KB/);
  });

  test("two providers of one name", () => {
    const twice = '{"providers": [{"name":"a","command":"b"},\n{"name":"a","command":"b"}]}';
    assertProblem(twice, 2, 9, /another name/);
  });
});

describe("loading from a workspace", () => {
  const write = (folder, content) =>
    fs.writeFileSync(path.join(folder, "tap.config.json"), content);

  test("gives the file, its digest and what is in it", (t) => {
    const folder = fs.realpathSync(temporaryFolder(t));
    write(folder, one({}));
    const { file, digest, result } = loadProjectConfig(folder);
    assert.equal(file, path.join(folder, "tap.config.json"));
    assert.equal(digest, createHash("sha256").update(one({})).digest("hex"));
    assert.equal(digest, hashText(one({})));
    assert.ok(result.ok);
  });

  test("without a file there is no config", (t) => {
    assert.equal(loadProjectConfig(temporaryFolder(t)), undefined);
    assert.equal(loadProjectConfig("/nowhere/at/all"), undefined);
  });

  test("a link to the workspace is the same workspace; a linked file keeps its own place", (t) => {
    const folder = fs.realpathSync(temporaryFolder(t));
    const [real, other, link] = ["real", "other", "link"].map((name) => path.join(folder, name));
    fs.mkdirSync(real);
    fs.mkdirSync(other);
    fs.symlinkSync(real, link);
    write(real, one({}));
    fs.symlinkSync(path.join(real, "tap.config.json"), path.join(other, "tap.config.json"));
    assert.equal(loadProjectConfig(link)?.file, path.join(real, "tap.config.json"));
    assert.equal(loadProjectConfig(other)?.file, path.join(other, "tap.config.json"));
  });

  test("what is no readable text is a problem, not an exception", (t) => {
    const folder = temporaryFolder(t);
    write(folder, Buffer.from([0x7b, 0xff]));
    assert.match(loadProjectConfig(folder).result.problems[0].text, /1:1: expected UTF-8/);
    write(folder, " ".repeat(MAX_CONFIG_BYTES + 1));
    assert.match(loadProjectConfig(folder).result.problems[0].message, /at most 256 KB/);
    fs.rmSync(path.join(folder, "tap.config.json"));
    fs.mkdirSync(path.join(folder, "tap.config.json"));
    assert.match(loadProjectConfig(folder).result.problems[0].message, /expected a file/);
  });

  test("a pipe in its place is not waited for", { skip: process.platform === "win32" }, (t) => {
    const folder = temporaryFolder(t);
    execFileSync("mkfifo", [path.join(folder, "tap.config.json")]);
    assert.match(loadProjectConfig(folder).result.problems[0].message, /expected a file/);
  });
});
