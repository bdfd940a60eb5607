// Which sessions there are, which of them we are in, and which one to take.

/** @typedef {import("./types.js").SessionInfo} SessionInfo */
/** @typedef {import("./types.js").SessionChoice} SessionChoice */

export class Sessions {
  /** @type {readonly SessionInfo[]} */
  active = [];
  /** Ended for us, though they may still be listed. @type {Set<string>} */
  #ended = new Set();
  /** Those that we are in, or have asked to be. @type {Set<string>} */
  #joined = new Set();

  /** @param {SessionInfo[]} active of a sessions message */
  update(active) {
    this.active = active;
    for (const id of this.#ended) if (!active.some((one) => one.id === id)) this.#ended.delete(id);
  }

  /** @param {string} id */
  join(id) {
    this.#joined.add(id);
  }

  /** @param {string} id */
  end(id) {
    this.#joined.delete(id);
    this.#ended.add(id);
  }

  /** The connection is gone, and with it what it was bound to. */
  leaveAll() {
    this.#joined.clear();
  }

  /** @returns {SessionInfo[]} */
  get open() {
    return this.active.filter(({ id }) => !this.#ended.has(id));
  }

  /** Those that came after the binding to "all". @returns {string[]} */
  get unjoined() {
    return this.open.map(({ id }) => id).filter((id) => !this.#joined.has(id));
  }

  /**
   * @param {SessionChoice} choice @param {string} former what we were bound to
   * @returns {string | undefined} undefined: wait
   */
  choose(choice, former) {
    if (choice === "all") return "all";
    const { open } = this;
    const find = (/** @type {string | undefined} */ id) => open.find((one) => one.id === id)?.id;
    // The one that we had, if it is still there; else the one that was used last comes first.
    if (choice === "latest") return find(former) ?? open[0]?.id;
    if (typeof choice !== "function") return find(choice);
    const id = choice(open);
    if (id === undefined || id === null || typeof id === "string") return find(id ?? undefined);
    throw new TypeError("session: the function must give an id at once, or undefined to wait");
  }

  /** @param {string} id */
  formatLabel(id) {
    return id === "all" ? "all sessions" : this.active.find((one) => one.id === id)?.label || id;
  }
}
