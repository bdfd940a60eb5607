// The tools of the group `emitters`. Their arguments are the model's.

import { readEmitter, readStream } from "../../base/emitter-spec.mjs";
import { inLine, quoted, shortened, visible, visibleLines } from "../../base/visible.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";
import { scheduleText } from "./schedule-text.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../base/work-consent.mjs").WorkConsent} WorkConsent */
/** @typedef {import("./manager.mjs").Emitters} Emitters */
/** @typedef {import("./emitter.mjs").Emitter} Emitter */
/** @typedef {import("./feed.mjs").Feed} Feed */
/** @typedef {{context: Context, emitters: Emitters, session: InspectedSession, consent?: WorkConsent}} Call `consent`: of the model's calls */

const MOST_HISTORY = 200;
const FEW = 20;
/** Of a line in a result. */
const MOST_TEXT = 1000;
/** Of lines that a filter is tried on. */
const TRIED = 200;
/** Characters of a list in a result, whose limit is js/registry/results.mjs's. */
const MOST_LIST = 24_000;
/** More are listed in short. */
const MOST_IN_FULL = 40;

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

const timeText = (/** @type {number} */ at) => new Date(at).toISOString();

/** @param {import("../../feature-host/line-streams.mjs").ToldLine} line */
export const lineView = ({ number, at, run, line, outcome, source, text, metadata }) => ({
  ...{ number, at: timeText(at), outcome },
  ...(run > 0 && { run }),
  ...(line > 0 && { line }),
  ...(source === "stderr" && { source }),
  text: shortened(visibleLines(text), MOST_TEXT),
  ...(metadata && { metadata }),
});

/** @param {Emitter} emitter */
function stateText({ why, state, lastRun }) {
  if (!why) return state;
  const { status, exitCode, signal, error } = lastRun ?? {};
  if (why !== "ended") return `ended: ${why}`;
  if (status !== "failed") return "ended";
  return `ended: ${error ?? signal ?? `exit code ${exitCode}`}`;
}

/** @param {Emitter} emitter */
export function emitterView(emitter) {
  const { spec, feed, owner } = emitter;
  const { kept, dropped, surfaced, injected, leftOut } = feed.counters();
  const [last] = feed.history({ last: 1 });
  const next = emitter.nextRuns(5).map(timeText);
  return {
    name: spec.name,
    id: emitter.id,
    ...(spec.description && { description: spec.description }),
    state: stateText(emitter),
    does: scheduleText(spec),
    what: shortened(
      visible(
        spec.command ??
          spec.argv?.map((word) => quoted(word)).join(" ") ??
          spec.prompt ??
          spec.url ??
          "",
      ),
      300,
    ),
    stream: feed.stream,
    scope: spec.scope,
    managedBy: spec.managedBy,
    folder: owner.folder,
    runs: emitter.runs,
    ...(emitter.lastRun && { lastRun: emitter.lastRun }),
    ...(next.length > 0 && { next }),
    lines: { kept, dropped, surfaced, injected, leftOut },
    injector: feed.subscribe ? feed.delivery : "off",
    rules: feed.rules.length,
    ...(last && { last: lineView(last) }),
  };
}

/** @param {string[]} names of hostile origin @param {string} none */
function knownText(names, none) {
  if (names.length === 0) return none;
  const more = names.length > FEW ? ` and ${names.length - FEW} more` : "";
  return `there are ${names.slice(0, FEW).map(inLine).join(", ")}${more}`;
}

/**
 * A list that fits into a result: in full, else in short, else the begin of it.
 * @template T @param {T[]} all @param {(one: T) => object} full @param {(one: T) => object} brief
 * @returns {{list: object[], left: number}} `left`: how many had no room
 */
