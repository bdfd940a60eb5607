// All emitters and streams: which there are, whose they are, and what becomes of them when sessions come and go.

import { messageOf } from "../../base/errors.mjs";
import { Configured } from "./configured.mjs";
import { Emitter } from "./emitter.mjs";
import { Feed } from "./feed.mjs";
import { SavedEmitters } from "./saved.mjs";
import { ownerNow, SessionList } from "./sessions.mjs";
import { Teller } from "./teller.mjs";

/** @typedef {import("../../base/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("../../base/emitter-spec.mjs").StreamSpec} StreamSpec */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {import("./feed.mjs").Owner} Owner */
/** @typedef {ReturnType<Emitter["saved"]>} Saved */

export const MOST_EMITTERS = 500;
/** Streams without an emitter, of one session. */
export const MOST_STREAMS = 50;
/** How long what belonged to a session waits for the one that follows it. */
const FOLLOW_MS = 10_000;
/** After a restart: for sessions to come back. */
const RETURN_MS = 60_000;
const SAVE_MS = 200;

const keyOf = (/** @type {Owner} */ { session, folder }) =>
  session === undefined ? `folder ${folder}` : `session ${session}`;

export class Emitters {
  /** Those of configs. */
  configured;
  #context;
  #saved;
  #teller;
  #now;
  /** By owner, then by name. @type {Map<string, Map<string, Emitter>>} */
  #emitters = new Map();
  /** Streams without an emitter, likewise. @type {Map<string, Map<string, Feed>>} */
  #streams = new Map();
  /** What a former process ran, until its session is there. @type {Saved[]} */
  #waiting = [];
  /** Likewise those of configs, by folder and name, which begin with their config. @type {Map<string, Saved>} */
  #former = new Map();
  #sessions;
  /** @type {Map<string, NodeJS.Timeout>} */
  #leaving = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #saving;
  #closed = false;

  /** @param {Context} context @param {() => number} [now] Unix ms */
  constructor(context, now = Date.now) {
    this.#context = context;
    this.#now = now;
    this.#teller = new Teller(context);
    this.#saved = new SavedEmitters(context);
    this.#sessions = new SessionList(context.services);
    this.configured = new Configured(context, this);
  }

