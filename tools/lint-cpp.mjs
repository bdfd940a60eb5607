// The checks of clang-tidy, and the analyzer of clang, over native/. Both look at the sources that changed
// since the commit in tools/lint-base, and at the sources that include a changed file.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findLibrary } from "../js/install/libraries.mjs";
import { attempt, root, run, printLine } from "./commands.mjs";
import { nodeHeaders } from "./sanitize.mjs";

const folder = path.join(root, "build-lint");

const needsNode = (/** @type {string} */ file) => /^native\/(uv|addon)\//.test(file);

/** The flags that can compile all of native/. @param {string | undefined} headers of Node */
function compilerFlags(headers) {
  const napiHeaders = path.join(root, "node_modules", "node-addon-api");
  const pcre2 = findLibrary("pcre2")?.include;
  return [
    ...["-std=c++20", "-Inative"],
    ...(pcre2 ? ["-idirafter", pcre2] : []),
    ...(headers ? ["-isystem", headers, "-isystem", napiHeaders] : []),
    ...["-DNAPI_VERSION=8", "-DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS"],
  ];
}

// ---- changed files --------------------------------------------------------------------------------

const baseFile = path.join(root, "tools", "lint-base");
/** A change of these may change clang's findings in any source. */
const RULES = [".clang-tidy", "tools/lint-cpp.mjs"];

/** @param {string[]} args @returns {string[]} its lines */
const gitLines = (args) =>
  execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
    .split("\n")
    .filter(Boolean);

/** @returns {string | undefined} the commit of the last whole lint, if this clone has it */
function readBase() {
  if (!existsSync(baseFile)) return undefined;
  const base = readFileSync(baseFile, "utf8").trim();
  try {
    gitLines(["merge-base", "--is-ancestor", base, "HEAD"]);
    return base;
  } catch {
    return undefined;
  }
}

/** After a whole lint without findings. @returns {string | undefined} why it is not recorded */
export function writeBase() {
  if (gitLines(["status", "--porcelain", "--", "native", ...RULES]).length > 0)
    return "native/ has changes that are not committed";
  writeFileSync(baseFile, `${gitLines(["rev-parse", "HEAD"])[0]}\n`);
  return undefined;
}

/** The files that a file of native/ includes. @param {string} file */
const includedBy = (file) =>
  [...readFileSync(path.join(root, file), "utf8").matchAll(/^\s*#include "([^"]+)"/gm)].map(
    ([, name]) => `native/${name}`,
  );

/**
 * The changed files, and the files that include them, at any depth.
 * @param {Iterable<string>} changed @param {Map<string, string[]>} includes of each file
 * @returns {Set<string>}
 */
export function withIncluders(changed, includes) {
  const found = new Set(changed);
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const [file, names] of includes)
      if (names.some((name) => found.has(name))) found.add(file);
  }
  return found;
}

/** @param {string[]} files below native/ @returns {Set<string>} those that clang has to look at */
function chooseFiles(files) {
  const base = readBase();
  if (base === undefined) return new Set(files);
  const changed = [
    ...gitLines(["diff", "--name-only", base, "--", "native", ...RULES]),
    ...gitLines(["ls-files", "--others", "--exclude-standard", "--", "native"]),
  ];
  if (RULES.some((file) => changed.includes(file))) return new Set(files);
  return withIncluders(changed, new Map(files.map((file) => [file, includedBy(file)])));
}

// ---- the compiler --------------------------------------------------------------------------------

/** @param {string[]} files */
const including = (files) => files.map((file) => `#include "${path.join(root, file)}"\n`).join("");

/**
 * All headers, compiled once: reading them took most of the time of a file.
 * @param {string[]} files @param {string[]} flags @returns {Promise<string[]>} the flag that brings them
 */
async function precompiled(files, flags) {
  const source = path.join(folder, "headers.h");
  const product = path.join(folder, "headers.pch");
  const headers = files.filter((file) => file.endsWith(".h"));
  writeFileSync(source, including(headers));
  const options = ["-x", "c++-header", "-fpch-instantiate-templates", "-o", product, source];
  await run("clang++", [...flags, ...options], { quiet: true });
  return ["-include-pch", product];
}

// ---- the jobs ------------------------------------------------------------------------------------

/** @typedef {{command: string, file: string, args: string[]}} Job */

/**
 * The checks that look only at the compiled file. The compiler checks parameters here: it looks at the
 * included files, too.
 */