function listed(all, full, brief) {
  const size = (/** @type {object} */ view) => JSON.stringify(view).length + 1;
  if (all.length <= MOST_IN_FULL) {
    const list = all.map(full);
    if (size(list) <= MOST_LIST) return { list, left: 0 };
  }
  let room = MOST_LIST;
  const list = [];
  for (const one of all) {
    const view = brief(one);
    if ((room -= size(view)) < 0) break;
    list.push(view);
  }
  return { list, left: all.length - list.length };
}

/** @template T @param {T[]} views of lines @returns {T[]} the last of them, as many as fit into a result */
function newestOf(views) {
  let room = MOST_LIST;
  const tooMany = views.findLastIndex((view) => (room -= JSON.stringify(view).length + 1) < 0);
  return views.slice(tooMany + 1);
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

/** What of the arguments is an entry of a config. @param {Record<string, unknown>} args */
function entryOf({ force: _force, scope: _scope, file: _file, ...entry }) {
  return entry;
}

/** The user's yes to a command, once in a session. @param {Call} call @param {import("../../base/emitter-spec.mjs").EmitterSpec} spec */
async function requireConsent({ consent, session }, spec) {
  const command = spec.command ?? spec.argv?.join(" ");
  if (command === undefined || !consent) return;
  const text = `The model asks tap to run in the background, as ${inLine(spec.name)} (${scheduleText(spec)}):\n  ${visible(command)}`;
  const why = await consent.obstacle(session.id, text);
  if (why) throw new ToolError("INTERNAL", `${spec.name} does not run: ${why}`);
}

/** @param {Call} call @param {Record<string, unknown>} args */
export async function startEmitter(call, args) {
  const read = readEmitter(args, { origin: "tool" });
  if (read.ok === false) throw problemsOf(read);
  const { spec, notes } = read;
  const { emitters, session } = call;
  const former = emitters.find(session, spec.name);
  const replaces = args.force === true;
  if (former && former.state !== "ended" && replaces) {
    await requireOwnership(call, former, true, "replace");
  }
  await requireConsent(call, spec);
  const emitter = await checked(() => emitters.start(spec, session, { replaces }));
  // One of another scope is still there.
  if (replaces && former && emitters.all().includes(former)) {
    await emitters.remove(former, "replaced");
  }
  const told = [...notes];
  if (spec.scope === "persistent") told.push(await saved(call, emitter, args));
  return { ...emitterView(emitter), ...(told.length > 0 && { notes: told }) };
}

/** @param {Call} call @param {Emitter} emitter @param {Record<string, unknown>} args @returns {Promise<string>} for the model */
async function saved({ context, emitters, session }, emitter, args) {
  const { file = "project", managedBy } = emitter.spec;
  const entry = { ...entryOf(args), managedBy };
  try {
    const { path, digest, allow } = await context.services.emitters.save({
      ...{ session: session.id, file, entry },
    });
    emitters.configured.saved(session, emitter, digest);
    if (!allow) return `Saved in ${path}. It starts by itself in the next session.`;
    return `Saved in ${path}. It starts by itself once the user has allowed it: ${allow}`;
  } catch (error) {
    await emitters.remove(emitter, "it could not be saved");
    throw error;
  }
}

/** The user's own hand, such as `copilot-tap emit`: what is his stays his. @param {Call} call @param {Record<string, unknown>} given */
export async function startByUser({ emitters, session }, given) {
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
  const { context, emitters, session } = call;
  const emitter = found(call, name);
  await requireOwnership(call, emitter, force, "stop");
  await emitters.end(emitter, "by the model");
  if (scope !== "persistent" || emitter.spec.scope !== "persistent") return emitterView(emitter);
  const file = emitter.spec.file ?? "project";
  await context.services.emitters.remove({ session: session.id, file, name: emitter.spec.name });
  return { ...emitterView(emitter), notes: ["Its entry of the config is removed."] };
}

/** @param {Call} call @param {{name?: string}} [args] */
export function listEmitters(call, { name } = {}) {
  if (name !== undefined) return { emitters: [emitterView(found(call, name))] };
  const { list, left } = listed(call.emitters.of(call.session), emitterView, (emitter) => ({
    name: emitter.spec.name,
    state: stateText(emitter),
  }));
  return { emitters: list, ...(left > 0 && { more: left }) };
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
  const { rules, notes } = rulesOf(args);
  const { lines, slow } = await checked(() => emitter.feed.test(rules, TRIED));
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
  if (args.test === true) return { name: emitter.spec.name, applied: false, ...more };
  await requireOwnership(call, emitter, args.force, "change the filter of");
  await checked(() => emitter.feed.setRules(rules));
  return { name: emitter.spec.name, applied: true, rules: rules.length, ...more };
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
    ...lastOf(feeds),
  });
  const query = { collection: "push", where: { session: session.id }, limit: MOST_HISTORY };
  const { records } = await context.services.records.query(query).catch(() => ({ records: [] }));
  const pushed = new Map();
  for (const { at, source, body } of records) {
    if (source === undefined || /^tap-/.test(source)) continue;
    const name = `${body.stream ?? source}@${source}`;
    const known = pushed.get(name) ?? { channel: name, last: timeText(at), pushes: 0 };
    pushed.set(name, { ...known, pushes: known.pushes + 1 });
  }
  const { list, left } = listed([...emitters.streamsOf(session)], own, ([channel]) => ({
    channel,
  }));
  const last = [...pushed.values()].slice(0, MOST_IN_FULL);
  return { streams: [...list, ...last], ...(left > 0 && { more: left }) };
}

