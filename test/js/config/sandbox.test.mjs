// `sandbox` of the user's config: what is taken, and what is refused whoever writes it.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { readEmitter } from "../../../js/config/emitter-spec.mjs";
import { parseConfig } from "../../../js/config/load.mjs";
import { DEFAULT_SANDBOX } from "../../../js/config/sandbox.mjs";
import { readUserConfig } from "../../../js/config/user-config.mjs";
import { copilotHome, programFolder } from "../../../js/lib/paths.mjs";
import { explainRefusedFolder } from "../../../js/process/entry-sandbox.mjs";
import { CACHES } from "../../../js/process/sandbox.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const home = os.homedir();

/** @param {unknown} sandbox @param {"user" | "project"} [owner] @returns {any} */
const read = (sandbox, owner = "user") =>
  parseConfig(JSON.stringify({ sandbox }), "config.json", owner);

/** @param {object} allow @returns {any} */
const readGrants = (allow) => {
  const { ok, sandbox, problems } = read({ allow });
  assert.equal(ok, true, JSON.stringify(problems));
  return sandbox.allow;
};

/** @param {unknown} sandbox @param {number} [count] of problems */
function assertRefused(sandbox, count = 1) {
  const { ok, problems } = read(sandbox);
  assert.equal(ok, false, JSON.stringify(sandbox));
  assert.equal(problems.length, count, problems.map(({ text }) => text).join("\n"));
}

test("asks, and grants nothing, where the user does not say it", async (t) => {
  assert.deepEqual(DEFAULT_SANDBOX, {
    fallback: "ask",
    allow: { folders: [], readFolders: [], hosts: [], caches: [] },
  });
  assert.deepEqual(read({}).sandbox, DEFAULT_SANDBOX);
  assert.deepEqual(read({ allow: {} }).sandbox, DEFAULT_SANDBOX);
  assert.equal((await readUserConfig({ home: temporaryFolder(t) })).sandbox, undefined);
});

test("a project cannot have it", () => {
  const { ok, problems } = read({}, "project");
  assert.equal(ok, false);
  assert.match(problems[0].message, /unknown field "sandbox"/);
});

test("has one of three fallbacks", () => {
  for (const fallback of ["ask", "refuse", "none"])
    assert.equal(read({ fallback }).sandbox.fallback, fallback);
  for (const fallback of ["", "off", "Ask", true, null, ["ask"]]) assertRefused({ fallback });
});

test("has no other fields, and objects and lists where they belong", () => {
  for (const sandbox of [
    ...["off", [], null, true, { mode: "off" }, { allow: [] }, { allow: { urls: [] } }],
    ...["folders", "readFolders", "hosts", "caches"].flatMap((name) => [
      { allow: { [name]: "npm" } },
      { allow: { [name]: {} } },
      { allow: { [name]: [1] } },
      { allow: { [name]: [null] } },
    ]),
  ]) {
    assertRefused(sandbox);
  }
});

describe("folders", () => {
  test("are absolute, or from the home, and kept without .. and a last slash", () => {
    const { folders, readFolders } = readGrants({
      folders: ["/srv/data/", "~/cache/../shared", "/srv/data"],
      readFolders: ["~/docs"],
    });
    assert.deepEqual(folders, ["/srv/data", path.join(home, "shared")]);
    assert.deepEqual(readFolders, [path.join(home, "docs")]);
  });

  const copilot = copilotHome();
  const refused = [
    ...["/", "//", "/srv/..", "~", "~/", home, `${home}/x/..`, path.dirname(home)],
    ...[copilot, `${copilot}/tap`, `${copilot}/extensions/tap/.provider-token`],
    ...["/srv/repo/.git", "/srv/repo/.git/hooks", "~/.copilot/../.copilot"],
    ...["", "data", "./data", "../data", "~ada/data", "$HOME/x", "file:///srv", "/a\0b"],
    `/${"x".repeat(1000)}`,
  ];
  for (const folder of refused) {
    test(`are not ${JSON.stringify(folder.slice(0, 60))}`, () => {
      assertRefused({ allow: { folders: [folder] } });
      assertRefused({ allow: { readFolders: [folder] } });
    });
  }

  test("are judged by the home and the COPILOT_HOME that are meant", () => {
    const places = { home: "/home/ada", copilot: "/srv/ada/copilot" };
    const explain = (/** @type {string} */ folder) => explainRefusedFolder(folder, places) === "";
    for (const folder of ["/home/ada/x", "/home/adam", "/srv/ada/copilot2", "/srv/ada/.github"])
      assert.equal(explain(folder), true, folder);
    for (const folder of ["/", "/home", "/home/ada", "/srv", "/srv/ada/copilot/tap"])
      assert.equal(explain(folder), false, folder);
  });
});

