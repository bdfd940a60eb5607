// `logs`: the logs of the gateway and the extensions, merged by time.

import { Failure, usage, pause, runInterruptible } from "../exit.mjs";
import { getGatewayFiles, FOLLOW } from "../options.mjs";
import { LogFiles, SOURCES } from "../log-files.mjs";
import { bad, faint, Output, strong, warning } from "../../views/output.mjs";
import { localTime, withShortIds } from "../../views/wording.mjs";

/** @typedef {import("../log-files.mjs").Entry} Entry */
/** @typedef {import("../options.mjs").CommandOptions & {follow: boolean, level: string, lines: string, source?: string}} LogsOptions */

const LEVELS = ["info", "warning", "error"];
const POLL_MS = 250;
const MAX_NAME_LENGTH = Math.max(...Object.keys(SOURCES).map((name) => name.length));
const COLOURS = { info: faint, warning, error: bad };

/** @param {Output} output @param {Entry} entry */
const show = (output, { at, level, from, text }) =>
  output.print(
    faint(localTime(at)),
    " ",
    strong(from.padEnd(MAX_NAME_LENGTH)),
    " ",
    COLOURS[level](level.padEnd(7)),
    ` ${withShortIds(text)}`,
  );

/** @param {string} text @returns {number} */
function parseCount(text) {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(`-n is "${text}", and has to be a number of lines`, "copilot-tap logs -n 200");
}

/** @param {LogsOptions} given */
async function run(given) {
  const output = new Output(given);
  const count = parseCount(given.lines);
  const { logs } = getGatewayFiles(given);
  const files = new LogFiles(logs, given.source === undefined ? undefined : [given.source]);
  const least = LEVELS.indexOf(given.level);
  const wanted = (/** @type {Entry} */ { level }) => LEVELS.indexOf(level) >= least;
  const history = files.readNew();
  if (history.length === 0 && !given.follow) {
    throw new Failure(`there is no log in ${logs}`, {
      advice: "the next session of the Copilot CLI writes one; --home names another COPILOT_HOME",
      code: "NOT_FOUND",
    });
  }
  const last = count === 0 ? [] : history.filter(wanted).slice(-count);
  if (!given.follow) return output.result(last, () => last.forEach((one) => show(output, one)));
  await runInterruptible(async (ending) => {
    const print = (/** @type {Entry} */ one) => output.item(one, () => show(output, one));
    for (last.forEach(print); !ending.aborted; await pause(POLL_MS, ending)) {
      files.readNew().filter(wanted).forEach(print);
    }
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "logs",
  describe: "show what the gateway and the extensions log",
  about:
    "Shows the last lines of the logs of the gateway and of the extensions, merged by time, " +
    "in local time and with the first 8 characters of ids. --json prints an array; with " +
    "--follow it prints one line for each entry.",
  options: {
    follow: FOLLOW,
    level: {
      short: "l",
      describe: "the lowest level to show: info (default), warning or error",
      choices: LEVELS,
      default: "info",
    },
    lines: { short: "n", describe: "at most this many; default: 50", default: "50" },
    source: {
      describe: "only this log: host or extension",
      choices: Object.keys(SOURCES),
    },
  },
  examples: [
    ["$0 logs -n 200", "the last 200 lines"],
    ["$0 logs -f --level warning", "what goes wrong, as it does"],
  ],
  handler: run,
};
