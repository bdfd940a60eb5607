// When an emitter runs, in words.

import { durationText } from "../../base/emitter-duration.mjs";

/** @param {import("../../base/emitter-spec.mjs").EmitterSpec} spec */
export function scheduleText({ kind, every, cron, timezone, onChange, idle, maxRuns, continuous }) {
  const when = idle
    ? "when the session is idle"
    : every !== undefined
      ? `every ${durationText(every)}`
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
