// When the gateway host ends. Holds keep it alive: work of features that goes on without a session, such as a
// running plan. Their file is read as if anybody had written it.

import fs from "node:fs";
import path from "node:path";
import { reportText } from "../feature-host/report.mjs";
import { isOurFile, makePrivateFolder, writePrivate } from "../lib/host-files.mjs";
import { errorMessage } from "../lib/values.mjs";

/** @typedef {{id: string, feature: string, what: string, at: string}} Hold `what`: for people; `at`: ISO 8601 */

/**
 * What the file says that keeps nothing alive: `problem`, why it could not be read; `features`, those that are not
 * there or may not hold, and that it names. `unwritten`: why it names work that has ended.
 * @typedef {{problem?: string, features?: string[], unwritten?: string}} IgnoredHolds
 */

/** Until a file that could not be written is written again: the next host reads it. */
const RETRY_MS = 1000;
const MAX_HOLDS = 100;
/** Of as many holds, each with a text of the longest characters. */
const MAX_HOLDS_BYTES = 256 * 1024;
const ID = /^[\w.:-]{1,128}$/;

/** @param {{home: string}} files of gatewayFiles() */
export const holdsFile = ({ home }) => path.join(home, "tap", "holds.json");

/** @param {any} value @param {readonly string[]} features @returns {Hold[]} one, or none where it is not one */
function parseHold(value, features) {
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
  #retryTimer;

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
      if (fs.statSync(file).size > MAX_HOLDS_BYTES) return this.#ignore("it is too large");
      const { version, holds } = JSON.parse(fs.readFileSync(file, "utf8"));
      if (version !== 1 || !Array.isArray(holds)) return this.#ignore("it has another form");
      const read = holds.slice(0, MAX_HOLDS).flatMap((hold) => parseHold(hold, this.#features));
      if (read.length < holds.length) this.ignored = { features: this.#listUnknownFeatures(holds) };
      return read;
    } catch (error) {
      return this.#ignore(errorMessage(error));
    }
  }

  /** @param {string} problem @returns {Hold[]} */
  #ignore(problem) {
    this.ignored = { problem: reportText(problem) };
    return [];
  }

  /** @param {any[]} holds @returns {string[]} */
  #listUnknownFeatures(holds) {
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
    const [read] = parseHold({ ...hold, at: new Date().toISOString() }, this.#features);
    if (!read) throw new TypeError("expected a hold: id, feature and what");
    const others = this.#holds.filter(({ id }) => id !== read.id);
    if (others.length >= MAX_HOLDS) throw new RangeError(`there are ${MAX_HOLDS} holds already`);
    this.#write([...others, read]);
    this.#setHolds([...others, read]);
  }

  /** @param {string} id of a hold */
  release(id) {
    const left = this.#holds.filter((hold) => hold.id !== id);
    if (left.length < this.#holds.length) this.#replaceHolds(left);
  }

  /** @returns {Hold[]} those that were there */
  releaseAll() {
    const former = this.#holds;
    if (former.length > 0) this.#replaceHolds([]);
    return former;
  }

  /** The file is that of the next host. */
  close() {
    clearTimeout(this.#retryTimer);
  }

  /**
   * Nothing is kept alive by a file that cannot be written.
   * @param {Hold[]} left @param {string} [former] what was wrong a moment ago: it is said once
   */
  #replaceHolds(left, former = "") {
    let problem = "";
    try {
      this.#write(left);
    } catch (error) {
      problem = errorMessage(error);
    }
    if (problem === "" || problem !== former) this.#setHolds(left, problem);
    if (problem === "") return;
    const again = () => this.#holds === left && this.#replaceHolds(left, problem);
    this.#retryTimer = setTimeout(again, RETRY_MS).unref();
  }

  /** @param {Hold[]} holds @param {string} [problem] of the file, which says something else */
  #setHolds(holds, problem = "") {
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

// When a gateway without sessions leaves: not while work of features holds it, nor while a command waits for what it
// has asked for. What the feature host does for a command, such as a merge, would be cut off in its middle.

export class Shutdown {
  #options;
  /** Why nobody needs this gateway, but for what keeps it. */
  #reason = "";
  /** Requests of commands that have no answer yet. */
  #requests = 0;
  /** For the next request of the same command. @type {NodeJS.Timeout | undefined} */
  #grace;

  /**
   * @param {object} options
   * @param {() => Hold[]} options.holds @param {number} options.graceMs how long it waits after an answer
   * @param {import("../lib/log.mjs").Log} options.log @param {(reason: string) => void} options.leave
   */
  constructor(options) {
    this.#options = options;
  }

  /** The gateway has had no session for the grace time, or another follows it. @param {string} reason */
  request(reason) {
    const { log, leave } = this.#options;
    const kept = this.#formatBlockers();
    if (kept === "" || !reason.includes("no session")) return leave(reason);
    this.#reason = reason;
    log("info", `${reason}, and the gateway stays for ${kept}`);
  }

  #formatBlockers() {
    const holds = this.#options.holds().map(({ what, feature }) => `${what} (${feature})`);
    const requests = this.#requests > 0 ? ["a command that waits for its answer"] : [];
    return [...holds, ...requests].join(", ");
  }

  cancel() {
    this.#reason = "";
    clearTimeout(this.#grace);
    this.#grace = undefined;
  }

  /** A hold was set or released, or the last request was answered a while ago. */
  recheck() {
    if (this.#reason === "" || this.#grace || this.#formatBlockers() !== "") return;
    this.#options.leave(this.#reason);
  }

  /** A command waits for this. @template T @param {Promise<T>} answer @returns {Promise<T>} */
  async deferUntil(answer) {
    this.#requests += 1;
    try {
      return await answer;
    } finally {
      this.#requests -= 1;
      if (this.#requests === 0) this.#startGrace();
    }
  }

  #startGrace() {
    if (this.#reason === "") return;
    this.#grace ??= setTimeout(() => {
      this.#grace = undefined;
      this.recheck();
    }, this.#options.graceMs).unref();
  }
}
