// A provider of the tests' own, as an entry of a config.

import { fileURLToPath } from "node:url";

/** Its program. */
export const PROJECT_PROVIDER = fileURLToPath(
  new URL("fixtures/project-provider.mjs", import.meta.url),
);

/** @param {string} name @param {string[]} more arguments */
export const projectEntry = (name, ...more) => ({
  name,
  command: process.execPath,
  args: [PROJECT_PROVIDER, name, ...more],
});
