// The extension.mjs that `tap install` writes: it names the release that runs. Renamed into place, it is
// the one step that makes another release the installed one.

const SIGN = "// Written by `tap install`; `tap uninstall` removes it.";
const ID = /^\d[\w.+-]{0,80}-[0-9a-f]{12}(\.\d+)?$/;

/**
 * @param {string} version @param {string} digest hexadecimal
 * @param {number} again how often there is a damaged one of that digest, which is not touched: it may be in use
 */
export const releaseId = (version, digest, again) =>
  `${version}-${digest.slice(0, 12)}${again === 0 ? "" : `.${again}`}`;

/** @param {string} id @returns {string} the version in it */
export const versionOf = (id) => id.slice(0, id.lastIndexOf("-"));

/** @param {string} id */
export const isReleaseId = (id) => ID.test(id);

/** The module of a release that an entry starts. */
const START = "js/extension/start.mjs";
/** The same in older releases: their entries are ours, too. */
const OLDER_STARTS = ["js/session/start.mjs"];

/** @param {string} id @param {string} [start] */
export const entryText = (id, start = START) => `${SIGN}
import { joinSession } from "@github/copilot-sdk/extension";
import { start } from "./releases/${id}/${start}";

await start(joinSession);
`;

/** The release that an entry names. @param {string} text @returns {string | undefined} if the entry is not one of ours */
export function releaseNamedBy(text) {
  const id = /^import .* from "\.\/releases\/([^/"]+)\//m.exec(text)?.[1];
  if (id === undefined || !isReleaseId(id)) return undefined;
  return [START, ...OLDER_STARTS].some((start) => text === entryText(id, start)) ? id : undefined;
}
