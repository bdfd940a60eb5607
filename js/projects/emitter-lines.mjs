// An emitter in words: what the user is shown before he allows it. None of its texts can look like another line.

import { durationText } from "../base/emitter-duration.mjs";
import { quoted, shortened, visible } from "../base/visible.mjs";

/** @typedef {import("../base/emitter-spec.mjs").EmitterSpec} EmitterSpec */

/** @param {EmitterSpec} spec */
function whenOf({ every, cron, timezone, onChange, idle, ...spec }) {
  if (idle) return "whenever the session is idle";
  if (every !== undefined) return `every ${durationText(every)}`;
  if (cron !== undefined)
    return `at the times of cron ${quoted(cron)}${timezone ? ` in ${timezone}` : ""}`;
  if (onChange) return `when files change: ${onChange.map((glob) => quoted(glob)).join(" ")}`;
  return spec.continuous ? `until it is stopped (restart: ${spec.restart})` : "once";
}

/** @param {EmitterSpec} spec */
function workOf({ command, argv, prompt, url, jsonPath }) {
  if (prompt !== undefined) return `asks the model: ${prompt}`;
  if (url !== undefined)
    return `looks at ${url}${jsonPath === undefined ? "" : `, at ${jsonPath}`}`;
  return argv
    ? `runs ${argv.map((word) => quoted(word)).join(" ")}`
    : `runs in a shell: ${command}`;
}

/** @param {EmitterSpec} spec */
function moreOf({ kind, scope, background, maxRuns, autoStart, rules, ...spec }) {
  const inject = rules.some(({ outcome }) => outcome === "inject") || spec.delivery === "all";
  return [
    ...(maxRuns === undefined ? [] : [`at most ${maxRuns === 1 ? "once" : `${maxRuns} times`}`]),
    ...(background && scope === "persistent" ? ["also without a session"] : []),
    ...(autoStart ? [] : ["not by itself: when it is asked for"]),
    ...(kind !== "prompt" && spec.subscribe && inject ? ["its lines can go to the model"] : []),
  ];
}

/**
 * What it does, in full; then the rest, a line each.
 * @param {EmitterSpec} spec @param {number} [most] characters of a line; default: all
 * @returns {string[]}
 */
export function emitterLines(spec, most = Infinity) {
  const variables = Object.entries(spec.env).map(
    ([name, value]) => `with ${name}=${quoted(value)}`,
  );
  const lines = [
    workOf(spec),
    [whenOf(spec), ...moreOf(spec)].join(", "),
    ...(spec.cwd === undefined ? [] : [`in ${quoted(spec.cwd)}`]),
    ...variables,
  ];
  return lines.map((line) => shortened(visible(line), most));
}
