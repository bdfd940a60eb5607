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
  listEntries,
  isAllowed,
  listGrants,
  MAX_GRANTS,
  revoke,
  ruleLines,
} from "../../../js/config/consent.mjs";
import { parseConfig } from "../../../js/config/load.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const posix = { skip: process.platform === "win32" };
const CONFIG = path.resolve("/code/foo/tap.config.json");
const ELSEWHERE = path.resolve("/code/bar/tap.config.json");

/** The entries of a config. @param {object} config */
const entries = (config) => {
  const result = parseConfig(JSON.stringify(config));
  assert.ok(result.ok);
  return listEntries(result);
};
/** A program's entry. @param {string} command @param {string} [name] */
const program = (command, name = "ci") => entries({ providers: [{ name, command }] })[0];
const [ONE, TWO] = [program("one"), program("two")];
const allowedAt = (store, entry, file = CONFIG) => isAllowed(store, file, entry);

/** @param {import("node:test").TestContext} t */
const newStore = (t) => consentFile({ folder: path.join(temporaryFolder(t), "extensions", "tap") });

describe("consent", () => {
  // shows: P-PROJECT-2
  test("holds for the entry and the file that it was given for", (t) => {
    const store = newStore(t);
    assert.equal(allowedAt(store, ONE), false);
    allow(store, CONFIG, [ONE]);
    assert.equal(allowedAt(store, ONE), true);
    assert.equal(allowedAt(store, TWO), false);
    assert.equal(allowedAt(store, program("one", "other")), false, "another name");
    assert.equal(allowedAt(store, ONE, ELSEWHERE), false);
  });

  test("covers the same entry in a sandbox, and one in a sandbox covers no other", (t) => {
    const sandbox = { writable: ["dist"] };
    const kinds = /** @type {[string, object][]} */ ([
      ["providers", { name: "ci", command: "one" }],
      ["emitters", { name: "ci", command: "one" }],
    ]);
    for (const [list, plain] of kinds) {
      const parse = (/** @type {object} */ more) => entries({ [list]: [{ ...plain, ...more }] })[0];
      const all = [parse({}), parse({ sandbox }), parse({ sandbox: {} })];
      const listAllowed = (/** @type {string} */ store) => all.map((one) => allowedAt(store, one));
      const [first, second] = [newStore(t), newStore(t)];
      allow(first, CONFIG, [all[0]]);
      assert.deepEqual(listAllowed(first), [true, true, true], list);
      allow(second, CONFIG, [all[1]]);
      assert.deepEqual(listAllowed(second), [false, true, false], list);
    }
  });

  test("holds for an entry where another is added, or comments change", (t) => {
    const store = newStore(t);
    allow(store, CONFIG, [ONE]);
    const more = entries({
      providers: [
        { name: "ci", command: "one" },
        { name: "b", command: "x" },
      ],
    });
    assert.deepEqual(
      more.map((entry) => allowedAt(store, entry)),
      [true, false],
    );
    const rules = { name: "ci", deny: [{ match: { tool: "bash" }, reason: "no" }] };
    assert.equal(allowedAt(store, entries({ declarative: [rules] })[0]), false, "another kind");
  });

  test("to several entries of a file is taken back at once", (t) => {
    const store = newStore(t);
    allow(store, CONFIG, [ONE]);
    allow(store, CONFIG, [TWO]);
    allow(store, ELSEWHERE, [ONE]);
    assert.equal(revoke(store, CONFIG), 2);
    assert.equal(revoke(store, CONFIG), 0);
    assert.deepEqual(
      listGrants(store).map((grant) => grant.path),
      [ELSEWHERE],
    );
  });

  test("given twice is listed once, with the last time", (t) => {
    const store = newStore(t);
    allow(store, CONFIG, [ONE], new Date(0));
    allow(store, CONFIG, [ONE], new Date(1000));
    const { kind, name, digest } = ONE;
    const at = new Date(1000).toISOString();
    assert.deepEqual(listGrants(store), [{ path: CONFIG, kind, name, digest, at }]);
  });

  test("is kept for 500 entries, and the oldest goes first", (t) => {
    const store = newStore(t);
    const many = Array.from({ length: MAX_GRANTS }, (_, i) => program(String(i)));
    allow(store, CONFIG, many);
    assert.equal(allowedAt(store, many[0]), true);
    allow(store, CONFIG, [ONE]);
    assert.equal(listGrants(store).length, MAX_GRANTS);
    assert.equal(allowedAt(store, many[0]), false);
    assert.equal(allowedAt(store, many[1]), true);
  });

  test("needs an absolute path and a digest", (t) => {
    const store = newStore(t);
    assert.throws(() => allow(store, "tap.config.json", [ONE]), /absolute/);
    assert.throws(() => allow(store, CONFIG, [{ ...ONE, digest: "abc" }]), /digest/);
    assert.equal(fs.existsSync(store), false);
  });
});

