// Recordings of tools: a head, then the output with its times, the recorded steps of the user, and exits.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Where the project of each recording is, when it is read. */
export const PROJECT = "/home/ada/shop";
const FOLDER = fileURLToPath(new URL("../recordings/tools/", import.meta.url));

/**
 * @typedef {{recording: 1, name: string, cmd: string, cwd: string, pty: boolean, version?: string}} Head
 * @typedef {{t: number, s?: "o" | "e", d?: string, step?: string, exit?: number | string}} RecordedEvent
 */

/** Those of this repository. */
export const listRecordings = () =>
  fs
    .readdirSync(FOLDER)
    .sort()
    .map((name) => path.join(FOLDER, name));

/** @param {string} file @returns {{head: Head, events: RecordedEvent[]}} */
export function readRecording(file) {
  const [head, ...events] = fs
    .readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line.replaceAll("<project>", PROJECT)));
  return { head, events };
}
