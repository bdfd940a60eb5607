// All emitters and streams: which there are, whose they are, and what becomes of them when sessions come and go.

import { bySessionUse } from "../../lib/inspection.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { ConfigEmitters } from "./config-emitters.mjs";
import { Emitter } from "./emitter.mjs";
import { NotificationLimiter } from "./notification-limiter.mjs";
import { EmitterStore } from "./store.mjs";
import { groupByStream, ownerKey, Streams } from "./streams.mjs";
import { WakeTurns } from "./wake-turns.mjs";

/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./streams.mjs").Owner} Owner */
/** @typedef {import("../../config/emitter-spec.mjs").EmitterSpec} EmitterSpec */
/** @typedef {import("../../feature-host/installation.mjs").Context} Context */
/** @typedef {import("./store.mjs").EmitterSnapshot} EmitterSnapshot */

// The sessions that are there, and which of them has what.

/** A list of sessions as old is as good as a new one. */
const FRESH_MS = 250;

/**
 * Whose something is now: a session of the same CLI and folder follows another.
 * @param {Owner} owner @param {InspectedSession[]} sessions @param {boolean} [background] it needs none
 * @returns {Owner | undefined} undefined: nobody's
 */
export function resolveOwner(owner, sessions, background = false) {
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

  /** @param {import("../../feature-host/service-access.mjs").Services} services */
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
  invalidate() {
    this.#last = undefined;
  }

  /** The session that hears of something: of a folder, the one last used. @param {Owner} owner */
  async findTarget({ session, folder }) {
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

export const MAX_EMITTERS = 500;
/** How long what belonged to a session waits for the one that follows it. */
const REMOVAL_DELAY_MS = 10_000;
/** After a restart: for sessions to come back. */
const RETURN_MS = 60_000;
const SAVE_MS = 200;

/**
 * @typedef {object} StartOptions
 * @property {boolean} [allowed] by the user, as an entry of a config
 * @property {boolean} [replaces] one that runs under its name, where there is one
 */

export class Emitters {
  /** Those of configs. */
  configEmitters;
  #context;
  #store;
  #notifications;
  #turns;
  #now;
  /** By owner, then by name. @type {Map<string, Map<string, Emitter>>} */
  #emitters = new Map();
  /** Without an emitter. */
  streams = new Streams(() => this.#createParts());
  /** What a former process ran, until its session is there. @type {EmitterSnapshot[]} */
  #pendingResumes = [];
  /** Likewise those of configs, by folder and name, which begin with their config. @type {Map<string, EmitterSnapshot>} */
  #former = new Map();
  #sessions;
  /** @type {Map<string, NodeJS.Timeout>} */
  #removalTimers = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #saveTimer;
  /** @type {NodeJS.Timeout | undefined} */
  #returnTimer;
  #closed = false;
  /** @type {Promise<void>} */
  #resumeQueue = Promise.resolve();

  /** @param {Context} context @param {() => number} [now] Unix ms */
  constructor(context, now = Date.now) {
    this.#context = context;
    this.#now = now;
    this.#notifications = new NotificationLimiter(context);
    const listWatchers = (/** @type {{id: string, cwd: string}} */ session) =>
      this.listForSession(session).flatMap(({ watcher }) => watcher ?? []);
    this.#turns = new WakeTurns(context, listWatchers, now);
    this.#store = new EmitterStore(context);
    this.#sessions = new SessionList(context.services);
    this.configEmitters = new ConfigEmitters(context, this);
  }

  /** Goes on where a former process has ended. */
  async restore() {
    this.#pendingResumes = await this.#store.read();
    if (this.#pendingResumes.length === 0) return;
    const leave = () => {
      this.#pendingResumes = [];
      this.#scheduleSave();
    };
    // Where a session has come and its answer was late, that is seen now.
    const look = () => void this.#resume().then(leave, () => {});
    this.#returnTimer = setTimeout(look, RETURN_MS).unref();
    await this.#resume();
  }

  /** Starts again what belongs to a session that is there now, or to the one that follows it. */
  #resume() {
    const resumed = this.#resumeQueue.then(async () => {
      const sessions = await this.#sessions.list(true);
      for (const one of [...this.#pendingResumes]) {
        const goesOn = await this.#resumeOne(one, sessions).catch((error) => {
          this.#context.diagnostics.add(`${one.spec.name} could not go on: ${errorMessage(error)}`);
          return true;
        });
        if (goesOn) this.#pendingResumes = this.#pendingResumes.filter((other) => other !== one);
      }
    });
    this.#resumeQueue = resumed.catch(() => {});
    return resumed;
  }

  /** @param {EmitterSnapshot} one @param {InspectedSession[]} sessions @returns {Promise<boolean>} false: it waits for a session */
  async #resumeOne(one, sessions) {
    const isThere = sessions.some(({ cwd }) => cwd === one.owner.folder);
    if (one.allowed && isThere) {
      this.#former.set(`${ownerKey(one.owner)} ${one.spec.name}`, one);
      return true;
    }
    // Without a session: as the config and the user's consent say now, whatever the file says.
    const { folder } = one.owner;
    const entry = one.allowed
      ? await this.configEmitters.findBackgroundSpec(folder, one)
      : undefined;
    const owner = entry ? one.owner : resolveOwner(one.owner, sessions);
    if (owner === undefined) return false;
    if (this.#emitters.get(ownerKey(owner))?.has(one.spec.name)) return true;
    await this.#add(entry ?? one.spec, owner, await this.#store.getResumeOptions(one));
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
  async handleSessionStart(id) {
    const sessions = await this.#sessions.list(true);
    const here = sessions.find((one) => one.id === id);
    if (!here || this.#closed) return;
    if (this.#pendingResumes.length > 0) await this.#resume();
    for (const [key, owner] of this.#owners()) {
      const next = this.#removalTimers.has(key) && resolveOwner(owner, sessions);
      if (next) this.#cancelRemoval(key, owner, next);
    }
    await this.configEmitters.poll();
    if (this.#store.trouble !== "") this.showWarning(id, "emitters", this.#store.trouble);
    this.#reportMissedLines(here);
  }

  /** A line in the timeline. @param {string} session @param {string} name @param {string} text */
  showWarning(session, name, text) {
    this.#notifications.show(session, name, text, "warning");
  }

  /** What belonged to a session belongs to the one that follows. @param {string} key @param {Owner} next */
  #adopt(key, next) {
    this.streams.adopt(key, next);
    const named = this.#emitters.get(key);
    this.#emitters.delete(key);
    const there = this.#getByOwner(next);
    for (const [name, one] of named ?? []) {
      if (there.has(name)) continue;
      there.set(name, one);
      one.adopt(next);
    }
    if (there.size === 0) this.#emitters.delete(ownerKey(next));
    this.#scheduleSave();
  }

  /** @param {InspectedSession} session */
  #reportMissedLines({ id, cwd }) {
    for (const { feed, owner, spec, watcher } of this.all()) {
      if (owner.session === undefined ? owner.folder !== cwd : owner.session !== id) continue;
      void watcher?.check();
      const text = feed.drainMissedCounts();
      if (text) this.#notifications.show(id, spec.name, text);
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
  #cancelRemoval(key, owner, next) {
    clearTimeout(this.#removalTimers.get(key));
    this.#removalTimers.delete(key);
    if (next !== owner) this.#adopt(key, next);
  }

  /** @param {string} id */
  async handleSessionEnd(id) {
    this.#turns.forget(id);
    this.#notifications.forget(id);
    for (const one of this.all()) if (one.owner.session === id) one.handleSessionEnd();
    const all = (await this.#sessions.list(true)).filter((one) => one.id !== id);
    for (const [key, owner] of this.#owners()) {
      const isThere = all.some((one) =>
        owner.session === undefined ? one.cwd === owner.folder : one.id === owner.session,
      );
      if (!isThere) this.#scheduleRemoval(key, owner);
    }
  }

  /** @param {string} key @param {Owner} owner */
  #scheduleRemoval(key, owner) {
    if (this.#removalTimers.has(key)) return;
    const leave = () => {
      this.#removeOwner(key, owner).catch(() => {
        this.#removalTimers.delete(key);
        this.#scheduleRemoval(key, owner);
      });
    };
    this.#removalTimers.set(key, setTimeout(leave, REMOVAL_DELAY_MS));
  }

  /** @param {string} key @param {Owner} owner @returns {Promise<void>} rejected where the sessions are not known */
  async #removeOwner(key, owner) {
    const next = resolveOwner(owner, await this.#sessions.list(true));
    if (next) return this.#cancelRemoval(key, owner, next);
    this.#removalTimers.delete(key);
    const named = [...(this.#emitters.get(key)?.values() ?? [])];
    const why = "its session has ended";
    await Promise.all(
      named
        .filter(({ spec, allowed }) => !(spec.background && allowed))
        .map((one) => this.remove(one, why)),
    );
    await this.streams.close(key);
    this.#scheduleSave();
  }

  /** @param {string} id */
  handleSessionIdle(id) {
    this.#sessions.invalidate();
    for (const one of this.all()) one.handleSessionIdle(id);
  }

  /** What its activity was is out of date. */
  handleSessionBusy() {
    this.#sessions.invalidate();
  }

  /** Its user has spoken. @param {string} id */
  async handleSessionPrompt(id) {
    this.#sessions.invalidate();
    this.#turns.handlePrompt(id);
    const session = await this.#sessions.find(id).catch(() => undefined);
    if (session) for (const one of this.listForSession(session)) one.watcher?.handlePrompt();
  }

  // ---- emitters ------------------------------------------------------------------------------------

  /** @returns {Emitter[]} */
  all() {
    return [...this.#emitters.values()].flatMap((named) => [...named.values()]);
  }

  /** Those that a session sees. @param {{id: string, cwd: string}} session @returns {Emitter[]} */
  listForSession({ id, cwd }) {
    return this.all().filter(({ owner }) =>
      owner.session === undefined ? owner.folder === cwd : owner.session === id,
    );
  }

  /** @param {{id: string, cwd: string}} session @param {string} name @returns {Emitter | undefined} */
  find(session, name) {
    return this.listForSession(session).find(({ spec }) => spec.name === name);
  }

  /**
   * @param {EmitterSpec} spec @param {InspectedSession} session that has asked for it
   * @param {StartOptions} [how]
   * @returns {Promise<Emitter>} it runs, and is saved; rejected, mostly with a RangeError, where nothing of it is left
   */
  async start(spec, { id, cwd, cliPid }, how) {
    const owner = { folder: cwd, cliPid, ...(spec.scope === "temporary" && { session: id }) };
    const key = `${ownerKey(owner)} ${spec.name}`;
    const there = this.#emitters.get(ownerKey(owner))?.get(spec.name);
    // In the background it has gone on without a session.
    if (how?.allowed && there?.allowed) {
      if (JSON.stringify(there.spec) === JSON.stringify(spec)) return there;
      await this.remove(there, "its config has changed");
    }
    const former = how?.allowed ? this.#former.get(key) : undefined;
    this.#former.delete(key);
    const isSame = JSON.stringify(former?.spec) === JSON.stringify(spec);
    const goesOn = isSame && former ? await this.#store.getResumeOptions(former) : undefined;
    const { path } = await this.#context.services.sessions.environment({ session: id });
    return this.#add(spec, owner, { ...goesOn, path, ...how });
  }

  /** @param {EmitterSpec} spec @param {Owner} owner @param {import("./emitter.mjs").EmitterOptions & StartOptions} [how] */
  async #add(spec, owner, how = {}) {
    this.#requireRoom(spec, owner, how);
    const emitter = new Emitter(spec, owner, this.#createParts(), how);
    try {
      await emitter.open();
      this.#requireRoom(spec, owner, how); // another may have come in the meantime
      const former = this.#getByOwner(owner).get(spec.name);
      this.#getByOwner(owner).set(spec.name, emitter);
      const problem = how.former ? "" : await this.#save();
      if (problem !== "") {
        this.#forget(emitter);
        if (former) this.#getByOwner(owner).set(spec.name, former);
        await this.#save(); // it may hold both hosts already
        throw new Error(`it could not be saved, so it does not run: ${problem}`);
      }
      if (former) await this.#close(former, "replaced");
    } catch (error) {
      await emitter.discard();
      throw error;
    }
    await emitter.begin();
    this.#scheduleSave();
    return emitter;
  }

  /** @param {EmitterSpec} spec @param {Owner} owner @param {StartOptions} how */
  #requireRoom({ name }, owner, { replaces = false }) {
    if (this.#closed) throw new Error("the feature has ended");
    const former = this.#emitters.get(ownerKey(owner))?.get(name);
    if (former && former.state !== "ended" && !replaces) {
      throw new RangeError(
        `there is an emitter ${name} already: stop it first, or choose another name`,
      );
    }
    if (this.all().length >= MAX_EMITTERS) {
      // Those that have ended keep their lines until there are too many.
      for (const one of this.all()) if (one.state === "ended") void this.remove(one, "forgotten");
    }
    if (this.all().length >= MAX_EMITTERS && !former) {
      throw new RangeError(`there are ${MAX_EMITTERS} emitters: stop one`);
    }
  }

  /** Those of an owner. @param {Owner} owner */
  #getByOwner(owner) {
    const named = this.#emitters.get(ownerKey(owner)) ?? new Map();
    this.#emitters.set(ownerKey(owner), named);
    return named;
  }

  /** @param {Emitter} emitter */
  #forget({ owner, spec }) {
    const named = this.#getByOwner(owner);
    named.delete(spec.name);
    if (named.size === 0) this.#emitters.delete(ownerKey(owner));
  }

  /** @returns {import("./streams.mjs").Parts} */
  #createParts() {
    return {
      services: this.#context.services,
      notifications: this.#notifications,
      turns: this.#turns,
      onWake: () => {},
      now: this.#now,
      target: (owner) => this.#sessions.findTarget(owner),
      onChange: () => this.#scheduleSave(),
      onDiagnostic: (text) => this.#context.diagnostics.add(text),
    };
  }

  /** It keeps its lines. @param {Emitter} emitter @param {string} why */
  async end(emitter, why) {
    if (emitter.state !== "ended") await emitter.stop(why);
  }

  /** @param {Emitter} emitter @param {string} why */
  async remove(emitter, why) {
    if (this.#emitters.get(ownerKey(emitter.owner))?.get(emitter.spec.name) === emitter) {
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
   * @param {InspectedSession} session @returns {Map<string, import("./streams.mjs").Feed[]>}
   */
  getStreams(session) {
    const own = [`session ${session.id}`, `folder ${session.cwd}`];
    return groupByStream([
      ...this.listForSession(session).map(({ feed }) => feed),
      ...own.flatMap((key) => this.streams.listFeeds(key)),
    ]);
  }

  // ---- life ----------------------------------------------------------------------------------------

  #scheduleSave() {
    if (this.#closed) return;
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = undefined;
      void this.#save();
    }, SAVE_MS);
  }

  async #save() {
    const alive = this.all().filter(({ state }) => state !== "ended");
    const ids = new Set(alive.map(({ id }) => id));
    const others = [...this.#pendingResumes, ...this.#former.values()].filter(
      ({ id }) => !ids.has(id),
    );
    return this.#store.write([...alive.map((one) => one.toSnapshot()), ...others], alive.length);
  }

  /** @param {boolean} [hasBegun] false: the file and the hold are as they were @returns {Promise<void>} once nothing runs; what ran is there still for the process that follows */
  async close(hasBegun = true) {
    clearTimeout(this.#saveTimer);
    clearTimeout(this.#returnTimer);
    this.configEmitters.close();
    if (hasBegun && !this.#closed) await this.#save();
    this.#closed = true;
    for (const timer of this.#removalTimers.values()) clearTimeout(timer);
    this.#notifications.close();
    this.#turns.close();
    await Promise.all(this.all().map((one) => one.stop("tap ends"))); // feeds end with the process
  }
}
