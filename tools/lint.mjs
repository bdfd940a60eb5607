// npm run lint: formats, types, and the checks of clang-tidy and eslint. Each check is a row; as many run
// at a time as there are cores.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { audit } from "./audit.mjs";
import { CommandFailed, root, run, printLine, step } from "./commands.mjs";
import { clangJobs, writeBase } from "./lint-cpp.mjs";
import { checkWords } from "./words.mjs";
import { wrap } from "./wrap.mjs";

const WORKERS = Math.max(2, os.availableParallelism());

/** Files that git knows, or would if they were added. @param {string[]} patterns */
function projectFiles(...patterns) {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"];
  return execFileSync("git", [...list, ...patterns], { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((file) => file && existsSync(path.join(root, file)));
}

const cppFiles = () =>
  projectFiles(
    ...["native", "test/native", "test/fuzz", "tools/bench"].flatMap((at) => [
      `${at}/*.cc`,
      `${at}/*.h`,
    ]),
  );
const scripts = () => projectFiles("*.mjs", "*.ts", "*.json", ":!package-lock.json");

const pages = () => projectFiles("*.md");
/** Pages, and the comments of the shipped files. */
const spelled = () => [
  ...pages(),
  ...projectFiles("native/*.cc", "native/*.h", "js/*.mjs", "sdk/node/*.mjs", "sdk/node/*.ts"),
];

/** @param {string} file */
const readText = (file) => readFileSync(path.join(root, file), "utf8");

/** The output is shown if the program fails. @param {string} command @param {string[]} args */
const runQuiet = (command, args) => run(command, args, { quiet: true });

/** A program of node_modules. @param {string} file @param {string[]} args */
const nodeTool = (file, args) =>
  runQuiet(process.execPath, [path.join("node_modules", file), ...args]);

// ---- cppcheck ------------------------------------------------------------------------------------

/** Its findings beyond style, in all of native/. */
const cppcheck = () =>
  runQuiet("cppcheck", [
    ...["-q", "--language=c++", "--std=c++20", "-Inative", "--inline-suppr"],
    ...["--enable=warning,performance,portability", "--error-exitcode=1"],
    // A json::Value is a view: two words and a kind, passed as std::string_view is.
    "--suppress=passedByValue",
    "native",
  ]);

// ---- package-lock.json ---------------------------------------------------------------------------

/** The lock serves every registry: it names versions and checksums, and no host. */
async function lockNamesNoRegistry() {
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  const named = Object.keys(packages).filter((name) => packages[name].resolved !== undefined);
  if (named.length === 0) return;
  throw new CommandFailed(
    `package-lock.json has "resolved" for ${named.join(", ")}; ` +
      "npm config set omit-lockfile-registry-resolved true, then npm install",
  );
}

/** As `npm run format` would write them: so it changes no page that a change has not touched. */
async function markdownWidth() {
  const wide = pages().filter((page) => wrap(readText(page)) !== readText(page));
  if (wide.length > 0)
    throw new CommandFailed(`npm run format breaks long lines in ${wide.join(", ")}`);
}

// ---- all of them ---------------------------------------------------------------------------------

/** Those that take longest come first. @type {Record<string, () => Promise<unknown>>} */
const checks = {
  cppcheck,
  prettier: () =>
    nodeTool("prettier/bin/prettier.cjs", ["--log-level=warn", "--check", ...scripts()]),
  "package-lock": lockNamesNoRegistry,
  eslint: () => nodeTool("eslint/bin/eslint.js", ["--max-warnings=0", "."]),
  "tsc js": () => nodeTool("typescript/bin/tsc", ["-p", "."]),
  "tsc test": () => nodeTool("typescript/bin/tsc", ["-p", "test"]),
  "clang-format": () => runQuiet("clang-format", ["--dry-run", "-Werror", ...cppFiles()]),
  markdown: () =>
    nodeTool("markdownlint-cli2/markdownlint-cli2-bin.mjs", ["--no-globs", ...pages()]),
  "markdown width": markdownWidth,
  spelling: () => nodeTool("cspell/bin.mjs", ["--no-progress", "--no-summary", ...spelled()]),
  words: checkWords,
  "npm audit": audit,
};

/** @typedef {() => Promise<Job[] | undefined>} Job which may return further ones */

/** @param {Job[]} jobs */
async function performAll(jobs) {
  const waiting = [...jobs];
  const worker = async () => {
    for (let job = waiting.shift(); job; job = waiting.shift()) {
      waiting.push(...((await job()) ?? []));
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

/** All checks, and clang's of all of native/. The next lint begins at this commit. */
export async function lintAll() {
  const outcome = await lint(true);
  const problem = outcome.ok ? writeBase() : undefined;
  return problem ? { ok: true, detail: `tools/lint-base stays: ${problem}` } : outcome;
}

/** All checks, whatever the others have found. @param {unknown} [whole] true: clang looks at all of native/ */
export async function lint(whole) {
  /** @type {string[]} */
  const failed = [];
  /** @type {(name: string, check: () => Promise<unknown>) => Promise<any>} */
  const tried = async (name, check) => {
    try {
      return await step(name, check);
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      printLine(`-- ${name} FAILED: ${error.message.slice(0, 300)}`);
      failed.push(name);
      return undefined;
    }
  };
  const native = projectFiles("native/*.cc", "native/*.h");
  const compileHeaders = () =>
    tried("clang: headers", () => clangJobs(native, failed, whole === true));
  const others = Object.entries(checks).map(([name, check]) => async () => {
    await tried(name, check);
    return undefined;
  });
  await performAll([compileHeaders, ...others]);
  return { ok: failed.length === 0, detail: failed.join(", ") };
}

/** Brings every file into the form that lint wants. */
export async function format() {
  await nodeTool("prettier/bin/prettier.cjs", ["--log-level=warn", "--write", ...scripts()]);
  await run("clang-format", ["-i", ...cppFiles()]);
  for (const page of pages()) {
    const text = readText(page);
    if (wrap(text) !== text) writeFileSync(path.join(root, page), wrap(text));
  }
  return { ok: true, detail: "" };
}
