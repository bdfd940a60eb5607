// Loads the native addon on demand. If it is missing, the error has the next step. A compiled addon
// (build/) is preferred to the package's (prebuilds/), since a checkout has to run its own build.

import { createRequire } from "node:module";
import { errorMessage } from "./values.mjs";
import { programFolder } from "./paths.mjs";
import { isInstalled } from "./release-use.mjs";

const remedy = isInstalled
  ? "Install tap again on this machine, as docs/installing.md says."
  : `Run \`npm install --omit=dev\` in ${programFolder}.`;

/** @type {import("./addon.js").Addon | undefined} */
let loaded;

/** For code that also has to work without it. @returns {import("./addon.js").Addon} @throws {Error} if it does not load */
export function loadAddon() {
  try {
    return (loaded ??= createRequire(import.meta.url)("node-gyp-build")(programFolder));
  } catch (error) {
    const reason = errorMessage(error);
    throw new Error(`tap's native addon does not load. ${remedy} (${reason.trim()})`, {
      cause: error,
    });
  }
}
