// Which versions of Node.js run tap. Nothing in here is newer than ES modules: an old one must be able to say so.

/** As package.json says under `engines`. */
export const MIN_NODE = "20.19.0";

/** Whether this version of Node.js, with or without a "v", can run tap. @param {string} version */
export function isNodeNewEnough(version) {
  const [have, need] = [version, MIN_NODE].map((text) =>
    text.replace(/^v/, "").split(".").map(Number),
  );
  const at = need.findIndex((part, i) => part !== have[i]);
  return at < 0 || have[at] > need[at];
}

/**
 * @param {string} version @param {string} program
 * @returns {string} what the user is to do
 */
export const formatTooOld = (version, program) =>
  `tap needs Node.js ${MIN_NODE} or later, and this is ${version} (${program}). ` +
  "Install a later one (https://nodejs.org), or put it first on PATH.";
