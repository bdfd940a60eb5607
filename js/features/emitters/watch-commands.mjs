// Watchers as the user starts, sees and quiets them: /tap-watch, /tap-quiet and `copilot-tap watch`.

import { formatProblem } from "../../config/schema.mjs";
import { readEmitter, WATCH_FIELD_NAMES } from "../../config/emitter-spec.mjs";
import { parseDuration, toWorkspacePath } from "../../config/emitter-values.mjs";
import { inLine, shortenText, visible } from "../../lib/visible.mjs";
import { formatFailures, formatSpan } from "../../watch/text.mjs";
import { emitterView } from "./views.mjs";
import { readWakeLimits } from "./wake-turns.mjs";

/** @typedef {import("./emitter.mjs").Emitter} Emitter */
/** @typedef {import("./manager.mjs").Emitters} Emitters */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */

const STARTERS = /^(?:npx|bunx|pnpm|yarn|npm|run|exec|dlx|uv|poetry|python3?|-m|--\S*)$/;
/** Of files whose change may change the result. @type {[RegExp, string][]} */
const GLOBS = [
  [/^(?:pytest|unittest|mypy|ruff)$/, "**/*.py"],
  [/^(?:tsc|eslint|jest|vitest|mocha|node-test)$/, "**/*.{js,ts,tsx,mjs}"],
  [/^cargo$/, "**/*.rs"],
  [/^go$/, "**/*.go"],
  [/^(?:cc|make|cmake|ninja|ctest)$/, "**/*.{c,cc,cpp,h}"],
];
const MAX_NAME = 40;
const MAX_SHOWN = 100;
const SHOWN_FAILURES = 50;

