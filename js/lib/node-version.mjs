// The versions of Node.js that run tap. This module has no syntax newer than ES modules, so that an old Node.js can run
// it.

/** As in `engines` of package.json. */
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
 * @returns {string} the next step for the user
 */
export const formatTooOld = (version, program) =>
  `tap needs Node.js ${MIN_NODE} or later, and this is ${version} (${program}). ` +
  "Install a later version (https://nodejs.org), or put it first on PATH.";
