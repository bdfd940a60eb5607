// The emitters and streams of a config: what is taken, where each mistake is said to be, and what consent is to.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { readEmitter, toEmitterEntry } from "../../../js/config/emitter-spec.mjs";
import { parseConfig, loadProjectConfig } from "../../../js/config/load.mjs";
import {
  allow,
  consentFile,
  consentNotice,
  listEntries,
  emitterLines,
} from "../../../js/config/consent.mjs";
import { readConfigStamp, readConfiguredEmitters } from "../../../js/config/entries.mjs";
import { loadEntries } from "../../../js/watch/entries.mjs";
import { toPlanned } from "../../../js/watch/plan.mjs";
import { gatewayFiles } from "../../../js/lib/paths.mjs";
import { userConfigFile } from "../../../js/config/file.mjs";
import { temporaryFolder } from "../../support/temporary.mjs";

/** @param {string} text */
function problems(text) {
  const result = parseConfig(text);
  assert.ok(!result.ok, `expected problems in ${text}`);
  return result.problems.map((problem) => problem.text);
}

/** @param {object} config */
function entries(config) {
  const result = parseConfig(JSON.stringify(config));
  assert.ok(result.ok, JSON.stringify(result));
  return listEntries(result);
}

/** @param {object} emitter */
const digestOf = (emitter) =>
  entries({ emitters: [{ name: "e", command: "make", ...emitter }] })[0].digest;

/** @param {object} given */
function specOf(given) {
  const read = readEmitter({ name: "e", ...given }, { origin: "config" });
  assert.ok(read.ok, JSON.stringify(read));
  return read.spec;
}

