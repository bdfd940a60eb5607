// Streams without an emitter: those that a session posts to, and those that the configs of a folder name.

import { Feed } from "./feed.mjs";

/** @typedef {import("../../base/emitter-spec.mjs").StreamSpec} StreamSpec */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./feed.mjs").Owner} Owner */

/** Of one owner. */
export const MOST_STREAMS = 50;

/** Whose something is, as a word. @param {Pick<Owner, "session" | "folder">} owner */
export const keyOf = ({ session, folder }) =>
  session === undefined ? `folder ${folder}` : `session ${session}`;

/** @param {Feed[]} feeds @returns {Map<string, Feed[]>} by the name of the stream */
export function byStream(feeds) {
  /** @type {Map<string, Feed[]>} */
  const streams = new Map();
  for (const feed of feeds) streams.set(feed.stream, [...(streams.get(feed.stream) ?? []), feed]);
  return streams;
}

export class Streams {
  #parts;
  /** By owner, then by name. @type {Map<string, Map<string, Feed>>} */
  #streams = new Map();

  /** @param {() => import("./feed.mjs").Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** @returns {Map<string, Owner>} of all that is there, by key */
  owners() {
    const all = [...this.#streams].filter(([, named]) => named.size > 0);
    return new Map(all.map(([key, named]) => [key, [...named.values()][0].owner]));
  }

  /** @param {string} key @returns {Feed[]} */
  of(key) {
    return [...(this.#streams.get(key)?.values() ?? [])];
  }

  /** What belonged to a session belongs to the one that follows. @param {string} key @param {Owner} next */
  adopt(key, next) {
    const named = this.#streams.get(key);
    if (!named) return;
    this.#streams.delete(key);
    const there = this.#streams.get(keyOf(next)) ?? new Map();
    for (const [name, feed] of named) {
      if (there.has(name)) continue;
      there.set(name, feed);
      feed.owner = next;
    }
    this.#streams.set(keyOf(next), there);
  }

  /** @param {string} key @returns {Promise<void>} nothing of them is left */
  async close(key) {
    const feeds = this.of(key);
    this.#streams.delete(key);
    for (const feed of feeds) await feed.close();
  }

  /**
   * A stream that something can be posted to: that of a config, or the session's own.
   * @param {InspectedSession} session @param {Pick<StreamSpec, "name"> & Partial<StreamSpec>} spec
   * @returns {Promise<Feed>}
   */
  async open({ id, cwd, cliPid }, spec) {
    const ofFolder = this.#streams.get(`folder ${cwd}`)?.get(spec.name);
    return ofFolder ?? this.#openStream({ session: id, folder: cwd, cliPid }, spec);
  }

  /** The streams that the configs of a folder name, and no others. @param {InspectedSession} session @param {StreamSpec[]} specs */
  async set({ cwd, cliPid }, specs) {
    const owner = { folder: cwd, cliPid };
    const key = keyOf(owner);
    const named = new Map(specs.map((spec) => [spec.name, spec]));
    for (const [name, feed] of this.#streams.get(key) ?? []) {
      if (named.has(name)) continue;
      this.#streams.get(key)?.delete(name);
      await feed.close();
    }
    if (this.#streams.get(key)?.size === 0) this.#streams.delete(key);
    for (const spec of named.values()) {
      const there = this.#streams.get(key)?.get(spec.name);
      if (there) there.become(spec);
      else await this.#openStream(owner, spec);
    }
  }

  /** @param {Owner} owner @param {Pick<StreamSpec, "name"> & Partial<StreamSpec>} spec */
  async #openStream(owner, spec) {
    const { name, rules = [], subscribe = false, delivery = "important" } = spec;
    const key = keyOf(owner);
    const named = this.#streams.get(key) ?? new Map();
    const there = named.get(name);
    if (there) return there;
    if (named.size >= MOST_STREAMS) {
      throw new RangeError(`there are ${MOST_STREAMS} streams: use one of them`);
    }
    const { managedBy = "modelOwned" } = spec;
    const options = { name, stream: name, rules, subscribe, delivery, managedBy };
    const feed = new Feed(options, owner, this.#parts());
    await feed.open({}, () => ({ isExpected: true }));
    const now = this.#streams.get(key) ?? new Map();
    const other = now.get(name); // it has come in the meantime
    if (other) await feed.close();
    this.#streams.set(key, now.set(name, other ?? feed));
    return other ?? feed;
  }
}
