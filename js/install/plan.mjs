// What a release consists of: the files of this package that run, its packages, and the addon that loads here.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { dependencyFiles, ownFiles, packedManifest } from "./package-files.mjs";
import { InstallError } from "./install-error.mjs";

/** @typedef {import("./copy.mjs").PlannedFile} PlannedFile */

/** @param {string} root @returns {string} its addon: what was compiled there, else what it brought along */
function addonFile(root) {
  try {
    return createRequire(import.meta.url)("node-gyp-build").resolve(root);
  } catch {
    throw new InstallError(
      "NO_ADDON",
      `this tap (${root}) has no native addon for ${process.platform}-${process.arch}; nothing was changed`,
      `perhaps npm was told to run no scripts. This compiles it, or says what that needs:\n` +
        `node ${path.join(root, "js", "install", "installer.mjs")}`,
    );
  }
}

/** @param {string} to @param {string} content @returns {PlannedFile} */
const text = (to, content) => ({ to, content, size: Buffer.byteLength(content) });

/**
 * @param {string} root the package to install
 * @returns {PlannedFile[]} sorted
 * @throws {InstallError} where something is missing that a release needs
 */
export function releasePlan(root) {
  const addon = addonFile(root);
  const own = ownFiles(root).filter(({ to }) => to !== "package.json");
  const manifest = `${JSON.stringify(packedManifest(root), null, 2)}\n`;
  const relative = path.relative(root, addon).replaceAll("\\", "/");
  return [
    ...own,
    ...dependencyFiles(root),
    { to: relative, from: addon, size: fs.statSync(addon).size },
    text("package.json", manifest),
    // The CLI's own binary is no Node: this one can run the gateway.
    text("build/node-path.json", `${JSON.stringify({ node: process.execPath })}\n`),
  ].sort((a, b) => (a.to < b.to ? -1 : 1));
}

/** Loads what a session would load, in a process of its own. @param {string} folder @returns {string | undefined} why it does not run */
export function failureOf(folder) {
  const module = pathToFileURL(path.join(folder, "js", "session", "runtime.mjs")).href;
  const run = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", "await import(process.argv[1])", module],
    { encoding: "utf8", cwd: folder },
  );
  if (run.status === 0) return undefined;
  const said = /^(?:\w*Error|Error \[\w+\]): (.*)$/m.exec(run.stderr ?? "")?.[1];
  return said ?? `it ended with ${run.signal ?? run.status}`;
}
