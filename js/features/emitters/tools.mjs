// The tools of the group `emitters`. Their arguments are the model's.

import { emitterEntry, streamEntry } from "../../base/emitter-entry.mjs";
import { readEmitter, readStream } from "../../base/emitter-spec.mjs";
import { fromWorkspace } from "../../base/emitter-work.mjs";
import { inLine } from "../../base/visible.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";
import { questionOf } from "./question.mjs";
import * as views from "./views.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../base/work-consent.mjs").WorkConsent} WorkConsent */
/** @typedef {import("./manager.mjs").Emitters} Emitters */
/** @typedef {import("./emitter.mjs").Emitter} Emitter */
/** @typedef {import("./feed.mjs").Feed} Feed */
/** @typedef {{context: Context, emitters: Emitters, session: InspectedSession, consent?: WorkConsent}} Call `consent`: of the model's calls */

const MOST_HISTORY = 200;
const FEW = 20;
const INSTEAD = 'stop it first, choose another name, or say "force": true to replace it';
/** Of lines that a filter is tried on. */
const TRIED = 200;

const { emitterView, knownText, lineView, listed, newestOf, timeText } = views;
const refused = (/** @type {string} */ text) => new ToolError("INVALID_ARGUMENTS", text);

/** @param {{problems: import("../../base/emitter-fields.mjs").FieldProblem[]}} read */
const problemsOf = ({ problems }) =>
  refused(problems.map(({ field, text }) => (field ? `${field}: ${text}` : text)).join("\n"));

/** A wrong rule, and the like. @template T @param {() => T | Promise<T>} work @returns {Promise<T>} */
async function checked(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const { rule } = /** @type {{rule?: number}} */ (error);
    throw refused(rule === undefined ? error.message : `rule ${rule + 1}: ${error.message}`);
  }
}

/** @param {Call} call @param {unknown} name */
function found({ emitters, session }, name) {
  const emitter = emitters.find(session, String(name));
  if (emitter) return emitter;
  const names = emitters.of(session).map(({ spec }) => spec.name);
  const known = knownText(names, "there is no emitter yet");
  throw new ToolError("NOT_FOUND", `no emitter has this name; ${known}`);
}

/**
 * What the user owns, the model changes only with his yes.
 * @param {Call} call @param {{spec: {managedBy: string, name: string}}} emitter @param {unknown} force @param {string} what
 */
async function requireOwnership({ context, session }, { spec }, force, what) {
  if (spec.managedBy !== "userOwned") return;
  if (force !== true) {
    throw refused(`${spec.name} is the user's: with "force": true the user is asked`);
  }
  const text = `The model asks tap to ${what} the emitter ${inLine(spec.name)}, which is yours.`;
  const { answer, reason } = await context.services.sessions.ask({ session: session.id, text });
  if (answer === "yes") return;
  const why = answer === "no" ? "the user has refused" : "the user could not be asked";
  throw new ToolError(
    "INTERNAL",
    `${spec.name} is the user's: ${why}${reason ? ` (${reason})` : ""}`,
  );
}

/**
 * Asks the user where one of these is his.
 * @param {Call} call @param {({spec: {managedBy: string, name: string}} | undefined)[]} changed @param {unknown} force @param {string} what
 */
async function requireAll(call, changed, force, what) {
  const his = changed.find((one) => one?.spec.managedBy === "userOwned");
  if (his) await requireOwnership(call, his, force, what);
}

/**
 * What a config has under a name.
 * @param {Call} call @param {"emitters" | "streams"} list @param {string} name @param {string} [file] any
 */
async function entryIn({ context, session }, list, name, file) {
  const configured = await context.services.emitters.configured({ session: session.id });
  return configured[list].find(
    (/** @type {any} */ one) => one.spec.name === name && (file ?? one.file) === one.file,
  );
}

/** What of the arguments is an entry of a config. @param {Record<string, unknown>} args */
function entryOf({ force: _force, scope: _scope, file: _file, ...entry }) {
  return entry;
}

/** @param {Call} call @param {import("../../base/emitter-spec.mjs").EmitterSpec} spec */
async function requireConsent({ consent, session }, spec) {
  const asked = questionOf(spec);
  if (asked === undefined || !consent) return;
  const why = await consent.obstacle(session.id, asked.text, asked.whole);
  if (why) throw new ToolError("INTERNAL", `${spec.name} does not run: ${why}`);
}

