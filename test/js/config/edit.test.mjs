// Changes of a config: one entry, with comments, order and everything else as it was; and nothing that a link leads to.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { userConfigFile } from "../../../js/config/file.mjs";
import { parseConfig } from "../../../js/config/load.mjs";
import { listGrants, consentFile } from "../../../js/config/consent.mjs";
import { readConfiguredEmitters } from "../../../js/config/entries.mjs";
import { importConfig, removeEmitter, saveEmitter, setFeature } from "../../../js/config/edit.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

const posix = { skip: process.platform === "win32" };
const ENTRY = { name: "new", command: "make" };
const COMMENTED = `// ours
{
  // programs
  "providers": [{ "name": "p", "command": "node" }], // one
  "emitters": [
    // the first
    { "name": "a", "command": "x", /* how often */ "every": "5m" }, // after a
    /* b */ { "name": "b", "command": "y" } // after b
  ] // end
}
`;

/** @param {import("node:test").TestContext} t @param {string} [content] */
function place(t, content) {
  const folder = fs.realpathSync(temporaryFolder(t));
  const file = path.join(folder, "tap.config.json");
  if (content !== undefined) fs.writeFileSync(file, content);
  const where = { file: /** @type {const} */ ("project"), folder };
  const text = () => fs.readFileSync(file, "utf8");
  const left = () => fs.readdirSync(folder);
  return { folder, file, where, text, left };
}

/** @param {string} text @param {"user" | "project"} [owner] */
function namesIn(text, owner) {
  const result = parseConfig(text, "tap.config.json", owner);
  assert.ok(result.ok, `${JSON.stringify(result)}\n${text}`);
  return result.emitters.map(({ name }) => name);
}