describe("the file", () => {
  test("is for this user only, and leaves nothing beside it", posix, (t) => {
    const store = newStore(t);
    allow(store, CONFIG, [ONE]);
    assert.equal(fs.statSync(store).mode & 0o777, 0o600);
    assert.deepEqual(fs.readdirSync(path.dirname(store)), ["consent.json"]);
  });

  const grant = { path: CONFIG, kind: ONE.kind, name: ONE.name, digest: ONE.digest, at: "" };
  const corrupt = {
    nothing: "",
    "half a file": '{"version":1,"allowed":[{"path":',
    "another version": JSON.stringify({ version: 1, allowed: [grant] }),
    "no list": JSON.stringify({ version: 2, allowed: { length: 1 } }),
    null: "null",
    "one bad entry among good ones": JSON.stringify({
      version: 2,
      allowed: [grant, { path: CONFIG }],
    }),
  };
  for (const [name, text] of Object.entries(corrupt)) {
    test(`with ${name} in it allows nothing, and can be written again`, (t) => {
      const store = newStore(t);
      fs.mkdirSync(path.dirname(store), { recursive: true });
      fs.writeFileSync(store, text, { mode: 0o600 });
      assert.equal(allowedAt(store, ONE), false);
      assert.equal(revoke(store, CONFIG), 0);
      allow(store, CONFIG, [TWO]);
      assert.deepEqual(
        listGrants(store).map(({ digest }) => digest),
        [TWO.digest],
      );
    });
  }

  test("that others can write allows nothing", posix, (t) => {
    const store = newStore(t);
    allow(store, CONFIG, [ONE]);
    fs.chmodSync(store, 0o622);
    assert.equal(allowedAt(store, ONE), false);
  });

  test("that is a link allows nothing, and is replaced, not followed", posix, (t) => {
    const store = newStore(t);
    allow(store, CONFIG, [ONE]);
    const target = `${store}.elsewhere`;
    fs.renameSync(store, target);
    fs.symlinkSync(target, store);
    assert.equal(allowedAt(store, ONE), false);
    allow(store, CONFIG, [TWO]);
    assert.equal(fs.lstatSync(store).isFile(), true);
    assert.equal(listGrants(target)[0].digest, ONE.digest);
  });
});

test("a consent that is taken back stays so, whatever other processes change meanwhile", async (t) => {
  const store = newStore(t);
  for (let i = 0; i < 300; i++) allow(store, `/code/${i}`, [ONE]);
  const module = JSON.stringify(new URL("../../../js/config/consent.mjs", import.meta.url));
  const text =
    `const { allow } = await import(${module}); console.log("begins");` +
    `setInterval(() => allow(${JSON.stringify(store)}, "/other/" + (Date.now() % 20), ${JSON.stringify([ONE])}), 2);`;
  const other = spawn(process.execPath, ["--input-type=module", "-e", text]);
  t.after(() => other.kill("SIGKILL"));
  await once(other.stdout, "data");
  for (let round = 0; round < 20; round++) {
    allow(store, CONFIG, [ONE]);
    revoke(store, CONFIG);
    await sleep(20);
    assert.equal(allowedAt(store, ONE), false, `round ${round}`);
  }
});

