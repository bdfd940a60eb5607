// Finds tap's SDK, so that this folder can be shared as it is, without paths of a machine: in TAP_FOLDER, in
// node_modules (`copilot-tap new` has put a link there), and where the extension is installed.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { COPILOT_HOME, TAP_FOLDER } = process.env;
const installed = path.join(COPILOT_HOME || path.join(homedir(), ".copilot"), "extensions", "tap");
const linked = path.join(import.meta.dirname, "node_modules", "copilot-tap");
const places = [TAP_FOLDER, linked, installed].filter(Boolean);
const found = places
  .flatMap((place) => [place, path.join(place, "current")])
  .find((folder) => existsSync(path.join(folder, "sdk", "node", "provider.mjs")));
if (!found) throw new Error(`tap is not in ${places.join(", ")}: install it, or set TAP_FOLDER`);

const load = (file) => import(pathToFileURL(path.join(found, file)).href);

/** As from "copilot-tap/provider". */
export const { provider, TapError, ToolError } = await load("sdk/node/provider.mjs");

/** As from "copilot-tap/testing". */
export const startTap = async (options) => (await load("js/develop/testing.mjs")).startTap(options);
