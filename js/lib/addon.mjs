// Loads the native addon. If it is missing, the error says what to do. What was compiled here (build/) comes
// before what came with the package (prebuilds/): a checkout is to run what it has built.

import { createRequire } from "node:module";
import { errorMessage } from "./values.mjs";
import { programFolder } from "./paths.mjs";
import { isInstalled } from "./release-use.mjs";

const remedy = isInstalled
  ? "Install tap again on this machine, as docs/installing.md says."
  : `Run \`npm install --omit=dev\` in ${programFolder}.`;

/** @returns {import("./addon.js").Addon} */
function load() {
  try {
    return createRequire(import.meta.url)("node-gyp-build")(programFolder);
  } catch (error) {
    const reason = errorMessage(error);
    throw new Error(`tap's native addon does not load. ${remedy} (${reason.trim()})`, {
      cause: error,
    });
  }
}

export const addon = load();
