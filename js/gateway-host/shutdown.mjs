// Decides when the gateway host ends. Holds keep it alive: work of features that continues without a session, such as a
// running plan. Their file is validated as untrusted.

import fs from "node:fs";
import path from "node:path";
import { reportText } from "../feature-host/report.mjs";
import { isOurFile, makePrivateFolder, writePrivate } from "../lib/host-files.mjs";
import { errorMessage } from "../lib/values.mjs";

/** @typedef {{id: string, feature: string, what: string, at: string}} Hold `what`: for people; `at`: ISO 8601 */

/**
 * The parts of the file that hold nothing: `problem`, why it could not be read; `features`, unknown features, and
 * features that must not hold. `unwritten`: why the file still names work that has ended.
 * @typedef {{problem?: string, features?: string[], unwritten?: string}} IgnoredHolds
 */

/** Retry interval for a file that could not be written, since the next host reads it. */
const RETRY_MS = 1000;
const MAX_HOLDS = 100;
/** For the maximum number of holds with the longest texts. */
const MAX_HOLDS_BYTES = 256 * 1024;
const ID = /^[\w.:-]{1,128}$/;

/** @param {{home: string}} files of gatewayFiles() */
export const holdsFile = ({ home }) => path.join(home, "tap", "holds.json");

/** @param {any} value @param {readonly string[]} features @returns {Hold[]} a single hold; empty if it is invalid */
function parseHold(value, features) {
  const { id, feature, what: label, at } = value ?? {};
  const good =
    typeof id === "string" &&
    ID.test(id) &&
    features.includes(feature) &&
    typeof label === "string" &&
    typeof at === "string" &&
    !Number.isNaN(Date.parse(at));
  return good ? [{ id, feature, what: reportText(label), at: new Date(at).toISOString() }] : [];
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
   * @param {{home: string}} files of gatewayFiles() @param {readonly string[]} features ids of features that may hold
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
      if (version !== 1 || !Array.isArray(holds)) return this.#ignore("it has an unexpected form");
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

  /** The ignored parts of the file, for the log; "" if there are no such parts. */
  get trouble() {
    if (!this.ignored) return "";
    const { problem, unwritten, features = [] } = this.ignored;
    if (unwritten !== undefined) return `${this.#file} names work that has ended: ${unwritten}`;
    if (problem !== undefined) return `${this.#file} is ignored, so no work continues: ${problem}`;
    const whose = features.length > 0 ? `of ${features.join(", ")}` : "that are incomplete";
    return `holds ${whose} in ${this.#file} are ignored`;
  }

  /**
   * @param {{id: string, feature: string, what: string}} hold replaces a hold with the same id
   * @throws if it is invalid, there are too many, or the file cannot be written
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

  /** @returns {Hold[]} the released holds */
  releaseAll() {
    const former = this.#holds;
    if (former.length > 0) this.#replaceHolds([]);
    return former;
  }

  /** From now on the file belongs to the next host. */
  close() {
    clearTimeout(this.#retryTimer);
  }

  /**
   * A file that cannot be written does not keep the gateway alive.
   * @param {Hold[]} left @param {string} [former] the last problem, which is reported once
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

  /** @param {Hold[]} holds @param {string} [problem] of the file, which differs */
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

// Decides when a gateway without sessions ends: not while work of features holds it, nor while a command waits for its
// answer, since work of the feature host for a command, such as a merge, must not be interrupted.

export class Shutdown {
  #options;
  /** Why the gateway is no longer needed, except for holds and requests. */
  #reason = "";
  /** Number of pending requests of commands. */
  #requests = 0;
  /** Time for the next request of the same command. @type {NodeJS.Timeout | undefined} */
  #grace;

  /**
   * @param {object} options
   * @param {() => Hold[]} options.holds @param {number} options.graceMs the wait after an answer
   * @param {import("../lib/log.mjs").Log} options.log @param {(reason: string) => void} options.leave
   */
  constructor(options) {
    this.#options = options;
  }

  /** Called when there was no session for the grace time, or a new gateway follows. @param {string} reason */
  request(reason) {
    const { log, leave } = this.#options;
    const kept = this.#formatBlockers();
    if (kept === "" || !reason.includes("no session")) return leave(reason);
    this.#reason = reason;
    log("info", `${reason}, and the gateway stays for ${kept}`);
  }

  #formatBlockers() {
    const holds = this.#options.holds().map(({ what: label, feature }) => `${label} (${feature})`);
    const requests = this.#requests > 0 ? ["a command that waits for its answer"] : [];
    return [...holds, ...requests].join(", ");
  }

  cancel() {
    this.#reason = "";
    clearTimeout(this.#grace);
    this.#grace = undefined;
  }

  /** Called when a hold was set or released, or some time after the last answer. */
  recheck() {
    if (this.#reason === "" || this.#grace || this.#formatBlockers() !== "") return;
    this.#options.leave(this.#reason);
  }

  /** Keeps the gateway until a command has its answer. @template T @param {Promise<T>} answer @returns {Promise<T>} */
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
