// What runs, for the process that follows after a crash.

import { errorMessage } from "../../lib/values.mjs";
import { inLine } from "../../lib/visible.mjs";
import { HOLD } from "./auto-start.mjs";
import { isRunSnapshot, recordInterruptedRun } from "./run.mjs";

/** @typedef {import("../../feature-host/installation.mjs").Context} Context */
/**
 * @typedef {object} EmitterSnapshot
 * @property {string} id
 * @property {import("../../config/emitter-spec.mjs").EmitterSpec} spec with the rules and the injector of now
 * @property {import("./streams.mjs").Owner} owner
 * @property {string} [path] @property {string} [seen] @property {boolean} allowed
 * @property {import("./emitter.mjs").FormerState & {running: boolean}} schedule
 * @property {import("./run.mjs").RunSnapshot} [run] that was running
 * @property {unknown} [state] of a watcher
 */

const FILE = "emitters";
/** So many hosts in a row that hung: what they took up is not taken up again. */
const MAX_HANGS = 2;
const SCHEMA = 1;
/** How long sessions that come are told what could not be read. */
const NOTICE_MS = 60_000;
/** In a hold. */
const MAX_NAMED = 5;
/** Of all emitters of one name. */
const LAST_RUNS = 50;

const isText = (/** @type {unknown} */ value) => typeof value === "string" && value !== "";

/** @param {any} value @returns {boolean} */
const isObject = (value) => typeof value === "object" && value !== null;
const isDefined = (/** @type {unknown} */ value) => value !== undefined;

/** The file is read as if anybody had written it. @param {any} one */
function isEmitterSnapshot(one) {
  if (!isObject(one) || ![one.spec, one.owner, one.schedule].every(isObject)) return false;
  const { id, spec, owner, path, seen, schedule } = one;
  const perhaps = [id, path, seen, owner.session].filter(isDefined);
  return (
    [spec.name, spec.stream, owner.folder, ...perhaps].every(isText) &&
    [schedule.runs, schedule.cut ?? 0, schedule.failures, schedule.due ?? 0].every(
      Number.isFinite,
    ) &&
    ["command", "prompt", "http"].includes(spec.kind) &&
    Array.isArray(spec.rules) &&
    isObject(spec.env)
  );
}

export class EmitterStore {
  #context;
  #holds = false;
  #trouble = { text: "", at: 0 };
  /** One after another. @type {Promise<unknown>} */
  #writeQueue = Promise.resolve();

  /** @param {Pick<Context, "services" | "diagnostics" | "hangs">} context */
  constructor(context) {
    this.#context = context;
  }