/**
 * Where nothing but a name is given: the emitter of a config that has it, such as one without autoStart.
 * @param {Call} call @param {Record<string, unknown>} given @returns {Promise<Emitter | undefined>}
 */
async function startedByName(call, { name, force: _force, ...more }) {
  const entry = Object.keys(more).length === 0 && (await entryIn(call, "emitters", String(name)));
  if (!entry) return undefined;
  const { emitters, session } = call;
  if (!entry.allowed) throw refused(`${entry.path} has it, and the user has not allowed it yet`);
  const former = emitters.of(session).find(({ spec, allowed }) => allowed && spec.name === name);
  if (former?.state === "ended") await emitters.remove(former, "it begins again");
  return checked(() => emitters.configured.begin(session, entry));
}

/** @param {Call} call @param {Record<string, unknown>} given */
export async function startEmitter(call, given) {
  const configured = await startedByName(call, given);
  if (configured) return emitterView(configured);
  const { cwd } = given;
  const isText = typeof cwd === "string";
  const args = isText ? { ...given, cwd: fromWorkspace(cwd, call.session.cwd) } : given;
  const read = readEmitter(args, { origin: "tool" });
  if (read.ok === false) throw problemsOf(read);
  const { spec, notes } = read;
  const { emitters, session } = call;
  const former = emitters.find(session, spec.name);
  const replaces = args.force === true;
  const isThere = former !== undefined && former.state !== "ended";
  if (isThere && !replaces) throw refused(`there is an emitter ${spec.name} already: ${INSTEAD}`);
  const { file } = spec;
  const entry = spec.scope === "persistent" && (await entryIn(call, "emitters", spec.name, file));
  await requireAll(call, [isThere ? former : undefined, entry || undefined], replaces, "replace");
  await requireConsent(call, spec);
  const emitter = await checked(() => emitters.start(spec, session, { replaces }));
  // One of another scope is still there.
  if (replaces && former && emitters.all().includes(former)) {
    await emitters.remove(former, "replaced");
  }
  const told =
    spec.scope === "persistent" ? [...notes, await savedNew(call, emitter, args)] : notes;
  return { ...emitterView(emitter), ...(told.length > 0 && { notes: told }) };
}

/** @param {Call} call @param {Emitter} emitter @param {Record<string, unknown>} entry @returns {Promise<string>} for the model */
async function saved({ context, emitters, session }, emitter, entry) {
  const { file } = emitter.spec;
  const asked = { session: session.id, file, entry };
  const { path, digest, allow } = await context.services.emitters.save(asked);
  emitters.configured.saved(session, emitter, digest);
  if (!allow) return `Saved in ${path}. It starts by itself in the next session.`;
  return `Saved in ${path}. It starts by itself once the user has allowed it: ${allow}`;
}

/** @param {Call} call @param {Emitter} emitter @param {Record<string, unknown>} args @returns {Promise<string>} for the model */
async function savedNew(call, emitter, args) {
  try {
    return await saved(call, emitter, { ...entryOf(args), managedBy: emitter.spec.managedBy });
  } catch (error) {
    await call.emitters.remove(emitter, "it could not be saved");
    throw error;
  }
}

/** The user's own hand, such as `copilot-tap emit`: what is his stays his. @param {Call} call @param {Record<string, unknown>} given */
export async function startByUser(call, given) {
  const { emitters, session } = call;
  const configured = await startedByName(call, given);
  if (configured) return emitterView(configured);
  const read = readEmitter({ managedBy: "userOwned", ...given }, { origin: "tool", hand: "user" });
  if (read.ok === false) throw problemsOf(read);
  if (read.spec.scope === "persistent") {
    throw refused("a persistent emitter is an entry of a config: docs/configuration.md");
  }
  return emitterView(await checked(() => emitters.start(read.spec, session)));
}

/** @param {Call} call @param {Record<string, unknown>} given */
export async function stopByUser(call, { name }) {
  const emitter = found(call, name);
  await call.emitters.end(emitter, "by the user");
  return emitterView(emitter);
}

