// `emit`: background commands and prompts of a session and its folder, as the tools of the group `emitters` see them.

import fs from "node:fs";
import path from "node:path";
import { bySessionUse, requestHostParts } from "../../lib/inspection.mjs";
import { inLine } from "../../lib/visible.mjs";
import { faint, Output, warning } from "../../views/output.mjs";
import { clock, localTime } from "../../views/wording.mjs";
import { Failure, usage, pause, runInterruptible } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles, FOLLOW, isRunByAgent } from "../options.mjs";
import { findSession } from "../reference.mjs";

/** @typedef {import("../../link/control.mjs").Control} Control */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/**
 * @typedef {import("../options.mjs").CommandOptions & {action: string, name?: string, session?: string,
 *   prompt?: string, every?: string, cron?: string, onChange: string[], cwd?: string,
 *   inject?: string[], surface?: string[], drop?: string[], before?: string, after?: string, until?: string,
 *   stderr: boolean, last: string, follow: boolean, rest: string[], expectEvery?: string} & WatchGiven} EmitOptions
 * @typedef {{tool?: string, red?: string, green?: string, wake?: string, hold?: string, asIs?: boolean,
 *   notify?: boolean, background?: boolean}} WatchGiven of a watcher
 * @typedef {{at: string, outcome: string, text: string, emitter: string, number: number}} Line
 */

const POLL_MS = 500;
const OUTCOMES = /** @type {const} */ (["drop", "inject", "surface"]);

/**
 * What runs without a session: the feature host cannot be asked for one, but says what holds it.
 * @param {Control} control @param {Output} output
 */
async function listBackground(control, output) {
  const { holds = [] } = (await requestHostParts(control)) ?? {};
  const background = holds
    .filter(({ feature }) => feature === "builtin:emitters")
    .map(({ what }) => what);
  output.result({ emitters: [], background }, () => {
    if (background.length === 0) output.print("No session is open, and no emitter runs.");
    for (const what of background) output.print(`No session is open. In the background: ${what}`);
  });
}

/** The one that is named, that of this folder, or the one last used. @param {InspectedSession[]} sessions @param {string} [wanted] */
export function resolveSession(sessions, wanted) {
  const open = sessions.filter(({ ending }) => !ending).toSorted(bySessionUse);
  if (wanted !== undefined) return findSession(open, wanted);
  const here = fs.realpathSync(process.cwd());
  const found = open.find(({ cwd }) => cwd === here) ?? open[0];
  if (found) return found;
  throw new Failure("there is no session", {
    advice: "one starts with the Copilot CLI",
    code: "INVALID_SESSION",
  });
}

/** @param {Control} control @param {InspectedSession} session @param {object} what @returns {Promise<any>} */
export async function requestEmitters(control, session, what) {
  const asked = { name: "tap-emit", arguments: JSON.stringify(what), session: session.id };
  const { text } = await control.request("features.command", asked);
  if (!text.startsWith("{")) throw new Failure(text.replace(/^tap: /, ""));
  const { answer, error } = JSON.parse(text);
  if (error !== undefined) throw new Failure(error, { code: "REFUSED" });
  return answer;
}

/** @param {string} name @param {string} [count] of lines */
export function parseLines(name, count) {
  if (count === undefined || /^(?:[1-9]|1\d|2[0-4])$/.test(count)) return count && Number(count);
  throw usage(`--${name} must be 1 to 24 (got "${count}")`);
}

