// The command's views for a session of the CLI, as text of its timeline.

import { Output } from "./output.mjs";
import { showStatus } from "./commands/status.mjs";

/** What is left of 80 columns beside the timeline's own margin. */
const COLUMNS = 74;

/**
 * What a command would print, without colours.
 * @param {(output: Output) => Promise<unknown>} work
 * @returns {Promise<string>}
 */
async function printed(work) {
  let text = "";
  const out = /** @type {any} */ ({
    isTTY: true,
    columns: COLUMNS,
    write: (/** @type {string} */ part) => (text += part),
  });
  await work(new Output({}, { out, err: out, env: { NO_COLOR: "1" } }));
  return text.trimEnd();
}

/** @param {import("../base/paths.mjs").GatewayFiles} files */
export const statusText = (files) => printed((output) => showStatus(output, files));
