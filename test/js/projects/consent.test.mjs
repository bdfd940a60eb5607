// Consent: for one content of one file, kept where only this user can write.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  allow,
  allowCommand,
  commandLine,
  consentFile,
  consentNotice,
  startLines,
  isAllowed,
  list,
  MAX_GRANTS,
  revoke,
} from "../../../js/projects/consent.mjs";
import { digestOf } from "../../../js/projects/config.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const posix = { skip: process.platform === "win32" };
const CONFIG = path.resolve("/code/foo/tap.config.json");
const [ONE, TWO] = [digestOf("one"), digestOf("two")];

/** @param {import("node:test").TestContext} t */
const newStore = (t) => consentFile({ folder: path.join(temporaryFolder(t), "extensions", "tap") });

describe("consent", () => {
  // shows: P-PROJECT-2
  test("holds for the content and the file that it was given for", (t) => {
    const store = newStore(t);
    assert.equal(isAllowed(store, CONFIG, ONE), false);
    allow(store, CONFIG, ONE);
    assert.equal(isAllowed(store, CONFIG, ONE), true);
    assert.equal(isAllowed(store, CONFIG, TWO), false);
    assert.equal(isAllowed(store, path.resolve("/code/bar/tap.config.json"), ONE), false);
  });

  test("to several contents of a file is taken back at once", (t) => {
    const store = newStore(t);
    const other = path.resolve("/code/bar/tap.config.json");
    allow(store, CONFIG, ONE);
    allow(store, CONFIG, TWO);
    allow(store, other, ONE);
    assert.equal(revoke(store, CONFIG), 2);
    assert.equal(revoke(store, CONFIG), 0);
    assert.deepEqual(
      list(store).map((grant) => grant.path),
      [other],
    );
  });

  test("given twice is listed once, with the last time", (t) => {
    const store = newStore(t);
    allow(store, CONFIG, ONE, new Date(0));
    allow(store, CONFIG, ONE, new Date(1000));
    assert.deepEqual(list(store), [
      { path: CONFIG, digest: ONE, at: new Date(1000).toISOString() },
    ]);
  });

  test("is kept for 500 contents, and the oldest goes first", (t) => {
    const store = newStore(t);
    const allowed = Array.from({ length: MAX_GRANTS - 1 }, (_, i) => ({
      path: CONFIG,
      digest: digestOf(String(i)),
      at: "",
    }));
    fs.mkdirSync(path.dirname(store), { recursive: true });
    fs.writeFileSync(store, JSON.stringify({ version: 1, allowed }), { mode: 0o600 });
    allow(store, CONFIG, ONE);
    assert.equal(list(store).length, MAX_GRANTS);
    assert.equal(isAllowed(store, CONFIG, digestOf("0")), true);
    allow(store, CONFIG, TWO);
    assert.equal(list(store).length, MAX_GRANTS);
    assert.equal(isAllowed(store, CONFIG, digestOf("0")), false);
    assert.equal(isAllowed(store, CONFIG, digestOf("1")), true);
  });

  test("needs an absolute path and a digest", (t) => {
    const store = newStore(t);
    assert.throws(() => allow(store, "tap.config.json", ONE), /absolute/);
    assert.throws(() => allow(store, CONFIG, "abc"), /digest/);
    assert.equal(fs.existsSync(store), false);
  });
});

describe("the file", () => {
  test("is for this user only, and leaves nothing beside it", posix, (t) => {
    const store = newStore(t);
    allow(store, CONFIG, ONE);
    assert.equal(fs.statSync(store).mode & 0o777, 0o600);
    assert.deepEqual(fs.readdirSync(path.dirname(store)), ["consent.json"]);
  });

  const corrupt = {
    nothing: "",
    "half a file": '{"version":1,"allowed":[{"path":',
    "another version": JSON.stringify({ version: 2, allowed: [] }),
    "no list": JSON.stringify({ version: 1, allowed: { length: 1 } }),
    null: "null",
    "one bad entry among good ones": JSON.stringify({
      version: 1,
      allowed: [{ path: CONFIG, digest: ONE, at: "" }, { path: CONFIG }],
    }),
  };
  for (const [name, content] of Object.entries(corrupt)) {
    test(`with ${name} in it allows nothing, and can be written again`, (t) => {
      const store = newStore(t);
      fs.mkdirSync(path.dirname(store), { recursive: true });
      fs.writeFileSync(store, content, { mode: 0o600 });
      assert.equal(isAllowed(store, CONFIG, ONE), false);
      assert.equal(revoke(store, CONFIG), 0);
      allow(store, CONFIG, TWO);
      assert.deepEqual(
        list(store).map((grant) => grant.digest),
        [TWO],
      );
    });
  }

  test("that others can write allows nothing", posix, (t) => {
    const store = newStore(t);
    allow(store, CONFIG, ONE);
    fs.chmodSync(store, 0o622);
    assert.equal(isAllowed(store, CONFIG, ONE), false);
  });

  test("that is a link allows nothing, and is replaced, not followed", posix, (t) => {
    const store = newStore(t);
    allow(store, CONFIG, ONE);
    const target = `${store}.elsewhere`;
    fs.renameSync(store, target);
    fs.symlinkSync(target, store);
    assert.equal(isAllowed(store, CONFIG, ONE), false);
    allow(store, CONFIG, TWO);
    assert.equal(fs.lstatSync(store).isFile(), true);
    assert.equal(list(target)[0].digest, ONE);
  });
});

