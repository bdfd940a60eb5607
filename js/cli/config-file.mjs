// The tap.config.json that a command line means.

import fs from "node:fs";
import path from "node:path";
import { CONFIG_NAME, findConfigName } from "../config/file.mjs";
import { loadProjectConfig } from "../config/load.mjs";
import { Failure, usage } from "./exit.mjs";

/** The argument of commands about a config. @type {import("./options.mjs").Option} */
export const PATH_ARGUMENT = {
  describe: `a ${CONFIG_NAME} or its folder; else that of this folder`,
  default: ".",
};

/** @param {string} given @returns {{folder: string, name: string}} */
export function locateConfig(given) {
  const target = path.resolve(given);
  const isFolder = fs.statSync(target, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (isFolder) return { folder: target, name: findConfigName(target) ?? CONFIG_NAME };
  if (path.basename(target) !== CONFIG_NAME) {
    throw usage(`${target} is not a ${CONFIG_NAME}`, "name that file, or the folder that it is in");
  }
  const folder = path.dirname(target);
  // A session finds that one from the folder above.
  return path.basename(folder) === ".github"
    ? { folder: path.dirname(folder), name: path.join(".github", CONFIG_NAME) }
    : { folder, name: CONFIG_NAME };
}

/** @param {string} given */
export function loadConfig(given) {
  const { folder, name } = locateConfig(given);
  const config = loadProjectConfig(folder, name);
  if (config) return config;
  throw new Failure(`there is no ${path.join(folder, name)}`, {
    advice: "name the folder that has one",
    code: "NOT_FOUND",
  });
}
