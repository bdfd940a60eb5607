// All emitters and streams: which there are, whose they are, and what becomes of them when sessions come and go.

import { messageOf } from "../../base/errors.mjs";
import { Configured } from "./configured.mjs";
import { Emitter } from "./emitter.mjs";
import { SavedEmitters } from "./saved.mjs";
import { ownerNow, SessionList } from "./sessions.mjs";
import { byStream, keyOf, Streams } from "./streams.mjs";
import { Teller } from "./teller.mjs";

/** @typedef {import("../../base/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {import("./feed.mjs").Owner} Owner */
/** @typedef {import("./saved.mjs").Saved} Saved */

export const MOST_EMITTERS = 500;
/** How long what belonged to a session waits for the one that follows it. */
const FOLLOW_MS = 10_000;
/** After a restart: for sessions to come back. */
const RETURN_MS = 60_000;
const SAVE_MS = 200;

/**
 * @typedef {object} StartHow
 * @property {boolean} [watched] @property {boolean} [allowed] by the user, as an entry of a config
 * @property {boolean} [replaces] one that runs under its name, where there is one
 */

export class Emitters {
  /** Those of configs. */
  configured;
  #context;
  #saved;
  #teller;
  #now;
  /** By owner, then by name. @type {Map<string, Map<string, Emitter>>} */
  #emitters = new Map();
  /** Without an emitter. */
  streams = new Streams(() => this.#parts());
  /** What a former process ran, until its session is there. @type {Saved[]} */
  #waiting = [];
  /** Likewise those of configs, by folder and name, which begin with their config. @type {Map<string, Saved>} */
  #former = new Map();
  #sessions;
  /** @type {Map<string, NodeJS.Timeout>} */
  #leaving = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #saving;
  /** @type {NodeJS.Timeout | undefined} */
  #returning;
  #closed = false;
  /** @type {Promise<void>} */
  #resuming = Promise.resolve();

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
    const leave = () => {
      this.#waiting = [];
      this.#changed();
    };
    // Where a session has come and its answer was late, that is seen now.
    const look = () => void this.#resume().then(leave, () => {});
    this.#returning = setTimeout(look, RETURN_MS).unref();
    await this.#resume();
  }

