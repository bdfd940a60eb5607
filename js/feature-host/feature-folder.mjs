// A feature's own folder: JSON documents with a schema version, for this user only, written atomically.

import fs from "node:fs";
import path from "node:path";
import { isOurFile, makePrivateFolder, writePrivate } from "../lib/host-files.mjs";

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/;
const MAX_BYTES = 4 * 1024 * 1024;
/** Stored texts that were too long for a result: the latest. */
const MAX_TEXTS = 20;
let textCount = 0;
const TEXT_STAMP = /-[0-9a-z]{8,12}-\d{4}\.[a-z0-9]{1,8}$/;

/** @param {string} id @returns {string} a part of a path */
export const folderName = (id) =>
  id.replace(/[^a-zA-Z0-9._-]/g, (sign) => encodeURIComponent(sign));

/** @param {unknown} name */
function checkName(name) {
  if (typeof name === "string" && NAME.test(name) && !name.endsWith(".tmp")) return name;
  throw new RangeError("name: expected letters, digits, ., _ and -, at most 100");
}

/** The journal of plans. @param {string} home <COPILOT_HOME> */
export const plansFilePath = (home) => path.join(home, "tap", "plans.sqlite");

/**
 * Stores a part of a result with the latest of its kind.
 * @param {string} place a folder @param {string | Buffer} content @param {string} name @param {string} extension
 * @returns {string} its path
 */
function saveContent(place, content, name, extension) {
  makePrivateFolder(place);
  textCount = (textCount + 1) % 10_000;
  const stamp = `${Date.now().toString(36)}-${String(textCount).padStart(4, "0")}`;
  const file = path.join(place, `${name}-${stamp}.${extension}`);
  writePrivate(file, content);
  const findStamp = (/** @type {string} */ entry) => TEXT_STAMP.exec(entry)?.[0] ?? "";
  const texts = fs.readdirSync(place).filter((entry) => TEXT_STAMP.test(entry));
  texts.sort((a, b) => (findStamp(a) < findStamp(b) ? -1 : 1));
  for (const old of texts.slice(0, -MAX_TEXTS)) {
    fs.rmSync(path.join(place, old), { force: true });
  }
  return file;
}

/** @param {string} home <COPILOT_HOME> @param {string} id of the feature */
export function openFeatureFolder(home, id) {
  const all = path.join(home, "tap", "features");
  const folder = path.join(all, folderName(id));
  const make = () => [path.join(home, "tap"), all, folder].forEach(makePrivateFolder);
  const resolveFile = (/** @type {unknown} */ name) => path.join(folder, checkName(name));
  return {
    folder,
    /** @param {string} name @returns {{version: number, value: any} | undefined} undefined if it does not exist */
    read(name) {
      const file = resolveFile(name);
      if (!fs.existsSync(file)) return undefined;
      if (!isOurFile(file) || fs.statSync(file).size > MAX_BYTES) {
        throw new Error(`${name} is not a file that this user alone can write, or is too large`);
      }
      const { version, value } = JSON.parse(fs.readFileSync(file, "utf8"));
      if (!Number.isInteger(version)) throw new Error(`${name} has no schema version`);
      return { version, value };
    },
    /** @returns {string[]} names, sorted */
    list() {
      if (!fs.existsSync(folder)) return [];
      return fs
        .readdirSync(folder)
        .filter((name) => NAME.test(name) && !name.endsWith(".tmp"))
        .sort();
    },
    /** @param {string} name @param {number} version of the value's schema @param {unknown} value of JSON */
    write(name, version, value) {
      const file = resolveFile(name);
      if (!Number.isInteger(version)) throw new TypeError("version: expected a whole number");
      const text = `${JSON.stringify({ version, value })}\n`;
      if (Buffer.byteLength(text) > MAX_BYTES) {
        throw new RangeError(`${name} would have more than ${MAX_BYTES} bytes`);
      }
      make();
      writePrivate(file, text);
    },
    /** @param {string} name */
    remove(name) {
      fs.rmSync(resolveFile(name), { force: true });
    },
    /** Moves an unreadable document aside. @param {string} name @returns {string} its new path */
    setAside(name) {
      const file = resolveFile(name);
      const aside = `${file}.unread-${Date.now().toString(36)}`;
      fs.renameSync(file, aside);
      return aside;
    },
    /**
     * Stores a part that a result has no room for, such as a long text.
     * @param {string | Buffer} content @param {string} name @param {string} [session] @param {string} [extension]
     * @returns {string} its path
     */
    keep(content, name, session = "", extension = "txt") {
      const state = path.join(home, "session-state", session);
      const isThere = NAME.test(session) && fs.existsSync(state);
      if (!isThere) make();
      const place = isThere ? path.join(state, "tap") : folder;
      return saveContent(place, content, checkName(name), extension);
    },
  };
}
