// `watch`: builds and tests whose state the agent hears of when it changes.

import fs from "node:fs";
import path from "node:path";
import { errorMessage } from "../../lib/values.mjs";
import { inLine, visible } from "../../lib/visible.mjs";
import { faint, Output, warning } from "../../views/output.mjs";
import { Failure, usage } from "../exit.mjs";
import { withGateway } from "../gateway.mjs";
import { getGatewayFiles, isRunByAgent } from "../options.mjs";
import {
  readContext,
  readWatchFields,
  requestEmitters,
  resolveSession,
  startInBackground,
  WATCH_OPTIONS,
} from "./emit.mjs";

/**
 * @typedef {import("../options.mjs").CommandOptions & {action: string, target?: string, value?: string,
 *   name?: string, session?: string, cwd?: string, onChange: string[],
 *   every?: string, cron?: string, expectEvery?: string, before?: string, after?: string, until?: string,
 *   rest: string[]} & import("./emit.mjs").WatchGiven} WatchOptions
 */

const ACTIONS = ["list", "show", "stop", "go", "quiet", "tools", "test"];
const MAX_LOG = 64 << 20;

/** @param {WatchOptions} given */
function createStartRequest(given) {
  const { name, cwd, onChange, every, cron, expectEvery, rest: argv } = given;
  const context = readContext(given);
  if (Object.keys(context).length > 0 && given.red === undefined)
    throw usage("--before, --after and --until need --red: the lines that they are about");
  const all = {
    ...(argv.length === 1 ? { command: argv[0] } : { argv }),
    ...{ name, every, cron, expectEvery, ...readWatchFields(given), ...context },
    cwd: cwd === undefined ? undefined : path.resolve(cwd),
    onChange: onChange.length > 0 ? onChange : undefined,
  };
  const asked = Object.entries(all).filter(([, value]) => value !== undefined);
  return { do: "watch", ...Object.fromEntries(asked) };
}

/** @param {Output} output @param {Record<string, any>} watcher @param {boolean} isWhole */
function showWatcher(output, { name, what, tool, parts, wakes, folder, state }, isWhole) {
  const [part, ...more] = parts;
  const { failures, leftOut } = part;
  const count = part.state === "red" ? `, ${failures.length + leftOut} failures` : "";
  const ended = state.startsWith("ended") ? `, ${state}` : "";
  const how = wakes.quiet ? ", quiet" : wakes.paused ? ", paused" : "";
  output.print(
    `${inLine(name)}  ${part.state} since ${localClock(part.since)}${count}${ended}${how}`,
  );
  output.print(faint(`  ${what} (${inLine(tool)}), ${wakes.lastHour} turns in the last hour`));
  if (!isWhole) return;
  for (const { part: who, tool: reader, state: color, since, failures: own } of more) {
    const known = reader && reader !== who ? ` (${inLine(reader)})` : "";
    const size = own.length > 0 ? `, ${own.length} failures` : "";
    output.print(`  ${inLine(who)}${known}: ${color} since ${localClock(since)}${size}`);
  }
  for (const failure of failures) {
    const { file, line, col, code, name: test, what: message, lines } = failure;
    const short = file?.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : file;
    const place = [short, line, col].filter(Boolean).join(":");
    output.print(visible([place, code, test, message].filter(Boolean).join("  ")));
    for (const text of lines) output.print(faint(`    ${visible(text)}`));
  }
  if (leftOut > 0) output.print(`and ${leftOut} more`);
}

/** @param {string} time */
const localClock = (time) => new Date(time).toTimeString().slice(0, 8);

/** Of the user's config, and of that of this folder if it is allowed. @param {WatchOptions} given */
async function loadTools(given) {
  const [{ readConfiguredEmitters }, { loadEntries, formatEntryProblem }] = await Promise.all([
    import("../../config/entries.mjs"),
    import("../../watch/entries.mjs"),
  ]);
  const { tools: own, problems: wrong } = readConfiguredEmitters(
    getGatewayFiles(given),
    process.cwd(),
  );
  const { tools, problems } = loadEntries({ own });
  return { own, tools, problems: [...wrong, ...problems.map(formatEntryProblem)] };
}

/** @param {Output} output @param {WatchOptions} given @param {string} [name] */
async function showTools(output, given, name) {
  const { tools, problems } = await loadTools(given);
  if (name === undefined) {
    const all = tools.map(({ tool }) => tool).toSorted();
    return output.result({ tools: all, problems }, () => {
      all.forEach((one) => output.print(one));
      for (const one of problems) output.print(warning(`not read: ${visible(one)}`));
    });
  }
  const entry = tools.find(({ tool }) => tool === name)?.read();
  if (!entry) {
    throw new Failure(`no entry is called ${inLine(name)}`, {
      advice: "copilot-tap watch tools lists them",
      code: "NOT_FOUND",
    });
  }
  output.result(entry, () => output.print(JSON.stringify(entry, null, 2)));
}

/** @param {string} file */
function readLog(file) {
  try {
    if (fs.statSync(file).size > MAX_LOG) {
      throw new Failure(`${file} has more than 64 MB`, {
        advice: "give its end: tail -c 60M",
        code: "TOO_LARGE",
      });
    }
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(errorMessage(error), {
      advice: "say a log, or a recording",
      code: "NOT_FOUND",
    });
  }
}

