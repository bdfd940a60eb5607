// The emitters and streams of configs: once for each folder in which a session is open. A config may change at any
// time, and so may what the user allows.

import { errorMessage } from "../../lib/values.mjs";

/** @typedef {import("./manager.mjs").Emitters} Emitters */
/** @typedef {import("./emitter.mjs").Emitter} Emitter */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../feature-host/installation.mjs").Context} Context */
/** @typedef {{digest: string, emitter: Emitter, byModel: boolean, injector?: string}} RunningEntry `injector`: as the config had it last */

/** @param {{subscribe: boolean, delivery: string}} spec */
const formatInjector = ({ subscribe, delivery }) => `${subscribe} ${delivery}`;

/** The injector of a stream is none of its emitter's entry: it changes without another start. @param {RunningEntry} running @param {any} spec */
function updateInjector(running, spec) {
  const { injector = formatInjector(spec), emitter } = running;
  running.injector = formatInjector(spec);
  if (injector !== running.injector) emitter.feed.setInjector(spec.subscribe, spec.delivery);
}

/** Until a changed config is seen. */
const POLL_MS = 3000;

export class ConfigEmitters {
  #context;
  #emitters;
  /** What was read last, by folder. @type {Map<string, string>} */
  #stamps = new Map();
  /** By folder, file and name. @type {Map<string, Map<string, RunningEntry>>} */
  #entries = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** One look after another. @type {Promise<void>} */
  #pollQueue = Promise.resolve();
  #closed = false;

  /** @param {Context} context @param {Emitters} emitters */
  constructor(context, emitters) {
    this.#context = context;
    this.#emitters = emitters;
  }

  /** @returns {Promise<void>} once what the configs of all sessions name runs */
  poll() {
    this.#pollQueue = this.#pollQueue.then(() => this.#pollAll()).catch(() => {});
    return this.#pollQueue;
  }

  async #pollAll() {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const sessions = await this.#emitters.sessions();
    /** @type {Map<string, InspectedSession | undefined>} */
    const folders = new Map();
    for (const { allowed, spec, owner } of this.#emitters.all()) {
      if (allowed && spec.background) folders.set(owner.folder, undefined);
    }
    for (const session of sessions) folders.set(session.cwd, session);
    for (const [folder, session] of folders) {
      await this.#pollFolder(folder, session).catch((error) => {
        this.#context.diagnostics.add(`a config could not be read: ${errorMessage(error)}`);
      });
    }
    for (const key of this.#stamps.keys()) {
      if (!folders.has(key.replace(/^background /, ""))) this.#stamps.delete(key);
    }
    if (this.#closed || folders.size === 0) return;
    this.#timer = setTimeout(() => void this.poll(), POLL_MS);
    this.#timer.unref();
  }

  /** @param {string} folder @param {InspectedSession} [session] one that is there */
  async #pollFolder(folder, session) {
    // What begins with a session begins also where its config was seen without one.
    const place = session ? folder : `background ${folder}`;
    const stamp = this.#stamps.get(place);
    const whose = session ? { session: session.id } : { folder };
    const asked = { ...whose, ...(stamp !== undefined && { stamp }) };
    const read = await this.#context.services.emitters.configured(asked);
    if (read.same) return;
    this.#stamps.set(place, read.stamp);
    const there = this.#entries.get(folder) ?? new Map();
    this.#entries.set(folder, there);
    const named = new Map(
      read.emitters.map((/** @type {any} */ one) => [`${one.file} ${one.name}`, one]),
    );
    // While a config has mistakes, what it named before goes on.
    if (session && read.tools.length > 0) await this.#checkTools(session, read.tools);
    if (read.problems.length === 0) await this.#removeChanged(folder, there, named);
    if (!session) return;
    for (const [key, entry] of named) {
      if (there.has(key) || !entry.allowed || !entry.spec.autoStart) continue;
      await this.begin(session, entry).catch((error) => {
        this.#emitters.showWarning(session.id, entry.name, `did not begin: ${errorMessage(error)}`);
      });
    }
    if (read.problems.length > 0) return;
    const streams = read.streams.map((/** @type {any} */ one) => one.spec);
    await this.#emitters.streams.set(session, streams);
  }

  /** @param {InspectedSession} session @param {import("../../watch/entries.mjs").OwnTool[]} own */
  async #checkTools({ id }, own) {
    const { formatEntryProblem, loadEntries } = await import("../../watch/entries.mjs");
    for (const problem of loadEntries({ own }).problems)
      this.#emitters.showWarning(id, "tools", formatEntryProblem(problem));
  }

  /**
   * What a former process ran without a session, as the config has it now.
   * @param {string} folder @param {{spec: {name: string, file?: string}}} former
   * @returns {Promise<import("../../config/emitter-spec.mjs").EmitterSpec | undefined>} undefined: the user does not allow it
   */
  async findBackgroundSpec(folder, { spec: { name, file } }) {
    const { emitters } = await this.#context.services.emitters.configured({ folder });
    const entry = emitters.find(
      (/** @type {any} */ one) => one.name === name && one.file === (file ?? "project"),
    );
    return entry?.allowed && entry.spec.autoStart && entry.spec.background ? entry.spec : undefined;
  }

  /** What the config has no more, or not like this. @param {string} folder @param {Map<string, RunningEntry>} there @param {Map<string, any>} named */
  async #removeChanged(folder, there, named) {
    for (const [key, running] of [...there]) {
      const { digest, byModel, emitter } = running;
      const entry = named.get(key);
      const stays = entry?.digest === digest && (entry.allowed || byModel);
      const isThere = this.#emitters.all().includes(emitter); // else its session has ended
      if (isThere && stays) {
        updateInjector(running, entry.spec);
        continue;
      }
      there.delete(key);
      if (isThere) await this.#emitters.remove(emitter, "its config has changed");
    }
    // A former process ran it without a session; the config has changed since.
    const allowed = [...named.values()].filter((entry) => entry.allowed);
    const known = new Set([...there.values()].map(({ emitter }) => emitter));
    for (const emitter of this.#emitters.all()) {
      const { owner, spec } = emitter;
      if (known.has(emitter)) continue;
      if (!emitter.allowed || owner.session !== undefined || owner.folder !== folder) continue;
      if (allowed.some((entry) => entry.spec.name === spec.name)) continue;
      await this.#emitters.remove(emitter, "its config has changed");
    }
  }

  /** @param {InspectedSession} session @param {any} entry that the user allows @returns {Promise<Emitter>} it runs */
  async begin(session, { file, spec, digest }) {
    const emitter = await this.#emitters.start(spec, session, { allowed: true });
    const there = this.#entries.get(session.cwd) ?? new Map();
    const running = { digest, emitter, byModel: false, injector: formatInjector(spec) };
    this.#entries.set(session.cwd, there.set(`${file} ${spec.name}`, running));
    return emitter;
  }

  /** One that the model has saved: the call's permission holds while it runs. @param {InspectedSession} session @param {Emitter} emitter @param {string} digest */
  registerEntry({ cwd }, emitter, digest) {
    const there = this.#entries.get(cwd) ?? new Map();
    const file = emitter.spec.file ?? "project";
    there.set(`${file} ${emitter.spec.name}`, { digest, emitter, byModel: true });
    this.#entries.set(cwd, there);
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
  }
}