test("a lock that a killed process has left is not waited for for long", (t) => {
  const store = newStore(t);
  fs.mkdirSync(`${store}.lock`, { recursive: true });
  allow(store, CONFIG, [ONE]);
  assert.equal(allowedAt(store, ONE), true);
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

  /** @param {any} config */
  const entryOf = (config) => ({ ...ONE, name: config.name, config });

  test("shows the rules and the context of a declarative entry", posix, () => {
    const deny = [
      { match: { tool: "bash", args: "push" }, reason: "not\u001b now" },
      { match: { args: { path: "/command", pattern: "a b" } }, reason: "no" },
    ];
    const [rules] = entries({ declarative: [{ name: "r", deny, context: "Be brief." }] });
    const lines = [
      "denies tool bash, args push: not\\x1b now",
      "denies args /command 'a b': no",
      "tells the model: Be brief.",
    ];
    assert.deepEqual(ruleLines(/** @type {any} */ (rules.config)), lines);
    const text = consentNotice(CONFIG, [rules], {});
    assert.match(text, /names a set of rules that this session would start/);
    assert.match(text, /^ {4}denies tool bash/m);
  });

  test("shows command, arguments, folder and variables apart from each other", posix, () => {
    assert.equal(commandLine(provider), "'npm run' 'a b' 'it'\\''s' '\\x1b[2J'");
    assert.deepEqual(startLines(provider, 100), ["in tools", "with MODE='x y'"]);
  });

  test("shows what a sandbox opens, before the variables", posix, () => {
    const sandbox = { writable: ["a b"], readFolders: ["/srv"], allowedUrls: ["*"], caches: [] };
    assert.deepEqual(startLines({ ...provider, sandbox }, 60), [
      "in a sandbox; writes 'a b'; reads /srv; reaches '*'",
      ...["in tools", "with MODE='x y'"],
    ]);
    const env = Object.fromEntries([...Array(20).keys()].map((at) => [`V${at}`, "x"]));
    const text = consentNotice(CONFIG, [entryOf({ ...provider, env, sandbox })], {});
    assert.match(text, /^ {4}in a sandbox; writes 'a b'/m);
    const [emitter] = entries({ emitters: [{ name: "e", command: "x", env, sandbox }] });
    assert.match(consentNotice(CONFIG, [emitter], {}), /^ {4}in a sandbox; writes 'a b'/m);
  });

  test("keeps the command in sight, whatever the values are", posix, () => {
    const [many, long] = [20, 100_000];
    const env = Object.fromEntries(
      [...Array(many).keys()].map((i) => [`V${i}`, `node tools/ci.mjs #${" ".repeat(long)}`]),
    );
    const text = consentNotice(CONFIG, [entryOf({ ...provider, env, cwd: undefined })], {});
    const lines = text.split("\n");
    assert.match(lines[1], /^ {2}ci: 'npm run' 'a b'/);
    assert.match(lines[2], /^ {4}with V0='node tools\/ci\.mjs # +… \(\d+ more\)$/);
    assert.equal(lines[6], "    and 16 more variables");
    assert.ok(text.length < 1500, `${text.length}`);
    for (const line of startLines({ ...provider, env }, 500)) assert.ok(line.length < 550);
  });

  test("says what would run and how to allow it", posix, () => {
    const text = consentNotice("/code/my app/tap.config.json", [entryOf(provider)], {});
    assert.match(text, /names a provider that this session would start/);
    assert.match(text, /^ {2}ci: 'npm run'/m);
    assert.match(text, /node \S+js\/cli\/cli\.mjs allow '\/code\/my app\/tap\.config\.json'$/);
  });

  test("shows a name in quotes that could pass for the command", posix, () => {
    const posing = { ...provider, name: 'ci: node "tools/ci.mjs"' };
    const text = consentNotice(CONFIG, [entryOf(posing)], {});
    assert.match(text, /^ {2}"ci: node \\"tools\/ci\.mjs\\"": 'npm run'/m);
  });

  test("cuts long lines and says so", () => {
    const long = { ...provider, args: ["x".repeat(1000)] };
    assert.match(
      consentNotice(CONFIG, [entryOf(long), entryOf(long)], {}),
      /2 providers[^]*… \(\d+ more\)/,
    );
  });

  test("names the home where it is not the usual one", posix, () => {
    assert.match(allowCommand("/a", { COPILOT_HOME: "/other" }), /allow \/a --home \/other$/);
  });
});