/** @param {Output} output @param {WatchOptions} given */
async function testLog(output, given) {
  const { target, tool } = given;
  if (!target) throw usage("say a file", "copilot-tap watch test build.log --tool tsc");
  const [{ parseRecording, replay }, { addon }] = await Promise.all([
    import("../../watch/replay.mjs"),
    import("../../lib/addon.mjs"),
  ]);
  const recording = parseRecording(readLog(target));
  const { own } = await loadTools(given);
  const result = replay(recording, { addon, tool, own });
  output.result(result, () => {
    output.print(faint(`read by the entry ${inLine(result.tool)}`));
    const said = result.steps.filter(({ text }) => text !== "");
    for (const { text } of said) {
      output.printText(text);
      output.print("");
    }
    if (said.length === 0) output.print("The agent would hear nothing of it.");
  });
}

/** @param {WatchOptions} given @returns {Record<string, unknown>} */
function createRequest(given) {
  const { action, target, value, rest } = given;
  if (rest.length > 0) return createStartRequest(given);
  if (action === "list") return { do: "watch.list" };
  if (action === "quiet") {
    const isTime = value === undefined && /^(?:off|\d+\s*(?:ms|s|m|h|d))$/.test(target ?? "");
    const [name, time] = isTime ? [undefined, target] : [target, value];
    return { do: "watch.quiet", ...(name && { name }), ...(time && { time }) };
  }
  if (!target) throw usage(`say which: copilot-tap watch ${action} <name>`);
  return { do: `watch.${action}`, name: target };
}

/** @param {WatchOptions} given */
async function run(given) {
  const output = new Output(given);
  const { action, rest } = given;
  if (action === "tools" && rest.length === 0) {
    return showTools(output, given, given.target === "show" ? given.value : given.target);
  }
  if (action === "test" && rest.length === 0) return testLog(output, given);
  if (isRunByAgent() && (rest.length > 0 || ["stop", "go", "quiet"].includes(action))) {
    throw new Failure("the agent starts and stops emitters with its own tools", {
      advice: "call tap_tools with the group emitters",
      code: "NOT_FOR_THE_AGENT",
    });
  }
  const asked = createRequest(given);
  await withGateway(getGatewayFiles(given), async (control) => {
    const { sessions } = await control.inspect();
    const session = resolveSession(sessions, given.session);
    if (rest.length > 0 && given.background)
      return startInBackground(output, getGatewayFiles(given), session, asked);
    const answer = await requestEmitters(control, session, asked);
    output.result(answer, () => {
      if (answer.text !== undefined) return output.printText(answer.text);
      if (answer.quiet !== undefined) return showQuiet(output, answer);
      const all = answer.watchers ?? [answer];
      if (all.length === 0)
        output.print("No watcher is here. copilot-tap watch -- <command> starts one.");
      for (const one of all) showWatcher(output, one, action === "show");
    });
  });
}

/** @param {Output} output @param {{quiet: boolean, watchers: string[]}} answer */
function showQuiet(output, { quiet, watchers }) {
  const names = watchers.map(inLine).join(", ");
  if (watchers.length === 0) return output.print("No watcher is here.");
  output.print(quiet ? `${names} starts no turn` : `${names} may start turns again`);
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "watch [action] [target] [value]",
  takesRest: true,
  describe: "watch a build or tests, and tell the agent when they are red",
  usages: [
    "watch [options] -- <command>",
    "watch [list|show|stop|go] [name]",
    "watch quiet [name] [time|off]",
    "watch tools [name]",
    "watch test <file> [--tool name]",
  ],
  about:
    "Runs a command for the session of this folder, and reads its output as builds or test runs. " +
    "When the state becomes red, the agent gets what it needs to act: file, line, message. The same " +
    "failures again are not repeated, and green again starts no turn. tsc, vite, jest, pytest, cargo, " +
    'gcc and 28 others are known (`watch tools`); for others, words such as "error" and the exit code ' +
    "decide, or --red and --green. `test` reads a log, and prints what the agent would read.",
  positionals: {
    action: { describe: "what to do", choices: ACTIONS, default: "list" },
    target: { describe: "the name of a watcher, or a file" },
    value: { describe: "a time" },
  },
  options: {
    session: { describe: "its id, the beginning of one, or its label" },
    name: { describe: "of the watcher; default: that of the tool" },
    cwd: { describe: "the folder of the command, in that of the session" },
    "on-change": {
      describe: "run the command again after a change of files that fit, such as 'src/**'",
      multiple: true,
    },
    every: { describe: "run it again and again: 30s, 5m, 2h, 1d" },
    cron: { describe: "a cron expression of five fields" },
    ...WATCH_OPTIONS,
  },
  examples: [
    ["$0 watch -- npx tsc --watch", "the agent hears of errors"],
    ["$0 watch --on-change '**/*.py' -- pytest", "the tests, after each change"],
    ["$0 watch", "what is red"],
    ["$0 watch test build.log --tool make", "what the agent would read"],
  ],
  handler: run,
};