describe("emitters of a config", () => {
  test("stand beside providers, or alone", () => {
    const result = parseConfig(`{
      "streams": [{ "name": "ops", "delivery": "all" }],
      "emitters": [
        // what the build says
        { "name": "build", "command": "make watch", "channel": "ops", "managedBy": "modelOwned",
          "eventFilter": [{ "match": "error", "outcome": "inject", },] },
        { "name": "review", "prompt": "Look.", "every": "15m", "autoStart": false }
      ],
    }`);
    assert.ok(result.ok, JSON.stringify(result));
    const [build, review] = result.emitters.map(({ spec }) => spec);
    assert.deepEqual([build.stream, build.managedBy, build.rules.length], ["ops", "modelOwned", 1]);
    assert.deepEqual([review.every, review.autoStart, review.maxRuns], [900_000, false, 100]);
    assert.deepEqual(result.streams[0].spec.subscribe, true);
    assert.deepEqual(result.providers, []);
  });

  test("each mistake is told with its line, and what to write instead", () => {
    const found = problems(`{
  "emitters": [
    { "name": "a", "command": "make", "every": 5 },
    { "name": "b", "comand": "make" },
    { "name": "c", "command": "make",
      "eventFilter": [{ "match": "x", "outcome": "drop" }, { "match": "x", "outcome": "shout" }] },
    7,
    { "name": "tap-x", "command": "make", "env": { "A": 1 } }
  ],
  "streams": [{}]
}`);
    const at = (/** @type {string} */ place, /** @type {RegExp} */ text) =>
      assert.ok(
        found.some((one) => one.startsWith(`tap.config.json:${place}: `) && text.test(one)),
        `${place} ${text} in\\n${found.join("\\n")}`,
      );
    at("3:48", /emitters\[0\]\.every: expected a time from 1s /);
    at("4:20", /: unknown field "comand" in an emitter: did you mean "command"/);
    at(
      "6:87",
      /emitters\[2\]\.eventFilter\[1\]\.outcome: expected one of "drop", "keep", "surface", "inject"/,
    );
    at("7:5", /expected an object for an emitter, found 7/);
    at("8:15", /emitters\[4\]\.name: expected another name: "tap-x" is reserved/);
    at("8:57", /emitters\[4\]\.env\.A: expected a text, found 1/);
    at("10:15", /streams\[0\]\.name: is missing/);
  });

  test("a name is given once, and so is a field", () => {
    const twice = problems(
      '{"emitters": [{"name": "a", "command": "x"},\n{"name": "a", "prompt": "y"}], "streams": []}',
    );
    assert.match(twice.join(), /:2:10: emitters\[1\]\.name: expected another name/);
    const fields = problems('{"emitters": [{"name": "a", "command": "x", "command": "y"}]}');
    assert.match(fields.join(), /"command" is given twice/);
    const streams = problems('{"streams": [{"name": "a"}, {"name": "a"}]}');
    assert.match(streams.join(), /streams\[1\]\.name: expected another name/);
  });

  test("are at most 50", () => {
    const list = Array.from({ length: 51 }, (_, i) => ({ name: `e${i}`, command: "x" }));
    assert.match(
      problems(JSON.stringify({ emitters: list })).join(),
      /at most 50 emitters, found 51/,
    );
    assert.match(problems('{"emitters": {}}').join(), /emitters: expected a list/);
  });

  test("are as docs/project-providers.md says, which has every field", () => {
    const page = fs.readFileSync(
      new URL("../../../docs/project-providers.md", import.meta.url),
      "utf8",
    );
    const blocks = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => text);
    assert.ok(blocks.length >= 3);
    for (const text of blocks) assert.equal(parseConfig(text).ok, true, text);
    const [, chapter] = page.split("### Emitters and streams");
    const mentioned = new Set(
      [...chapter.split("\n## ")[0].matchAll(/`([A-Za-z]+)`/g)].map(([, name]) => name),
    );
    for (const [list, least] of /** @type {const} */ ([
      ["emitters", 25],
      ["streams", 6],
      ["watch", 30],
    ])) {
      const entry = { command: "x", qqqqqqqqqq: 1 };
      const [text] = problems(
        JSON.stringify({ [list]: list === "watch" ? { a: entry } : [{ name: "a", ...entry }] }),
      ).filter((one) => one.includes("known are"));
      const known = text.split("known are ")[1].split(", ");
      assert.ok(known.length >= least);
      const old = ["scope"];
      assert.deepEqual(
        known.filter((name) => !mentioned.has(name) && !old.includes(name)),
        [],
      );
    }
  });

  test("hostile members do not become properties", () => {
    const found = problems(
      '{"emitters": [{"name": "a", "command": "x", "__proto__": {"every": "1s"}}]}',
    );
    assert.match(found.join(), /unknown field "__proto__"/);
    assert.match(
      problems('{"emitters": [{"name": "a", "command": "x", "env": {"__proto__": "1"}}]}').join(),
      /name of a variable/,
    );
  });
});