describe("hosts", () => {
  test("are names, names below one, addresses, or all", () => {
    const hosts = [
      ...["example.com", "*.example.com", "*", "localhost", "a", "10.0.0.1", "x-1.example"],
      ...["xn--bcher-kva.example", `${"a".repeat(63)}.example`, "1.example", "*.xn--p1ai"],
    ];
    assert.deepEqual(readGrants({ hosts }).hosts, hosts);
    assert.deepEqual(readGrants({ hosts: ["Example.COM", "example.com"] }).hosts, ["example.com"]);
  });

  const wrong = [
    ...["", " ", ".", "..", "example.com.", ".example.com", "a..b", "-a.com", "a-.com", "a_b.com"],
    ...["https://example.com", "example.com:443", "example.com/x", "10.0.0.1/8", "10.0.0.1/x"],
    ...[
      "[::1]",
      "::1",
      "10.0.0",
      "10.0.0.256",
      "1",
      "*.10.0.0.1",
      "*.",
      "**",
      "*.*.com",
      "a.*.com",
    ],
    ...["*example.com", "exa*mple.com", "bücher.example", "user@example.com", "a b", "a,b", "a\nb"],
    ...[`${"a".repeat(64)}.example`, `${"a.".repeat(127)}example`],
  ];
  for (const host of wrong) {
    test(`are not ${JSON.stringify(host.slice(0, 60))}`, () =>
      assertRefused({ allow: { hosts: [host] } }));
  }
});

test("caches are those that there are", () => {
  const caches = Object.keys(CACHES);
  assert.deepEqual(readGrants({ caches }).caches, caches);
  for (const cache of ["", "NPM", "__proto__", "toString", "~/.npm", "*"])
    assertRefused({ allow: { caches: [cache] } });
});

test("docs/configuration.md has an example that is right, and every cache", () => {
  const page = fs.readFileSync(path.join(programFolder, "docs", "configuration.md"), "utf8");
  const [section = ""] = page.split("### The sandbox of plans\n").slice(1);
  const [, example = ""] = /```json\n(.*?)```/s.exec(section) ?? [];
  const { ok, sandbox } = /** @type {any} */ (parseConfig(example, "config.json", "user"));
  assert.deepEqual([ok, sandbox.fallback], [true, "refuse"]);
  const [row = ""] = /^\| `allow\.caches` .*$/m.exec(section) ?? [];
  const caches = [...row.matchAll(/`([a-z]+)`/g)].map(([, name]) => name);
  assert.deepEqual(caches, Object.keys(CACHES));
});

test("a list has at most 1,000 entries", () => {
  const many = (/** @type {number} */ count) =>
    Array.from({ length: count }, (_, index) => `h${index}.example`);
  assert.equal(readGrants({ hosts: many(1000) }).hosts.length, 1000);
  assertRefused({ allow: { hosts: many(1001) } });
  const folders = many(1001).map((name) => `/srv/${name}`);
  assertRefused({ allow: { folders, readFolders: folders } }, 2);
  assertRefused({ allow: { caches: Array(1001).fill("npm") } });
});

