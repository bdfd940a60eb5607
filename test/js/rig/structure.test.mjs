// What the parts of the tree may know of each other (docs/architecture.md, "Layers"), and what no
// file may say.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const native = path.join(root, "native");

/** What a folder may include, besides itself. */
const LAYERS = {
  base: [],
  ws: ["base"],
  protocol: ["base"],
  link: ["base", "protocol"],
  gateway: ["base", "protocol"],
  records: ["base", "protocol"],
  lines: ["base", "protocol"],
  plan: ["base"],
  uv: ["base", "ws", "protocol", "link", "gateway"],
  addon: ["base", "protocol", "lines", "plan", "records", "uv"],
};
/** Single files beyond that: the numbers of WebSocket close codes. */
const EXCEPTIONS = { gateway: ["ws/frame.h"] };

/** Libraries, and the folders that may know them. */
const LIBRARIES = {
  "uv.h": ["uv", "addon"],
  "napi.h": ["addon"],
  "node_api.h": ["addon"],
  "pcre2.h": ["base"],
  "sqlite3.h": ["records"],
};

/** What a folder of js/ may import at run time, besides itself; a type may come from anywhere. */
const ROOMS = {
  lib: [],
  link: ["lib"],
  process: ["lib"],
  config: ["lib", "process"],
  views: ["lib"],
  watch: ["lib", "config"],
  install: ["lib"],
  git: ["lib", "process"],
  agents: ["lib", "process"],
  features: ["lib", "config", "watch", "sdk"],
  "feature-host": ["lib", "link", "process", "git", "agents", "features", "sdk"],
  "mcp-host": ["lib", "process", "config", "feature-host", "sdk"],
  "gateway-host": ["lib", "process", "config", "views", "watch", "features", "feature-host", "sdk"],
  extension: ["lib", "link"],
  embedded: ["lib", "link", "gateway-host", "extension"],
  develop: ["lib", "link", "process", "sdk"],
  doctor: ["lib", "link", "process", "config", "views", "install"],
  evals: ["lib", "link", "process", "config"],
  cli: [
    "lib",
    "link",
    "process",
    "config",
    "views",
    "watch",
    "develop",
    "install",
    "doctor",
    "evals",
    "mcp-host",
    "sdk",
  ],
};

const LONG_FILE = 800;
const LONG_SUITE = 500;

const layers = Object.keys(LAYERS);

/** @param {string} folder @param {string} ending */
const filesIn = (folder, ending) =>
  readdirSync(path.join(native, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .sort();

const read = (...parts) => readFileSync(path.join(root, ...parts), "utf8");
const tracked = () =>
  execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
    .split("\0")
    .filter((file) => file && existsSync(path.join(root, file)));

/**
 * The includes of a file of native/.
 * @param {string} file
 * @returns {{name: string, own: boolean, conditional: boolean, where: string}[]}
 */
function includesOf(file) {
  let depth = 0;
  const found = [];
  read("native", file)
    .split("\n")
    .forEach((line, index) => {
      const [, directive, rest] = /^\s*#\s*(\w+)\s*(.*)$/.exec(line) ?? [];
      if (directive?.startsWith("if")) depth += 1;
      if (directive === "endif") depth -= 1;
      if (directive !== "include") return;
      const [, open, name] = /^([<"])([^>"]+)/.exec(rest);
      const where = `native/${file}:${index + 1}`;
      found.push({ name, own: open === '"', conditional: depth > 0, where });
    });
  return found;
}

const allIncludes = () =>
  layers.flatMap((folder) =>
    [...filesIn(folder, ".h"), ...filesIn(folder, ".cc")].flatMap((file) =>
      includesOf(file).map((include) => ({ ...include, folder, file })),
    ),
  );

test("every folder of native/ is a layer", () => {
  const folders = readdirSync(native, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  assert.deepEqual(folders.sort(), [...layers].sort());
});

test("includes run one way through the layers", () => {
  const own = allIncludes().filter((include) => include.own);
  assert.ok(own.length > 100, "includes are found at all");
  const wrong = own.filter(({ name, folder }) => {
    const target = name.split("/")[0];
    const allowed = target === folder || LAYERS[folder].includes(target);
    return !allowed && !EXCEPTIONS[folder]?.includes(name);
  });
  assert.deepEqual(
    wrong.map(({ where, name }) => `${where} includes ${name}`),
    [],
  );
});

/** Outside of js/ the folder at the top. @param {string} file */
const roomOf = (file) => file.split("/")[file.startsWith("js/") ? 1 : 0];

test("every folder of js/ is a room, and imports run one way through them", () => {
  const sources = tracked().filter((file) => /^js\/.*\.mjs$/.test(file));
  const rooms = new Set(sources.map((file) => file.split("/")[1]));
  assert.deepEqual([...rooms].sort(), Object.keys(ROOMS).sort());
  const imports = sources.flatMap((file) =>
    [
      ...read(file).matchAll(
        /^(?:import|export) [^;]*?from "(\.\.\/[^"]+)|await import\("(\.\.\/[^"]+)/gm,
      ),
    ].map(([, fixed, lazy]) => ({
      file,
      from: file.split("/")[1],
      to: roomOf(path.posix.join(path.posix.dirname(file), fixed ?? lazy)),
    })),
  );
  assert.ok(imports.length > 50, "imports are found at all");
  const wrong = imports.filter(({ from, to }) => to !== from && !ROOMS[from].includes(to));
  assert.deepEqual(
    wrong.map(({ file, to }) => `${file} imports ${to}/`),
    [],
  );
});