describe("watchers and tools of a config", () => {
  const build = { command: "npx tsc --watch", wake: "change", hold: "1s", wakesPerHour: 3 };

  test("a watcher is an emitter with a state", () => {
    const result = parseConfig(JSON.stringify({ watch: { build }, emitters: [] }));
    assert.ok(result.ok, JSON.stringify(result));
    const [{ name, spec }] = result.watch;
    assert.deepEqual([name, spec.name, spec.includeStderr], ["build", "build", true]);
    assert.deepEqual(spec.watch, { wake: "change", hold: 1000, wakesPerHour: 3 });
    const [entry] = listEntries(result);
    assert.deepEqual([entry.kind, entry.name], ["emitter", "build"]);
    const asIs = JSON.stringify({ watch: { build: { ...build, asIs: true } } });
    const other = parseConfig(asIs);
    assert.notEqual(other.ok && listEntries(other)[0].digest, entry.digest);
  });

  test("a mistake in a watcher is told with its place", () => {
    for (const [watch, text] of /** @type {const} */ ([
      [{ build: { ...build, wakesPerHour: 0 } }, /watch\.build\.wakesPerHour/],
      [{ build: { prompt: "x" } }, /watch\.build\.prompt|watch\.build\.command/],
      [{ "tap-x": build }, /reserved/],
      [[], /watch: expected an object/],
    ]))
      assert.match(problems(JSON.stringify({ watch })).join(), text);
    const emitters = [{ name: "build", command: "x" }];
    assert.match(problems(JSON.stringify({ watch: { build }, emitters })).join(), /watch\.build/);
  });

  test("consent shows the command that will run, also with a tool of the project", () => {
    const tool = { tool: "ours", argv: "^ours", better: { args: ["--plain"], env: { A: "1" } } };
    const config = { watch: { build, own: { command: "ours -w" } }, tools: [tool] };
    const result = parseConfig(JSON.stringify(config));
    assert.ok(result.ok, JSON.stringify(result));
    const shown = result.watch.map(({ spec }) => toPlanned(spec, "/nowhere", result.tools));
    assert.deepEqual(
      shown.map(({ command, env }) => [command, env]),
      [
        ["npx tsc --preserveWatchOutput --pretty false --watch", {}],
        ["ours --plain -w", { A: "1" }],
      ],
    );
    const entry = listEntries(result).find(({ kind }) => kind === "tool");
    assert.equal(entry?.name, "ours");
    assert.match(consentNotice("/p/tap.config.json", entry ? [entry] : []), /--plain/);
  });

  test("a tool may be in a file of the project; a wrong one is left out, and the others load", (t) => {
    const folder = fs.realpathSync(temporaryFolder(t));
    const write = (/** @type {string} */ name, /** @type {string} */ content) =>
      fs.writeFileSync(path.join(folder, name), content);
    write("good.yaml", "tool: good\nargv: '^good'\n");
    write("bad.yaml", "tool: bad\nargv: '('\n");
    write("broken.yaml", "tool: [");
    const tools = [
      "good.yaml",
      "bad.yaml",
      "broken.yaml",
      "none.yaml",
      "../x.yaml",
      { tool: "in" },
    ];
    write("tap.config.json", JSON.stringify({ tools }));
    const files = { ...gatewayFiles({ COPILOT_HOME: temporaryFolder(t) }) };
    const known = () => readConfiguredEmitters(files, folder).tools;
    assert.ok(
      known().every(({ given }) => given === undefined),
      "none is allowed",
    );
    const loaded = loadProjectConfig(folder);
    assert.ok(loaded?.result.ok);
    allow(consentFile(files), loaded.file, listEntries(loaded.result));
    const { tools: all, problems: wrong } = loadEntries({ own: known() });
    const names = all.map(({ tool }) => tool);
    assert.deepEqual(names.slice(0, 2), ["good", "in"]);
    const where = wrong.map(({ file, field }) => [path.basename(file), field]);
    assert.deepEqual(where, [
      ["bad.yaml", "argv"],
      ["broken.yaml", ""],
      ["none.yaml", ""],
      ["x.yaml", ""],
    ]);
    write("good.yaml", "tool: good\nargv: '^other'\n");
    assert.ok(!known().some(({ given }) => Object(given).tool === "good"), "it has changed");
  });
});