/** @param {Feed[]} feeds */
function lastOf(feeds) {
  const all = feeds.flatMap((feed) => feed.history({ last: 1 }));
  const last = all.sort((a, b) => b.at - a.at)[0];
  return last ? { last: lineView(last) } : {};
}

/** @param {Call} call @param {{channel: string, message: string, source?: string, description?: string}} args */
export async function post({ emitters, session }, { channel, message, source, description }) {
  const own = { subscribe: false, managedBy: "modelOwned" };
  const read = readStream({ name: channel, ...(description && { description }), ...own });
  if (read.ok === false) throw problemsOf(read);
  const feed = await checked(() => emitters.streams.open(session, read.spec));
  feed.post(source ? `${inLine(source)}: ${message}` : message);
  return { channel, posted: true, ...lastOf([feed]) };
}

/** @param {Call} call @param {Record<string, any>} args */
export async function enableInjector(call, { channel, delivery, description, force }) {
  const read = readStream({
    ...{ name: channel, subscribe: true },
    ...(delivery !== undefined && { delivery }),
    ...(description !== undefined && { description }),
  });
  if (read.ok === false) throw problemsOf(read);
  await setInjectors(call, channel, true, read.spec.delivery, force);
  return { channel, injector: read.spec.delivery };
}

/** @param {Call} call @param {Record<string, any>} args */
export async function disableInjector(call, { channel, force }) {
  await setInjectors(call, channel, false, "important", force);
  return { channel, injector: "off" };
}

/** @param {Call} call @param {string} channel @param {boolean} subscribe @param {"important" | "all"} delivery @param {unknown} force */
async function setInjectors(call, channel, subscribe, delivery, force) {
  const { emitters, session } = call;
  const feeds = emitters.streamsOf(session).get(channel);
  if (!feeds && subscribe) {
    const feed = await checked(() => emitters.streams.open(session, { name: channel }));
    return feed.setInjector(true, delivery);
  }
  const own = emitters.of(session).filter(({ feed }) => feed.stream === channel);
  for (const emitter of own) {
    await requireOwnership(call, emitter, force, "change the injector of");
  }
  const ofEmitters = new Set(own.map(({ feed }) => feed));
  for (const feed of (feeds ?? []).filter((one) => !ofEmitters.has(one))) {
    await requireOwnership(call, { spec: feed }, force, "change the injector of");
  }
  for (const feed of feedsOf(call, channel)) feed.setInjector(subscribe, delivery);
}
