// Decisions about the findings of a file: a JSON file next to it, for people and their version control.

import { readFile, rename, stat, writeFile } from "node:fs/promises";
import path from "node:path";

export const STATES = ["false-positive", "fixed", "accepted"];
const MAX_BYTES = 5_000_000;
const VERSION = 1;

/** @param {string} file in SARIF */
export const triageFile = (file) =>
  path.join(
    path.dirname(file),
    `${path.basename(file).replace(/\.(sarif|json)$/i, "")}.triage.json`,
  );

const isEntry = (one) =>
  typeof one === "object" &&
  one !== null &&
  STATES.includes(one.state) &&
  typeof one.reason === "string";

/** Only data that we have written. */
const bounded = ({ state, reason, at, rule, place }) => ({
  ...{ state, reason: reason.slice(0, 500), at: String(at).slice(0, 40) },
  ...{ rule: String(rule).slice(0, 200), place: String(place).slice(0, 500) },
});

/**
 * @param {string} file in SARIF
 * @returns {Promise<{known: string[] | undefined, marks: Map<string, any>}>} known: ids of the findings of the last file
 * @throws where there is a file that is not ours: it is left as it is
 */
export async function readTriage(file) {
  const name = triageFile(file);
  const size = await stat(name).then(
    (one) => one.size,
    (error) => {
      if (error.code === "ENOENT") return -1;
      throw error;
    },
  );
  if (size < 0) return { known: undefined, marks: new Map() };
  if (size > MAX_BYTES) throw new Error(`${name} has ${size} bytes: at most ${MAX_BYTES} are read`);
  let read;
  try {
    read = JSON.parse(await readFile(name, "utf8"));
  } catch (error) {
    throw new Error(`${name} is not JSON: repair it, or move it away: ${error.message}`, {
      cause: error,
    });
  }
  if (read?.version !== VERSION || typeof read.marks !== "object" || read.marks === null) {
    throw new Error(`${name} is not a triage file of version ${VERSION}: move it away`);
  }
  const marks = Object.entries(read.marks)
    .filter(([, one]) => isEntry(one))
    .map(([id, one]) => /** @type {const} */ ([id, bounded(one)]));
  const known = Array.isArray(read.known)
    ? read.known.filter((id) => typeof id === "string")
    : undefined;
  return { known, marks: new Map(marks) };
}

/** Replaces the former file at once. @param {string} file in SARIF @param {{known: string[] | undefined, marks: Map<string, any>}} triage */
export async function writeTriage(file, { known = [], marks }) {
  const name = triageFile(file);
  const sorted = Object.fromEntries([...marks].sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = `${JSON.stringify({ version: VERSION, marks: sorted, known: known.toSorted() }, null, 2)}\n`;
  const draft = `${name}.${process.pid}.tmp`;
  await writeFile(draft, text, { flag: "wx" });
  await rename(draft, name);
}