describe("consent to an emitter", () => {
  test("is to all that the entry says, in any order", () => {
    const digest = digestOf({ env: { A: "1", B: "2" }, every: "5m" });
    assert.equal(digestOf({ every: "5m", env: { B: "2", A: "1" } }), digest);
    for (const other of [
      { env: { A: "1", B: "3" }, every: "5m" },
      { env: { A: "1", B: "2" }, every: "6m" },
      { env: { A: "1", B: "2" }, every: "5m", cwd: "x" },
      { env: { A: "1", B: "2" }, every: "5m", command: "make all" },
      { env: { A: "1", B: "2" }, every: "5m", background: true },
    ]) {
      assert.notEqual(digestOf(other), digest, JSON.stringify(other));
    }
  });

  test("shows command, prompt, address and variables in full, a line each", () => {
    const long = "x".repeat(5000);
    assert.deepEqual(
      emitterLines(
        specOf({ command: `make ${long}\nsafe\u202e`, cwd: "a b", env: { A: long, B: "" } }),
      ),
      [
        `runs in a shell: make ${long}\\x0asafe\\u{202e}`,
        "until it is stopped (restart: never)",
        "in 'a b'",
        `with A=${long}`,
        "with B=''",
      ],
    );
    const cases = /** @type {[object, string[]][]} */ ([
      [
        { argv: ["make", "a b"], cron: "0 9 * * *", timezone: "UTC", background: true },
        ["runs make 'a b'", "at the times of cron '0 9 * * *' in UTC, also without a session"],
      ],
      [
        { prompt: "Look.", every: "idle", autoStart: false },
        [
          "asks the model: Look.",
          "whenever the session is idle, at most 10 times, not by itself: when it is asked for",
        ],
      ],
      [
        { url: "https://x.test/", every: "5m", jsonPath: "$.a", delivery: "all" },
        ["looks at https://x.test/, at $.a", "every 5m, its lines can go to the model"],
      ],
      [
        { argv: ["make"], onChange: ["src/**"], delivery: "all" },
        ["runs make", "when files change: 'src/**', its lines can go to the model"],
      ],
      [{ argv: ["make"], maxRuns: 1 }, ["runs make", "once, at most once"]],
    ]);
    for (const [given, lines] of cases) assert.deepEqual(emitterLines(specOf(given)), lines);
  });

  test("is asked for in the timeline, with the rest of the config", () => {
    const some = entries({
      providers: [{ name: "p", command: "node" }],
      emitters: [
        { name: "e", command: "make", env: { A: "1" } },
        { name: "f", prompt: "y".repeat(400) },
      ],
    });
    const notice = consentNotice("/w/tap.config.json", some, {});
    assert.match(notice, /names a provider and 2 emitters that this session would start/);
    assert.match(
      notice,
      /\n {2}e: runs in a shell: make\n {4}until it is stopped .*\n {4}with A=1\n/,
    );
    assert.match(notice, /\n {2}f: asks the model: y+… \(\d+ more\)\n/);
    const three = entries({
      providers: [{ name: "p", command: "node" }],
      declarative: [{ name: "d", context: "x" }],
      emitters: [{ name: "e", command: "make" }],
    });
    assert.match(consentNotice("/w", three, {}), /a provider, a set of rules and an emitter that/);
  });
});