/** @param {Call} call @param {Record<string, unknown>} args */
export async function stopEmitter(call, { name, scope, force }) {
  const there = call.emitters.find(call.session, String(name));
  const isKept = scope === "persistent" && (there?.spec.scope ?? scope) === scope;
  const entry = isKept && (await entryIn(call, "emitters", String(name), there?.spec.file));
  const emitter = there ?? (entry ? undefined : found(call, name));
  await requireAll(call, [emitter, entry || undefined], force, "stop");
  if (emitter) await call.emitters.end(emitter, "by the model");
  if (emitter && !isKept) return emitterView(emitter);
  const { file } = emitter?.spec ?? entry;
  const { context, session } = call;
  await context.services.emitters.remove({ session: session.id, file, name: String(name) });
  const notes = ["Its entry of the config is removed."];
  return emitter ? { ...emitterView(emitter), notes } : { name, notes };
}

/** @param {Call} call @param {{name?: string}} [args] */
export async function listEmitters(call, { name } = {}) {
  if (name !== undefined) return { emitters: [emitterView(found(call, name))] };
  const { context, session } = call;
  const read = await context.services.emitters.configured({ session: session.id });
  const there = new Set(call.emitters.of(session).map(({ spec }) => spec.name));
  const waiting = read.emitters
    .filter((/** @type {any} */ one) => !there.has(one.name))
    .map((/** @type {any} */ { name: label, file, allowed }) => ({ name: label, file, allowed }));
  const { list, left } = listed(call.emitters.of(call.session), emitterView, (emitter) => ({
    name: emitter.spec.name,
    state: views.stateText(emitter),
  }));
  return {
    emitters: list,
    ...(waiting.length > 0 && { configured: waiting }),
    ...(left > 0 && { more: left }),
  };
}

/** @param {Record<string, unknown>} args */
function rulesOf({ name, eventFilter, includePattern, excludePattern, notifyPattern }) {
  const given = { eventFilter, includePattern, excludePattern, notifyPattern };
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  const read = readStream({ name, ...Object.fromEntries(said) });
  if (read.ok === false) throw problemsOf(read);
  return { rules: read.spec.rules, notes: read.notes };
}

/** @param {Call} call @param {Record<string, unknown>} args */
export async function setEventFilter(call, args) {
  const emitter = found(call, args.name);
  const { spec, feed } = emitter;
  const { rules, notes } = rulesOf(args);
  if (args.managedBy !== undefined) notes.push('"managedBy" has no effect: it is the emitter\'s.');
  if (args.scope === "persistent" && spec.scope !== "persistent") {
    throw refused(`${spec.name} is temporary: its filter is in no config`);
  }
  const { lines, slow } = await checked(() => feed.test(rules, TRIED));
  /** @type {Record<string, number>} */
  const counts = {};
  for (const { outcome } of lines) counts[outcome] = (counts[outcome] ?? 0) + 1;
  const warnings = slow.flatMap((why, index) => (why ? [`rule ${index + 1} is slow: ${why}`] : []));
  const tried = {
    ...{ lines: lines.length, outcomes: counts },
    told: newestOf(
      lines
        .filter(({ outcome }) => outcome === "surface" || outcome === "inject")
        .slice(-FEW)
        .map(lineView),
    ),
  };
  const more = { tried, notes: [...notes, ...warnings] };
  if (args.test === true) return { name: spec.name, applied: false, ...more };
  await requireOwnership(call, emitter, args.force, "change the filter of");
  await checked(() => feed.setRules(rules));
  if (args.scope === "persistent") {
    more.notes.push(await saved(call, emitter, emitterEntry({ ...spec, rules })));
  }
  return { name: spec.name, applied: true, rules: rules.length, ...more };
}

/** @param {Call} call @param {unknown} channel @returns {Feed[]} */
function feedsOf({ emitters, session }, channel) {
  const streams = emitters.streamsOf(session);
  const feeds = streams.get(String(channel));
  if (feeds) return feeds;
  const known = knownText([...streams.keys()], "no stream is there yet");
  throw new ToolError("NOT_FOUND", `no stream has this name; ${known}`);
}

/** @param {Call} call @param {{channel?: string, limit?: number, least?: any}} args */
export function streamHistory(call, { channel, limit = FEW, least }) {
  const last = Math.min(limit, MOST_HISTORY);
  const feeds = feedsOf(call, channel);
  const lines = feeds.flatMap((feed) =>
    feed.history({ last, least }).map((line) => ({ ...lineView(line), emitter: feed.name })),
  );
  lines.sort((a, b) => (a.at === b.at ? a.number - b.number : a.at < b.at ? -1 : 1));
  const newest = newestOf(lines.slice(-last));
  const more = Math.min(lines.length, last) - newest.length;
  return { channel: String(channel), lines: newest, ...(more > 0 && { more }) };
}

