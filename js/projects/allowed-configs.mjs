// The configs of which the user has allowed entries, and whether each still says what was allowed.

import path from "node:path";
import { consentFile, entriesOf, isAllowed, list } from "./consent.mjs";
import { loadProjectConfig } from "./config.mjs";

/** @typedef {{path: string, at: string, changed: boolean, gone: boolean}} AllowedConfig `changed`: it has an entry that is not allowed */

/** @param {import("../base/paths.mjs").GatewayFiles} files @returns {AllowedConfig[]} one for each file */
export function allowedConfigs(files) {
  const store = consentFile(files);
  const { entries, files: whole } = list(store);
  const latest = new Map([...whole, ...entries].map(({ path: file, at }) => [file, at]));
  return [...latest].map(([file, at]) => {
    const config = loadProjectConfig(path.dirname(file), path.basename(file));
    const same =
      config?.result.ok === true &&
      entriesOf(config.result).every((entry) => isAllowed(store, config, entry));
    return { path: file, at, changed: !same, gone: config === undefined };
  });
}