describe("an emitter is saved", () => {
  test("behind the others, which stay as they are", (t) => {
    const { where, text, file, left } = place(t, COMMENTED);
    const saved = saveEmitter(where, { ...ENTRY, every: "5m" });
    assert.equal(saved.path, file);
    assert.match(saved.digest, /^[0-9a-f]{64}$/);
    const added = `,
    {
      "name": "new",
      "command": "make",
      "every": "5m"
    }
  ] // end`;
    const b = '/* b */ { "name": "b", "command": "y" }';
    assert.equal(
      text(),
      COMMENTED.replace(`${b} // after b\n  ] // end`, `${b}, // after b${added.slice(1)}`),
    );
    assert.deepEqual(left(), ["tap.config.json"], "no temporary file is left");
  });

  test("in the place of the one of its name, whose other fields keep their comments", (t) => {
    const { where, text } = place(t, COMMENTED);
    saveEmitter(where, { name: "a", command: "z", every: "5m" });
    assert.equal(text(), COMMENTED.replace('"x"', '"z"'));
    saveEmitter(where, { name: "b", command: "y", every: "1m" });
    assert.deepEqual(namesIn(text()), ["a", "b"]);
    for (const comment of [
      "// ours",
      "// programs",
      "/* how often */",
      "// after a",
      "/* b */",
      "// after b",
    ]) {
      assert.ok(text().includes(comment), `${comment} in ${text()}`);
    }
  });

  test("in a new file, with nothing else in it", (t) => {
    const { where, text } = place(t);
    saveEmitter(where, ENTRY);
    assert.equal(
      text(),
      '{\n  "emitters": [\n    {\n      "name": "new",\n      "command": "make"\n    }\n  ]\n}\n',
    );
  });

  test("in the form of the file: tabs, line ends, a byte order mark, a list without an item", (t) => {
    const { where, text, file } = place(
      t,
      '\ufeff{\r\n\t"emitters": [\r\n\t\t// none\r\n\t]\r\n}\r\n',
    );
    saveEmitter(where, ENTRY);
    assert.equal(
      text(),
      '\ufeff{\r\n\t"emitters": [\r\n\t\t// none\r\n\t\t{\r\n\t\t\t"name": "new",\r\n\t\t\t"command": "make"\r\n\t\t}\r\n\t]\r\n}\r\n',
    );
    for (const content of [
      "{}",
      '{"emitters":[]}',
      '{"emitters":[{"name":"q","command":"x"},],}',
      '{"providers":[],}',
    ]) {
      fs.writeFileSync(file, content === "{}" ? '{"toolGroups":[]}' : content);
      saveEmitter(where, ENTRY);
      assert.ok(namesIn(text()).includes("new"), text());
    }
  });

  test("only if the config is good, before and after", (t) => {
    const { where, text, file } = place(t, '{"emitters": [{"name": "a"}]}');
    assert.throws(
      () => saveEmitter(where, ENTRY),
      /tap.config.json:1:\d+: emitters\[0\]\.command: is missing/,
    );
    assert.throws(() => removeEmitter(where, "a"), /is missing/);
    fs.writeFileSync(file, COMMENTED);
    assert.throws(() => saveEmitter(where, { name: "bad", every: "5m" }), /command: is missing/);
    assert.throws(
      () => saveEmitter(where, { ...ENTRY, command: "x".repeat(9000) }),
      /at most 8000/,
    );
    assert.equal(text(), COMMENTED);
    const full = {
      emitters: Array.from({ length: 50 }, (_, i) => ({ name: `e${i}`, command: "x" })),
    };
    fs.writeFileSync(file, JSON.stringify(full));
    assert.throws(() => saveEmitter(where, ENTRY), /at most 50/);
  });

  test("and is not allowed by that", (t) => {
    const { where, folder } = place(t);
    const home = temporaryFolder(t);
    const files = /** @type {any} */ ({ home, folder: path.join(home, "extensions", "tap") });
    saveEmitter(where, ENTRY);
    assert.equal(readConfiguredEmitters(files, folder).emitters[0].allowed, false);
    assert.deepEqual(listGrants(consentFile(files)), []);
  });

  test("with the permissions that the file had", posix, (t) => {
    const { where, file } = place(t, COMMENTED);
    fs.chmodSync(file, 0o640);
    saveEmitter(where, ENTRY);
    assert.equal(fs.statSync(file).mode & 0o777, 0o640);
  });

  test("in .github, if the config is there", (t) => {
    const { where, folder, file } = place(t);
    const second = path.join(folder, ".github", "tap.config.json");
    fs.mkdirSync(path.dirname(second));
    fs.writeFileSync(second, '{"emitters": []}');
    assert.equal(saveEmitter(where, ENTRY).path, second);
    assert.equal(fs.existsSync(file), false);
  });

  test("never through a link", posix, (t) => {
    const { where, folder, file } = place(t);
    const elsewhere = temporaryFolder(t);
    const target = path.join(elsewhere, "tap.config.json");
    fs.writeFileSync(target, '{"emitters": [{"name": "a", "command": "x"}]}');
    fs.symlinkSync(target, file);
    assert.throws(() => saveEmitter(where, ENTRY), /not a plain file: change the config yourself/);
    assert.throws(() => removeEmitter(where, "a"), /not a plain file/);
    fs.rmSync(file);
    fs.symlinkSync(path.join(elsewhere, "missing"), file);
    assert.throws(() => saveEmitter(where, ENTRY), /not a plain file/);
    fs.rmSync(file);
    fs.symlinkSync(elsewhere, path.join(folder, ".github"));
    assert.throws(() => saveEmitter(where, ENTRY), /is a link: change the config yourself/);
    assert.deepEqual(namesIn(fs.readFileSync(target, "utf8")), ["a"]);
    assert.deepEqual(fs.readdirSync(elsewhere), ["tap.config.json"]);
  });
});

describe("an emitter is removed", () => {
  test("with its comma, and no comment", (t) => {
    const { where, text, file } = place(t, COMMENTED);
    removeEmitter(where, "b");
    assert.deepEqual(namesIn(text()), ["a"]);
    for (const comment of ["// the first", "// after a", "/* b */", "// after b", "// end"]) {
      assert.ok(text().includes(comment), `${comment} in ${text()}`);
    }
    removeEmitter(where, "a");
    assert.deepEqual(namesIn(text()), []);
    assert.throws(() => removeEmitter(where, "a"), /there is no emitter "a" in/);
    fs.rmSync(file);
    assert.throws(() => removeEmitter(where, "a"), /there is no emitter "a" in/);
    assert.equal(fs.existsSync(file), false);
  });

  test("and what was added before is as if it had never been", (t) => {
    const { where, text } = place(t, COMMENTED.replace(" // after b", ""));
    const before = text();
    saveEmitter(where, ENTRY);
    assert.notEqual(text(), before);
    removeEmitter(where, "new");
    assert.equal(text(), before);
  });
});

