// Where the tap.config.json of a folder is, without what it takes to read one.

import fs from "node:fs";
import path from "node:path";

export const CONFIG_NAME = "tap.config.json";

/**
 * The folder's real path, so that a link to it is the same workspace; the file itself stays under
 * its own name, so that a link to an allowed config elsewhere is not allowed here.
 * @param {string} folder @param {string} name
 */
export function configFile(folder, name = CONFIG_NAME) {
  try {
    return path.join(fs.realpathSync(folder), name);
  } catch {
    return path.join(path.resolve(folder), name);
  }
}

/** Whether there is something to read, or to say why it cannot be read. @param {string} folder */
export function mayHaveConfig(folder) {
  try {
    return fs.statSync(configFile(folder), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** The user's own config, with the same fields and a few more. @param {{home: string}} files of gatewayFiles() */
export const userConfigFile = ({ home }) => path.join(home, "tap", "config.json");