test("what it names is shown, and not obeyed", () => {
  const { problems } = read({ allow: { folders: ["/\u001b[2J/.git"], hosts: ["\u202ex"] } });
  assert.deepEqual(
    problems.map(({ text }) => text.includes("\u001b") || text.includes("\u202e")),
    [false, false],
  );
});

describe("of an entry", () => {
  const LISTS = ["writable", "readFolders", "allowedUrls", "caches"];
  /** @param {unknown} sandbox @returns {{list: string, entry: object}[]} an emitter and a provider */
  const kinds = (sandbox) => [
    { list: "emitters", entry: { name: "e", command: "make", sandbox } },
    { list: "providers", entry: { name: "p", command: "node", sandbox } },
  ];
  /** @param {{list: string, entry: object}} kind @param {"user" | "project"} [owner] @returns {any} */
  const parse = ({ list, entry }, owner = "user") =>
    parseConfig(JSON.stringify({ [list]: [entry] }, null, 1), "config.json", owner);
  /** @param {any} result */
  const pick = ({ emitters: [emitter], providers: [provider] }) =>
    (emitter?.spec ?? provider).sandbox;

  test("is taken in the user's config and in a project's, and its lists are empty where it has none", () => {
    const all = {
      ...{ writable: ["dist", "~/out"], readFolders: ["/srv/data"] },
      ...{ allowedUrls: ["*.Example.com", "*"], caches: ["npm"] },
    };
    for (const owner of /** @type {const} */ (["user", "project"])) {
      const wanted = { ...all, allowedUrls: ["*.example.com", "*"] };
      for (const kind of kinds(all)) assert.deepEqual(pick(parse(kind, owner)), wanted);
      const none = Object.fromEntries(LISTS.map((name) => [name, []]));
      for (const kind of kinds({})) assert.deepEqual(pick(parse(kind, owner)), none);
    }
    for (const { list, entry } of kinds({})) {
      const { sandbox: _, ...without } = /** @type {any} */ (entry);
      assert.equal(pick(parse({ list, entry: without })), undefined);
    }
  });

  const copilot = copilotHome();
  const folders = [
    ...["", ".", "..", "../..", "a/..", "/", "~", home, path.dirname(home), copilot],
    ...[`${copilot}/tap`, ".git", "sub/.git/hooks", "/srv/.git", 1, null, {}, "a\0b"],
    "x".repeat(1001),
  ];
  const wrong = [
    ...[null, true, "on", [], { mode: "on" }, { sandbox: "on" }, { allowedFolders: [] }],
    ...LISTS.flatMap((name) => [{ [name]: "x" }, { [name]: {} }, { [name]: null }]),
    ...folders.flatMap((folder) => [{ writable: [folder] }, { readFolders: [folder] }]),
    ...["https://x.test", "x.test:443", "x.test/y", "", 5].map((host) => ({ allowedUrls: [host] })),
    ...["", "NPM", "toString", 1].map((cache) => ({ caches: [cache] })),
    { allowedUrls: Array.from({ length: 1001 }, (_, at) => `h${at}.test`) },
    { writable: Array.from({ length: 101 }, (_, at) => `f${at}`) },
  ];
  test("is refused with its place where it is wrong", () => {
    for (const sandbox of wrong) {
      for (const kind of kinds(sandbox)) {
        const { ok, problems } = parse(kind);
        assert.equal(ok, false, JSON.stringify(kind).slice(0, 200));
        assert.equal(problems.length, 1, problems.map(({ text }) => text).join("\n"));
        assert.ok(problems[0].line > 2, problems[0].text);
      }
    }
    const { problems } = parse(kinds({ writable: ["dist", "/"] })[1]);
    assert.deepEqual([problems[0].line, problems[0].column], [9, 6]);
  });

  test("is not for emitters that a model starts", () => {
    const given = { name: "e", command: "make", sandbox: {} };
    const result = readEmitter(given, { origin: "tool" });
    assert.deepEqual(result.ok === false && result.problems.map(({ field }) => field), ["sandbox"]);
  });
});
