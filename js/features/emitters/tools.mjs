// The tools of the group `emitters`. Their arguments are the model's.

import { readRules } from "../../config/emitter-rules.mjs";
import {
  readEmitter,
  readStream,
  toEmitterEntry,
  toStreamEntry,
} from "../../config/emitter-spec.mjs";
import { toWorkspacePath } from "../../config/emitter-values.mjs";
import { formatProblem } from "../../config/schema.mjs";
import { inLine } from "../../lib/visible.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";
import { formatConsentQuestion, formatRemoveQuestion, formatSaveQuestion } from "./views.mjs";
import * as views from "./views.mjs";

/** @typedef {import("../../feature-host/installation.mjs").Context} Context */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../lib/work-consent.mjs").WorkConsent} WorkConsent */
/** @typedef {import("./manager.mjs").Emitters} Emitters */
/** @typedef {import("./emitter.mjs").Emitter} Emitter */
/** @typedef {import("./streams.mjs").Feed} Feed */
/** @typedef {{context: Context, emitters: Emitters, session: InspectedSession, consent?: WorkConsent}} Call `consent`: of the model's calls */

const MAX_HISTORY = 200;
const DEFAULT_LINES = 20;
const REPLACE_HINT = 'stop it first, choose another name, or say "force": true to replace it';
/** Of lines that a filter is tried on. */
const TEST_LINES = 200;

const { emitterView, formatThere, lineView, fitList, fitNewest, timeText } = views;
const createArgumentError = (/** @type {string} */ text) =>
  new ToolError("INVALID_ARGUMENTS", text);

/** @param {{problems: import("../../config/schema.mjs").FieldProblem[]}} read */
const toArgumentError = ({ problems }) =>
  createArgumentError(problems.map(formatProblem).join("\n"));

/** A wrong rule, and the like. @template T @param {() => T | Promise<T>} work @returns {Promise<T>} */
async function convertRangeErrors(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const { rule } = /** @type {{rule?: number}} */ (error);
    throw createArgumentError(
      rule === undefined ? error.message : `rule ${rule + 1}: ${error.message}`,
    );
  }
}

/** @param {Call} call @param {unknown} name */
function requireEmitter({ emitters, session }, name) {
  const emitter = emitters.find(session, String(name));
  if (emitter) return emitter;
  const names = emitters.listForSession(session).map(({ spec }) => spec.name);
  const known = formatThere(names, "there is no emitter yet");
  throw new ToolError("NOT_FOUND", `no emitter has this name; ${known}`);
}

/**
 * What the user owns, the model changes only with his yes.
 * @param {Call} call @param {{spec: {managedBy: string, name: string}}} emitter @param {unknown} force @param {string} what
 */
