// The documentation is held to the program: tables to the addon's own, links to files, and every code
// block to its language. A block marked ```js, ```python, ```sh, ```yaml (cases of an eval; `plan`: a plan) or
// ```json is parsed; one with `run`
// after the language is executed in the repository's folder and has to end with 0. One with `run tap` is
// a provider: it finds a gateway with a session, has to get there, and ends in good order. ```sh run tap is
// what a user types beside such a gateway; the command copilot-tap is on its PATH. A block with `is=` is that
// file. Pages that are done in order have their words in test/support/walkthrough.mjs.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseDocument } from "yaml";
import { addon } from "../../../js/lib/addon.mjs";
import { loadAll } from "../../../js/cli/commands/index.mjs";
import { EXIT_CODES } from "../../../js/cli/exit.mjs";
import { readCases } from "../../../js/evals/cases.mjs";
import { startTap } from "../../../js/develop/testing.mjs";
import { pythonForSdk } from "../../../tools/setup.mjs";
import { parseMarkdown, tableIn, valueOf } from "../../support/markdown.mjs";
import { withTimeout } from "../../support/wait.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");

const python = (await pythonForSdk()) ?? "python3";

const read = (file) => readFileSync(path.join(root, file), "utf8");
const documents = [
  ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].filter((file) =>
    existsSync(path.join(root, file)),
  ),
  ...readdirSync(path.join(root, "docs"), { encoding: "utf8", recursive: true })
    .filter((name) => name.endsWith(".md"))
    .map((name) => path.posix.join("docs", ...name.split(path.sep))),
];

// ---- reading a page ------------------------------------------------------------------------------

/** @param {string} file @param {string[]} heading */
const table = (file, heading) => tableIn(read(file), heading);

/** The anchor that a heading gets on GitHub. @param {string} heading */
const anchorOf = (heading) =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