describe("what a session's configs name", () => {
  /** @param {import("node:test").TestContext} t */
  function place(t) {
    const folder = fs.realpathSync(temporaryFolder(t));
    const workspace = path.join(folder, "work");
    const home = path.join(folder, "home");
    fs.mkdirSync(path.join(workspace, ".github"), { recursive: true });
    fs.mkdirSync(path.join(home, "tap"), { recursive: true, mode: 0o700 });
    const files = /** @type {any} */ ({ home, folder: path.join(home, "extensions", "tap") });
    const write = (/** @type {string} */ file, /** @type {object} */ config) =>
      fs.writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return { workspace, files, write, own: userConfigFile(files) };
  }
  const NAMED = { emitters: [{ name: "e", command: "make" }], streams: [{ name: "s" }] };

  test("the user's own needs no consent, the project's does", (t) => {
    const { workspace, files, write, own } = place(t);
    const file = path.join(workspace, "tap.config.json");
    write(file, NAMED);
    write(own, NAMED);
    const { emitters, streams, problems: none } = readConfiguredEmitters(files, workspace);
    assert.deepEqual(none, []);
    assert.deepEqual(
      emitters.map((one) => [one.name, one.file, one.path, one.allowed, one.spec.file]),
      [
        ["e", "project", file, false, "project"],
        ["e", "user", own, true, "user"],
      ],
    );
    assert.deepEqual(
      streams.map((one) => [one.spec.name, one.file]),
      [
        ["s", "project"],
        ["s", "user"],
      ],
    );
    const loaded = loadProjectConfig(workspace);
    assert.ok(loaded?.result.ok);
    allow(consentFile(files), file, listEntries(loaded.result));
    assert.equal(readConfiguredEmitters(files, workspace).emitters[0].allowed, true);
    write(file, { emitters: [{ name: "e", command: "make all" }] });
    assert.equal(readConfiguredEmitters(files, workspace).emitters[0].allowed, false);
  });

  test("its stamp is another one after each change, and the same without", (t) => {
    const { workspace, files, write, own } = place(t);
    const stamps = [readConfigStamp(files, workspace)];
    const changed = () => stamps.push(readConfigStamp(files, workspace));
    write(path.join(workspace, ".github", "tap.config.json"), NAMED);
    changed();
    write(path.join(workspace, "tap.config.json"), NAMED);
    changed();
    write(own, NAMED);
    changed();
    allow(consentFile(files), path.join(workspace, "tap.config.json"), []);
    changed();
    assert.equal(new Set(stamps).size, stamps.length);
    assert.equal(readConfigStamp(files, workspace), stamps.at(-1));
    assert.equal(readConfiguredEmitters(files, workspace).stamp, stamps.at(-1));
  });

  test(".github/tap.config.json counts where the first is missing, and works in the same folder", (t) => {
    const { workspace, files, write } = place(t);
    const second = path.join(workspace, ".github", "tap.config.json");
    write(second, NAMED);
    assert.equal(readConfiguredEmitters(files, workspace).emitters[0].path, second);
    assert.equal(loadProjectConfig(workspace)?.folder, workspace);
    write(path.join(workspace, "tap.config.json"), { emitters: [] });
    assert.deepEqual(readConfiguredEmitters(files, workspace).emitters, []);
  });

  test("a config with a mistake names nothing but the mistake; a disabled entry is left out", (t) => {
    const { workspace, files, write, own } = place(t);
    const file = path.join(workspace, "tap.config.json");
    write(file, { emitters: [{ name: "e", command: "make" }, { name: "f" }] });
    write(own, { ...NAMED, features: { "user:e": false } });
    const { emitters, problems: found } = readConfiguredEmitters(files, workspace);
    assert.deepEqual(emitters, []);
    assert.equal(found.length, 1);
    assert.ok(
      found[0].startsWith(`${file}:1:`) && found[0].includes("emitters[1].command: is missing"),
      found[0],
    );
  });
});

test("a spec is written as the entry that it is read from again", () => {
  const given = [
    { command: "make watch" },
    { argv: ["make", "x"], every: "90s", overlap: "queue", missed: "once", maxRuns: 3, cwd: "a" },
    { argv: ["make"], cron: "0 9 * * 1", timezone: "Europe/Berlin", background: true },
    { command: "make", onChange: ["src/**"], includeStderr: true, env: { A: "" }, channel: "s" },
    { command: "serve", restart: "always", expectEvery: "1h", managedBy: "modelOwned" },
    { prompt: "Look.", every: "idle", description: "x", autoStart: false },
    { prompt: "Look.", every: "idle", maxRuns: 100 },
    { prompt: "Look.", every: "5m", maxRuns: 10 },
    { prompt: "Look." },
    { url: "https://x.test/", every: "1m", jsonPath: "$.a", delivery: "all", subscribe: false },
    {
      command: "make",
      eventFilter: [
        {
          match: "x",
          outcome: "inject",
          window: { lines: 3, time: "90s" },
          capture: true,
          not: "y",
        },
        { match: "z", outcome: "surface", cooldown: "1500ms", count: 2 },
      ],
    },
    {
      name: "sandboxed",
      command: "make",
      sandbox: { writable: ["a"], readFolders: [], allowedUrls: ["x.test"], caches: [] },
    },
  ];
  for (const one of given) {
    const spec = specOf(one);
    const entry = toEmitterEntry(spec);
    assert.deepEqual(specOf(entry), spec, JSON.stringify(entry));
    assert.ok(Object.keys(entry).length <= Object.keys(one).length + 1, JSON.stringify(entry));
  }
});
