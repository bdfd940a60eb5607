// Holds: work of features that goes on without a session, such as a running plan. While there is one, the gateway
// stays; one that starts and finds one starts the feature host. The file is read as if anybody had written it.

import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { isOurFile, makePrivateFolder, writePrivate } from "../base/host-files.mjs";
import { reportText } from "../base/diagnostics.mjs";

/** @typedef {{id: string, feature: string, what: string, at: string}} Hold `what`: for people; `at`: ISO 8601 */

/**
 * What the file says that keeps nothing alive: `problem`, why it could not be read; `features`, those that are not
 * there or may not hold, and that it names. `unwritten`: why it names work that has ended.
 * @typedef {{problem?: string, features?: string[], unwritten?: string}} IgnoredHolds
 */

/** Until a file that could not be written is written again: the next host reads it. */
const AGAIN_MS = 1000;
const MOST_HOLDS = 100;
/** Of as many holds, each with a text of the longest characters. */
const MOST_BYTES = 256 * 1024;
const ID = /^[\w.:-]{1,128}$/;

/** @param {{home: string}} files of gatewayFiles() */
export const holdsFile = ({ home }) => path.join(home, "tap", "holds.json");

/** @param {any} value @param {readonly string[]} features @returns {Hold[]} one, or none where it is not one */
function readHold(value, features) {
  const { id, feature, what, at } = value ?? {};
  const good =
    typeof id === "string" &&
    ID.test(id) &&
    features.includes(feature) &&
    typeof what === "string" &&
    typeof at === "string" &&
    !Number.isNaN(Date.parse(at));
  return good ? [{ id, feature, what: reportText(what), at: new Date(at).toISOString() }] : [];
}

export class Holds {
  /** @type {IgnoredHolds | undefined} */
  ignored;
  #file;
  #features;
  #onChange;
  /** @type {Hold[]} */
  #holds;
  /** @type {NodeJS.Timeout | undefined} */
  #again;

  /**
   * @param {{home: string}} files of gatewayFiles() @param {readonly string[]} features ids of those that may hold
   * @param {() => void} [onChange]
   */
  constructor(files, features, onChange = () => {}) {
    this.#file = holdsFile(files);
    this.#features = features;
    this.#onChange = onChange;
    this.#holds = this.#read();
  }

  /** @returns {Hold[]} */
  #read() {
    const file = this.#file;
    try {
      if (!fs.existsSync(file)) return [];
      if (!isOurFile(file)) return this.#ignore("it is not a file that only you can write");
      if (fs.statSync(file).size > MOST_BYTES) return this.#ignore("it is too large");
      const { version, holds } = JSON.parse(fs.readFileSync(file, "utf8"));
      if (version !== 1 || !Array.isArray(holds)) return this.#ignore("it has another form");
      const read = holds.slice(0, MOST_HOLDS).flatMap((hold) => readHold(hold, this.#features));
      if (read.length < holds.length) this.ignored = { features: this.#strangersOf(holds) };
      return read;
    } catch (error) {
      return this.#ignore(messageOf(error));
    }
  }

  /** @param {string} problem @returns {Hold[]} */
  #ignore(problem) {
    this.ignored = { problem: reportText(problem) };
    return [];
  }

  /** @param {any[]} holds @returns {string[]} */
  #strangersOf(holds) {
    const names = holds.map((hold) => reportText(hold?.feature ?? "a feature without a name"));
    return [...new Set(names.filter((name) => !this.#features.includes(name)))].slice(0, 10);
  }

  list() {
    return [...this.#holds];
  }

  /** For the log: what of the file holds nothing; "": all of it is good. */
  get trouble() {
    if (!this.ignored) return "";
    const { problem, unwritten, features = [] } = this.ignored;
    if (unwritten !== undefined) return `${this.#file} names work that has ended: ${unwritten}`;
    if (problem !== undefined) return `${this.#file} is ignored, so nothing goes on: ${problem}`;
    const whose = features.length > 0 ? `of ${features.join(", ")}` : "that are not whole";
    return `holds ${whose} in ${this.#file} are ignored`;
  }

  /**
   * @param {{id: string, feature: string, what: string}} hold one with the same id is replaced
   * @throws where it is not one, there are too many, or the file cannot be written
   */
  set(hold) {
    const [read] = readHold({ ...hold, at: new Date().toISOString() }, this.#features);
    if (!read) throw new TypeError("expected a hold: id, feature and what");
    const others = this.#holds.filter(({ id }) => id !== read.id);
    if (others.length >= MOST_HOLDS) throw new RangeError(`there are ${MOST_HOLDS} holds already`);
    this.#write([...others, read]);
    this.#become([...others, read]);
  }

  /** @param {string} id of a hold */
  release(id) {
    const left = this.#holds.filter((hold) => hold.id !== id);
    if (left.length < this.#holds.length) this.#let(left);
  }

  /** @returns {Hold[]} those that were there */
  releaseAll() {
    const former = this.#holds;
    if (former.length > 0) this.#let([]);
    return former;
  }

  /** The file is that of the next host. */
  close() {
    clearTimeout(this.#again);
  }

  /**
   * Nothing is kept alive by a file that cannot be written.
   * @param {Hold[]} left @param {string} [former] what was wrong a moment ago: it is said once
   */
  #let(left, former = "") {
    let problem = "";
    try {
      this.#write(left);
    } catch (error) {
      problem = messageOf(error);
    }
    if (problem === "" || problem !== former) this.#become(left, problem);
    if (problem === "") return;
    const again = () => this.#holds === left && this.#let(left, problem);
    this.#again = setTimeout(again, AGAIN_MS).unref();
  }

  /** @param {Hold[]} holds @param {string} [problem] of the file, which says something else */
  #become(holds, problem = "") {
    this.#holds = holds;
    this.ignored = problem === "" ? undefined : { unwritten: reportText(problem) };
    this.#onChange();
  }

  /** @param {Hold[]} holds */
  #write(holds) {
    if (holds.length === 0) return fs.rmSync(this.#file, { force: true });
    makePrivateFolder(path.dirname(this.#file));
    writePrivate(this.#file, `${JSON.stringify({ version: 1, holds }, null, 2)}\n`);
  }
}
