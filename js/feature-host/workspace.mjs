// Inspects files of a session's workspace for features: whether a file exists, its digest, and whether a pattern
// matches. A feature gets these answers, never the content. Links are resolved first, and a file outside of the
// workspace is not opened.

import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import { constants } from "node:fs";
import path from "node:path";
import { isInside } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { matchAll, MAX_SUBJECT, patternProblem } from "../lib/timed-patterns.mjs";

/** Per request. */
export const MAX_FILES = 20;
/** A larger file is not read. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const MAX_PATH = 1024;
/** For all git commands of a request. */
const TREE_MS = 5000;

/**
 * @typedef {{file: string, match?: string}} FileRequest `file`: relative to the workspace's folder
 *
 * @typedef {object} FileStatus
 * @property {boolean} exists
 * @property {number} [bytes]
 * @property {string} [sha256]
 * @property {"yes" | "no" | "late"} [matched] if a pattern was given
 * @property {boolean} [cut] the pattern was matched only with the start
 * @property {string} [problem] why the file was not read, or not completely
 *
 * @typedef {FileStatus & {text?: string}} FileContent
 *
 * @typedef {object} Tree the checkout of a folder
 * @property {string} [head] the commit; "" without a commit
 * @property {boolean} [clean] no file differs from it
 * @property {string} [changes] a digest of the changed files: names, sizes and times
 * @property {string} [code] why it is unknown, such as NOT_A_REPOSITORY or TIMEOUT
 */

/** @param {fs.FileHandle} handle @param {boolean} wantsText @returns {Promise<{sha256: string, text: string, bytes: number}>} */
async function hashFile(handle, wantsText) {
  const hash = createHash("sha256");
  const head = [];
  let bytes = 0;
  for (;;) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    if (wantsText && bytes < MAX_SUBJECT) head.push(chunk.subarray(0, MAX_SUBJECT - bytes));
    bytes += bytesRead;
    if (bytes > MAX_FILE_BYTES) throw new Error("it grows while it is read");
  }
  return { sha256: hash.digest("hex"), text: Buffer.concat(head).toString("utf8"), bytes };
}

/**
 * Whether the path still leads to the opened file: its folders may have been replaced.
 * @param {string} real @param {import("node:fs").Stats} opened
 */
async function isUnchanged(real, opened) {
  if ((await fs.realpath(real)) !== real) return false;
  const { dev, ino } = await fs.stat(real);
  return dev === opened.dev && ino === opened.ino;
}

/** @param {string} root @param {FileRequest} wanted @returns {Promise<FileContent>} */
async function readWorkspaceFile(root, { file, match }) {
  const asked = path.resolve(root, file);
  const real = await fs.realpath(asked);
  if (real === root || !isInside(real, root))
    return { exists: false, problem: "it is outside of the workspace" };
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const handle = await fs.open(real, flags);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) return { exists: false, problem: "it is not a regular file" };
    if (!(await isUnchanged(real, stat))) return { exists: false, problem: "it changed meanwhile" };
    const seen = { exists: true, bytes: stat.size };
    if (stat.size > MAX_FILE_BYTES) {
      const most = MAX_FILE_BYTES / 1024 / 1024;
      return { ...seen, problem: `it has more than ${most} MB and was not read` };
    }
    const { sha256, text, bytes } = await hashFile(handle, match !== undefined);
    const cut = match !== undefined && bytes > MAX_SUBJECT;
    return { ...seen, bytes, sha256, text, ...(cut && { cut }) };
  } finally {
    await handle.close();
  }
}

/** @param {any} error @returns {FileContent} */
function toFailedStatus(error) {
  const gone = ["ENOENT", "ENOTDIR"].includes(error?.code);
  return { exists: false, ...(!gone && { problem: error?.code ?? errorMessage(error) }) };
}

