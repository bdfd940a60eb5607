// Compiles the addon for this platform with prebuildify from the sources of the package, in a folder without parts
// of earlier builds.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import prebuildify from "prebuildify";
import { headerFolder, nodeGyp } from "../js/install/node-gyp.mjs";
import { copyAmalgamation } from "./sqlite.mjs";
import { copySources, execute } from "./stage.mjs";

/** Strips symbols as prebuildify does. @param {string} file */
export function stripAddon(file) {
  if (process.platform === "linux") execute("strip", ["--strip-all", file], ".");
  if (process.platform === "darwin") execute("strip", ["-Sx", file], ".");
}

/** @param {string} root @param {string} file the result */
export async function compileAddon(root, file) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tap-prebuild-"));
  try {
    copySources(root, folder);
    fs.cpSync(path.join(root, "js", "install"), path.join(folder, "js", "install"), {
      recursive: true,
    });
    fs.cpSync(path.join(root, "package.json"), path.join(folder, "package.json"));
    copyAmalgamation(root, path.join(folder, "sqlite"));
    process.env.TAP_SQLITE_SOURCE = "sqlite";
    process.env.TAP_ADDON_LTO = "1";
    const headers = headerFolder();
    if (headers) process.env.npm_config_nodedir = headers; // otherwise node-gyp downloads them
    await promisify(prebuildify)({
      cwd: folder,
      targets: [`node@${process.version}`],
      napi: true,
      strip: true,
      name: "copilot-tap",
      // On Windows prebuildify starts node-gyp.cmd, which npm has on PATH for its scripts.
      ...(process.platform !== "win32" && { nodeGyp: nodeGyp().args[0] ?? nodeGyp().command }),
    });
    const [platform] = fs.readdirSync(path.join(folder, "prebuilds"));
    fs.copyFileSync(path.join(folder, "prebuilds", platform, "copilot-tap.node"), file);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
