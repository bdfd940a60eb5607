// Brings a fresh clone to the point where tests and the demo can run: npm packages, the addon, and
// the system's packages, which it installs where it may and names where it may not.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { buildAddon } from "../js/install/installer.mjs";
import { findLibrary } from "../js/install/libraries.mjs";
import { headerFolder } from "../js/install/node-gyp.mjs";
import { attempt, CommandFailed, root, run, printLine, step } from "./commands.mjs";

/** @param {string} command */
const answers = async (command) => (await attempt(command, ["--version"], { quiet: true })).ok;

/** The first Python that has these modules. @param {string[]} modules @returns {Promise<string | undefined>} */
async function pythonWith(...modules) {
  for (const python of ["python3", "/usr/bin/python3"]) {
    const { ok } = await attempt(python, ["-c", `import ${modules.join(", ")}`], { quiet: true });
    if (ok) return python;
  }
  return undefined;
}

/** Chromium or a browser that is made of it. @returns {string | undefined} */
export const findChromium = () =>
  [
    "/usr/bin/chromium",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ].find(existsSync);

export const pythonWithWebsockets = () => pythonWith("websockets");

/** A Python that can run the Python SDK and its tests. */
export const pythonForSdk = () => pythonWith("websockets", "jsonschema", "pytest");

const includeFolders = [
  ...(process.env.GTEST_ROOT ? [path.join(process.env.GTEST_ROOT, "include")] : []),
  ...(process.env.CPLUS_INCLUDE_PATH ?? "").split(path.delimiter).filter(Boolean),
  ...["/usr/include", "/usr/local/include", "/opt/homebrew/include"],
];
/** Where a header may be. @param {string} file */
const headers = (file) => includeFolders.map((folder) => path.join(folder, file));

const uvHeaders = ["/usr/include/uv.h", "/usr/local/include/uv.h", "/opt/homebrew/include/uv.h"];

/** Whether clang has its libFuzzer. @returns {Promise<boolean>} */
async function linksFuzzer() {
  const args = ["-print-file-name=libclang_rt.fuzzer-x86_64.a"];
  const { ok, output } = await attempt("clang++", args, { quiet: true });
  return ok && existsSync(output.trim());
}

/** Debian's package, and how to see that it is complete. */
const packages = {
  "g++": () => answers("g++"),
  make: () => answers("make"),
  binutils: () => answers("objdump"),
  python3: () => answers("python3"),
  cmake: () => answers("cmake"),
  git: () => answers("git"),
  bubblewrap: () => answers("bwrap"),
  "libbenchmark-dev": async () => headers("benchmark/benchmark.h").some(existsSync),
  valgrind: () => answers("valgrind"),
  "libgtest-dev": async () => headers("gtest/gtest.h").some(existsSync),
  "libpcre2-dev": async () => Boolean(findLibrary("pcre2")),
  "libsqlite3-dev": async () => Boolean(findLibrary("sqlite")),
  "libuv1-dev": async () => uvHeaders.some(existsSync),
  "python3-websockets": async () => Boolean(await pythonWithWebsockets()),
  chromium: async () => Boolean(findChromium()),
  "python3-jsonschema": async () => Boolean(await pythonWith("websockets", "jsonschema")),
  "python3-pytest": async () => Boolean(await pythonForSdk()),
  clang: () => answers("clang++"),
  // libFuzzer and the sanitizers; named for the version of clang that Debian 12 has.
  "libclang-rt-14-dev": linksFuzzer,
  "clang-format": () => answers("clang-format"),
  cppcheck: () => answers("cppcheck"),
  "clang-tidy": () => answers("clang-tidy"),
  zsh: () => answers("zsh"),
  fish: () => answers("fish"),
};

/** @typedef {keyof typeof packages} SystemPackage */

/** @type {SystemPackage[]} */
const forAddon = ["g++", "make", "python3", "libpcre2-dev", "libsqlite3-dev"];
/** @type {SystemPackage[]} */
const forNative = ["g++", "cmake", "make", "libgtest-dev", "libpcre2-dev", "libsqlite3-dev"];

/** @type {SystemPackage[]} */
const forSanitizers = ["clang", "libclang-rt-14-dev"];
/** @type {SystemPackage[]} */
const forPython = ["python3-websockets", "python3-jsonschema", "python3-pytest"];
/** @type {SystemPackage[]} Whose completion is tested. */
const shells = ["zsh", "fish"];
/** @type {SystemPackage[]} */
const forBench = ["libbenchmark-dev", "valgrind"];

/** The system packages of each purpose. @type {Record<string, SystemPackage[]>} */
const needs = {
  demo: [...forAddon, "git", "bubblewrap"],
  native: [...forNative, ...forSanitizers],
  sanitize: [...forAddon, ...forNative, ...forSanitizers, "libuv1-dev"],
  fuzz: [...forNative, ...forSanitizers],
  js: [
    ...forAddon,
    ...forNative,
    "git",
    "bubblewrap",
    "libuv1-dev",
    "chromium",
    "valgrind",
    ...forPython,
    ...shells,
  ],
  python: [...forAddon, ...forPython],
  e2e: [...forAddon, "git", "bubblewrap", ...forPython],
  package: [...forAddon, "binutils", "git"],
  chaos: forAddon,
  faults: [...forAddon, "git", "bubblewrap"],
  lint: [...forNative, "git", "clang", "clang-format", "clang-tidy", "cppcheck"],
  format: ["git", "clang-format"],
  conformance: [],
  bench: [...forAddon, ...forNative, ...forBench, "git", "bubblewrap"],
  budget: [...forNative, ...forBench],
};
/** Parts with the same needs as a second part. @type {Record<string, string>} */
const sameNeeds = {
  "lint-all": "lint",
  long: "js",
  wall: "js",
  "e2e-all": "e2e",
  "bench-all": "bench",
  "fuzz-long": "fuzz",
  "chaos-long": "chaos",
};
const withoutAddon = ["native", "sanitize", "fuzz", "lint", "format", "conformance"];