  /** Starts again what belongs to a session that is there now, or to the one that follows it. */
  #resume() {
    const resumed = this.#resuming.then(async () => {
      const sessions = await this.#sessions.list(true);
      for (const one of [...this.#waiting]) {
        const goesOn = await this.#goOn(one, sessions).catch((error) => {
          this.#context.diagnostics.add(`${one.spec.name} could not go on: ${messageOf(error)}`);
          return true;
        });
        if (goesOn) this.#waiting = this.#waiting.filter((other) => other !== one);
      }
    });
    this.#resuming = resumed.catch(() => {});
    return resumed;
  }

  /** @param {Saved} one @param {InspectedSession[]} sessions @returns {Promise<boolean>} false: it waits for a session */
  async #goOn(one, sessions) {
    const isThere = sessions.some(({ cwd }) => cwd === one.owner.folder);
    if (one.allowed && isThere) {
      this.#former.set(`${keyOf(one.owner)} ${one.spec.name}`, one);
      return true;
    }
    // Without a session: as the config and the user's consent say now, whatever the file says.
    const { folder } = one.owner;
    const entry = one.allowed ? await this.configured.inBackground(folder, one) : undefined;
    const owner = entry ? one.owner : ownerNow(one.owner, sessions);
    if (owner === undefined) return false;
    if (this.#emitters.get(keyOf(owner))?.has(one.spec.name)) return true;
    await this.#add(entry ?? one.spec, owner, await this.#saved.howOf(one));
    return true;
  }

  // ---- sessions ------------------------------------------------------------------------------------

  /** @returns {Promise<InspectedSession[]>} that are there */
  sessions = () => this.#sessions.list();

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
    if (this.#saved.trouble !== "") this.say(id, "emitters", this.#saved.trouble);
    this.#sayUnheard(here);
  }

  /** A line in the timeline. @param {string} session @param {string} name @param {string} text */
  say(session, name, text) {
    this.#teller.show(session, name, text, "warning");
  }

  /** What belonged to a session belongs to the one that follows. @param {string} key @param {Owner} next */
  #adopt(key, next) {
    this.streams.adopt(key, next);
    const named = this.#emitters.get(key);
    this.#emitters.delete(key);
    const there = this.#named(next);
    for (const [name, one] of named ?? []) {
      if (there.has(name)) continue;
      there.set(name, one);
      one.adopt(next);
    }
    if (there.size === 0) this.#emitters.delete(keyOf(next));
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
    const all = [...this.#emitters].map(
      ([key, named]) => /** @type {const} */ ([key, [...named.values()][0].owner]),
    );
    return new Map([...this.streams.owners(), ...all]);
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
    await this.streams.close(key);
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
   * @param {StartHow} [how]
   * @returns {Promise<Emitter>} it runs, and is saved; rejected, mostly with a RangeError, where nothing of it is left
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
    const goesOn = isSame && former ? await this.#saved.howOf(former) : undefined;
    const { path } = await this.#context.services.sessions.environment({ session: id });
    return this.#add(spec, owner, { ...goesOn, path, ...how });
  }

  /** @param {EmitterSpec} spec @param {Owner} owner @param {import("./emitter.mjs").How & StartHow} [how] */
  async #add(spec, owner, how = {}) {
    this.#requireRoom(spec, owner, how);
    const emitter = new Emitter(spec, owner, this.#parts(), how);
    try {
      await emitter.open();
      this.#requireRoom(spec, owner, how); // another may have come in the meantime
      const former = this.#named(owner).get(spec.name);
      this.#named(owner).set(spec.name, emitter);
      const problem = how.former ? "" : await this.#save();
      if (problem !== "") {
        this.#forget(emitter);
        if (former) this.#named(owner).set(spec.name, former);
        await this.#save(); // it may hold both hosts already
        throw new Error(`it could not be saved, so it does not run: ${problem}`);
      }
      if (former) await this.#close(former, "replaced");
    } catch (error) {
      await emitter.discard();
      throw error;
    }
    await emitter.begin();
    this.#changed();
    return emitter;
  }

  /** @param {EmitterSpec} spec @param {Owner} owner @param {StartHow} how */
  #requireRoom({ name }, owner, { replaces = false }) {
    if (this.#closed) throw new Error("the feature has ended");
    const former = this.#emitters.get(keyOf(owner))?.get(name);
    if (former && former.state !== "ended" && !replaces) {
      throw new RangeError(
        `there is an emitter ${name} already: stop it first, or choose another name`,
      );
    }
    if (this.all().length >= MOST_EMITTERS) {
      // Those that have ended keep their lines until there are too many.
      for (const one of this.all()) if (one.state === "ended") void this.remove(one, "forgotten");
    }
    if (this.all().length >= MOST_EMITTERS && !former) {
      throw new RangeError(`there are ${MOST_EMITTERS} emitters: stop one`);
    }
  }

  /** Those of an owner. @param {Owner} owner */
  #named(owner) {
    const named = this.#emitters.get(keyOf(owner)) ?? new Map();
    this.#emitters.set(keyOf(owner), named);
    return named;
  }

  /** @param {Emitter} emitter */
  #forget({ owner, spec }) {
    const named = this.#named(owner);
    named.delete(spec.name);
    if (named.size === 0) this.#emitters.delete(keyOf(owner));
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
    if (this.#emitters.get(keyOf(emitter.owner))?.get(emitter.spec.name) === emitter) {
      this.#forget(emitter);
    }
    await this.#close(emitter, why);
  }

  /** @param {Emitter} emitter @param {string} why */
  async #close(emitter, why) {
    await emitter.stop(why);
    await emitter.feed.close();
  }

  // ---- streams -------------------------------------------------------------------------------------

  /**
   * The feeds of a session's streams, by the name of the stream.
   * @param {InspectedSession} session @returns {Map<string, import("./feed.mjs").Feed[]>}
   */
  streamsOf(session) {
    const own = [`session ${session.id}`, `folder ${session.cwd}`];
    return byStream([
      ...this.of(session).map(({ feed }) => feed),
      ...own.flatMap((key) => this.streams.of(key)),
    ]);
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
    const ids = new Set(alive.map(({ id }) => id));
    const others = [...this.#waiting, ...this.#former.values()].filter(({ id }) => !ids.has(id));
    return this.#saved.write([...alive.map((one) => one.saved()), ...others], alive.length);
  }

  /** @param {boolean} [hasBegun] false: the file and the hold are as they were @returns {Promise<void>} once nothing runs; what ran is there still for the process that follows */
  async close(hasBegun = true) {
    clearTimeout(this.#saving);
    clearTimeout(this.#returning);
    this.configured.close();
    if (hasBegun && !this.#closed) await this.#save();
    this.#closed = true;
    for (const timer of this.#leaving.values()) clearTimeout(timer);
    this.#teller.close();
    await Promise.all(this.all().map((one) => one.stop("tap ends"))); // feeds end with the process
  }
}
