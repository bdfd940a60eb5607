// The mode of the session's agent (interactive, plan, autopilot), and who has chosen it. A mode that tap has not set is
// the user's: he may have pressed a key, or answered the CLI.

import { awaitAnswer, AnswerUnavailable, READS, setMode } from "./copilot-rpc.mjs";

export const MODES = ["interactive", "plan", "autopilot"];
/** The mode of a session that nobody has changed. */
const DEFAULT_MODE = "interactive";

/**
 * `start`: nobody, since this process has been there; `user`; `tap`, which asked before or was allowed to.
 * @typedef {"start" | "user" | "tap"} ModeChooser
 * @typedef {import("./copilot-rpc.mjs").Session} Session
 * @typedef {{applied: boolean, mode: string, reason?: string}} ModeSet `mode`: the one in force now
 */

export class AgentMode {
  #onChange;
  /** @type {Session} */
  #session;
  #mode = "";
  /** @type {ModeChooser} */
  #by = "start";
  /** The one that tap is setting. */
  #pendingMode = "";

  /** @param {(mode: string, by: ModeChooser) => void} onKnown with the first one, and with each change */
  constructor(onKnown) {
    this.#onChange = onKnown;
  }

  /** Undefined: not read yet. */
  get chosenBy() {
    return this.#mode ? this.#by : undefined;
  }

  /** Again, for another gateway. */
  resend() {
    if (this.#mode) this.#onChange(this.#mode, this.#by);
  }

  /** @param {Session} session @returns {Promise<void>} rejected where the CLI does not say its mode */
  async adopt(session) {
    this.#session = session;
    const mode = await awaitAnswer(() => READS.mode(session));
    if (this.#mode) return; // a change was faster
    this.#update(String(mode), mode === DEFAULT_MODE ? "start" : "user");
  }

  /** The CLI's event. @param {unknown} mode */
  receiveChange(mode) {
    if (typeof mode !== "string") return;
    this.#update(mode, mode === this.#pendingMode ? "tap" : "user");
    this.#pendingMode = "";
  }

  /**
   * @param {string} mode @param {string} from the mode for which the change was asked: in another one it is not made
   * @returns {Promise<ModeSet>}
   * @throws {AnswerUnavailable} where the CLI does not take part
   */
  async set(mode, from) {
    const before = String(await awaitAnswer(() => READS.mode(this.#session)));
    if (before !== from) {
      const reason = `the mode is ${before} now, and was ${from} when the change was asked for`;
      return { applied: false, mode: before, reason };
    }
    if (before === mode) return { applied: true, mode };
    this.#pendingMode = mode;
    try {
      const answer = await awaitAnswer(() => setMode(this.#session, mode));
      if (answer?.modeApplied === false)
        throw new AnswerUnavailable("the CLI did not apply the mode");
      const after = String(await awaitAnswer(() => READS.mode(this.#session)));
      if (after !== mode) return { applied: false, mode: after, reason: "the CLI kept its mode" };
      if (this.#mode !== mode) this.#update(mode, "tap"); // its event is still on its way
      return { applied: true, mode };
    } catch (error) {
      this.#pendingMode = "";
      throw error;
    }
  }

  /** @param {string} mode @param {ModeChooser} by */
  #update(mode, by) {
    if (mode === this.#mode && by === this.#by) return;
    this.#mode = mode;
    this.#by = by;
    this.#onChange(mode, by);
  }
}