/** The lines around a match. @param {{before?: string, after?: string, until?: string}} given */
export function readContext({ before, after, until }) {
  const all = { before: parseLines("before", before), after: parseLines("after", after), until };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Rules in the order drop, inject, surface: what is dropped is not told. @param {EmitOptions} given */
function listRules(given) {
  const context = readContext(given);
  return OUTCOMES.flatMap((outcome) => {
    const more = outcome === "drop" ? {} : context;
    return (given[outcome] ?? []).map((match) => ({ match, outcome, ...more }));
  });
}

/** The fields of a watcher that are given. @param {WatchGiven} given @returns {Record<string, unknown>} */
export function readWatchFields({ tool, red, green, wake, hold, asIs, notify }) {
  const all = {
    tool,
    red,
    green,
    wake,
    hold,
    asIs: asIs || undefined,
    notify: notify || undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** @param {EmitOptions} given */
function createStartRequest(given) {
  const { name, prompt, every, cron, onChange, cwd, stderr, expectEvery, rest: argv } = given;
  if (!name) {
    throw usage("say a name, and after -- a command", "copilot-tap emit start build -- make watch");
  }
  const rules = listRules(given);
  const watch = readWatchFields(given);
  return {
    do: Object.keys(watch).length > 0 ? "watch" : "start",
    ...{ name, ...watch },
    ...(expectEvery !== undefined && { expectEvery }),
    ...(argv.length === 1 && { command: argv[0] }),
    ...(argv.length > 1 && { argv }),
    ...(prompt !== undefined && { prompt }),
    ...(every !== undefined && { every }),
    ...(cron !== undefined && { cron }),
    ...(onChange.length > 0 && { onChange }),
    ...(cwd !== undefined && { cwd: path.resolve(cwd) }),
    ...(stderr && { includeStderr: true }),
    ...(rules.length > 0 && { eventFilter: rules }),
  };
}

/**
 * What runs without a session is an entry of the config that its user allows: this one is.
 * @param {Output} output @param {import("../../lib/paths.mjs").GatewayFiles} files @param {InspectedSession} session
 * @param {Record<string, any>} asked
 */
export async function startInBackground(
  output,
  files,
  { cwd: folder },
  { do: work, cwd, name, ...entry },
) {
  if (!name) throw usage("give the entry a name: --name build");
  const [{ saveBackground }, { toWorkspacePath }] = await Promise.all([
    import("../../config/edit.mjs"),
    import("../../config/emitter-values.mjs"),
  ]);
  const place = cwd === undefined ? {} : { cwd: toWorkspacePath(cwd, folder) };
  const given = { ...entry, ...place, background: true };
  const saved = saveBackground(files, folder, {
    section: work === "watch" ? "watch" : "emitters",
    name,
    entry: given,
  });
  output.result({ ...saved, name }, () =>
    output.print(
      `${inLine(name)} is in ${saved.path} now, is allowed, and runs as long as it is there`,
    ),
  );
}

/** @param {EmitOptions} given */
function parseCount({ last }) {
  if (/^[1-9]\d{0,2}$/.test(last) && Number(last) <= 200) return Number(last);
  throw usage(`--last must be 1 to 200 (got "${last}")`);
}

/** @param {Output} output @param {Line} line */
function showLine(output, line) {
  // A text of several lines is one entry: no line of it looks like an entry of its own.
  const [first, ...more] = line.text.split("\n");
  output.item(line, () => {
    output.print(faint(`${localTime(line.at).slice(11)} ${line.outcome.padEnd(7)}`), ` ${first}`);
    for (const each of more) output.print(faint(`${" ".repeat(20)} │ ${each}`));
  });
}

/** @param {Control} control @param {InspectedSession} session @param {Output} output @param {EmitOptions} given */
async function history(control, session, output, given) {
  const what = { do: "history", channel: given.name, limit: parseCount(given) };
  const first = await requestEmitters(control, session, what);
  if (!given.follow) {
    return output.result(first, () =>
      first.lines.forEach((/** @type {Line} */ line) => showLine(output, line)),
    );
  }
  /** The newest that was shown of each emitter of the stream. @type {Map<string, number>} */
  const last = new Map();
  const show = (/** @type {Line[]} */ lines) => {
    // After a restart the numbers begin again.
    for (const { emitter, number } of lines.slice(-1)) {
      if (number < (last.get(emitter) ?? 0)) last.delete(emitter);
    }
    for (const line of lines) {
      if (line.number <= (last.get(line.emitter) ?? 0)) continue;
      last.set(line.emitter, line.number);
      showLine(output, line);
    }
  };
  show(first.lines);
  await runInterruptible(async (ending) => {
    for (; !ending.aborted; await pause(POLL_MS, ending)) {
      show((await requestEmitters(control, session, { ...what, limit: 200 })).lines);
    }
  });
}

/** @param {Output} output @param {Record<string, any>} view perhaps in short: many are */
function showEmitter(output, { name, state, does, runs, what, lines, next, sandbox }) {
  if (lines === undefined) return output.print(`${inLine(name)}  ${state}`);
  output.print(`${inLine(name)}  ${state}, ${does}, ${runs} ${runs === 1 ? "run" : "runs"}`);
  output.print(faint(`  ${what}`));
  const { kept, dropped, surfaced, injected } = lines;
  const counts = `${kept} kept, ${dropped} dropped, ${surfaced} shown, ${injected} for the model`;
  output.print(faint(`  lines: ${counts}`));
  if (sandbox) output.print("  ", sandbox === "on" ? faint("sandboxed") : warning(sandbox));
  if (next) output.print(faint(`  next: ${clock(Date.parse(next[0]))}`));
}

/** @param {Output} output @param {any} answer */
function showTest(output, { tried }) {
  const { lines, outcomes, told } = tried;
  const counts = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  output.print(`Of the last ${lines} lines: ${counts.join(", ") || "none"}`);
  told.forEach((/** @type {Line} */ line) =>
    output.print(faint(`${line.outcome.padEnd(7)}`), ` ${line.text}`),
  );
}

/** @param {EmitOptions} given */
async function run(given) {
  const output = new Output(given);
  const { action, name } = given;
  if (action !== "list" && !name) throw usage(`say which: copilot-tap emit ${action} <name>`);
  if (isRunByAgent() && (action === "start" || action === "stop")) {
    throw new Failure("the agent starts and stops emitters with its own tools", {
      advice: "call tap_tools with the group emitters",
      code: "NOT_FOR_THE_AGENT",
    });
  }
  const what = { start: () => createStartRequest(given), list: () => ({ do: "list" }) }[action];
  await withGateway(getGatewayFiles(given), async (control) => {
    const { sessions } = await control.inspect();
    const isOpen = sessions.some(({ ending }) => !ending);
    if (action === "list" && !isOpen && given.session === undefined)
      return listBackground(control, output);
    const session = resolveSession(sessions, given.session);
    if (action === "history") return history(control, session, output, given);
    const rules = { eventFilter: listRules(given) };
    const asked = what?.() ?? { do: action, name, ...(action === "test" && rules) };
    if (action === "start" && given.background)
      return startInBackground(output, getGatewayFiles(given), session, asked);
    const answer = await requestEmitters(control, session, asked);
    output.result(answer, () => {
      if (answer.text !== undefined) return output.printText(answer.text);
      if (action === "test") return showTest(output, answer);
      const all = action === "list" ? answer.emitters : [answer];
      const { configured = [] } = answer;
      if (all.length + configured.length === 0) {
        output.print("No emitter is here. copilot-tap emit start begins one.");
      }
      all.forEach((/** @type {any} */ one) => showEmitter(output, one));
      for (const { name: label, file, allowed } of configured) {
        const how = allowed ? "not started: copilot-tap emit start and its name" : "not allowed";
        output.print(`${inLine(label)}  ${how}`);
        output.print(faint(`  in the ${file === "user" ? "user" : "project"}'s config`));
      }
      if (answer.more) output.print(`and ${answer.more} more`);
    });
  });
}

/** Of a watcher, for `watch` and `emit start`. */
export const WATCH_OPTIONS = /** @type {const} */ ({
  "expect-every": { describe: "a longer silence is an event: 5m" },
  tool: { describe: "read it as the output of this tool; none: lines, without a state" },
  red: { describe: "a pattern of lines that mean red" },
  green: { describe: "a pattern of lines that mean green" },
  wake: { describe: "what starts a turn; default: red", choices: ["red", "change", "never"] },
  hold: { describe: "how long a change waits for the next one; default: 2s" },
  notify: { describe: "also show a notification of the desktop", type: "boolean" },
  "as-is": { describe: "add nothing to the command", type: "boolean" },
  background: {
    describe: "save it in the project's config, also to run without a session",
    type: "boolean",
  },
  before: { describe: "with so many lines before such a line, at most 24" },
  after: { describe: "with so many lines after it" },
  until: { describe: "or with the lines up to the first that matches this pattern" },
});

/** @param {string} describe */
const patterns = (describe) => /** @type {const} */ ({ describe, multiple: true });

/** @type {import("../options.mjs").Command} */
export default {
  command: "emit [action] [name]",
  takesRest: true,
  describe: "run commands and prompts in the background of a session",
  usages: ["emit [list|start|stop|test|history] [name] [-- command]"],
  about:
    "`start` runs, for the session of this folder, a command, a prompt (--prompt), or the " +
    "emitter of that name in a config. A stream keeps what the command writes, and " +
    "--inject puts matching lines before the model. " +
    "`test` says what the given rules would have done to the last 200 lines. `history` shows a stream; " +
    "-f follows it.",
  positionals: {
    action: {
      describe: "what to do",
      choices: ["list", "start", "stop", "test", "history"],
      default: "list",
    },
    name: { describe: "of the emitter, or of the stream" },
  },
  options: {
    session: { describe: "its id, the beginning of one, or its label" },
    prompt: { describe: "a prompt for the agent" },
    every: { describe: "how often: 30s, 5m, 2h, 1d or idle" },
    cron: { describe: "a cron expression of five fields" },
    "on-change": {
      describe: "after a change of files that fit this glob, such as 'src/**/*.ts'",
      multiple: true,
    },
    cwd: { describe: "the folder of the command, in that of the session" },
    inject: patterns("put lines that match this pattern before the model"),
    surface: patterns("show lines that match it in the timeline"),
    drop: patterns("drop lines that match it"),
    stderr: { describe: "also read stderr", type: "boolean" },
    ...WATCH_OPTIONS,
    last: { short: "n", describe: "at most this many lines; default: 20", default: "20" },
    follow: FOLLOW,
  },
  examples: [
    ["$0 emit", "what runs"],
    ["$0 emit start build --inject 'error' -- npm run watch", "tell the agent of errors"],
    ["$0 emit start test --on-change 'src/**' --cwd api -- npm test", "after each change"],
    ["$0 emit test build --inject 'warning'", "what that rule would have done"],
    ["$0 emit history build -f", "its lines, as they come"],
  ],
  handler: run,
};