  /** Goes on where a former process has ended. */
  async restore() {
    this.#waiting = await this.#saved.read();
    if (this.#waiting.length === 0) return;
    const timer = setTimeout(() => {
      this.#waiting = [];
      this.#changed();
    }, RETURN_MS);
    timer.unref();
    await this.#resume();
  }

  /** Starts again what belongs to a session that is there now, or to the one that follows it. */
  async #resume() {
    const sessions = await this.#sessions.list(true);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) {
      const isThere = sessions.some(({ cwd }) => cwd === one.owner.folder);
      if (one.allowed && isThere) {
        this.#former.set(`${keyOf(one.owner)} ${one.spec.name}`, one);
        continue;
      }
      const { background } = one.spec;
      const owner = ownerNow(one.owner, sessions, background && one.allowed);
      if (owner === undefined) {
        this.#waiting.push(one);
        continue;
      }
      if (this.#emitters.get(keyOf(owner))?.has(one.spec.name)) continue;
      await this.#add(one.spec, owner, await this.#howOf(one)).catch((error) =>
        this.#context.diagnostics.add(`${one.spec.name} could not go on: ${messageOf(error)}`),
      );
    }
  }

  /** @param {Saved} former @returns {Promise<import("./emitter.mjs").How>} */
  async #howOf({ spec, schedule, watched, allowed }) {
    return { former: schedule, watched, allowed, gap: await this.#saved.gapOf(spec) };
  }

  // ---- sessions ------------------------------------------------------------------------------------

  /** @returns {Promise<InspectedSession[]>} that are there */
  sessions() {
    return this.#sessions.list();
  }

  /** @param {string} id @returns {Promise<InspectedSession>} */
  session(id) {
    return this.#sessions.find(id);
  }

  /** @param {string} id */
  async sessionStarted(id) {
    const sessions = await this.#sessions.list(true);
    const here = sessions.find((one) => one.id === id);
    if (!here || this.#closed) return;
    if (this.#waiting.length > 0) await this.#resume();
    for (const [key, owner] of this.#owners()) {
      const next = this.#leaving.has(key) && ownerNow(owner, sessions);
      if (next) this.#stay(key, owner, next);
    }
    await this.configured.look();
    this.#sayUnheard(here);
  }

  /** A line in the timeline. @param {string} session @param {string} name @param {string} text */
  say(session, name, text) {
    this.#teller.show(session, name, text, "warning");
  }

  /** What belonged to a session belongs to the one that follows. @param {string} key @param {Owner} next */
  #adopt(key, next) {
    for (const all of [this.#emitters, this.#streams]) {
      const named = all.get(key);
      if (!named) continue;
      all.delete(key);
      const there = all.get(keyOf(next)) ?? new Map();
      for (const [name, one] of named) {
        if (there.has(name)) continue;
        there.set(name, one);
        if (one instanceof Emitter) one.adopt(next);
        else one.owner = next;
      }
      all.set(keyOf(next), there);
    }
    this.#changed();
  }

  /** @param {InspectedSession} session */
  #sayUnheard({ id, cwd }) {
    for (const { feed, owner, spec } of this.all()) {
      if (owner.session === undefined ? owner.folder !== cwd : owner.session !== id) continue;
      const text = feed.takeUnheard();
      if (text) this.#teller.show(id, spec.name, text);
    }
  }

  /** @returns {Map<string, Owner>} of all that is there, by key */
  #owners() {
    const all = [...this.#streams, ...this.#emitters];
    return new Map(all.map(([key, named]) => [key, [...named.values()][0].owner]));
  }

  /** A session follows. @param {string} key @param {Owner} owner @param {Owner} next */
  #stay(key, owner, next) {
    clearTimeout(this.#leaving.get(key));
    this.#leaving.delete(key);
    if (next !== owner) this.#adopt(key, next);
  }

  /** @param {string} id */
  async sessionEnded(id) {
    for (const one of this.all()) if (one.owner.session === id) one.sessionGone();
    const all = (await this.#sessions.list(true)).filter((one) => one.id !== id);
    for (const [key, owner] of this.#owners()) {
      const isThere = all.some((one) =>
        owner.session === undefined ? one.cwd === owner.folder : one.id === owner.session,
      );
      if (!isThere) this.#leaveLater(key, owner);
    }
  }

  /** @param {string} key @param {Owner} owner */
  #leaveLater(key, owner) {
    if (this.#leaving.has(key)) return;
    const leave = () => {
      this.#leave(key, owner).catch(() => {
        this.#leaving.delete(key);
        this.#leaveLater(key, owner);
      });
    };
    this.#leaving.set(key, setTimeout(leave, FOLLOW_MS));
  }

  /** @param {string} key @param {Owner} owner @returns {Promise<void>} rejected where the sessions are not known */
  async #leave(key, owner) {
    const next = ownerNow(owner, await this.#sessions.list(true));
    if (next) return this.#stay(key, owner, next);
    this.#leaving.delete(key);
    const named = [...(this.#emitters.get(key)?.values() ?? [])];
    const why = "its session has ended";
    await Promise.all(
      named
        .filter(({ spec, allowed }) => !(spec.background && allowed))
        .map((one) => this.remove(one, why)),
    );
    for (const feed of this.#streams.get(key)?.values() ?? []) await feed.close();
    this.#streams.delete(key);
    this.#changed();
  }

  /** @param {string} id */
  sessionIdle(id) {
    this.#sessions.forget();
    for (const one of this.all()) one.sessionIdle(id);
  }

  // ---- emitters ------------------------------------------------------------------------------------

  /** @returns {Emitter[]} */
  all() {
    return [...this.#emitters.values()].flatMap((named) => [...named.values()]);
  }

  /** Those that a session sees. @param {{id: string, cwd: string}} session @returns {Emitter[]} */
  of({ id, cwd }) {
    return this.all().filter(({ owner }) =>
      owner.session === undefined ? owner.folder === cwd : owner.session === id,
    );
  }

  /** @param {{id: string, cwd: string}} session @param {string} name @returns {Emitter | undefined} */
  find(session, name) {
    return this.of(session).find(({ spec }) => spec.name === name);
  }

  /**
   * @param {EmitterSpec} spec @param {InspectedSession} session that has asked for it
   * @param {{watched?: boolean, allowed?: boolean}} [how] `allowed`: by the user, as an entry of a config
   * @returns {Promise<Emitter>} rejected with a RangeError where it cannot be
   */
  async start(spec, { id, cwd, cliPid }, how) {
    const owner = { folder: cwd, cliPid, ...(spec.scope === "temporary" && { session: id }) };
    const key = `${keyOf(owner)} ${spec.name}`;
    const there = this.#emitters.get(keyOf(owner))?.get(spec.name);
    // In the background it has gone on without a session.
    if (how?.allowed && there?.allowed) {
      if (JSON.stringify(there.spec) === JSON.stringify(spec)) return there;
      await this.remove(there, "its config has changed");
    }
    const former = how?.allowed ? this.#former.get(key) : undefined;
    this.#former.delete(key);
    const isSame = JSON.stringify(former?.spec) === JSON.stringify(spec);
    const goesOn = isSame && former ? await this.#howOf(former) : undefined;
    return this.#add(spec, owner, { ...goesOn, ...how });
  }

  /** @param {EmitterSpec} spec @param {Owner} owner @param {import("./emitter.mjs").How} [how] */
  async #add(spec, owner, how) {
    if (this.#closed) throw new Error("the feature has ended");
    const key = keyOf(owner);
    const former = this.#emitters.get(key)?.get(spec.name);
    if (former && former.state !== "ended") {
      throw new RangeError(
        `there is an emitter ${spec.name} already: stop it with tap_stop_emitter, or choose another name`,
      );
    }
    if (this.all().length >= MOST_EMITTERS) {
      // Those that have ended keep their lines until there are too many.
      for (const one of this.all()) if (one.state === "ended") void this.remove(one, "forgotten");
    }
    if (this.all().length >= MOST_EMITTERS) {
      throw new RangeError(`there are ${MOST_EMITTERS} emitters: stop one`);
    }
    if (former) await this.remove(former, "replaced");
    const emitter = new Emitter(spec, owner, this.#parts(), how);
    const named = this.#emitters.get(key) ?? new Map();
    this.#emitters.set(key, named.set(spec.name, emitter));
    try {
      await emitter.begin();
    } catch (error) {
      named.delete(spec.name);
      await emitter.feed.close();
      throw error;
    }
    this.#changed();
    return emitter;
  }

  /** @returns {import("./feed.mjs").Parts} */
  #parts() {
    return {
      services: this.#context.services,
      teller: this.#teller,
      now: this.#now,
      target: (owner) => this.#sessions.target(owner),
      onChange: () => this.#changed(),
      onDiagnostic: (text) => this.#context.diagnostics.add(text),
    };
  }

  /** It keeps its lines. @param {Emitter} emitter @param {string} why */
  async end(emitter, why) {
    if (emitter.state !== "ended") await emitter.stop(why);
  }

  /** @param {Emitter} emitter @param {string} why */
  async remove(emitter, why) {
    const key = keyOf(emitter.owner);
    const named = this.#emitters.get(key);
    if (named?.get(emitter.spec.name) === emitter) named.delete(emitter.spec.name);
    if (named?.size === 0) this.#emitters.delete(key);
    await emitter.stop(why);
    await emitter.feed.close();
  }

  // ---- streams -------------------------------------------------------------------------------------

  /**
   * The feeds of a session's streams, by the name of the stream.
   * @param {InspectedSession} session @returns {Map<string, Feed[]>}
   */
  streamsOf(session) {
    /** @type {Map<string, Feed[]>} */
    const streams = new Map();
    const own = [`session ${session.id}`, `folder ${session.cwd}`];
    const feeds = [
      ...this.of(session).map(({ feed }) => feed),
      ...own.flatMap((key) => [...(this.#streams.get(key)?.values() ?? [])]),
    ];
    for (const feed of feeds) streams.set(feed.stream, [...(streams.get(feed.stream) ?? []), feed]);
    return streams;
  }

  /**
   * A stream that something can be posted to.
   * @param {InspectedSession} session @param {Pick<StreamSpec, "name"> & Partial<StreamSpec>} spec
   * @returns {Promise<Feed>}
   */
  async stream(
    { id, cwd, cliPid },
    { name, rules = [], subscribe = false, delivery = "important" },
  ) {
    const owner = { session: id, folder: cwd, cliPid };
    const key = keyOf(owner);
    const named = this.#streams.get(key) ?? new Map();
    const there = named.get(name);
    if (there) return there;
    if (named.size >= MOST_STREAMS) {
      throw new RangeError(`there are ${MOST_STREAMS} streams: use one of them`);
    }
    const options = { name, stream: name, rules, subscribe, delivery };
    const feed = new Feed(options, owner, this.#parts());
    named.set(name, feed);
    this.#streams.set(key, named);
    await feed.open({}, () => ({ isExpected: true }));
    return feed;
  }

  // ---- life ----------------------------------------------------------------------------------------

  #changed() {
    if (this.#closed) return;
    this.#saving ??= setTimeout(() => {
      this.#saving = undefined;
      void this.#save();
    }, SAVE_MS);
  }

  async #save() {
    const alive = this.all().filter(({ state }) => state !== "ended");
    await this.#saved.write(
      [...alive.map((one) => one.saved()), ...this.#waiting, ...this.#former.values()],
      alive.length,
    );
  }

  /** @returns {Promise<void>} once nothing runs; what ran is there still for the process that follows */
  async close() {
    clearTimeout(this.#saving);
    this.configured.close();
    if (!this.#closed) await this.#save();
    this.#closed = true;
    for (const timer of this.#leaving.values()) clearTimeout(timer);
    this.#teller.close();
    await Promise.all(this.all().map((one) => one.stop("tap ends"))); // feeds end with the process
  }
}
