// Loads the native addon, when it is asked for. If it is missing, the error says what to do. What was compiled here
// (build/) comes before what came with the package (prebuilds/): a checkout is to run what it has built.

import { createRequire } from "node:module";
import { errorMessage } from "./values.mjs";
import { programFolder } from "./paths.mjs";
import { isInstalled } from "./release-use.mjs";

const remedy = isInstalled
  ? "Install tap again on this machine, as docs/installing.md says."
  : `Run \`npm install --omit=dev\` in ${programFolder}.`;

/** @type {import("./addon.js").Addon | undefined} */
let loaded;

/** For what has to work without it, too. @returns {import("./addon.js").Addon} @throws {Error} it does not load */
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
