// A view as text for a session's timeline, without colours.

import { Output } from "./output.mjs";

/** 80 columns less the timeline's own margin. */
export const TIMELINE_COLUMNS = 74;

/** @param {(output: Output) => void} show @returns {string} */
export function timelineText(show) {
  let text = "";
  const out = /** @type {any} */ ({
    isTTY: true,
    columns: TIMELINE_COLUMNS,
    write: (/** @type {string} */ part) => (text += part),
  });
  show(new Output({}, { out, err: out, env: { NO_COLOR: "1" } }));
  return text.trimEnd();
}