async function requireOwnership({ context, session }, { spec }, force, what) {
  if (spec.managedBy !== "userOwned") return;
  if (force !== true) {
    throw createArgumentError(`${spec.name} is the user's: with "force": true the user is asked`);
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
async function requireAllOwnership(call, changed, force, what) {
  const his = changed.find((one) => one?.spec.managedBy === "userOwned");
  if (his) await requireOwnership(call, his, force, what);
}

/**
 * What a config has under a name.
 * @param {Call} call @param {"emitters" | "streams"} list @param {string} name @param {string} [file] any
 */
async function findEntry({ context, session }, list, name, file) {
  const configured = await context.services.emitters.configured({ session: session.id });
  return configured[list].find(
    (/** @type {any} */ one) => one.spec.name === name && (file ?? one.file) === one.file,
  );
}

/** What of the arguments is an entry of a config. @param {Record<string, unknown>} args */
function toEntry({ force: _force, scope: _scope, file: _file, ...entry }) {
  return entry;
}

/** The model changes what an entry runs, and not where. @param {any} entry of a config, if there is one */
const pickSandbox = (entry) => (entry?.spec?.sandbox ? { sandbox: entry.spec.sandbox } : {});

/** @param {Call} call @param {import("../../config/emitter-spec.mjs").EmitterSpec} spec */
async function requireConsent({ consent, session }, spec) {
  const asked = formatConsentQuestion(spec);
  if (asked === undefined || !consent) return;
  const why = await consent.requestConsent(session.id, asked.text, asked.whole);
  if (why) throw new ToolError("INTERNAL", `${spec.name} does not run: ${why}`);
}

/**
 * Before an entry of a config is written.
 * @param {Call} call @param {string | undefined} file @param {"emitters" | "streams"} list @param {object} entry
 */
async function requireSaveConsent({ consent, session }, file, list, entry) {
  const { text, whole } = formatSaveQuestion(file, list, entry);
  const why = await consent?.requestConsent(session.id, text, whole);
  if (why) throw new ToolError("INTERNAL", `nothing is saved: ${why}`);
}

/** @param {Call} call @param {string | undefined} file @param {string} name */
async function requireRemoveConsent({ consent, session }, file, name) {
  const { text, whole } = formatRemoveQuestion(file, name);
  const why = await consent?.requestConsent(session.id, text, whole);
  if (why) throw new ToolError("INTERNAL", `nothing is stopped or removed: ${why}`);
}

/**
 * Where nothing but a name is given: the emitter of a config that has it, such as one without autoStart.
 * @param {Call} call @param {Record<string, unknown>} given @returns {Promise<Emitter | undefined>}
 */
async function startByName(call, { name, force: _force, ...more }) {
  const entry = Object.keys(more).length === 0 && (await findEntry(call, "emitters", String(name)));
  if (!entry) return undefined;
  const { emitters, session } = call;
  if (!entry.allowed)
    throw createArgumentError(`${entry.path} has it, and the user has not allowed it yet`);
  const former = emitters
    .listForSession(session)
    .find(({ spec, allowed }) => allowed && spec.name === name);
  if (former?.state === "ended") await emitters.remove(former, "it begins again");
  return convertRangeErrors(() => emitters.configEmitters.begin(session, entry));
}

/** @param {Record<string, unknown>} given @param {string} folder of the session @returns {Record<string, unknown>} */
const shortenFolder = (given, folder) =>
  typeof given.cwd === "string" ? { ...given, cwd: toWorkspacePath(given.cwd, folder) } : given;

/** @param {Call} call @param {Record<string, unknown>} given */
export async function startEmitter(call, given) {
  const configured = await startByName(call, given);
  if (configured) return emitterView(configured);
  const args = shortenFolder(given, call.session.cwd);
  const read = readEmitter(args, { origin: "tool" });
  if (read.ok === false) throw toArgumentError(read);
  const { spec, notes } = read;
  const { emitters, session } = call;
  const former = emitters.find(session, spec.name);
  const replaces = args.force === true;
  const isThere = former !== undefined && former.state !== "ended";
  if (isThere && !replaces)
    throw createArgumentError(`there is an emitter ${spec.name} already: ${REPLACE_HINT}`);
  const { file } = spec;
  const entry = spec.scope === "persistent" && (await findEntry(call, "emitters", spec.name, file));
  await requireAllOwnership(
    call,
    [isThere ? former : undefined, entry || undefined],
    replaces,
    "replace",
  );
  await requireConsent(call, spec);
  const kept = pickSandbox(entry);
  const started = { ...spec, ...kept };
  const emitter = await convertRangeErrors(() => emitters.start(started, session, { replaces }));
  // One of another scope is still there.
  if (replaces && former && emitters.all().includes(former)) {
    await emitters.remove(former, "replaced");
  }
  const told =
    spec.scope === "persistent"
      ? [...notes, await saveNewEntry(call, emitter, { ...args, ...kept })]
      : notes;
  return { ...emitterView(emitter), ...(told.length > 0 && { notes: told }) };
}

/** @param {Call} call @param {Emitter} emitter @param {Record<string, unknown>} entry @returns {Promise<string>} for the model */
async function saveEntry({ context, emitters, session }, emitter, entry) {
  const { file } = emitter.spec;
  const asked = { session: session.id, file, entry };
  const { path, digest, allow } = await context.services.emitters.save(asked);
  emitters.configEmitters.registerEntry(session, emitter, digest);
  if (!allow) return `Saved in ${path}. It starts by itself in the next session.`;
  return `Saved in ${path}. It starts by itself once the user has allowed it: ${allow}`;
}

/** @param {Call} call @param {Emitter} emitter @param {Record<string, unknown>} args @returns {Promise<string>} for the model */
async function saveNewEntry(call, emitter, args) {
  try {
    return await saveEntry(call, emitter, { ...toEntry(args), managedBy: emitter.spec.managedBy });
  } catch (error) {
    await call.emitters.remove(emitter, "it could not be saved");
    throw error;
  }
}

/** @param {Call} call @param {Record<string, any>} given */
export async function watch(call, given) {
  const { emitters, session } = call;
  const { readWatch, watchView } = await import("./watch-commands.mjs");
  const spec = await convertRangeErrors(() =>
    readWatch(emitters, session, { ...given, managedBy: "modelOwned" }, "watch"),
  );
  const { planWatch } = await import("./watcher.mjs");
  const { command, argv, env } = await convertRangeErrors(() =>
    planWatch(spec, session.cwd, call.context.services),
  );
  await requireConsent(call, { ...spec, command, argv, env });
  const emitter = await convertRangeErrors(() => emitters.start(spec, session));
  return watchView(emitter);
}

/** @param {Call} call @param {{name: string, failure?: string}} args */
export async function watchState(call, { name, failure = "" }) {
  const { watcher } = requireEmitter(call, name);
  if (!watcher) throw createArgumentError(`${inLine(name)} has no state: start it with tap_watch`);
  watcher.markRead();
  const { parts, ...view } = watcher.view();
  const [part] = parts;
  const fits = (/** @type {object} */ one) => JSON.stringify(one).includes(failure);
  const { list, left } = views.fitList(part.failures.filter(fits), views.failureView, (one) => ({
    ...{ file: one.file, line: one.line, name: one.name },
  }));
  return { name, ...view, ...part, failures: list, ...(left > 0 && { more: left }) };
}

/** The user's own hand, such as `copilot-tap emit`: what is his stays his. @param {Call} call @param {Record<string, unknown>} given */
export async function startByUser(call, given) {
  const { emitters, session } = call;
  const configured = await startByName(call, given);
  if (configured) return emitterView(configured);
  const args = { managedBy: "userOwned", ...shortenFolder(given, session.cwd) };
  const read = readEmitter(args, { origin: "tool", hand: "user" });
  if (read.ok === false) throw toArgumentError(read);
  if (read.spec.scope === "persistent") {
    throw createArgumentError(
      "a persistent emitter is an entry of a config: docs/configuration.md",
    );
  }
  return emitterView(await convertRangeErrors(() => emitters.start(read.spec, session)));
}

/** @param {Call} call @param {Record<string, unknown>} given */
export async function stopByUser(call, { name }) {
  const emitter = requireEmitter(call, name);
  await call.emitters.end(emitter, "by the user");
  return emitterView(emitter);
}

/** @param {Call} call @param {Record<string, unknown>} args */
export async function stopEmitter(call, { name, scope, force }) {
  const there = call.emitters.find(call.session, String(name));
  const isKept = scope === "persistent" && (there?.spec.scope ?? scope) === scope;
  const entry = isKept && (await findEntry(call, "emitters", String(name), there?.spec.file));
  const emitter = there ?? (entry ? undefined : requireEmitter(call, name));
  await requireAllOwnership(call, [emitter, entry || undefined], force, "stop");
  const { file } = emitter?.spec ?? entry;
  if (isKept) await requireRemoveConsent(call, file, String(name));
  if (emitter) await call.emitters.end(emitter, "by the model");
  if (emitter && !isKept) return emitterView(emitter);
  return removeEntry(call, emitter, file, String(name));
}

/** @param {Call} call @param {Emitter | undefined} emitter that it was @param {string | undefined} file @param {string} name */
async function removeEntry({ context, session }, emitter, file, name) {
  await context.services.emitters.remove({ session: session.id, file, name });
  const notes = ["Its entry of the config is removed."];
  return emitter ? { ...emitterView(emitter), notes } : { name, notes };
}

/** @param {Call} call @param {{name?: string}} [args] */
export async function listEmitters(call, { name } = {}) {
  if (name !== undefined) return { emitters: [emitterView(requireEmitter(call, name))] };
  const { context, session } = call;
  const read = await context.services.emitters.configured({ session: session.id });
  const there = new Set(call.emitters.listForSession(session).map(({ spec }) => spec.name));
  const waiting = read.emitters
    .filter((/** @type {any} */ one) => !there.has(one.name))
    .map((/** @type {any} */ { name: label, file, allowed }) => ({ name: label, file, allowed }));
  const { list, left } = fitList(
    call.emitters.listForSession(call.session),
    emitterView,
    (emitter) => ({
      name: emitter.spec.name,
      state: views.stateText(emitter),
    }),
  );
  return {
    emitters: list,
    ...(waiting.length > 0 && { configured: waiting }),
    ...(left > 0 && { more: left }),
  };
}

/** @param {Record<string, unknown>} args */
function requireRules({ eventFilter, includePattern, excludePattern, notifyPattern }) {
  const read = readRules({ eventFilter, includePattern, excludePattern, notifyPattern });
  if (read.ok === false) throw toArgumentError(read);
  return read.value;
}

/** @param {Call} call @param {Record<string, unknown>} args */
export async function setEventFilter(call, args) {
  const emitter = requireEmitter(call, args.name);
  const { spec, feed } = emitter;
  const rules = requireRules(args);
  /** @type {string[]} */
  const notes = [];
  if (args.managedBy !== undefined) notes.push('"managedBy" has no effect: it is the emitter\'s.');
  if (args.scope === "persistent" && spec.scope !== "persistent") {
    throw createArgumentError(`${spec.name} is temporary: its filter is in no config`);
  }
  const { lines, slow } = await convertRangeErrors(() => feed.test(rules, TEST_LINES));
  /** @type {Record<string, number>} */
  const counts = {};
  for (const { outcome } of lines) counts[outcome] = (counts[outcome] ?? 0) + 1;
  const warnings = slow.flatMap((why, index) => (why ? [`rule ${index + 1} is slow: ${why}`] : []));
  const tried = {
    ...{ lines: lines.length, outcomes: counts },
    told: fitNewest(
      lines
        .filter(({ outcome }) => outcome === "surface" || outcome === "inject")
        .slice(-DEFAULT_LINES)
        .map(lineView),
    ),
  };
  const more = { tried, notes: [...notes, ...warnings] };
  if (args.test === true) return { name: spec.name, applied: false, ...more };
  await requireOwnership(call, emitter, args.force, "change the filter of");
  const entry = args.scope === "persistent" && toEmitterEntry({ ...spec, rules });
  if (entry) await requireSaveConsent(call, spec.file, "emitters", entry);
  await convertRangeErrors(() => feed.setRules(rules));
  if (entry) more.notes.push(await saveEntry(call, emitter, entry));
  return { name: spec.name, applied: true, rules: rules.length, ...more };
}

/** @param {Call} call @param {unknown} channel @returns {Feed[]} */
function findFeeds({ emitters, session }, channel) {
  const streams = emitters.getStreams(session);
  const feeds = streams.get(String(channel));
  if (feeds) return feeds;
  const known = formatThere([...streams.keys()], "no stream is there yet");
  throw new ToolError("NOT_FOUND", `no stream has this name; ${known}`);
}

/** @param {Call} call @param {{channel?: string, limit?: number, least?: any}} args */
export function streamHistory(call, { channel, limit = DEFAULT_LINES, least }) {
  const last = Math.min(limit, MAX_HISTORY);
  const feeds = findFeeds(call, channel);
  const lines = feeds.flatMap((feed) =>
    feed.history({ last, least }).map((line) => ({ ...lineView(line), emitter: feed.name })),
  );
  lines.sort((a, b) => (a.at === b.at ? a.number - b.number : a.at < b.at ? -1 : 1));
  const newest = fitNewest(lines.slice(-last));
  const more = Math.min(lines.length, last) - newest.length;
  return { channel: String(channel), lines: newest, ...(more > 0 && { more }) };
}

/** @param {Call} call */
export async function listStreams({ context, emitters, session }) {
  const toStreamView = (/** @type {[string, Feed[]]} */ [name, feeds]) => ({
    channel: name,
    emitters: feeds.map((feed) => feed.name).filter((one) => one !== name || feeds.length > 1),
    injector: feeds.some(({ subscribe }) => subscribe)
      ? (feeds.find(({ subscribe }) => subscribe)?.delivery ?? "off")
      : "off",
    lines: feeds.reduce((sum, feed) => sum + feed.counters().kept, 0),
    ...views.lastLineField(feeds),
  });
  const query = { collection: "push", where: { session: session.id }, limit: MAX_HISTORY };
  const { records } = await context.services.records.query(query).catch(() => ({ records: [] }));
  const pushed = new Map();
  for (const { at, source, body } of records) {
    if (source === undefined || /^tap-/.test(body.provider)) continue;
    const name = `${body.stream ?? source}@${source}`;
    const known = pushed.get(name) ?? { channel: name, last: timeText(at), pushes: 0 };
    pushed.set(name, { ...known, pushes: known.pushes + 1 });
  }
  const { list, left } = fitList([...emitters.getStreams(session)], toStreamView, ([channel]) => ({
    channel,
  }));
  const last = [...pushed.values()].slice(0, views.MAX_FULL_VIEWS);
  return { streams: [...list, ...last], ...(left > 0 && { more: left }) };
}

/** @param {Call} call @param {{channel: string, message: string, source?: string, description?: string}} args */
export async function post({ emitters, session }, { channel, message, source, description }) {
  const own = { subscribe: false, managedBy: "modelOwned" };
  const read = readStream({ name: channel, ...(description && { description }), ...own });
  if (read.ok === false) throw toArgumentError(read);
  const feed = await convertRangeErrors(() => emitters.streams.open(session, read.spec));
  feed.post(source ? `${inLine(source)}: ${message}` : message);
  return { channel, posted: true, ...views.lastLineField([feed]) };
}

/** @param {Call} call @param {Record<string, any>} args */
export async function enableInjector(call, args) {
  return setInjectors(call, { ...args, subscribe: true });
}

/** @param {Call} call @param {Record<string, any>} args */
export async function disableInjector(call, args) {
  return setInjectors(call, { ...args, subscribe: false });
}

/** @param {{spec: {managedBy: string}} | undefined} entry of a config @param {Record<string, any>} given */
function readInjector(entry, given) {
  const read = readStream({ managedBy: entry?.spec.managedBy ?? "modelOwned", ...given });
  if (read.ok === false) throw toArgumentError(read);
  return read.spec;
}

/** @param {Call} call @param {Record<string, any>} args */
async function setInjectors(call, { channel, force, scope, ...given }) {
  const isKept = scope === "persistent";
  const entry = isKept ? await findEntry(call, "streams", channel) : undefined;
  const spec = readInjector(entry, { name: channel, ...given });
  const { subscribe, delivery } = spec;
  const { emitters, session } = call;
  if ((subscribe || isKept) && !emitters.getStreams(session).has(channel)) {
    await convertRangeErrors(() => emitters.streams.open(session, { name: channel }));
  }
  const feeds = findFeeds(call, channel);
  const own = emitters.listForSession(session).filter(({ feed }) => feed.stream === channel);
  const others = feeds.filter((feed) => own.every((emitter) => emitter.feed !== feed));
  const changed = [...own, ...others.map((feed) => ({ spec: feed })), entry];
  await requireAllOwnership(call, changed, force, "change the injector of");
  const saved = isKept ? toSavedStream(entry ?? {}, spec) : undefined;
  if (saved) await requireSaveConsent(call, saved.file, "streams", saved.entry);
  for (const feed of feeds) feed.setInjector(subscribe, delivery);
  if (given.managedBy) for (const feed of others) feed.managedBy = spec.managedBy;
  const answer = { channel, injector: subscribe ? delivery : "off" };
  if (!saved) return answer;
  const asked = { session: session.id, ...saved, list: "streams" };
  const { path } = await call.context.services.emitters.save(asked);
  return { ...answer, notes: [`Saved in ${path}.`] };
}

/**
 * @param {{file?: string, spec?: Partial<import("../../config/emitter-spec.mjs").StreamSpec>}} former entry of the config
 * @param {import("../../config/emitter-spec.mjs").StreamSpec} injector
 */
const toSavedStream = ({ file = "project", spec = {} }, injector) => ({
  file,
  entry: toStreamEntry({ ...spec, ...injector, rules: spec.rules ?? [] }),
});
