// The sessions that are there, and which of them has what.

import { bySessionUse } from "../../base/inspection.mjs";

/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./feed.mjs").Owner} Owner */

/** A list of sessions as old is as good as a new one. */
const FRESH_MS = 250;

/**
 * Whose something is now: a session of the same CLI and folder follows another.
 * @param {Owner} owner @param {InspectedSession[]} sessions @param {boolean} [background] it needs none
 * @returns {Owner | undefined} undefined: nobody's
 */
export function ownerNow(owner, sessions, background = false) {
  if (owner.session === undefined) {
    const isThere = background || sessions.some(({ cwd }) => cwd === owner.folder);
    return isThere ? owner : undefined;
  }
  if (sessions.some(({ id }) => id === owner.session)) return owner;
  const next = sessions.find(
    ({ cwd, cliPid }) => cwd === owner.folder && cliPid === owner.cliPid && cliPid > 0,
  );
  return next && { ...owner, session: next.id };
}

export class SessionList {
  #services;
  /** @type {{at: number, list: Promise<InspectedSession[]>} | undefined} */
  #last;

  /** @param {import("../../registry/services.mjs").Services} services */
  constructor(services) {
    this.#services = services;
  }

  /** @param {boolean} [now] not those of a moment ago @returns {Promise<InspectedSession[]>} that are there */
  list(now = false) {
    const at = performance.now();
    if (this.#last && !now && at - this.#last.at < FRESH_MS) return this.#last.list;
    const list = this.#services.sessions
      .list()
      .then((/** @type {InspectedSession[]} */ all) => all.filter(({ ending }) => !ending));
    this.#last = { at, list };
    return list;
  }

  /** Something has changed. */
  forget() {
    this.#last = undefined;
  }

  /** The session that hears of something: of a folder, the one last used. @param {Owner} owner */
  async target({ session, folder }) {
    const all = await this.list();
    if (session !== undefined) return all.find(({ id }) => id === session);
    return all.filter(({ cwd }) => cwd === folder).sort(bySessionUse)[0];
  }

  /** @param {string} id @returns {Promise<InspectedSession>} */
  async find(id) {
    const found = (await this.list()).find((one) => one.id === id);
    if (found) return found;
    throw new Error("the session has ended");
  }
}
