// Finds the user's Copilot CLI if no session has reported it: the program on PATH, and its SDK.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { findOnPath } from "../lib/paths.mjs";
import { runProgram } from "./run.mjs";

/** The first start of a CLI unpacks it. */
const VERSION_MS = 20_000;

/** @param {NodeJS.ProcessEnv} env @returns {string | undefined} */
export function findCopilotProgram(env) {
  const names = process.platform === "win32" ? ["copilot.exe", "copilot.cmd"] : ["copilot"];
  return names.map((name) => findOnPath(name, env.PATH)).find(Boolean);
}

/** The folders into which a CLI may have unpacked itself, in the CLI's own order. @param {NodeJS.ProcessEnv} env @returns {string[]} */
function packageFolders(env) {
  const home = os.homedir();
  const cache = env.XDG_CACHE_HOME || path.join(home, ".cache");
  const usual =
    process.platform === "darwin"
      ? path.join(home, "Library", "Caches")
      : process.platform === "win32"
        ? env.LOCALAPPDATA || path.join(home, ".cache")
        : cache;
  const folders = [
    ...[env.COPILOT_PKG_CACHE_HOME, env.COPILOT_CACHE_HOME],
    ...[path.join(usual, "copilot"), path.join(cache, "copilot")],
    ...[env.COPILOT_HOME, path.join(home, ".copilot")],
  ];
  return [...new Set(folders.filter(Boolean))].map((folder) => path.join(String(folder), "pkg"));
}

/** @param {string} folder @returns {string[]} */
function listNames(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

/** @param {string} file @param {NodeJS.ProcessEnv} env @returns {Promise<string>} "" if it prints no version */
async function readCliVersion(file, env) {
  const quiet = { ...env, COPILOT_AUTO_UPDATE: "false", COPILOT_OFFLINE: "true" };
  const { code, stdout } = await runProgram(file, ["--version"], { env: quiet, ms: VERSION_MS });
  return code === 0 ? (/\d+\.\d+\.\d+(?:-[\w.]+)?/.exec(stdout)?.[0] ?? "") : "";
}

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<{cli: string, sdk: string} | undefined>} of the same version; undefined: not found
 */
export async function findCopilot(env = process.env) {
  const cli = findCopilotProgram(env);
  // A .cmd needs a shell.
  if (cli === undefined || cli.endsWith(".cmd")) return undefined;
  const version = await readCliVersion(cli, env);
  if (version === "") return undefined;
  const sdks = packageFolders(env).flatMap((folder) =>
    listNames(folder)
      .filter((name) => name.endsWith(`-${process.arch}`))
      .map((name) => path.join(folder, name, version, "copilot-sdk")),
  );
  const sdk = sdks.find((folder) => fs.existsSync(path.join(folder, "index.js")));
  return sdk === undefined ? undefined : { cli, sdk };
}
