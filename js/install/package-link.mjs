// Makes the extension's folder a package under a name that no update changes: what `npm install` and
// `copilot-tap new` link to. It leads to the release that is installed.

import fs from "node:fs";
import path from "node:path";
import { writePrivate } from "../base/host-files.mjs";
import { programFolder } from "../base/paths.mjs";

const FILE = "package.json";

/** @param {any} target of an export @returns {any} */
function inCurrent(target) {
  if (typeof target === "string") return target.replace(/^\.\//, "./current/");
  return Object.fromEntries(
    Object.entries(target).map(([condition, inner]) => [condition, inCurrent(inner)]),
  );
}

const SIGN = "Leads to the tap that is installed here.";

/** @param {string} folder of the extension */
export function leadsToRelease(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, FILE), "utf8")).description === SIGN;
  } catch {
    return false;
  }
}

/** Somebody else's stays. @param {string} folder of the extension */
export function makePackage(folder) {
  const file = path.join(folder, FILE);
  const isThere = fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  if (isThere && !leadsToRelease(folder)) return;
  const { exports } = JSON.parse(fs.readFileSync(path.join(programFolder, FILE), "utf8"));
  const manifest = {
    name: "copilot-tap",
    version: "0.0.0",
    description: SIGN,
    private: true,
    type: "module",
    exports: inCurrent(exports),
  };
  writePrivate(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** @param {string} folder of the extension */
export function removePackage(folder) {
  if (leadsToRelease(folder)) fs.rmSync(path.join(folder, FILE), { force: true });
}