  /** @returns {Promise<{saved?: {version: number, value: any}, problem: string}>} without what has ended its hosts */
  async #readFile() {
    const { services, hangs } = this.#context;
    try {
      const saved = await services.files.read(FILE);
      if (saved === undefined || !(hangs >= MAX_HANGS)) return { saved, problem: "" };
      const problem = `${hangs} processes in a row that ran it hung`;
      return { saved: { version: SCHEMA, value: [] }, problem };
    } catch (error) {
      return { problem: errorMessage(error) };
    }
  }

  /** @returns {Promise<EmitterSnapshot[]>} those that are whole; a file with others is kept aside */
  async read() {
    const { files, holds } = this.#context.services;
    const { saved, problem: unread } = await this.#readFile();
    let problem = unread;
    if (saved === undefined && problem === "") return [];
    const list = saved?.version === SCHEMA && Array.isArray(saved.value) ? saved.value : undefined;
    const whole = (list ?? []).filter(isEmitterSnapshot);
    if (saved && !list) problem = `it has another form: version ${saved.version}`;
    else if (list && whole.length < list.length) {
      problem = `${list.length - whole.length} of ${list.length} emitters are not whole`;
    }
    if (problem !== "") {
      await this.#setAside(problem);
      // Some may wait for their session, and this process may end before it comes.
      if (whole.length > 0) await files.write(FILE, SCHEMA, whole).catch(() => {});
    }
    this.#holds = true; // perhaps: releasing what is not held is nothing
    if (whole.length === 0) await holds.release(HOLD).catch(() => {});
    return whole;
  }

  /** @param {string} problem */
  async #setAside(problem) {
    const aside = await this.#context.services.files
      .setAside(FILE)
      .then((/** @type {string} */ path) => `its file is now ${path}`, errorMessage);
    const text = `what ran before does not go on: ${problem}; ${aside}`;
    this.#trouble = { text, at: performance.now() };
    this.#context.diagnostics.add(text);
  }

  /** What could not be read, for the timeline of a session that is there now; "": nothing, or it was long ago. */
  get trouble() {
    return performance.now() - this.#trouble.at < NOTICE_MS ? this.#trouble.text : "";
  }

  /**
   * While something runs, both hosts stay, and come back after a crash.
   * @param {EmitterSnapshot[]} value @param {number} count of those that run
   * @returns {Promise<string>} once it and what was to be written before is done: why it is not saved, or nothing
   */
  write(value, count) {
    const written = this.#writeQueue.then(() => this.#write(value, count));
    this.#writeQueue = written;
    return written;
  }

  /** @param {EmitterSnapshot[]} value @param {number} count @returns {Promise<string>} */
  async #write(value, count) {
    const { files, holds } = this.#context.services;
    try {
      const names = value.slice(0, Math.min(count, MAX_NAMED)).map(({ spec }) => inLine(spec.name));
      const more = count > MAX_NAMED ? ", …" : "";
      const what =
        count === 1 ? `emitter ${names} runs` : `${count} emitters run: ${names.join(", ")}${more}`;
      const held = this.#holds;
      this.#holds ||= count > 0; // also if the answer is late
      if (count > 0) await holds.set(HOLD, what);
      else if (held) {
        await holds.release(HOLD);
        this.#holds = false;
      }
      await (value.length > 0 ? files.write(FILE, SCHEMA, value) : files.remove(FILE));
      return "";
    } catch (error) {
      this.#context.diagnostics.add(`emitters could not be saved: ${errorMessage(error)}`);
      return errorMessage(error);
    }
  }

  /** How one of a former process goes on. @param {EmitterSnapshot} one @returns {Promise<import("./emitter.mjs").EmitterOptions>} */
  async getResumeOptions(one) {
    const { id, spec, path, seen, allowed, state } = one;
    const [former, gap] = await Promise.all([this.#readSchedule(one), this.#describeGap(spec)]);
    if (former.running && isRunSnapshot(one.run)) recordInterruptedRun(one, one.run, this.#context);
    return { id, former, path, seen, allowed, gap, state };
  }

  /**
   * The state of a schedule, with the runs that have ended since it was saved.
   * @param {EmitterSnapshot} saved @returns {Promise<EmitterSnapshot["schedule"]>}
   */
  async #readSchedule({ id, spec, schedule }) {
    const query = { collection: "emitter_run", where: { emitter: spec.name }, limit: LAST_RUNS };
    const found = await this.#context.services.records.query(query).catch(() => undefined);
    const last = found?.records.find((/** @type {any} */ { body }) => body.id === id)?.body;
    const { runs, cut = 0 } = schedule;
    if (!Number.isInteger(last?.run) || last.run < runs + cut) return schedule;
    const ran = { ...schedule, runs: last.run - cut, running: false };
    // Cut off, and recorded, before this was saved.
    const isNews = schedule.running || last.run > runs + cut;
    const isCut = isNews && last.status === "interrupted" && spec.kind !== "prompt";
    return isCut ? { ...ran, runs: ran.runs - 1, cut: cut + 1 } : ran;
  }

  /** What was not read while nothing of tap ran. @param {import("../../config/emitter-spec.mjs").EmitterSpec} spec @returns {Promise<string>} */
  async #describeGap({ stream, kind }) {
    if (kind !== "command") return "";
    const query = { collection: "stream_entry", where: { stream }, limit: 1 };
    const found = await this.#context.services.records.query(query).catch(() => undefined);
    const last = found?.records[0];
    const since = last ? ` since ${new Date(last.at).toISOString()}` : "";
    return `tap was restarted, and the command with it: its output${since} may be missing here`;
  }
}
