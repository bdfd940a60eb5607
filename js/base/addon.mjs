// Loads the native addon, with an error that says what to do where it is not there.

import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** @returns {import("./addon.js").Addon} */
function load() {
  try {
    return createRequire(import.meta.url)(path.join(root, "build", "Release", "tap.node"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `tap's native addon does not load. Run \`npm install --omit=dev\` in ${root}. (${reason})`,
      { cause: error },
    );
  }
}

export const addon = load();