test("a consent that is taken back stays so, whatever other processes change meanwhile", async (t) => {
  const store = newStore(t);
  for (let i = 0; i < 300; i++) allow(store, `/code/${i}`, ONE);
  const module = JSON.stringify(new URL("../../../js/projects/consent.mjs", import.meta.url));
  const program =
    `const { allow } = await import(${module}); console.log("begins");` +
    `setInterval(() => allow(${JSON.stringify(store)}, "/other/" + (Date.now() % 20), "${ONE}"), 2);`;
  const other = spawn(process.execPath, ["--input-type=module", "-e", program]);
  t.after(() => other.kill("SIGKILL"));
  await once(other.stdout, "data");
  for (let round = 0; round < 20; round++) {
    allow(store, CONFIG, ONE);
    revoke(store, CONFIG);
    await sleep(20);
    assert.equal(isAllowed(store, CONFIG, ONE), false, `round ${round}`);
  }
});

test("a lock that a killed process has left is not waited for for long", (t) => {
  const store = newStore(t);
  fs.mkdirSync(`${store}.lock`, { recursive: true });
  allow(store, CONFIG, ONE);
  assert.equal(isAllowed(store, CONFIG, ONE), true);
  assert.equal(fs.existsSync(`${store}.lock`), false);
});

describe("the notice", () => {
  const provider = {
    name: "ci",
    command: "npm run",
    args: ["a b", "it's", "\u001b[2J"],
    env: { MODE: "x y" },
    cwd: "tools",
    restart: { policy: "always" },
  };

  test("shows command, arguments, folder and variables apart from each other", posix, () => {
    assert.equal(commandLine(provider), "'npm run' 'a b' 'it'\\''s' '\\x1b[2J'");
    assert.deepEqual(startLines(provider, 100), ["in tools", "with MODE='x y'"]);
  });

  test("keeps the command in sight, whatever the values are", posix, () => {
    const [many, long] = [20, 100_000];
    const env = Object.fromEntries(
      [...Array(many).keys()].map((i) => [`V${i}`, `node tools/ci.mjs #${" ".repeat(long)}`]),
    );
    const text = consentNotice(CONFIG, [{ ...provider, env, cwd: undefined }], {});
    const lines = text.split("\n");
    assert.match(lines[1], /^ {2}ci: 'npm run' 'a b'/);
    assert.match(lines[2], /^ {4}with V0='node tools\/ci\.mjs # +… \(\d+ more\)$/);
    assert.equal(lines[6], "    and 16 more variables");
    assert.ok(text.length < 1500, `${text.length}`);
    for (const line of startLines({ ...provider, env }, 500)) assert.ok(line.length < 550);
  });

  test("says what would run and how to allow it", posix, () => {
    const text = consentNotice("/code/my app/tap.config.json", [provider], {});
    assert.match(text, /names a provider that this session would start/);
    assert.match(text, /^ {2}ci: 'npm run'/m);
    assert.match(text, /node \S+js\/command\/cli\.mjs allow '\/code\/my app\/tap\.config\.json'$/);
  });

  test("shows a name in quotes that could pass for the command", posix, () => {
    const posing = { ...provider, name: 'ci: node "tools/ci.mjs"' };
    const text = consentNotice(CONFIG, [posing], {});
    assert.match(text, /^ {2}"ci: node \\"tools\/ci\.mjs\\"": 'npm run'/m);
  });

  test("cuts long lines and says so", () => {
    const long = { ...provider, args: ["x".repeat(1000)] };
    assert.match(consentNotice(CONFIG, [long, long], {}), /2 providers[^]*… \(\d+ more\)/);
  });

  test("names the home where it is not the usual one", posix, () => {
    assert.match(allowCommand("/a", { COPILOT_HOME: "/other" }), /allow \/a --home \/other$/);
  });
});