const mayInstall = () => process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");

/** @param {SystemPackage[]} names */
async function aptInstall(names) {
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const install = ["install", "-y", "--no-install-recommends", ...names];
  if ((await attempt("apt-get", install, { env, quiet: true })).ok) return;
  await run("apt-get", ["update"], { env, quiet: true });
  await run("apt-get", install, { env, quiet: true });
}

/** @param {SystemPackage[]} wanted */
async function findMissing(wanted) {
  /** @type {SystemPackage[]} */
  const missing = [];
  for (const name of new Set(wanted)) if (!(await packages[name]())) missing.push(name);
  return missing;
}

/**
 * @param {string[]} purposes keys of `needs`
 * @throws {CommandFailed} naming the missing packages and the command that installs it
 */
export async function ensureSystemPackages(purposes = Object.keys(needs)) {
  const wanted = purposes.flatMap((purpose) => needs[purpose]);
  const missing = await findMissing(wanted);
  if (missing.length === 0) return;
  if (mayInstall()) {
    await step(`installing ${missing.join(", ")} with apt-get`, () => aptInstall(missing));
    const still = await findMissing(missing);
    if (still.length === 0) return;
    throw new CommandFailed(`installed, and still not found: ${still.join(", ")}`);
  }
  printLine(`Missing on this machine: ${missing.join(", ")}`);
  printLine(`Debian, Ubuntu: sudo apt-get update && sudo apt-get install -y ${missing.join(" ")}`);
  printLine("On other systems: the packages with the names that your system has.");
  throw new CommandFailed(`missing: ${missing.join(", ")}`);
}

/** @param {string} file */
const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));

/** @param {[string, string]} entry of package.json @returns {boolean} that node_modules does not have in that version */
function isMissing([name, version]) {
  const manifest = path.join(root, "node_modules", name, "package.json");
  return !existsSync(manifest) || readJson(manifest).version !== version;
}

/** @returns {{command: string, args: string[]}} the npm that runs this, or the npm on PATH */
export function npm() {
  const script = process.env.npm_execpath;
  if (script?.endsWith("npm-cli.js")) return { command: process.execPath, args: [script] };
  return { command: "npm", args: [] };
}

/** Of the packages for development, those of the demo: 260 MB and not 410. */
const FOR_DEMO = ["@github/copilot", "@xterm/headless", "node-pty"];

/** @param {boolean} forDemo only for the demo */
async function ensureNpmPackages(forDemo) {
  const { dependencies, devDependencies } = readJson(path.join(root, "package.json"));
  const isOfDemo = (/** @type {[string, string]} */ [name]) => FOR_DEMO.includes(name);
  const forDevelopment = /** @type {[string, string][]} */ (Object.entries(devDependencies));
  const others = forDevelopment.filter((entry) => !isOfDemo(entry));
  // With --omit=dev npm removes the others.
  const few = forDemo && others.every(isMissing);
  const wanted = few ? forDevelopment.filter(isOfDemo) : forDevelopment;
  const missing = [...Object.entries(dependencies), ...wanted].filter(isMissing);
  if (missing.length === 0) return;
  const { command, args } = npm();
  // A folder that is there is completed and not thrown away: a process may be using it.
  const whole = [existsSync(path.join(root, "node_modules")) ? "install" : "ci", "--include=dev"];
  const part = ["install", "--no-save", "--save-prod", "--omit=dev"];
  const how = few ? [...part, ...wanted.map(([name, version]) => `${name}@${version}`)] : whole;
  const names = missing.map(([name]) => name).join(", ");
  const env = { npm_config_nodedir: headerFolder() };
  const options = [...how, "--no-audit", "--no-fund"];
  const { ok, output } = await step(`npm ${how[0]}, for ${names}`, () =>
    attempt(command, [...args, ...options], { quiet: true, env }),
  );
  if (ok) return;
  const [, why] =
    /^npm (?:error|ERR!) (?!code |errno |syscall |path |command )(.+)$/m.exec(output) ?? [];
  throw new CommandFailed(`npm could not install ${names}: ${why}`);
}

/**
 * @param {object} options
 * @param {string | string[]} options.for keys of `needs`
 * @throws {CommandFailed}
 */
export async function setUp({ for: purpose }) {
  const purposes = [purpose].flat().map((name) => sameNeeds[name] ?? name);
  await ensureSystemPackages(purposes);
  await ensureNpmPackages(purposes.every((name) => name === "demo"));
  if (purposes.every((name) => withoutAddon.includes(name))) return;
  if (!(await buildAddon())) throw new CommandFailed("the addon could not be built");
}