const anchorsOf = (file) =>
  [...parseMarkdown(read(file)).prose.matchAll(/^#+\s+(.*)$/gm)].map(([, text]) => anchorOf(text));

// ---- tables --------------------------------------------------------------------------------------

test("docs/protocol.md describes every message that a provider may send", () => {
  const headings = anchorsOf("docs/protocol.md").join("\n");
  const missing = addon.providerMessageTypes.filter((type) => !headings.includes(anchorOf(type)));
  assert.deepEqual(missing, []);
});

test("docs/command.md repeats the table of exit codes", () => {
  assert.deepEqual(
    table("docs/command.md", ["exit code", "meaning"]),
    EXIT_CODES.map(([code, meaning]) => [String(code), meaning]),
  );
});

test("docs/command.md has a section with an example for every command", async () => {
  const sections = read("docs/command.md").split(/^### /m);
  for (const { command } of await loadAll()) {
    const [name] = command.split(" ");
    const section = sections.find((text) => text.startsWith(`${name}\n`)) ?? "";
    assert.match(section, new RegExp(`\`\`\`sh[^\`]*copilot-tap ${name}\\b`), name);
  }
});

test("docs/dependencies.md names every package, in the version of package.json", () => {
  const { dependencies, devDependencies } = JSON.parse(read("package.json"));
  const text = read("docs/dependencies.md");
  const rows = text.split("\n").filter((line) => line.startsWith("|"));
  const wrong = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([name, version]) => {
      const row = rows.find((line) => line.includes(name));
      const [, , stated] = row?.split("|") ?? [];
      const ownRow = row?.split("|")[1].trim() === name;
      return !row || (ownRow && stated.trim() !== version);
    },
  );
  assert.deepEqual(wrong, []);
});

// ---- links ---------------------------------------------------------------------------------------

/** What is wrong with a link, or nothing. @param {string} from @param {string} target */
function linkProblem(from, target) {
  if (/^(https?|mailto):/.test(target)) return undefined;
  const [name, anchor] = target.split("#");
  const file = name ? path.join(path.dirname(from), decodeURIComponent(name)) : from;
  if (!existsSync(path.join(root, file))) return `${from}: ${target} does not exist`;
  const isDocument = file.endsWith(".md");
  if (anchor && isDocument && !anchorsOf(file).includes(anchor)) {
    return `${from}: ${target} has no such heading`;
  }
  return undefined;
}

for (const file of documents) {
  test(`links of ${file} lead somewhere`, () => {
    const { prose } = parseMarkdown(read(file));
    const links = [...prose.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)].map(
      ([, target]) => target,
    );
    const problems = links.map((target) => linkProblem(file, target)).filter(Boolean);
    assert.deepEqual(problems, []);
  });
}

// ---- code ----------------------------------------------------------------------------------------

/** Runs a program and gives what it complained about, or nothing. */
function complaint(command, args, input) {
  const env = {
    ...process.env,
    PYTHONPATH: path.join(root, "sdk", "python"),
    PYTHONDONTWRITEBYTECODE: "1",
  };
  const options = { input, cwd: root, env, timeout: 60_000 };
  const run = spawnSync(command, args, { ...options, encoding: "utf8" });
  if (run.status === 0) return undefined;
  return `${run.error?.message ?? ""}${run.stderr}`.trim() || `ended with ${run.status}`;
}

/** A block as a file, for programs that want one. */
function withFile(ending, code, use) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "tap-docs-"));
  try {
    const file = path.join(folder, `block${ending}`);
    writeFileSync(file, code);
    return use(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const LANGUAGES = {
  js: {
    check: (code) =>
      withFile(".mjs", code, (file) => complaint(process.execPath, ["--check", file])),
    run: (code) => complaint(process.execPath, ["--input-type=module", "-"], code),
  },
  python: {
    check: (code) =>
      complaint("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], code),
    run: (code) => complaint(python, ["-"], code),
  },
  sh: {
    check: (code) => complaint("bash", ["-n"], code),
    run: (code) => complaint("bash", ["-e"], code),
  },
  yaml: {
    check: (code) => {
      const { problems } = readCases(code);
      return problems.length > 0 ? JSON.stringify(problems) : undefined;
    },
    run: () => "YAML cannot be run",
  },
  json: {
    check: (code) => {
      try {
        JSON.parse(code);
        return undefined;
      } catch (error) {
        return error.message;
      }
    },
    run: () => "JSON cannot be run",
  },
};
/** Blocks that are not code. */
const PLAIN = ["text", "md", "diff", "console", "html"];

/**
 * Runs a provider until its code ends; one that would run on is stopped once it is connected.
 * @param {string} language @param {string} code
 */
async function runProvider(language, code) {
  const js = language === "js";
  const forGood = code.includes("tap.main()");
  const [command, ...args] = js ? [process.execPath, "--input-type=module", "-"] : [python, "-"];
  const kit = await startTap();
  try {
    const env = {
      ...process.env,
      ...kit.env,
      PYTHONPATH: path.join(root, "sdk", "python"),
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const child = spawn(command, args, { cwd: root, env, stdio: ["pipe", "ignore", "pipe"] });
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
    const ended = new Promise((resolve) => child.on("close", resolve));
    child.stdin.end(js ? `${code}\nawait tap.close();` : code);
    await kit.session.shows("tap: ").catch(() => child.kill("SIGKILL"));
    if (forGood) child.kill();
    assert.equal(await withTimeout(ended, () => errors), 0, errors);
  } finally {
    await kit.stop();
  }
}

/** Runs what a user types, with the command, a gateway and a home of its own. @param {string} code */
async function runShell(code) {
  const kit = await startTap();
  try {
    const bin = path.join(kit.home, "bin");
    mkdirSync(bin);
    symlinkSync(path.join(root, "js", "cli", "cli.mjs"), path.join(bin, "copilot-tap"));
    const PATH = `${bin}${path.delimiter}${process.env.PATH}`;
    const env = { ...process.env, ...kit.env, PATH, TMPDIR: kit.home };
    const child = spawn("bash", ["-e"], { cwd: root, env, stdio: ["pipe", "ignore", "pipe"] });
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
    const ended = new Promise((resolve) => child.on("close", resolve));
    child.stdin.end(code);
    assert.equal(await withTimeout(ended, () => errors), 0, errors);
  } finally {
    await kit.stop();
  }
}

describe("code blocks", () => {
  for (const file of documents) {
    for (const block of parseMarkdown(read(file)).blocks) {
      const { language, words, code, line } = block;
      const [run, tap] = ["run", "tap"].map((word) => words.includes(word));
      test(`${file}:${line} ${language || "without a language"}${run ? ", run" : ""}`, async () => {
        const known = [...Object.keys(LANGUAGES), ...PLAIN];
        assert.ok(known.includes(language), `one of ${known.join(", ")} is needed`);
        const original = valueOf(block, "is");
        if (original) assert.equal(code, read(original), `${original} is no longer the same`);
        if (PLAIN.includes(language)) return;
        if (words.includes("plan")) return void assert.deepEqual(parseDocument(code).errors, []);
        if (tap) return language === "sh" ? runShell(code) : runProvider(language, code);
        const problem = LANGUAGES[language][run ? "run" : "check"](code);
        assert.equal(problem, undefined);
      });
    }
  }
});
