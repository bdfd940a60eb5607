// copilot-tap allow and revoke, and the question in a real terminal.

import assert from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { GOOD, InTerminal, place, tap, tapJson, tapProcess } from "../../support/cli-process.mjs";

describe("copilot-tap allow", () => {
  test("shows what would run and, with --yes, allows it", async (t) => {
    const at = place(t);
    const { code, out } = await tap(["allow", "--yes"], at);
    assert.equal(code, 0);
    assert.ok(out.includes(`${at.config} would start`), out);
    assert.match(
      out,
      /ci \(restart: on-failure\)\n {4}node ci\.mjs ['"]a b['"]\n {6}with MODE=x\n/,
    );
    assert.match(out, /Allowed, until one of these entries changes/);
    assert.equal(at.allowed(), true);
    assert.match((await tap(["allow", at.config], at)).out, /allowed already/);
  });

  test("shows emitters in full, finds them in .github, and asks for each", async (t) => {
    const at = place(t, "{}");
    const second = join(at.workspace, ".github", "tap.config.json");
    fs.mkdirSync(dirname(second));
    fs.rmSync(at.config);
    const prompt = `Look at ${"x".repeat(500)}.`;
    const build = { name: "build", command: "make watch", env: { MODE: "x" } };
    const review = { name: "review", prompt, every: "15m" };
    fs.writeFileSync(second, JSON.stringify({ emitters: [build, review] }));
    const { code, out } = await tap(["allow", "--yes"], at);
    assert.equal(code, 0, out);
    assert.ok(out.includes(`${second} would start`), out);
    assert.match(
      out,
      /build \(emitter\)\n {4}runs in a shell: make watch\n {4}until .*\n {4}with MODE=x\n/,
    );
    assert.ok(
      out.includes(`    asks the model: ${prompt}\n    every 15m, at most 100 times\n`),
      out,
    );
    assert.equal(at.allowed(), true);
    fs.writeFileSync(second, JSON.stringify({ emitters: [build, { ...review, every: "5m" }] }));
    const again = await tap(["allow", "--yes", second], at);
    assert.ok(!again.out.includes("make watch") && again.out.includes("every 5m"), again.out);
    assert.equal(at.allowed(), true);
  });

  test("asks again once the file has changed", async (t) => {
    const at = place(t);
    await tap(["allow", "--yes"], at);
    fs.writeFileSync(at.config, `${GOOD}\n// a comment\n`);
    assert.equal(at.allowed(), true);
    fs.writeFileSync(at.config, GOOD.replace("ci.mjs", "other.mjs"));
    assert.equal(at.allowed(), false);
    assert.equal((await tap(["allow"], at)).code, 1);
  });

  test("without a terminal and without --yes allows nothing", async (t) => {
    const at = place(t);
    const { code, out, err } = await tap(["allow", "."], at);
    assert.equal(code, 1);
    assert.match(out, /would start/);
    assert.match(err, /no terminal: use --yes/);
    assert.equal(at.allowed(), false);
  });

  // shows: P-PROJECT-2
  test("is not for the agent", async (t) => {
    const at = place(t);
    const { code, err } = await tap(["allow", "--yes"], at, { COPILOT_AGENT_SESSION_ID: "s" });
    assert.equal(code, 1);
    assert.match(err, /not the agent's/);
    assert.equal(at.allowed(), false);
  });

  test("of a file with mistakes names them and allows nothing", async (t) => {
    const at = place(t, '{\n  "providers" []\n}');
    const { code, err } = await tap(["allow", "--yes"], at);
    assert.equal(code, 1);
    assert.ok(err.includes(`${at.config}:2:15: expected a colon`), err);
    assert.equal(fs.existsSync(at.store), false);
  });

  test("without a file says so", async (t) => {
    const at = place(t);
    fs.rmSync(at.config);
    const { code, err } = await tap(["allow", "--yes"], at);
    assert.equal(code, 1);
    assert.ok(err.includes(`there is no ${at.config}`), err);
  });

  test("shows control characters instead of sending them", async (t) => {
    const at = place(t, GOOD.replace("a b", "\\u001b[2K\\rsafe\\u202e"));
    const { out } = await tap(["allow", "--yes"], at);
    assert.ok(out.includes("\\x1b[2K\\x0dsafe\\u{202e}"), out);
    for (const character of "\u001b\r\u202e") assert.equal(out.includes(character), false);
  });

  test("shows everything in full, however long it is", async (t) => {
    const long = (/** @type {string} */ end) => `${"x".repeat(20_000)}\u202e${end}`;
    const provider = { name: "ci", command: "node", args: [long("argument")], cwd: long("folder") };
    const rules = {
      name: "rules",
      deny: [
        { match: { tool: "bash", args: long("match") }, reason: `${"y".repeat(3000)} reason` },
      ],
      context: `${"z".repeat(3500)} context`,
    };
    const config = {
      providers: [{ ...provider, env: { SECRET: long("value"), LAST: "1" } }],
      declarative: [rules],
    };
    const at = place(t, JSON.stringify(config));
    const { code, out } = await tap(["allow", "--yes"], at);
    assert.equal(code, 0);
    for (const end of ["argument", "folder", "match", "value"]) {
      assert.ok(out.includes(`${"x".repeat(20_000)}\\u{202e}${end}`), end);
    }
    for (const end of ["y reason", "z context", "with LAST=1"]) assert.ok(out.includes(end), end);
    assert.doesNotMatch(out, /… \(\d+ more\)|\u202e/);
  });

  test("keeps consent in the home that is named", async (t) => {
    const at = place(t);
    const { code } = await tap(["allow", "--yes", "--home", at.home], at, {
      COPILOT_HOME: "/nowhere",
    });
    assert.equal(code, 0);
    assert.equal(at.allowed(), true);
  });

  test("with --json tells the same, and asks nothing", async (t) => {
    const at = place(t);
    const asked = await tapJson(["allow"], at);
    assert.equal(asked.code, 1);
    assert.equal(asked.value.error.code, "CONSENT_NEEDED");
    assert.equal(at.allowed(), false);
    const given = await tapJson(["allow", "--yes"], at);
    assert.equal(given.code, 0);
    const { path, allowed, changed, providers } = given.value;
    assert.deepEqual({ path, allowed, changed }, { path: at.config, allowed: true, changed: true });
    assert.match(providers[0].commandLine, /^node ci\.mjs/);
    assert.equal((await tapJson(["allow"], at)).value.changed, false);
    assert.deepEqual((await tapJson(["revoke"], at)).value, { path: at.config, revoked: 1 });
  });

  test("takes nothing after --, rather than allow another folder than was meant", async (t) => {
    const at = place(t);
    const { code, err } = await tap(["allow", "--yes", "--", "elsewhere"], at);
    assert.equal(code, 2);
    assert.match(err, /nothing goes after -- here, such as "elsewhere"/);
    assert.equal(at.allowed(), false);
  });
});

describe("copilot-tap revoke", () => {
  test("takes consent back, also once the file is gone", async (t) => {
    const at = place(t);
    await tap(["allow", "--yes"], at);
    const saved = fs.readFileSync(at.config);
    fs.rmSync(at.config);
    assert.match((await tapProcess(["revoke"], at)).out, /not allowed any more/);
    fs.writeFileSync(at.config, saved);
    assert.equal(at.allowed(), false);
    const again = await tap(["revoke", at.workspace], at);
    assert.match(again.err, /was not allowed/);
    assert.equal(again.code, 1);
  });
});

describe("copilot-tap import-config", () => {
  test("converts a config of copilot-tap-extension in place, and allows nothing", async (t) => {
    const emitters = [{ name: "log", command: "make", stream: "ops", lifespan: "persistent" }];
    const at = place(t, JSON.stringify({ emitters }));
    const { value, code } = await tapJson(["import-config"], at);
    assert.deepEqual([code, value], [0, { path: at.config, changed: ["log"] }]);
    const { emitters: now } = JSON.parse(fs.readFileSync(at.config, "utf8"));
    assert.deepEqual(now, [{ name: "log", command: "make", channel: "ops" }]);
    assert.equal(at.allowed(), false);
    assert.deepEqual((await tapJson(["import-config"], at)).value.changed, []);
  });

  test("of a file that tap would not read says so, and one that is not there is NOT_FOUND", async (t) => {
    const at = place(t, '{"emitters": [{"name": "a"}]}');
    const bad = await tapJson(["import-config"], at);
    assert.deepEqual([bad.code, bad.value.error.code], [1, "INVALID_CONFIG"]);
    fs.rmSync(at.config);
    const gone = await tapJson(["import-config"], at);
    assert.deepEqual([gone.code, gone.value.error.code], [1, "NOT_FOUND"]);
  });
});

describe("in a terminal", () => {
  test("what does not fit is said before the question", async (t) => {
    const at = place(t, GOOD.replace('"x"', `"${" ".repeat(3000)}"`));
    const terminal = new InTerminal(t, ["allow"], at, { rows: 12 });
    await terminal.shows(
      /These are \d+ lines of this terminal: scroll up to read all\.\s+Allow this/,
    );
    terminal.type("n\r");
    assert.equal(await terminal.end(), 1);
  });

  /** Answers the question with these keys. */
  async function answered(t, keys) {
    const at = place(t);
    const terminal = new InTerminal(t, ["allow"], at);
    await terminal.shows("Allow this? [y/N]");
    assert.match(terminal.text, / {4}node ci\.mjs [^]* {6}with MODE=x/);
    assert.equal(at.allowed(), false);
    terminal.type(keys);
    const code = await terminal.end();
    return { code, allowed: at.allowed(), screen: terminal.text };
  }

  for (const keys of ["y\r", "YES\r"]) {
    test(`${JSON.stringify(keys)} allows`, async (t) => {
      const { code, allowed } = await answered(t, keys);
      assert.deepEqual([code, allowed], [0, true]);
    });
  }

  for (const keys of ["\r", "n\r", "yes please\r", "\x04", "\x03"]) {
    test(`${JSON.stringify(keys)} does not`, async (t) => {
      const { code, allowed, screen } = await answered(t, keys);
      assert.deepEqual([code, allowed], [1, false]);
      assert.match(screen, /Not allowed/);
    });
  }
});
