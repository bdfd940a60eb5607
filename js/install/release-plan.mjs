// The content of a release: the files of this package that run, its packages, and the addon that loads here.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { quoteWord } from "../lib/visible.mjs";
import { dependencyFiles, ownFiles, packedManifest } from "./package-files.mjs";
import { InstallError } from "./install-error.mjs";

/** @typedef {import("./copy.mjs").PlannedFile} PlannedFile */

/** @param {string} root @param {string} problem with its addon @returns {InstallError} */
const noAddon = (root, problem) =>
  new InstallError(
    "NO_ADDON",
    `this tap (${root}) ${problem}; no files were changed`,
    `perhaps npm ran no scripts. This compiles it, or lists missing tools:\n` +
      `node ${quoteWord(path.join(root, "js", "install", "installer.mjs"))}`,
  );

/**
 * The addon that was compiled there, or the prebuilt addon of the package.
 * @param {string} root @returns {PlannedFile}
 */
function addonFile(root) {
  let from;
  try {
    from = createRequire(import.meta.url)("node-gyp-build").resolve(root);
  } catch {
    throw noAddon(root, `has no native addon for ${process.platform}-${process.arch}`);
  }
  // It also looks next to Node itself and in variables; a copy of such a file would be outside of the release.
  const to = path.relative(root, from).replaceAll("\\", "/");
  if (to.startsWith("..") || path.isAbsolute(to)) {
    throw noAddon(root, `has no native addon of its own: it would load ${from}`);
  }
  return { to, from, size: fs.statSync(from).size };
}

/** @param {string} to @param {string} content @returns {PlannedFile} */
const text = (to, content) => ({ to, content, size: Buffer.byteLength(content) });

/**
 * @param {string} root the package to install
 * @returns {PlannedFile[]} sorted
 * @throws {InstallError} if a part of a release is missing
 */
export function releasePlan(root) {
  const own = ownFiles(root).filter(({ to }) => to !== "package.json");
  const manifest = `${JSON.stringify(packedManifest(root), null, 2)}\n`;
  return [
    ...own,
    ...dependencyFiles(root),
    addonFile(root),
    text("package.json", manifest),
    // The CLI's own binary is not Node. This Node can run the gateway.
    text("build/node-path.json", `${JSON.stringify({ node: process.execPath })}\n`),
  ].sort((a, b) => (a.to < b.to ? -1 : 1));
}

const TO_LOAD_MS = 30_000;

/**
 * Loads the modules of a session, in a separate process.
 * @param {string} folder @returns {string | undefined} why it does not run
 */
export function findLoadFailure(folder, timeoutMs = TO_LOAD_MS) {
  const module = pathToFileURL(path.join(folder, "js", "extension", "runtime.mjs")).href;
  const run = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", "await import(process.argv[1])", module],
    { encoding: "utf8", cwd: folder, timeout: timeoutMs, killSignal: "SIGKILL" },
  );
  if (run.status === 0) return undefined;
  const { code } = /** @type {NodeJS.ErrnoException} */ (run.error ?? {});
  if (code === "ETIMEDOUT") return `it was not loaded within ${timeoutMs / 1000} s`;
  const message = /^(?:\w*Error|Error \[\w+\]): (.*)$/m.exec(run.stderr ?? "")?.[1];
  return message ?? `it ended with ${code ?? run.signal ?? run.status}`;
}
