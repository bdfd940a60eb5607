// What the tools of emitters answer: each emitter and line as JSON, and lists that fit into a result.

import { formatDuration } from "../../config/emitter-values.mjs";
import { redactLine, redactLines } from "../../lib/redact.mjs";
import { formatNames, inLine, quoteWord, shortenText, visible } from "../../lib/visible.mjs";
import { formatVariables } from "../../lib/work-consent.mjs";

/** @typedef {import("./emitter.mjs").Emitter} Emitter */
/** @typedef {import("./streams.mjs").Feed} Feed */

// When an emitter runs, in words.

/** @param {import("../../config/emitter-spec.mjs").EmitterSpec} spec */
export function scheduleText({ kind, every, cron, timezone, onChange, idle, maxRuns, continuous }) {
  const when = idle
    ? "when the session is idle"
    : every !== undefined
      ? `every ${formatDuration(every)}`
      : cron !== undefined
        ? `cron ${cron}${timezone ? ` (${timezone})` : ""}`
        : onChange
          ? `on a change of ${onChange.join(", ")}`
          : continuous
            ? "until it is stopped"
            : "once";
  const most = maxRuns === undefined || when === "once" ? "" : `, at most ${maxRuns} times`;
  return `${kind}, ${when}${most}`;
}

/** Of a line in a result. */
const MAX_TEXT = 1000;
/** Bytes of a list in a result, whose limit is js/feature-host/results.mjs's. */
const MAX_LIST_BYTES = 24_000;
/** Of a view in a list. @param {unknown} view */
const countJsonBytes = (view) => Buffer.byteLength(JSON.stringify(view)) + 1;
/** More are listed in short. */
export const MAX_FULL_VIEWS = 40;

/** Of names in a message. */
const MAX_NAMED = 20;

export const timeText = (/** @type {number} */ at) => new Date(at).toISOString();

/** @param {import("../../feature-host/line-streams.mjs").StreamLine} line */
export const lineView = ({ number, at, run, line, outcome, source, text, metadata }) => ({
  ...{ number, at: timeText(at), outcome },
  ...(run > 0 && { run }),
  ...(line > 0 && { line }),
  ...(source === "stderr" && { source }),
  text: shortenText(redactLines(text), MAX_TEXT),
  ...(metadata && { metadata }),
});

/** @param {Emitter} emitter */
export function stateText({ endReason: why, state, lastRun }) {
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
    what: shortenText(
      redactLine(
        spec.command ??
          spec.argv?.map((word) => quoteWord(word)).join(" ") ??
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
    ...(spec.sandbox && { sandbox: feed.isSandboxed === false ? "not sandboxed" : "on" }),
    runs: emitter.runs,
    ...(emitter.lastRun && { lastRun: emitter.lastRun }),
    ...(next.length > 0 && { next }),
    lines: { kept, dropped, surfaced, injected, leftOut },
    injector: feed.subscribe ? feed.delivery : "off",
    rules: feed.rules.length,
    ...(last && { last: lineView(last) }),
  };
}

/** @param {import("../../watch/state.mjs").Failure} failure for the model */
export const failureView = ({ detail: _detail, id: _id, lines, ...failure }) => ({
  ...failure,
  since: timeText(failure.since),
  lines: lines.map((line) => redactLine(line)),
});

/** @param {string[]} names of hostile origin @param {string} none */
export const formatThere = (names, none) =>
  names.length === 0 ? none : `there are ${formatNames(names, MAX_NAMED)}`;

/**
 * A list that fits into a result: in full, else in short, else the begin of it.
 * @template T @param {T[]} all @param {(one: T) => object} full @param {(one: T) => object} brief
 * @returns {{list: object[], left: number}} `left`: how many had no room
 */
export function fitList(all, full, brief) {
  if (all.length <= MAX_FULL_VIEWS) {
    const list = all.map(full);
    if (countJsonBytes(list) <= MAX_LIST_BYTES) return { list, left: 0 };
  }
  let room = MAX_LIST_BYTES;
  const list = [];
  for (const one of all) {
    const view = brief(one);
    if ((room -= countJsonBytes(view)) < 0) break;
    list.push(view);
  }
  return { list, left: all.length - list.length };
}

/** @template T @param {T[]} views of lines @returns {T[]} the last of them, as many as fit into a result */
export function fitNewest(views) {
  let room = MAX_LIST_BYTES;
  const tooMany = views.findLastIndex((view) => (room -= countJsonBytes(view)) < 0);
  return views.slice(tooMany + 1);
}

/** @param {Feed[]} feeds */
export function lastLineField(feeds) {
  const all = feeds.flatMap((feed) => feed.history({ last: 1 }));
  const last = all.sort((a, b) => b.at - a.at)[0];
  return last ? { last: lineView(last) } : {};
}

// What the user is asked before an emitter of the model runs.

const MAX_WORK = 1200;
const MAX_FOLDER = 100;

const CONFIGS = { user: "your own config, for all folders", project: "the project's config" };

/**
 * @param {string | undefined} file of a config @param {"emitters" | "streams"} list @param {object} entry that is written
 * @returns {{text: string, whole: object}}
 */
export function formatSaveQuestion(file, list, entry) {
  const config = file === "user" ? CONFIGS.user : CONFIGS.project;
  const written = shortenText(visible(JSON.stringify(entry)), MAX_WORK);
  const text = `The model asks tap to write into ${config}, under "${list}":\n  ${written}`;
  return { text, whole: { file, list, entry } };
}

/** @param {string | undefined} file of a config @param {string} name of an emitter @returns {{text: string, whole: object}} */
export function formatRemoveQuestion(file, name) {
  const config = file === "user" ? CONFIGS.user : CONFIGS.project;
  const text = `The model asks tap to remove the emitter ${visible(name)} from ${config}.`;
  return { text, whole: { file, removed: name } };
}

/**
 * Prompts are asked for only where they are to stay in a config. An address can carry data away.
 * @param {import("../../config/emitter-spec.mjs").EmitterSpec} spec
 * @returns {{text: string, whole: object} | undefined} undefined: nothing is to be asked
 */
export function formatConsentQuestion({
  name,
  command,
  argv,
  prompt,
  url,
  cwd = "",
  env,
  ...spec
}) {
  const isKept = spec.scope === "persistent";
  const line = command ?? argv?.map((word) => quoteWord(word)).join(" ");
  const work = line ?? url ?? (isKept ? prompt : undefined);
  if (work === undefined) return undefined;
  const when = scheduleText(/** @type {any} */ ({ ...spec, command, argv, prompt, url }));
  const config = spec.file === "user" ? CONFIGS.user : CONFIGS.project;
  const always = spec.background ? ", where it runs also without a session" : "";
  const kept = isKept ? `, and to save it in ${config}${always}` : "";
  const lines = [
    `The model asks tap to run in the background, as ${inLine(name)} (${when})${kept}:`,
    `  ${shortenText(visible(work), MAX_WORK)}`,
    ...(cwd === "" ? [] : [`  in the folder ${shortenText(visible(cwd), MAX_FOLDER)}`]),
    ...formatVariables(env),
  ];
  return { text: lines.join("\n"), whole: { argv, work, cwd, env } };
}
