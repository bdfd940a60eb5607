// The known sessions, the joined sessions, and the choice of a session.

/** @typedef {import("./types.js").SessionInfo} SessionInfo */
/** @typedef {import("./types.js").SessionChoice} SessionChoice */

export class Sessions {
  /** @type {readonly SessionInfo[]} */
  active = [];
  /** Sessions that have ended for this provider, though they may still be listed. @type {Set<string>} */
  #ended = new Set();
  /** Sessions that are joined or requested. @type {Set<string>} */
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

  /** The connection is gone, and with it the binding. */
  leaveAll() {
    this.#joined.clear();
  }

  /** @returns {SessionInfo[]} */
  get open() {
    return this.active.filter(({ id }) => !this.#ended.has(id));
  }

  /** Sessions that began after the binding to "all". @returns {string[]} */
  get unjoined() {
    return this.open.map(({ id }) => id).filter((id) => !this.#joined.has(id));
  }

  /**
   * @param {SessionChoice} choice @param {string} former the last binding
   * @returns {string | undefined} undefined: wait
   */
  choose(choice, former) {
    if (choice === "all") return "all";
    const { open } = this;
    const find = (/** @type {string | undefined} */ id) => open.find((one) => one.id === id)?.id;
    // The former session, if it is still open; otherwise the session used last.
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
