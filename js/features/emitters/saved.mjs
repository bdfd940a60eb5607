// What runs, for the process that follows after a crash.

import { messageOf } from "../../base/errors.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {ReturnType<import("./emitter.mjs").Emitter["saved"]>} Saved */

const FILE = "emitters";
const SCHEMA = 1;
const HOLD = "running";

export class SavedEmitters {
  #context;
  #holds = false;

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
    return isOurs ? saved.value : [];
  }

  /**
   * While something runs, both hosts stay, and come back after a crash.
   * @param {Saved[]} value @param {number} count of those that run
   */
  async write(value, count) {
    const { files, holds } = this.#context.services;
    try {
      if (value.length > 0) await files.write(FILE, SCHEMA, value);
      else await files.remove(FILE);
      const what = count === 1 ? "an emitter runs" : `${count} emitters run`;
      if (count > 0) await holds.set(HOLD, what);
      else if (this.#holds) await holds.release(HOLD);
      this.#holds = count > 0;
    } catch (error) {
      this.#context.diagnostics.add(`emitters could not be saved: ${messageOf(error)}`);
    }
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
