// Where the tap.config.json of a folder is, without what it takes to read one.

import fs from "node:fs";
import path from "node:path";

export const CONFIG_NAME = "tap.config.json";
/** The names that a project's config may have, the first that is there counts. */
export const CONFIG_NAMES = [CONFIG_NAME, path.join(".github", CONFIG_NAME)];

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

/** Whether there is something to read, or to say why it cannot be read. @param {string} file */
function canExist(file) {
  try {
    return fs.statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** The name of its config, from the folder. @param {string} folder @returns {string | undefined} undefined: it has none */
export const findConfigName = (folder) =>
  CONFIG_NAMES.find((name) => canExist(configFile(folder, name)));

/** @param {string} folder */
export const hasConfig = (folder) => findConfigName(folder) !== undefined;

/** The user's own config, with the same fields and a few more. @param {{home: string}} files of gatewayFiles() */
export const userConfigFile = ({ home }) => path.join(home, "tap", "config.json");

/** Where the user's consent is kept. @param {{folder: string}} files of gatewayFiles() */
export const consentFile = ({ folder }) => path.join(folder, "consent.json");

/**
 * Of a file that is looked at again and again. Some editors remove it before they write it: that it has gone counts
 * with the second look in a row.
 */
export class StampTracker {
  #last;
  #isAway = false;

  /** @param {string} first */
  constructor(first) {
    this.#last = first;
  }

  /** @param {string} stamp of now @returns {boolean} whether it is another file than at the last change */
  update(stamp) {
    const isAway = stamp === "" && this.#last !== "";
    const waits = isAway && !this.#isAway;
    this.#isAway = isAway;
    if (waits || stamp === this.#last) return false;
    this.#last = stamp;
    return true;
  }
}

/** What changes with every change of a file; empty where it cannot be seen. @param {string} file */
export function readStamp(file) {
  try {
    const { ino, ctimeMs, size } = fs.statSync(file);
    return `${ino} ${ctimeMs} ${size}`;
  } catch {
    return "";
  }
}