/** @param {string} command */
function suggestName(command) {
  const last =
    command
      .replaceAll(/'[^']*'|"[^"]*"/g, " ")
      .split(/&&|;|\|/)
      .at(-1) ?? "";
  const word =
    last
      .trim()
      .split(/\s+/)
      .find((one) => !STARTERS.test(one)) ?? "";
  const name = word.replace(/^.*[/\\]/, "").replace(/[^A-Za-z0-9._-]+/g, "-");
  return name.replace(/^[^A-Za-z0-9]+/, "").slice(0, MAX_NAME) || "watch";
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} name */
export function findFreeName(emitters, session, name) {
  const isTaken = (/** @type {string} */ one) => {
    const there = emitters.find(session, one);
    return there !== undefined && there.state !== "ended";
  };
  if (!isTaken(name)) return name;
  let number = 2;
  while (isTaken(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @returns {Emitter[]} */
const listWatchers = (emitters, session) =>
  emitters.listForSession(session).filter(({ watcher }) => watcher !== undefined);

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} name */
function requireWatcher(emitters, session, name) {
  const all = listWatchers(emitters, session);
  const found = all.find(({ spec }) => spec.name === name);
  if (found) return found;
  const there = all.map(({ spec }) => inLine(spec.name)).join(", ");
  throw new RangeError(
    `no watcher is called ${inLine(name)}; ${there ? `there are ${there}` : "there is none"}`,
  );
}

/** As lines, without a state. @param {Record<string, unknown>} watch @param {Record<string, any>} emitter */
function toPlain({ red, green, before, after, until }, { eventFilter = [] }) {
  const context = { before, after, until };
  const given = Object.entries(context).filter(([, value]) => value !== undefined);
  const rules = [
    ...(red === undefined ? [] : [{ match: red, outcome: "inject", ...Object.fromEntries(given) }]),
    ...(green === undefined ? [] : [{ match: green, outcome: "surface" }]),
  ];
  return { eventFilter: [...eventFilter, ...rules] };
}

/** @param {Emitter} emitter */
export const watchView = (emitter) => ({
  ...emitterView(emitter),
  ...emitter.watcher?.view(),
});

/**
 * @param {Emitters} emitters @param {InspectedSession} session
 * @param {Record<string, any>} given fields of an emitter, and of its `watch` @param {"user" | "watch"} hand
 * @throws {RangeError}
 */
export function readWatch(emitters, session, given, hand) {
  const { name, ...emitter } = given;
  /** @type {Record<string, unknown>} */
  const watch = {};
  for (const field of WATCH_FIELD_NAMES) {
    if (emitter[field] !== undefined) watch[field] = emitter[field];
    delete emitter[field];
  }
  const words = emitter.command ?? emitter.argv?.join(" ") ?? "";
  const { cwd } = emitter;
  const read = readEmitter(
    {
      ...{ includeStderr: true, managedBy: "userOwned", ...emitter },
      ...(typeof cwd === "string" && { cwd: toWorkspacePath(cwd, session.cwd) }),
      name: name ?? findFreeName(emitters, session, suggestName(words)),
      ...(watch.tool === "none" ? toPlain(watch, emitter) : { watch }),
    },
    { origin: "tool", hand },
  );
  if (read.ok === false) throw new RangeError(formatProblem(read.problems[0]));
  return read.spec;
}

/** By the user. @param {Emitters} emitters @param {InspectedSession} session @param {Record<string, any>} given */
export const startWatch = (emitters, session, given) =>
  emitters.start(readWatch(emitters, session, given, "user"), session);

/** What the user reads once it runs. @param {Emitter} emitter */
export function startText({ spec, watcher }) {
  const name = inLine(spec.name);
  const command = shortenText(visible(spec.command ?? spec.argv?.join(" ") ?? ""), MAX_SHOWN);
  const added = watcher?.plan.changed ?? [];
  const how = added.length > 0 ? `, with ${visible(added.join(" "))}` : "";
  const wakes = `a turn starts when it is red, at most ${readWakeLimits().perHour} an hour; /tap-quiet ${name} stops that`;
  const lines = [`${name} watches ${command} (${inLine(watcher?.tool ?? "")}${how}): ${wakes}`];
  if (!watcher) return `${name} reads the lines of ${command}`;
  if (watcher.isOnce) {
    const glob = GLOBS.find(([pattern]) => pattern.test(watcher.tool))?.[1] ?? "src/**";
    lines.push(`${name} ends; --on-change '${glob}' runs it again after each change`);
  }
  return lines.join("\n");
}

/** @param {Emitter} emitter */
function overviewLine(emitter) {
  const { watcher, spec } = emitter;
  const [{ state, since, failures }] = /** @type {any} */ (watcher).view().parts;
  const span = formatSpan(Date.now() - Date.parse(since));
  const count = state === "red" ? `, ${failures.length} failures` : "";
  const ended = emitter.state === "ended" ? ", ended" : "";
  const { lastHour, paused, quiet } = /** @type {any} */ (watcher).view().wakes;
  const how = quiet ? ", quiet" : paused ? ", paused" : "";
  const command = shortenText(visible(spec.command ?? spec.argv?.join(" ") ?? ""), MAX_SHOWN);
  return `  ${inLine(spec.name)}: ${state} for ${span}${count}${ended}${how}; ${lastHour} turns in the last hour\n    ${command}`;
}

/** @param {Emitters} emitters @param {InspectedSession} session */
export const overview = (emitters, session) => listWatchers(emitters, session).map(overviewLine);

/** @param {Emitter} emitter */
export function showText(emitter) {
  const { watcher, owner } = emitter;
  const { failures, leftOut } = /** @type {import("./watcher.mjs").Watcher} */ (watcher).state;
  const { texts } = formatFailures(failures, owner.folder, SHOWN_FAILURES);
  const more = leftOut > 0 ? [`  and ${leftOut} more`] : [];
  return [overviewLine(emitter), ...texts.map((line) => `  ${visible(line)}`), ...more].join("\n");
}

/**
 * @param {Emitters} emitters @param {InspectedSession} session
 * @param {Record<string, any> & {do: string}} asked
 */
export async function runWatchRequest(emitters, session, { do: work, ...given }) {
  if (work === "watch") {
    const emitter = await startWatch(emitters, session, given);
    return { ...watchView(emitter), text: startText(emitter) };
  }
  if (work === "watch.list") return { watchers: listWatchers(emitters, session).map(watchView) };
  if (work === "watch.quiet") return quiet(emitters, session, given);
  const emitter = requireWatcher(emitters, session, String(given.name));
  if (work === "watch.stop") await emitters.end(emitter, "by the user");
  if (work === "watch.go") emitter.watcher?.resume();
  return watchView(emitter);
}

/**
 * @param {Emitters} emitters @param {InspectedSession} session
 * @param {{name?: string, time?: string}} asked `time`: how long, or "off"; default: until the session ends
 */
function quiet(emitters, session, { name, time }) {
  const all =
    name === undefined
      ? listWatchers(emitters, session)
      : [requireWatcher(emitters, session, name)];
  const ms = time === undefined ? Infinity : time === "off" ? 0 : parseDuration(time);
  if (ms === undefined) throw new RangeError('expected a time such as "30m", or "off"');
  const until = ms === 0 ? 0 : Date.now() + ms;
  for (const { watcher } of all) watcher?.quiet(until);
  return { quiet: until > 0, watchers: all.map(({ spec }) => spec.name) };
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} args of /tap-quiet @returns {string} */
export function quietText(emitters, session, args) {
  const words = args.trim().split(/\s+/).filter(Boolean);
  const isTime = (/** @type {string} */ word) =>
    word === "off" || parseDuration(word) !== undefined;
  const time = isTime(words.at(-1) ?? "") ? words.pop() : undefined;
  const name = words.join(" ") || undefined;
  const { quiet: isQuiet, watchers } = quiet(emitters, session, { name, time });
  if (watchers.length === 0) return "tap: there is no watcher; /tap-watch <command> starts one";
  const names = watchers.map(inLine).join(", ");
  if (!isQuiet) return `tap: ${names} may start turns again`;
  return `tap: ${names} starts no turn${time ? ` for ${time}` : " until the session ends"}; /tap-quiet off ends that`;
}