/** The modules that a file imports, at once or later. @param {string} file */
const importedBy = (file) =>
  [...read(file).matchAll(/^(?:import|export) [^;]*?from "([^"]+)"|import\("([^"]+)"/gm)].map(
    ([, fixed, lazy]) => fixed ?? lazy,
  );

test("a feature reaches files, programs and the network by its services only, and no other feature", () => {
  const files = tracked().filter((file) => /^js\/features\/[^/]+\/.*\.mjs$/.test(file));
  assert.ok(files.length >= 4, "features are found at all");
  const wrong = files.flatMap((file) => {
    const own = file.split("/").slice(0, 3).join("/");
    return importedBy(file)
      .filter((one) => {
        if (!one.startsWith(".")) return true; // node: and packages
        const target = path.posix.join(path.posix.dirname(file), one);
        return target.startsWith("js/features/") && !target.startsWith(`${own}/`);
      })
      .map((one) => `${file} imports ${one}`);
  });
  const globals = /(?<![\w.#"'`])(?:fetch|WebSocket|EventSource|XMLHttpRequest|process)\s*[(.]/;
  const reached = files.filter((file) => globals.test(read(file)));
  assert.deepEqual([...wrong, ...reached], []);
});

test("the gateway host and the feature host know no feature by name", () => {
  const names = tracked().flatMap(
    (file) => /^js\/features\/([^/]+)\/feature\.mjs$/.exec(file)?.[1] ?? [],
  );
  assert.ok(names.includes("status") && names.includes("records"));
  const files = tracked().filter((file) => /^js\/(gateway-host|feature-host)\/.*\.mjs$/.test(file));
  const wrong = files.filter(
    (file) =>
      importedBy(file).some((one) => /features\/(?!list\.mjs$)/.test(one)) ||
      names.some((name) => new RegExp(`["'\`](builtin:)${name}["'\`]`).test(read(file))),
  );
  assert.deepEqual(wrong, []);
});

/** What is imported before anything runs. @param {string} file @param {Set<string>} seen */
function importsOf(file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, from] of read(file).matchAll(/^(?:import|export) [^;]*?from "([^"]+)"/gm)) {
    if (from.startsWith(".")) importsOf(path.posix.join(path.posix.dirname(file), from), seen);
    else seen.add(from);
  }
  return seen;
}

test("a host without project providers does not load what runs them", () => {
  const loaded = importsOf("js/gateway-host/main.mjs");
  assert.ok(loaded.has("js/gateway-host/project-sessions.mjs"), "imports are found at all");
  const heavy = ["node:http", "node:child_process", "jsonc-parser", "js/process/supervisor.mjs"]
    .concat(["ws", "@cfworker/json-schema", "sdk/node/arguments.mjs", "sdk/node/files.mjs"])
    .concat(["js/features/records/span-export.mjs", "js/feature-host/network.mjs"]);
  assert.deepEqual(
    heavy.filter((one) => loaded.has(one)),
    [],
  );
});