test("the user's own file is private, and others' changes of it are not trusted", posix, (t) => {
  const home = temporaryFolder(t);
  const where = { file: /** @type {const} */ ("user"), files: { home } };
  const file = userConfigFile({ home });
  assert.equal(saveEmitter(where, ENTRY).path, file);
  assert.deepEqual(
    [file, path.dirname(file)].map((one) => fs.statSync(one).mode & 0o777),
    [0o600, 0o700],
  );
  assert.deepEqual(setFeature({ home }, "builtin:records", false).features, {
    "builtin:records": false,
  });
  assert.deepEqual(namesIn(fs.readFileSync(file, "utf8"), "user"), ["new"]);
  fs.chmodSync(file, 0o666);
  assert.throws(() => saveEmitter(where, ENTRY), /nobody else can write/);
});

test("any order of changes leaves a good config with the entries and the comments that it should have", (t) => {
  const { where, text } = place(t, COMMENTED);
  let state = 5;
  const pick = (/** @type {number} */ most) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * most);
  };
  /** @type {string[]} */
  let names = ["a", "b"];
  for (let i = 0; i < 150; i += 1) {
    const name = `e${pick(8)}`;
    if (names.includes(name) && pick(2) === 0) {
      removeEmitter(where, name);
      names = names.filter((one) => one !== name);
    } else {
      saveEmitter(where, {
        name,
        command: `make ${i}`,
        ...(pick(2) === 0 && { every: `${i + 1}m` }),
      });
      if (!names.includes(name)) names.push(name);
    }
    assert.deepEqual(namesIn(text()), names);
  }
  for (const comment of COMMENTED.match(/\/\/.*|\/\*.*?\*\//g) ?? []) {
    assert.ok(text().includes(comment), `${comment} in ${text()}`);
  }
});

describe("a config of copilot-tap-extension", () => {
  const PEER = `{
  // events
  "streams": [
    { "name": "ops", "sessionInjector": { "enabled": true, "delivery": "surface", "ownership": "userOwned" } }
  ],
  "emitters": [
    { "name": "log", "command": "make", "stream": "ops", "ownership": "modelOwned", // mine
      "eventFilter": { "notifyPattern": "red", "includePattern": "a", "ownership": "userOwned" } },
    { "name": "review", "prompt": "Look.", "runInterval": "15m", "lifespan": "persistent",
      "classifier": [{ "match": "x", "outcome": "drop" }] },
    { "name": "short", "command": "x", "excludePattern": "y" }
  ]
}
`;

  test("has tap's fields after it was imported once, and its comments", (t) => {
    const { folder, file, text } = place(t, PEER);
    assert.equal(parseConfig(PEER).ok, false);
    const imported = importConfig(folder);
    assert.deepEqual(imported, { path: file, changed: ["log", "review", "short", "ops"] });
    assert.ok(text().includes("// events") && text().includes("// mine"), text());
    const result = parseConfig(text());
    assert.ok(result.ok, text());
    const [log, review, short] = result.emitters.map(({ given }) => given);
    const red = { match: "(?i)red", outcome: "inject" };
    const a = { match: "(?i)a", outcome: "keep" };
    assert.deepEqual(log, {
      ...{ name: "log", command: "make", channel: "ops", managedBy: "modelOwned" },
      eventFilter: [red, a, { match: "", outcome: "drop" }],
    });
    const eventFilter = [{ match: "x", outcome: "drop" }];
    assert.deepEqual(review, { name: "review", prompt: "Look.", every: "15m", eventFilter });
    assert.deepEqual(short.eventFilter, [{ match: "(?i)y", outcome: "drop" }]);
    const injector = { subscribe: true, delivery: "important", managedBy: "userOwned" };
    assert.deepEqual(result.streams[0].given, { name: "ops", ...injector });
    const before = text();
    assert.deepEqual(importConfig(folder).changed, []);
    assert.equal(text(), before);
  });

  test("stays as it is where tap would not read the result", (t) => {
    for (const content of [
      '{"emitters": [{"name": "a", "command": "x", "stream": "s", "channel": "t"}]}',
      '{"emitters": [{"name": "a", "command": "x", "eventFilter": {"notifyPattern": 5}}]}',
      '{"emitters": [{"name": "a", "stream": "s"}]}',
      '{"emitters": [7, null, []], "streams": {}}',
      '{"emitters": [',
      "",
    ]) {
      const { folder, text } = place(t, content);
      assert.throws(() => importConfig(folder), Error, content);
      assert.equal(text(), content);
    }
  });
});
