// The configs that the user has allowed, and whether each still says what was allowed.

import path from "node:path";
import { consentFile, list } from "./consent.mjs";
import { loadProjectConfig } from "./config.mjs";

/** @typedef {{path: string, at: string, changed: boolean}} AllowedConfig `changed`: what it says now is not allowed */

/** @param {import("../base/paths.mjs").GatewayFiles} files @returns {AllowedConfig[]} one for each file */
export function allowedConfigs(files) {
  const grants = list(consentFile(files));
  const latest = new Map(grants.map(({ path: file, at }) => [file, at]));
  return [...latest].map(([file, at]) => {
    const digest = loadProjectConfig(path.dirname(file), path.basename(file))?.digest;
    const changed = !grants.some((grant) => grant.path === file && grant.digest === digest);
    return { path: file, at, changed };
  });
}
