// What runs, for the process that follows after a crash.

import { messageOf } from "../../base/errors.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {ReturnType<import("./emitter.mjs").Emitter["saved"]>} Saved */

const FILE = "emitters";
const SCHEMA = 1;
const HOLD = "running";

const isText = (/** @type {unknown} */ value) => typeof value === "string" && value !== "";

/** The file is read as if anybody had written it. @param {any} one */
function isWhole(one) {
  const { spec, owner, schedule } = one ?? {};
  const texts = [spec?.name, spec?.stream, owner?.folder, owner?.session ?? "none"];
  const numbers = [schedule?.runs, schedule?.failures, schedule?.due ?? 0];
  return (
    texts.every(isText) &&
    numbers.every(Number.isFinite) &&
    ["command", "prompt", "http"].includes(spec.kind) &&
    Array.isArray(spec.rules) &&
    typeof spec.env === "object"
  );
}

export class SavedEmitters {
  #context;
  #holds = false;
  /** One after another. @type {Promise<void>} */
  #writing = Promise.resolve();

  /** @param {Pick<Context, "services" | "diagnostics">} context */
  constructor(context) {
    this.#context = context;
  }

  /** @returns {Promise<Saved[]>} none where the file cannot be read */
  async read() {
    const { files } = this.#context.services;
    const saved = await files.read(FILE).catch(() => undefined);
    const isOurs = saved?.version === SCHEMA && Array.isArray(saved.value);
    this.#holds = isOurs; // perhaps: releasing what is not held is nothing
    return isOurs ? saved.value.filter(isWhole) : [];
  }

  /**
   * While something runs, both hosts stay, and come back after a crash.
   * @param {Saved[]} value @param {number} count of those that run
   * @returns {Promise<void>} once it and what was to be written before is done
   */
  write(value, count) {
    this.#writing = this.#writing.then(() => this.#write(value, count));
    return this.#writing;
  }

  /** @param {Saved[]} value @param {number} count */
  async #write(value, count) {
    const { files, holds } = this.#context.services;
    const say = (/** @type {unknown} */ error) =>
      this.#context.diagnostics.add(`emitters could not be saved: ${messageOf(error)}`);
    try {
      const what = count === 1 ? "an emitter runs" : `${count} emitters run`;
      const held = this.#holds;
      this.#holds ||= count > 0; // also if the answer is late
      if (count > 0) await holds.set(HOLD, what);
      else if (held) {
        await holds.release(HOLD);
        this.#holds = false;
      }
    } catch (error) {
      say(error);
    }
    await (value.length > 0 ? files.write(FILE, SCHEMA, value) : files.remove(FILE)).catch(say);
  }

  /** What was not read while nothing of tap ran. @param {import("../../base/emitter-spec.mjs").EmitterSpec} spec @returns {Promise<string>} */
  async gapOf({ stream, kind }) {
    if (kind !== "command") return "";
    const query = { collection: "stream_entry", where: { stream }, limit: 1 };
    const found = await this.#context.services.records.query(query).catch(() => undefined);
    const last = found?.records[0];
    const since = last ? ` since ${new Date(last.at).toISOString()}` : "";
    return `tap was restarted, and the command with it: its output${since} may be missing here`;
  }
}