/** @param {Call} call */
export async function listStreams({ context, emitters, session }) {
  const own = (/** @type {[string, Feed[]]} */ [name, feeds]) => ({
    channel: name,
    emitters: feeds.map((feed) => feed.name).filter((one) => one !== name || feeds.length > 1),
    injector: feeds.some(({ subscribe }) => subscribe)
      ? (feeds.find(({ subscribe }) => subscribe)?.delivery ?? "off")
      : "off",
    lines: feeds.reduce((sum, feed) => sum + feed.counters().kept, 0),
    ...views.lastOf(feeds),
  });
  const query = { collection: "push", where: { session: session.id }, limit: MOST_HISTORY };
  const { records } = await context.services.records.query(query).catch(() => ({ records: [] }));
  const pushed = new Map();
  for (const { at, source, body } of records) {
    if (source === undefined || /^tap-/.test(body.provider)) continue;
    const name = `${body.stream ?? source}@${source}`;
    const known = pushed.get(name) ?? { channel: name, last: timeText(at), pushes: 0 };
    pushed.set(name, { ...known, pushes: known.pushes + 1 });
  }
  const { list, left } = listed([...emitters.streamsOf(session)], own, ([channel]) => ({
    channel,
  }));
  const last = [...pushed.values()].slice(0, views.MOST_IN_FULL);
  return { streams: [...list, ...last], ...(left > 0 && { more: left }) };
}

/** @param {Call} call @param {{channel: string, message: string, source?: string, description?: string}} args */
export async function post({ emitters, session }, { channel, message, source, description }) {
  const own = { subscribe: false, managedBy: "modelOwned" };
  const read = readStream({ name: channel, ...(description && { description }), ...own });
  if (read.ok === false) throw problemsOf(read);
  const feed = await checked(() => emitters.streams.open(session, read.spec));
  feed.post(source ? `${inLine(source)}: ${message}` : message);
  return { channel, posted: true, ...views.lastOf([feed]) };
}

/** @param {Call} call @param {Record<string, any>} args */
export async function enableInjector(call, args) {
  return setInjectors(call, { ...args, subscribe: true });
}

/** @param {Call} call @param {Record<string, any>} args */
export async function disableInjector(call, args) {
  return setInjectors(call, { ...args, subscribe: false });
}

/** @param {Call} call @param {Record<string, any>} args */
async function setInjectors(call, { channel, force, scope, ...given }) {
  const isKept = scope === "persistent";
  const entry = isKept ? await entryIn(call, "streams", channel) : undefined;
  const { managedBy = "modelOwned" } = entry?.spec ?? {};
  const read = readStream({ name: channel, managedBy, ...given });
  if (read.ok === false) throw problemsOf(read);
  const { subscribe, delivery } = read.spec;
  const { emitters, session } = call;
  if ((subscribe || isKept) && !emitters.streamsOf(session).has(channel)) {
    await checked(() => emitters.streams.open(session, { name: channel }));
  }
  const feeds = feedsOf(call, channel);
  const own = emitters.of(session).filter(({ feed }) => feed.stream === channel);
  const others = feeds.filter((feed) => own.every((emitter) => emitter.feed !== feed));
  const changed = [...own, ...others.map((feed) => ({ spec: feed })), entry];
  await requireAll(call, changed, force, "change the injector of");
  for (const feed of feeds) feed.setInjector(subscribe, delivery);
  if (given.managedBy) for (const feed of others) feed.managedBy = read.spec.managedBy;
  const answer = { channel, injector: subscribe ? delivery : "off" };
  if (!isKept) return answer;
  return { ...answer, notes: [await savedStream(call, entry ?? {}, read.spec)] };
}

/**
 * @param {Call} call @param {{file?: string, spec?: Partial<import("../../base/emitter-spec.mjs").StreamSpec>}} entry of the config
 * @param {import("../../base/emitter-spec.mjs").StreamSpec} injector @returns {Promise<string>} for the model
 */
async function savedStream({ context, session }, { file = "project", spec = {} }, injector) {
  const entry = streamEntry({ ...spec, ...injector, rules: spec.rules ?? [] });
  const asked = { session: session.id, file, entry, list: "streams" };
  const { path } = await context.services.emitters.save(asked);
  return `Saved in ${path}.`;
}