const OF_A_FILE = ["misc-unused-*", "bugprone-suspicious-include"];
const TOGETHER = [
  ...["clang-analyzer-*", ...OF_A_FILE].map((check) => `-${check}`),
  // These follow no path, and so look at all that is included.
  ...["clang-analyzer-optin.performance.*", "clang-analyzer-webkit.*"],
  "clang-diagnostic-unused-parameter",
];
const together = `--checks=${TOGETHER.join(",")}`;
const alone = `--checks=-*,${OF_A_FILE.join(",")}`;
/** Their subjects: in a file without these they find no fault. */
const THEIRS = /^\s*using [\w:]+::\w+;|^\s*namespace \w+ *=|^#include ".*\.cc"/m;

/** Besides those that clang has by itself; into templates of the standard library it does not go. */
const ANALYZER = [
  "-analyzer-checker=security,nullability,optin.cplusplus,optin.portability,fuchsia",
  ...["-analyzer-config", "c++-template-inlining=false"],
  ...["-analyzer-output=text", "-analyzer-werror"],
].flatMap((argument) => ["-Xclang", argument]);

/** Makes a source of many. @param {string} name @param {string[]} sources @returns {string} the file */
function unit(name, sources) {
  const file = path.join(folder, name);
  writeFileSync(file, including(sources));
  return file;
}

/**
 * Most checks look at two units, of the core and of the code around it: most of the time went into looking
 * through the headers of each file. The analyzer, and the checks of a single file, take file after
 * file, with the headers precompiled.
 * @param {string[]} files below native/ @param {Set<string>} chosen of them
 * @returns {Promise<Job[]>}
 */
async function jobs(files, chosen) {
  if (!files.some((file) => file.endsWith(".cc") && chosen.has(file))) return [];
  mkdirSync(folder, { recursive: true });
  const headers = nodeHeaders();
  if (!headers) {
    printLine("   Node's headers are not installed: native/uv and native/addon are left out");
  }
  const flags = compilerFlags(headers);
  const possible = files.filter((file) => headers || !needsNode(file));
  const fast = [...flags, ...(await precompiled(possible, flags))];
  const warned = [...flags, "-Wunused-parameter"];
  const sources = possible.filter((file) => file.endsWith(".cc") && chosen.has(file));
  const core = sources.filter((file) => !needsNode(file));
  const outer = sources.filter(needsNode);
  /** @param {string} checks @param {string} file @param {string[]} given */
  const tidy = (checks, file, given) => ({
    command: "clang-tidy",
    file,
    args: ["--quiet", checks, file, "--", ...given],
  });
  return [
    ...(core.length > 0 ? [tidy(together, unit("core.cc", core), warned)] : []),
    ...(outer.length > 0 ? [tidy(together, unit("outer.cc", outer), warned)] : []),
    ...sources
      .filter((file) => THEIRS.test(readFileSync(path.join(root, file), "utf8")))
      .map((file) => tidy(alone, file, fast)),
    ...sources.map((file) => ({
      command: "clang++",
      file,
      args: ["--analyze", ...fast, ...ANALYZER, file],
    })),
  ];
}

// ---- doing them ----------------------------------------------------------------------------------

/**
 * Tells findings once, though a header's come up with every file that includes it.
 * @param {Set<string>} shown @param {string} output of clang
 */
function printFindings(shown, output) {
  const findings = output
    .replace(/^\d+ (?:warning|error)s?( and \d+ errors?)? generated\.\n/gm, "")
    .split(/^(?=\S+:\d+:\d+: (?:error|warning):)/m);
  for (const finding of findings) {
    const [headline] = finding.replaceAll(root, "").split("\n");
    const place = headline.replace(/^\//, "");
    if (shown.has(place)) continue;
    shown.add(place);
    printLine(finding.trimEnd());
  }
}

/**
 * Compiles the headers.
 * @param {string[]} files below native/ @param {string[]} failed gets the jobs that have found something
 * @param {boolean} whole whether all files are looked at, or those that changed since tools/lint-base
 * @returns {Promise<(() => Promise<undefined>)[]>} the jobs, in any order and several at a time
 */
export async function clangJobs(files, failed, whole) {
  const chosen = whole ? new Set(files) : chooseFiles(files);
  const all = await jobs(files, chosen);
  const count = files.filter((file) => file.endsWith(".cc") && chosen.has(file)).length;
  printLine(`   clang: ${count} sources of native/${whole ? "" : ", by tools/lint-base"}`);
  /** @type {Set<string>} */
  const shown = new Set();
  let done = 0;
  return all.map(({ command, file, args }) => async () => {
    const { ok, code, output } = await attempt(command, args, { quiet: true });
    if (!ok) {
      failed.push(`${command} ${file} (${code})`);
      printFindings(shown, output);
    }
    done += 1;
    if (done % 10 === 0) printLine(`   clang: ${done} of ${all.length}`);
    return undefined;
  });
}
