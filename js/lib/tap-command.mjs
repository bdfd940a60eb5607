// The copilot-tap command as the user of this machine would type it, for lines to copy.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { copilotHome, programFolder } from "./paths.mjs";
import { quoteWord, visible } from "./visible.mjs";
import { isInstalled } from "./release-use.mjs";

const NAME = "copilot-tap";
const ENTRY = path.join("js", "cli", "cli.mjs");

/** @param {string} file */
function resolveRealPath(file) {
  try {
    return fs.realpathSync(file);
  } catch {
    return undefined;
  }
}

/** The version of tap in a folder. @param {string} folder @returns {string | undefined} */
function readTapVersion(folder) {
  try {
    const manifest = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
    return manifest.name === NAME ? String(manifest.version) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a folder contains this tap: itself, or the package of the same version that it was installed from.
 * @param {string} folder
 */
function isThisTap(folder) {
  if (resolveRealPath(folder) === programFolder) return true;
  const version = readTapVersion(folder);
  return version !== undefined && version === readTapVersion(programFolder);
}

/** Whether `copilot-tap` in a shell starts this tap. Only the first program on PATH counts. @param {NodeJS.ProcessEnv} env */
function isOnPath(env) {
  const names = process.platform === "win32" ? [`${NAME}.cmd`] : [NAME];
  const [first] = (env.PATH ?? "")
    .split(path.delimiter)
    .filter(Boolean)
    .flatMap((folder) => names.map((name) => path.resolve(folder, name)))
    .filter((file) => fs.statSync(file, { throwIfNoEntry: false })?.isFile());
  if (first === undefined) return false;
  const real = resolveRealPath(first) ?? first;
  const package_ = path.dirname(path.dirname(path.dirname(real)));
  const installed = path.join(path.dirname(first), "node_modules", NAME); // where npm on Windows puts it
  return real.endsWith(ENTRY) ? isThisTap(package_) : isThisTap(installed);
}

/** A file that starts this tap, with a path that does not change with updates. @param {NodeJS.ProcessEnv} env */
function findStableEntry(env) {
  const linked = path.join(copilotHome(env), "extensions", "tap");
  const folders = isInstalled
    ? [path.join(programFolder, "..", "..", "current")]
    : [linked, programFolder];
  const own = resolveRealPath(path.join(programFolder, ENTRY));
  return folders
    .map((folder) => path.join(folder, ENTRY))
    .find((file) => resolveRealPath(file) === own);
}

/** A word for the shell, with ~ for the home folder if the rest needs no quotes. @param {string} file */
function quotePath(file) {
  const home = os.homedir();
  const rest = file.slice(home.length);
  const short =
    process.platform !== "win32" &&
    file.startsWith(`${home}${path.sep}`) &&
    quoteWord(rest) === rest;
  return short ? `~${rest}` : quoteWord(file);
}

/**
 * A line for a terminal that runs a command of this tap. It names the home if that is not the default,
 * since the terminal's environment may differ.
 * @param {string[]} words the command and its arguments
 * @param {NodeJS.ProcessEnv} [env] of this process
 */
export function tapCommand(words, env = process.env) {
  const entry = isOnPath(env) ? undefined : findStableEntry(env);
  const home = copilotHome(env);
  const where = home === copilotHome({}) ? [] : ["--home", home];
  const start = entry === undefined ? [NAME] : ["node", quotePath(entry)];
  return visible([...start, ...[...words, ...where].map((word) => quoteWord(word))].join(" "));
}
