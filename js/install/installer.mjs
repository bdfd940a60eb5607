// Sees to the native addon: run by `npm install`, and by the set-up of `npm test` and `npm run demo`.
// A package brings it along for the usual systems; else it is compiled, if a source is newer than what
// was built. Prints to stderr, since npm shows that.

import { errorMessage } from "../lib/values.mjs";
import { copilotHome } from "../lib/paths.mjs";
import "../lib/require-node.mjs";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";
import { aptInstall, canInstall, commandsFor, missingTools } from "./build-tools.mjs";
import { compile } from "./node-gyp.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const built = path.join(root, "build", "Release", "tap.node");
const nodeRecord = path.join(root, "build", "node-path.json");
const native = path.join(root, "native");
/** A package has its sources in here, which nobody needs where the prebuilt addon loads. */
const archive = path.join(root, "native-source.tar.br");

/** @param {string} message */
function print(message) {
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
  const asked = ["libraries.mjs", "addon-units.mjs"].map((file) =>
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
 * A checkout has none: it runs the addon that was compiled here.
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
    print(`this package has no prebuilt addon for ${platform}`);
    return false;
  }
  const failure = loadFailure(file);
  if (failure === undefined) print(`the prebuilt addon for ${platform} loads: nothing is compiled`);
  else print(`the prebuilt addon for ${platform} does not load here: ${failure}`);
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
    trouble = errorMessage(error);
  }
  print(`${archive} could not be unpacked: ${trouble}`);
  return false;
}

/**
 * A system's packages are installed only where the user has asked for that.
 * @returns {boolean} whether all that compiling needs is there
 */
function ensureTools() {
  let missing = missingTools();
  if (missing.length > 0 && canInstall() && process.env.TAP_INSTALL_DEPS === "1")
    missing = aptInstall(missing, print);
  if (missing.length === 0) return true;
  print("the native addon has to be compiled, and this machine lacks:");
  for (const { what } of missing) print(`  ${what}`);
  print("Install that, then run `npm install` here again:");
  for (const command of commandsFor(missing)) print(`  ${command}`);
  if (canInstall())
    print("With TAP_INSTALL_DEPS=1 in its environment `npm install` runs this command.");
  if (!fs.existsSync(path.join(root, "prebuilds")))
    print("A release needs no compiler: see docs/installing.md.");
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
    if (!unpackSources() || !ensureTools()) return false;
    const start = Date.now();
    print("compiling the native addon (one to three minutes on two cores) …");
    if (!compile(root, print)) return false;
    // A source that only changed its time stamp makes make do nothing: the result is current.
    fs.utimesSync(built, new Date(), new Date());
    print(`native addon built in ${Math.round((Date.now() - start) / 1000)} s`);
  }
  recordNode();
  return true;
}

/** @param {string} file @returns {string | undefined} without links, if it is there */
function realPath(file) {
  return fs.existsSync(file) ? fs.realpathSync(file) : undefined;
}

/**
 * The next steps, which npm itself does not print.
 * @param {NodeJS.ProcessEnv} env @param {string} [folder] of this tap
 */
export function nextSteps(env, folder = root) {
  if (env.npm_config_global === "true") return ["next: copilot-tap install"];
  const place = path.join(copilotHome(env), "extensions", "tap");
  const isProjects = path.resolve(folder, "../..").endsWith(`${path.sep}.github`);
  const steps = [
    "next: start `copilot --experimental` and type /tap. A provider of your own:",
    `  node ${path.join(folder, "js", "cli", "cli.mjs")} new node die`,
  ];
  if (isProjects || realPath(place) === realPath(folder)) return steps;
  return [
    `to use this tap in the CLI, make ${place} a symbolic link to ${folder} (its tests do not need that)`,
    ...steps,
  ];
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const ready = await buildAddon();
  if (ready && process.env.npm_lifecycle_event === "install") nextSteps(process.env).forEach(print);
  process.exitCode = ready ? 0 : 1;
}
