// npm run lint: formats, types, and the checks of clang-tidy and eslint. Each check is a row.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { writeUnits } from "../js/install/addon-units.mjs";
import { audit } from "./audit.mjs";
import { attempt, CommandFailed, root, run, say, step } from "./commands.mjs";
import { nodeHeaders } from "./sanitize.mjs";

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
    ...["native", "test/native", "test/fuzz", "test/bench"].flatMap((at) => [
      `${at}/*.cc`,
      `${at}/*.h`,
    ]),
  );
const scripts = () => projectFiles("*.mjs", "*.ts", "*.json", ":!package-lock.json");

/** One of node_modules' programs. @param {string} file @param {string[]} args */
const nodeTool = (file, args) => run(process.execPath, [path.join("node_modules", file), ...args]);

// ---- clang-tidy ----------------------------------------------------------------------------------

/** What uv/ and addon/ are compiled with, which CMake does not build. Undefined without headers. */
function addonFlags() {
  const headers = nodeHeaders();
  if (!headers) return undefined;
  const napiHeaders = path.join(root, "node_modules", "node-addon-api");
  return [
    "--",
    "-std=c++20",
    "-Inative",
    ...["-isystem", headers, "-isystem", napiHeaders],
    ...["-DNAPI_VERSION=8", "-DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS"],
  ];
}

/**
 * The analyzer goes into no template on its way along a call: most of its time went into those of the
 * standard library.
 */
const ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "c++-template-inlining=false"].map(
  (argument) => `--extra-arg=${argument}`,
);

/** As the addon's build has them, so that its units stay as they are. @param {string} file */
const sourcesIn = (file) =>
  [...readFileSync(path.join(root, file), "utf8").matchAll(/^ +'(\w+\/\w+\.cc)',$/gm)].map(
    ([, source]) => source,
  );

/** What looks at nothing but the file that is compiled, and at what it includes not at all. */
const OF_A_FILE = ["clang-analyzer-*", "misc-unused-*", "bugprone-suspicious-include"];
const alone = `--checks=-*,${OF_A_FILE.join(",")}`;
const together = `--checks=${OF_A_FILE.map((check) => `-${check}`).join(",")}`;

/**
 * Twice: each file by itself for the checks that need it so, and for the others in the addon's units,
 * which have the headers once for a dozen files: most of the time went into looking through them.
 * @param {string} nativeFolder @returns {{file: string, args: string[]}[]}
 */
function tidyJobs(nativeFolder) {
  const needsNode = (/** @type {string} */ file) => /^native\/(uv|addon)\//.test(file);
  const files = projectFiles("native/*.cc");
  const core = files.filter((file) => !needsNode(file));
  const byItself = ["--quiet", alone, ...ANALYZER];
  const ofCore = core.map((file) => ({ file, args: [...byItself, "-p", nativeFolder, file] }));
  const flags = addonFlags();
  if (!flags) {
    say("   Node's headers are not installed: native/uv and native/addon are left out");
    const all = core.map((file) => ({
      file,
      args: ["--quiet", together, "-p", nativeFolder, file],
    }));
    return [...all, ...ofCore];
  }
  const units = writeUnits(["native/sources.gypi", "binding.gyp"].flatMap(sourcesIn));
  return [
    ...units.map((file) => ({ file, args: ["--quiet", together, file, ...flags] })),
    ...files.filter(needsNode).map((file) => ({ file, args: [...byItself, file, ...flags] })),
    ...ofCore,
  ];
}

/**
 * Tells findings once, though a header's come up with every file that includes it.
 * @param {Set<string>} told @param {string} output of clang-tidy
 */
function tellFindings(told, output) {
  const findings = output
    .replace(/^\d+ warnings?( and \d+ errors?)? generated\.\n/gm, "")
    .split(/^(?=\S+:\d+:\d+: (?:error|warning):)/m);
  for (const finding of findings) {
    const [headline] = finding.replaceAll(root, "").split("\n");
    const place = headline.replace(/^\//, "");
    if (told.has(place)) continue;
    told.add(place);
    say(finding.trimEnd());
  }
}

/** @param {string} nativeFolder */
async function clangTidy(nativeFolder) {
  const jobs = tidyJobs(nativeFolder);
  const total = jobs.length;
  /** @type {string[]} */
  const failed = [];
  /** @type {Set<string>} */
  const told = new Set();
  let done = 0;
  const worker = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      const { ok, code, output } = await attempt("clang-tidy", job.args, { quiet: true });
      if (!ok) {
        failed.push(`${job.file} (${code})`);
        tellFindings(told, output);
      }
      done += 1;
      if (done % 10 === 0) say(`   clang-tidy: ${done} of ${total} files`);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  if (failed.length > 0) throw new CommandFailed(`clang-tidy: ${failed.join(", ")}`);
}

// ---- cppcheck ------------------------------------------------------------------------------------

/** What it finds beyond style, in all of native/. */
const cppcheck = () =>
  run("cppcheck", [
    ...["-q", `-j${WORKERS}`, "--language=c++", "--std=c++20", "-Inative", "--inline-suppr"],
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

// ---- all of them ---------------------------------------------------------------------------------

/** @param {string} nativeFolder has compile_commands.json @returns {Record<string, () => Promise<unknown>>} */
const checks = (nativeFolder) => ({
  "package-lock": lockNamesNoRegistry,
  prettier: () =>
    nodeTool("prettier/bin/prettier.cjs", ["--log-level=warn", "--check", ...scripts()]),
  eslint: () => nodeTool("eslint/bin/eslint.js", ["--max-warnings=0", "."]),
  "tsc js": () => nodeTool("typescript/bin/tsc", ["-p", "."]),
  "tsc test": () => nodeTool("typescript/bin/tsc", ["-p", "test"]),
  "clang-format": () => run("clang-format", ["--dry-run", "-Werror", ...cppFiles()]),
  "npm audit": audit,
  cppcheck,
  "clang-tidy": () => clangTidy(nativeFolder),
});

/** All checks, whatever the earlier ones found. @param {string} nativeFolder */
export async function lint(nativeFolder) {
  const failed = [];
  for (const [name, check] of Object.entries(checks(nativeFolder))) {
    try {
      await step(name, check);
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      say(`-- ${name} FAILED: ${error.message.slice(0, 300)}`);
      failed.push(name);
    }
  }
  return { ok: failed.length === 0, detail: failed.join(", ") };
}

/** Brings every file into the form that lint wants. */
export async function format() {
  await nodeTool("prettier/bin/prettier.cjs", ["--log-level=warn", "--write", ...scripts()]);
  await run("clang-format", ["-i", ...cppFiles()]);
  return { ok: true, detail: "" };
}
