// The mode of the session's agent (interactive, plan, autopilot), and who chose it. A mode that tap did not set was
// chosen by the user, with a key or in a dialog of the CLI.

import { awaitAnswer, AnswerUnavailable, READS, setMode } from "./copilot-rpc.mjs";

export const MODES = ["interactive", "plan", "autopilot"];
/** The mode of a new session. */
const DEFAULT_MODE = "interactive";

/**
 * `start`: unchanged since this process started; `user`; `tap`, with the user's consent.
 * @typedef {"start" | "user" | "tap"} ModeChooser
 * @typedef {import("./copilot-rpc.mjs").Session} Session
 * @typedef {{applied: boolean, mode: string, reason?: string}} ModeSet `mode`: the present mode
 */

export class AgentMode {
  #onChange;
  /** @type {Session} */
  #session;
  #mode = "";
  /** @type {ModeChooser} */
  #by = "start";
  /** The mode that tap is setting. */
  #pendingMode = "";

  /** @param {(mode: string, by: ModeChooser) => void} onKnown called with the first mode, and at each change */
  constructor(onKnown) {
    this.#onChange = onKnown;
  }

  /** Undefined until it is read. */
  get chosenBy() {
    return this.#mode ? this.#by : undefined;
  }

  /** Repeats the state for a new gateway. */
  resend() {
    if (this.#mode) this.#onChange(this.#mode, this.#by);
  }

  /** @param {Session} session @returns {Promise<void>} rejects if the CLI does not report its mode */
  async adopt(session) {
    this.#session = session;
    const mode = await awaitAnswer(() => READS.mode(session));
    if (this.#mode) return; // a change arrived first
    this.#update(String(mode), mode === DEFAULT_MODE ? "start" : "user");
  }

  /** Handles the CLI's event. @param {unknown} mode */
  receiveChange(mode) {
    if (typeof mode !== "string") return;
    this.#update(mode, mode === this.#pendingMode ? "tap" : "user");
    this.#pendingMode = "";
  }

  /**
   * @param {string} mode @param {string} from the expected present mode: in a different mode the change is refused
   * @returns {Promise<ModeSet>}
   * @throws {AnswerUnavailable} if the CLI does not answer
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
      if (this.#mode !== mode) this.#update(mode, "tap"); // its event has not arrived yet
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