test("one place makes an Inject, and it holds those that must be recorded first", () => {
  const makers = filesIn("gateway", ".cc").filter((file) =>
    /\bInject\s*[{(]/.test(
      read("native", file).replaceAll(/::Inject::|PendingInject|HeldInject/g, ""),
    ),
  );
  assert.deepEqual(makers, ["gateway/streams/injects.cc"]);
});

test("what is included is there, by its path from native/", () => {
  const missing = allIncludes().filter(
    ({ own, name }) => own && !existsSync(path.join(native, name)),
  );
  assert.deepEqual(
    missing.map(({ where, name }) => `${where}: ${name}`),
    [],
  );
});

test("a library is known to its folder only", () => {
  const wrong = allIncludes().filter(
    ({ name, folder }) => Object.hasOwn(LIBRARIES, name) && !LIBRARIES[name].includes(folder),
  );
  assert.deepEqual(
    wrong.map(({ where, name }) => `${where}: ${name}`),
    [],
  );
});

test("a system header is included only under a condition", () => {
  const wrong = allIncludes().filter(
    ({ name, own, conditional }) =>
      !own && !conditional && name.endsWith(".h") && !Object.hasOwn(LIBRARIES, name),
  );
  assert.deepEqual(
    wrong.map(({ where, name }) => `${where}: ${name}`),
    [],
  );
});

test("native/sources.gypi lists the core's sources, each once and sorted", () => {
  const listed = [...read("native", "sources.gypi").matchAll(/^ *'([^']+\.cc)',$/gm)];
  const core = layers.filter((folder) => folder !== "uv" && folder !== "addon");
  assert.deepEqual(
    listed.map(([, file]) => file),
    core.flatMap((folder) => filesIn(folder, ".cc")).sort(),
  );
});

test("binding.gyp lists the sources of uv/ and addon/", () => {
  const listed = [...read("binding.gyp").matchAll(/'((?:uv|addon)\/[^']+\.cc)'/g)];
  assert.deepEqual(listed.map(([, file]) => file).sort(), [
    ...filesIn("addon", ".cc"),
    ...filesIn("uv", ".cc"),
  ]);
});

/** Code without comments and texts. @param {string} file */
const readCode = (file) =>
  read("native", file)
    .replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""')
    .replaceAll(/\/\/.*$/gm, "");

test("functions end in no Of or In, and bounds are kMax and kMin", () => {
  const files = layers.flatMap((folder) => [...filesIn(folder, ".h"), ...filesIn(folder, ".cc")]);
  const wrong = files.flatMap((file) =>
    [...readCode(file).matchAll(/\bk(?:Most|Least)[A-Z]\w*|\b[a-z]\w*[a-z](?:Of|In)(?=\()/g)].map(
      ([name]) => `${file}: ${name}`,
    ),
  );
  assert.deepEqual(wrong, []);
});

test("headers are guarded by #pragma once or a guard", () => {
  const bare = layers
    .flatMap((folder) => filesIn(folder, ".h"))
    .filter((file) => !/^#(pragma once|ifndef \w+_H_?\n#define)/m.test(read("native", file)));
  assert.deepEqual(bare, []);
});

/** Longer than their kind may be, for now. */
const LONG_FILES = [
  "sdk/python/copilot_tap/provider.py",
  "test/native/gateway/sync/tool_sync_test.cc",
  "test/native/gateway/world.h",
  "tools/bench/provider.cc",
];

/** Suites list cases: they may be longer than what runs. @param {string} file */
const mostLines = (file) => (file.startsWith("test/") ? LONG_SUITE : LONG_FILE);

test(`files have at most ${LONG_FILE} lines, those of tests ${LONG_SUITE}`, () => {
  const long = tracked()
    .filter((file) => /\.(cc|h|mjs|py)$/.test(file) && !LONG_FILES.includes(file))
    .map((file) => ({ file, lines: read(file).split("\n").length - 1 }))
    .filter(({ file, lines }) => lines > mostLines(file))
    .map(({ file, lines }) => `${file} has ${lines} lines`);
  assert.deepEqual(long, []);
});

/** Entries, tables, data, and what is loaded by itself. The number may only fall. */
const MAX_SHORT_FILES = 61;
const SHORT_FILE = 60;

test("a file of js/ is a concept: few are short", () => {
  const short = tracked()
    .filter((file) => /^js\/.*\.mjs$/.test(file))
    .filter((file) => read(file).split("\n").length - 1 < SHORT_FILE);
  assert.ok(short.length <= MAX_SHORT_FILES, `${short.length} are:\n${short.join("\n")}`);
});

test("no tracked file names a machine's folder or a package registry", () => {
  const forbidden = [/(?<![\w.~-])\/(?:work|root)\//, /\bregistry\.[\w-]+\.\w+/i];
  const found = tracked().flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((line, index) =>
        forbidden.some((pattern) => pattern.test(line))
          ? [`${file}:${index + 1}: ${line.trim().slice(0, 120)}`]
          : [],
      ),
  );
  assert.deepEqual(found, []);
});
