// When a change of a watched state is put before the model: in a turn of its own, in the turn that runs, or with the
// user's next prompt. No clock: each call gets the time.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** After so long without a turn, the gap is the shortest again. */
const CALM = 10 * MINUTE;
/** Between two texts into a turn that runs. */
const TURN_GAP = 20 * SECOND;
/** A change over several files breaks a build in between: so long after the last edit it counts. */
const EDIT_CALM = 10 * SECOND;
/** More changes of the state than these in so long are a single text, and the next follows once the state is calm. */
const FLAP_CHANGES = 4;
const FLAP_SPAN = 60 * SECOND;
const FLAP_CALM = 30 * SECOND;

/**
 * @typedef {"model" | "user"} Cause who has changed files before it: "user": also a program
 * @typedef {"gap" | "hour" | "attempts" | "quiet" | "away" | "flaps" | "carried"} Obstacle carried: with a prompt only
 * @typedef {"wake" | "turn"} Way a turn of its own, or the turn that runs
 * @typedef {{at: number, way: Way} | {obstacle: Obstacle, until?: number}} Verdict `at`: from then on
 *
 * @typedef {object} WakeLimits docs/limits.md
 * @property {number} hold ms @property {number} gap ms @property {number} maxGap ms
 * @property {number} perHour @property {number} attempts
 *
 * @typedef {object} Change
 * @property {number} at when the state changed
 * @property {Cause} cause
 * @property {"unknown" | "green" | "red"} state
 * @property {boolean} startsTurn whether such a state is worth a turn of its own
 * @property {boolean} [isNever] only prompts carry it
 * @property {number} [editedAt] the last edit of the model's
 */

/** Turns in the last hour. */
export class Hour {
  /** @type {number[]} */
  #times = [];
  #most;

  /** @param {number} most */
  constructor(most) {
    this.#most = most;
  }

  /** @param {number} now */
  count(now) {
    return this.#times.filter((at) => now - at < HOUR).length;
  }

  /** @param {number} now @returns {number} when the next has room */
  freeAt(now) {
    if (this.#most === 0) return Infinity;
    return this.count(now) < this.#most ? now : this.#times[this.#times.length - this.#most] + HOUR;
  }

  /** @param {number} now */
  add(now) {
    this.#times = [...this.#times.filter((at) => now - at < HOUR), now];
  }
}

export class Wakes {
  attempts = 0;
  #limits;
  #own;
  #session;
  /** @type {number | undefined} */
  #last;
  #gap;
  #lastInTurn = -Infinity;
  #quietUntil = 0;
  /** A turn of its own has not been followed by a change of the model's. */
  #isOpen = false;
  /** The present change counts as an attempt already. */
  #isCounted = false;
  /** Changes of the state. @type {number[]} */
  #changes = [];
  #isFlapping = false;
  #hasToldFlaps = false;

  /** @param {WakeLimits} limits @param {Hour} session of all watchers of its session */
  constructor(limits, session) {
    this.#limits = limits;
    this.#gap = limits.gap;
    this.#own = new Hour(limits.perHour);
    this.#session = session;
  }

  /** @param {number} until Unix ms; Infinity: until the session ends; 0: no longer */
  quiet(until) {
    this.#quietUntil = until;
  }

  /** @param {number} now */
  isQuiet(now) {
    return now < this.#quietUntil;
  }

  get isPaused() {
    return this.attempts >= this.#limits.attempts;
  }

  /** @param {number} now @returns {number} turns in the last hour */
  count(now) {
    return this.#own.count(now);
  }

  /** The state has changed, or a failure. @param {number} now @param {Cause} cause @param {string} state @param {boolean} isOther state */
  change(now, cause, state, isOther) {
    if (isOther) this.#countChange(now);
    if (state === "green") return this.reset();
    this.#isCounted = this.#isOpen && cause === "model";
    if (!this.#isCounted) return;
    this.attempts += 1;
    this.#isOpen = false;
  }

  /** @param {number} now */
  #countChange(now) {
    if (!this.flaps(now)) this.#changes = this.#changes.filter((at) => now - at < FLAP_SPAN);
    this.#changes.push(now);
    this.#isFlapping ||= this.#changes.length > FLAP_CHANGES;
  }

  /** As long as the state is not calm. @param {number} now @returns {{count: number, span: number} | undefined} */
  flaps(now) {
    if (!this.#isFlapping) return undefined;
    const [first, last] = [this.#changes[0], this.#changes[this.#changes.length - 1]];
    if (now - last < FLAP_CALM) return { count: this.#changes.length, span: last - first };
    this.#isFlapping = this.#hasToldFlaps = false;
    this.#changes = [];
    return undefined;
  }

  /**
   * @param {Change} change that the model does not know @param {number} now @param {"idle" | "busy" | "away"} activity
   * @returns {Verdict}
   */
  decide(change, now, activity) {
    if (activity === "away") return { obstacle: "away" };
    if (change.isNever) return { obstacle: "carried" };
    if (this.isQuiet(now)) return { obstacle: "quiet", until: this.#quietUntil };
    if (this.isPaused && change.state !== "green") return { obstacle: "attempts" };
    const flaps = this.flaps(now);
    if (flaps && this.#hasToldFlaps) {
      return { obstacle: "flaps", until: this.#changes[this.#changes.length - 1] + FLAP_CALM };
    }
    if (activity === "busy") return this.#decideInTurn(change, now);
    if (!change.startsTurn && !flaps) return { obstacle: "carried" };
    if (change.cause === "model") return { at: change.at, way: "wake" };
    const free = Math.max(this.#own.freeAt(now), this.#session.freeAt(now));
    if (free > now) return { obstacle: "hour", until: free };
    const due = flaps ? now : change.at + this.#limits.hold;
    const next = this.#last === undefined ? due : Math.max(due, this.#last + this.#gap);
    return { at: next, way: "wake" };
  }

  /** @param {Change} change @param {number} now @returns {Verdict} */
  #decideInTurn({ at, cause, state, editedAt = 0 }, now) {
    const next = this.#lastInTurn + TURN_GAP;
    if (state === "green") return { at: Math.max(now, next), way: "turn" };
    // A tool that still runs says only at its end that it has changed files.
    const due = cause === "model" ? Math.max(at, editedAt) + EDIT_CALM : at + this.#limits.hold;
    return { at: Math.max(due, next), way: "turn" };
  }

  /** A text has left. @param {number} now @param {Way} way @param {Change} change */
  send(now, way, { cause, state }) {
    if (this.flaps(now)) this.#hasToldFlaps = true;
    if (way === "turn") {
      this.#lastInTurn = now;
      if (cause === "model" && state !== "green" && !this.#isCounted) this.attempts += 1;
      this.#isCounted = false;
      return;
    }
    const last = this.#last;
    this.#last = now;
    this.#isOpen = true;
    if (cause === "model") return;
    const { gap, maxGap } = this.#limits;
    const isSoon = last !== undefined && now - last < 2 * this.#gap;
    if (isSoon) this.#gap = Math.min(this.#gap * 2, maxGap);
    else if (last === undefined || now - last > CALM) this.#gap = gap;
    this.#own.add(now);
    this.#session.add(now);
  }

  /** It is green again, or the user has spoken. */
  reset() {
    this.attempts = 0;
    this.#isOpen = false;
    this.#isCounted = false;
  }
}