/** @param {any} wanted @returns {FileRequest} */
function checkRequest(wanted) {
  const { file, match } = wanted ?? {};
  const isPath = typeof file === "string" && file !== "" && !file.includes("\0");
  if (!isPath || file.length > MAX_PATH) throw new RangeError("file: expected a path");
  if (match === undefined) return { file };
  const problem = typeof match === "string" ? patternProblem(match) : "expected a text";
  if (problem) throw new RangeError(`match: ${problem}`);
  return { file, match };
}

/**
 * @param {(session: string) => Promise<string>} findFolder the folder of a session; rejects if there is no such session
 * @param {{session: string, files: FileRequest[]}} asked
 * @returns {Promise<FileStatus[]>} in the order of the files
 */
export async function inspectFiles(findFolder, { session, files }) {
  if (!Array.isArray(files) || files.length > MAX_FILES) {
    throw new RangeError(`files: expected at most ${MAX_FILES}`);
  }
  const wanted = files.map(checkRequest);
  const root = await fs.realpath(await findFolder(session));
  /** @type {FileStatus[]} */
  const looks = [];
  // In sequence, to have a single text in memory.
  for (const { file, match } of wanted) {
    const { text, ...look } = await readWorkspaceFile(root, { file, match }).catch(toFailedStatus);
    const [matched] =
      match !== undefined && text !== undefined ? await matchAll([{ pattern: match, text }]) : [];
    looks.push({ ...look, ...(matched && { matched }) });
  }
  return looks;
}

/** @param {Map<string, string>} changes by path */
const hashChanges = (changes) =>
  createHash("sha256")
    .update(JSON.stringify([...changes].sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex");

/** @param {Promise<string>} found a folder in the checkout @param {NodeJS.ProcessEnv} env @param {AbortSignal} signal @returns {Promise<Tree>} */
async function readTree(found, env, signal) {
  const [{ openRepository }, { fingerprintCheckout }] = await Promise.all([
    import("../git/repository.mjs"),
    import("../git/checkouts.mjs"),
  ]);
  const repository = await openRepository(await found, { env });
  const args = ["rev-parse", "--verify", "--quiet", "HEAD"];
  const { stdout } = await repository.query(args, { signal, reading: true, codes: [0, 1] });
  const changes = await fingerprintCheckout(repository, signal, "all");
  return { head: stdout.trim(), clean: changes.size === 0, changes: hashChanges(changes) };
}

/**
 * Never rejects.
 * @param {(session: string) => Promise<string>} findFolder as above
 * @param {{session: string}} asked @param {NodeJS.ProcessEnv} env of this process @param {number} [timeoutMs]
 * @returns {Promise<Tree>}
 */
export async function inspectTree(findFolder, { session }, env, timeoutMs = TREE_MS) {
  const late = new AbortController();
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<Tree>} */
  const timeout = new Promise((resolve) => {
    timer = setTimeout(() => {
      late.abort();
      resolve({ code: "TIMEOUT" });
    }, timeoutMs);
  });
  const tree = readTree(findFolder(session), env, late.signal).catch((error) => ({
    code: typeof error?.code === "string" ? error.code : "INTERNAL",
  }));
  const first = await Promise.race([tree, timeout]);
  clearTimeout(timer);
  return first;
}

/**
 * The scripts of the package.json of a folder in a workspace.
 * @param {{folder: string, cwd?: string}} asked `folder`: the workspace, absolute
 * @returns {Promise<{folder: string, scripts: Record<string, string>}>} `folder`: the place of `cwd`; no scripts if
 *   the file is missing or invalid
 */
export async function readScripts({ folder, cwd = "." }) {
  const place = path.resolve(folder, cwd);
  try {
    const root = await fs.realpath(folder);
    const file = path.join(path.relative(folder, place), "package.json");
    const { text = "" } = await readWorkspaceFile(root, { file, match: "" });
    const entries = Object.entries(JSON.parse(text).scripts ?? {});
    const scripts = entries.filter(([, command]) => typeof command === "string");
    return { folder: place, scripts: Object.fromEntries(scripts) };
  } catch {
    return { folder: place, scripts: {} };
  }
}
