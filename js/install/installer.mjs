// Sees to the native addon: run by `npm install`, and by the set-up of `npm test` and `npm run demo`.
// A package brings it along for the usual systems; else it is compiled, if a source is newer than what
// was built. Prints to stderr, since npm shows that.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";
import { headerFolder, nodeGyp } from "./node-gyp.mjs";
import { findPcre2, pcre2Hint } from "./pcre2.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const built = path.join(root, "build", "Release", "tap.node");
const units = path.join(root, "build", "units");
const nodeRecord = path.join(root, "build", "node-path.json");
const native = path.join(root, "native");
/** A package has its sources in here, which nobody needs where the prebuilt addon loads. */
const archive = path.join(root, "native-source.tar.br");

/** @param {string} message */
function say(message) {
  process.stderr.write(`tap: ${message}\n`);
}

/**
 * Everything the addon is made from.
 * @returns {string[]}
 */
function sources() {
  const below = fs
    .readdirSync(native, { recursive: true, encoding: "utf8" })
    .map((file) => path.join(native, file));
  const asked = ["pcre2.mjs", "addon-units.mjs", "lto.mjs"].map((file) =>
    path.join(root, "js", "install", file),
  );
  return [path.join(root, "binding.gyp"), ...asked, ...below];
}

/** @returns {boolean} */
function isUpToDate() {
  const stat = fs.statSync(built, { throwIfNoEntry: false });
  if (!stat || !fs.existsSync(native)) return Boolean(stat);
  return sources().every((file) => fs.statSync(file).mtimeMs <= stat.mtimeMs);
}

/**
 * In a process of its own, so that one that crashes takes nothing along.
 * @param {string} file @returns {string | undefined} why it does not load
 */
function loadFailure(file) {
  const run = spawnSync(process.execPath, ["-e", "require(process.argv[1])", file], {
    encoding: "utf8",
  });
  if (run.status === 0) return undefined;
  return (
    /^\w*Error: (.*)$/m.exec(run.stderr ?? "")?.[1] ?? `it ended with ${run.signal ?? run.status}`
  );
}

/**
 * A checkout has none: what was compiled here is what is to run here.
 * @returns {boolean} whether the package's prebuilt addon serves, so that nothing is to be compiled
 */
function hasPrebuilt() {
  if (fs.existsSync(built) || !fs.existsSync(path.join(root, "prebuilds"))) return false;
  const platform = `${process.platform}-${process.arch}`;
  /** @type {string} */
  let file;
  try {
    file = createRequire(import.meta.url)("node-gyp-build").resolve(root);
  } catch {
    say(`this package has no prebuilt addon for ${platform}`);
    return false;
  }
  const failure = loadFailure(file);
  if (failure === undefined) say(`the prebuilt addon for ${platform} loads: nothing is compiled`);
  else say(`the prebuilt addon for ${platform} does not load here: ${failure}`);
  return failure === undefined;
}

/** @returns {boolean} whether the sources are there */
function unpackSources() {
  if (fs.existsSync(native)) return true;
  /** @type {string} */
  let trouble;
  try {
    const input = zlib.brotliDecompressSync(fs.readFileSync(archive));
    const run = spawnSync("tar", ["-xf", "-"], { cwd: root, encoding: "utf8", input });
    if (run.status === 0) return true;
    trouble = run.error?.message ?? run.stderr.trim();
  } catch (error) {
    trouble = error instanceof Error ? error.message : String(error);
  }
  say(`${archive} could not be unpacked: ${trouble}`);
  return false;
}

/**
 * PCRE2 is the one library that is not here as source. Root on Debian or Ubuntu gets it installed,
 * anybody else is told how to.
 * @returns {boolean} whether it is there now
 */
function ensurePcre2() {
  if (findPcre2()) return true;
  if (process.getuid?.() === 0 && fs.existsSync("/usr/bin/apt-get")) {
    say("PCRE2 is missing: installing libpcre2-dev with apt-get …");
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const install = ["install", "-y", "--no-install-recommends", "libpcre2-dev"];
    for (const args of [install, ["update"], install]) {
      const run = spawnSync("apt-get", args, { env, encoding: "utf8" });
      if (findPcre2()) return true;
      if (run.status !== 0 && args !== install) process.stderr.write(run.stderr ?? "");
    }
    say("apt-get did not bring it.");
  }
  say(
    `the native addon needs PCRE2 (pcre2.h and its library), which is missing here: ${pcre2Hint()}`,
  );
  say("Then run `npm install` here again.");
  return false;
}

/** Says which of the units is being compiled, and when they are linked, as the build names both. */
function progress() {
  /** @type {Set<string>} */
  const begun = new Set();
  let links = false;
  return (/** @type {string} */ output) => {
    for (const [, unit] of output.matchAll(/\bunit(\d+)\.(?:o|obj|cc)\b/g)) {
      if (begun.has(unit)) continue;
      begun.add(unit);
      say(`compiling ${begun.size} of ${fs.readdirSync(units).length}`);
    }
    if (links || !output.includes("SOLINK")) return;
    links = true;
    say("linking");
  };
}

/** What another compiler has made cannot be linked with what this one makes. @param {string} output */
const isOfTwoCompilers = (output) => /LTO version|bytecode stream/.test(output);

/** @param {boolean} [again] @returns {Promise<boolean>} */
async function compile(again = false) {
  const { command, args } = nodeGyp();
  const headers = headerFolder();
  const options = ["configure", "build", "--jobs=2", ...(headers ? [`--nodedir=${headers}`] : [])];
  const shell = args.length === 0 && process.platform === "win32";
  const child = spawn(command, [...args, ...options], {
    ...{ cwd: root, shell },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const tell = progress();
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      output += text;
      tell(output);
    });
  }
  const status = await new Promise((resolve) => {
    child.once("error", (error) => resolve((output += `${error.message}\n`)));
    child.once("close", resolve);
  });
  if (status === 0) return true;
  if (!again && isOfTwoCompilers(output)) {
    say("another compiler has made a part of it: compiling all of it");
    fs.rmSync(path.join(root, "build", "Release", "obj.target"), { recursive: true, force: true });
    return compile(true);
  }
  say("the native addon could not be built:");
  process.stderr.write(output);
  say(
    "it needs a C++20 compiler, make and Python 3 (Debian, Ubuntu: apt-get install g++ make python3 libpcre2-dev; " +
      "macOS: xcode-select --install). Then run `npm install` here again.",
  );
  return false;
}

/** The extension runs in the CLI's own binary, which is not Node: the host will need to find one. */
function recordNode() {
  fs.mkdirSync(path.dirname(nodeRecord), { recursive: true });
  fs.writeFileSync(nodeRecord, `${JSON.stringify({ node: process.execPath })}\n`);
}

/** @returns {Promise<boolean>} whether the addon is there now */
export async function buildAddon() {
  if (!hasPrebuilt() && !isUpToDate()) {
    if (!unpackSources() || !ensurePcre2()) return false;
    const start = Date.now();
    say("compiling the native addon …");
    if (!(await compile())) return false;
    // A source that only changed its time stamp makes make do nothing: the result is current.
    fs.utimesSync(built, new Date(), new Date());
    say(`native addon built in ${Math.round((Date.now() - start) / 1000)} s`);
  }
  recordNode();
  return true;
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = (await buildAddon()) ? 0 : 1;
}
