// What the user's own config says. The code that reads it is loaded only where there is such a file.

import fs from "node:fs";
import { userConfigFile } from "./file.mjs";

/** @typedef {import("./load.mjs").Config & {problems: string[], isUnread?: boolean}} UserConfig */

/** That of a user who has no config. @type {UserConfig} */
export const NO_CONFIG = {
  providers: [],
  declarative: [],
  toolGroups: [],
  features: {},
  emitters: [],
  watch: [],
  tools: [],
  streams: [],
  problems: [],
};

/**
 * @param {{home: string}} files of gatewayFiles()
 * @returns {Promise<UserConfig>} that of no file, where there is none or it has mistakes; `problems` says which
 */
export async function readUserConfig(files) {
  const file = userConfigFile(files);
  if (!fs.existsSync(file)) return NO_CONFIG;
  const { loadUserConfig } = await import("./load.mjs");
  const loaded = loadUserConfig(file);
  if (!loaded) return NO_CONFIG;
  const { result } = loaded;
  if (result.ok === false) {
    const problems = result.problems.map(({ text }) => text);
    return { ...NO_CONFIG, problems, ...(result.isUnread && { isUnread: true }) };
  }
  return { ...result, problems: [] };
}

/**
 * The user's config has the last word on each entry, whoever's it is.
 * @param {string} id @param {Record<string, boolean>} features of the config that has the entry
 * @param {Record<string, boolean>} switches the `features` of the user's config
 */
export const isOn = (id, features, switches) => switches[id] ?? features[id] ?? true;
