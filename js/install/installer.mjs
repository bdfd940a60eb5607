// Provides the native addon: run by `npm install`, and by the set-up of `npm test` and `npm run demo`.
// A package contains it for the usual systems. Otherwise it is compiled, if a source is newer than the
// build. Prints to stderr, since npm shows that.

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
/** The sources in a package, needed only if the prebuilt addon does not load. */
const archive = path.join(root, "native-source.tar.br");

/** @param {string} message */
function print(message) {
  process.stderr.write(`tap: ${message}\n`);
}

/**
 * All files that the addon is built from.
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
 * Loads it in a separate process, since it may crash.
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
 * A checkout has no prebuilt addon: it runs the addon that was compiled there.
 * @returns {boolean} whether the package's prebuilt addon works, so that there is no need to compile
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
  if (failure === undefined)
    print(`the prebuilt addon for ${platform} works, so no compiler is needed`);
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
 * Installs packages of the system only if the user has requested it.
 * @returns {boolean} whether all tools for compiling are installed
 */
function ensureTools() {
  let missing = missingTools();
  if (missing.length > 0 && canInstall() && process.env.TAP_INSTALL_DEPS === "1")
    missing = aptInstall(missing, print);
  if (missing.length === 0) return true;
  print("the native addon has to be compiled, and this machine lacks:");
  for (const { label } of missing) print(`  ${label}`);
  print("Install these, then run `npm install` here again:");
  for (const command of commandsFor(missing)) print(`  ${command}`);
  if (canInstall())
    print("With TAP_INSTALL_DEPS=1 in its environment `npm install` runs this command.");
  if (!fs.existsSync(path.join(root, "prebuilds")))
    print("A release needs no compiler: see docs/installing.md.");
  return false;
}

/** The CLI's own binary, which runs the extension, is not Node. The host will need this path. */
function recordNode() {
  fs.mkdirSync(path.dirname(nodeRecord), { recursive: true });
  fs.writeFileSync(nodeRecord, `${JSON.stringify({ node: process.execPath })}\n`);
}

/** @returns {Promise<boolean>} whether the addon exists */
export async function buildAddon() {
  if (!hasPrebuilt() && !isUpToDate()) {
    if (!unpackSources() || !ensureTools()) return false;
    const start = Date.now();
    print("compiling the native addon (1 to 3 minutes on two cores) …");
    if (!compile(root, print)) return false;
    // If only a time stamp of a source changed, make does not write the result.
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
