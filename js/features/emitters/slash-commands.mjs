// /tap-loop, /tap-watch and /tap-emit: the user's own way to emitters. The model cannot type them. `copilot-tap emit`
// asks /tap-emit with JSON, and gets JSON.

import { formatDuration } from "../../config/emitter-values.mjs";
import { readEmitter } from "../../config/emitter-spec.mjs";
import { errorMessage } from "../../lib/values.mjs";
import { inLine, shortenText, visible } from "../../lib/visible.mjs";
import * as watches from "./watch-commands.mjs";

/** @typedef {import("./manager.mjs").Emitters} Emitters */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */

const LOOP_USAGE =
  "/tap-loop <interval or idle> <prompt>, such as /tap-loop 5m look for review comments; /tap-loop stop <name>";
const WATCH_USAGE =
  "/tap-watch <command>, such as /tap-watch npx tsc --watch; /tap-watch show, stop or go <name>";
const WORDS = /^(\S+)(?:\s+([\s\S]*))?$/;

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} usage */
function listLoops(emitters, session, usage) {
  const lines = emitters
    .listForSession(session)
    .filter(({ spec }) => spec.kind === "prompt")
    .map(({ spec, state, runs }) => {
      const what = shortenText(visible(spec.prompt ?? ""), 80);
      return `  ${inLine(spec.name)}: ${state}, ${runs} ${runs === 1 ? "run" : "runs"}: ${what}`;
    });
  return lines.length === 0 ? `tap: ${usage}` : `tap:\n${lines.join("\n")}\n${usage}`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} name @param {string} usage */
async function stopByName(emitters, session, name, usage) {
  const emitter = emitters.find(session, name.trim());
  if (!emitter) return `tap: no emitter ${visible(name)} is here; ${usage}`;
  await emitters.end(emitter, "by the user");
  return `tap: ${inLine(emitter.spec.name)} is stopped`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} args @returns {Promise<string>} for the timeline */
export async function loop(emitters, session, args) {
  const [, first = "", rest = ""] = WORDS.exec(args.trim()) ?? [];
  if (first === "") return listLoops(emitters, session, LOOP_USAGE);
  if (first === "stop" && rest !== "") return stopByName(emitters, session, rest, LOOP_USAGE);
  if (rest === "") return `tap: expected ${LOOP_USAGE}`;
  const name = watches.findFreeName(emitters, session, "loop");
  const given = { name, prompt: rest, every: first, managedBy: "userOwned" };
  const read = readEmitter(given, { origin: "tool", hand: "user" });
  if (read.ok === false) return `tap: ${read.problems[0].text}; ${LOOP_USAGE}`;
  await emitters.start(read.spec, session);
  const { every, maxRuns } = read.spec;
  const when = every === undefined ? "when the session is idle" : `every ${formatDuration(every)}`;
  return `tap: ${name} runs ${when}, at most ${maxRuns} times. /tap-loop stop ${name} ends it`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} args @returns {Promise<string>} for the timeline */
export async function watch(emitters, session, args) {
  const command = args.trim();
  if (command === "") return listWatches(emitters, session);
  const [, word, name = ""] = /^(stop|show|go)\s+(\S+)$/.exec(command) ?? [];
  const there = name === "" ? undefined : emitters.find(session, name);
  if (there && word === "stop") return stopByName(emitters, session, name, WATCH_USAGE);
  if (there?.watcher && word === "show") return `tap:\n${watches.showText(there)}`;
  if (there?.watcher && word === "go") {
    there.watcher.resume();
    return `tap: ${inLine(name)} may start turns again`;
  }
  try {
    return `tap: ${watches.startText(await watches.startWatch(emitters, session, { command }))}`;
  } catch (error) {
    return `tap: ${errorMessage(error)}; ${WATCH_USAGE}`;
  }
}

/** @param {Emitters} emitters @param {InspectedSession} session */
function listWatches(emitters, session) {
  const lines = watches.overview(emitters, session);
  return lines.length === 0 ? `tap: ${WATCH_USAGE}` : `tap:\n${lines.join("\n")}\n${WATCH_USAGE}`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} args @returns {string} for the timeline */
export function quiet(emitters, session, args) {
  try {
    return watches.quietText(emitters, session, args);
  } catch (error) {
    return `tap: ${errorMessage(error)}; /tap-quiet [name] [time or off]`;
  }
}

// ---- /tap-emit, and copilot-tap emit --------------------------------------------------------------

const EMIT_USAGE =
  "/tap-emit, /tap-emit stop <name>, /tap-emit history <stream>, /tap-emit test <name> <pattern>";
const HISTORY_LINES = 20;

/** @param {{at: string, outcome: string, text: string}} line */
const lineText = ({ at, outcome, text }) => `  ${at.slice(11, 19)} ${outcome.padEnd(7)} ${text}`;

/** @param {Record<string, any>} view of an emitter, perhaps in short */
function emitterText({ name, state, does, runs, lines, next, what, sandbox }) {
  if (lines === undefined) return `  ${inLine(name)}: ${state}`;
  const { kept, surfaced, injected } = lines;
  const then = next ? `, next ${next[0].slice(11, 19)}` : "";
  const how = sandbox ? `, ${sandbox === "on" ? "sandboxed" : sandbox}` : "";
  const counts = `${kept} kept, ${surfaced} shown, ${injected} for the model${how}`;
  return `  ${inLine(name)}: ${state}, ${does}, ${runs} ${runs === 1 ? "run" : "runs"}${then}; ${counts}\n    ${shortenText(what, 100)}`;
}

/** @param {any} answer @param {string} word */
function answerText(answer, word) {
  if (word === "list") {
    const all = answer.emitters.map(emitterText);
    if (answer.more) all.push(`  and ${answer.more} more`);
    for (const { name, allowed } of answer.configured ?? []) {
      all.push(`  ${inLine(name)}: in a config, ${allowed ? "not started" : "not allowed"}`);
    }
    return all.length > 0 ? `tap: emitters\n${all.join("\n")}` : "tap: no emitter is here";
  }
  if (word === "history")
    return `tap: ${inLine(answer.channel)}\n${answer.lines.map(lineText).join("\n")}`;
  if (word === "test") {
    const { lines, outcomes, told } = answer.tried;
    const counts = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
    const more = [
      ...told.map(lineText),
      ...answer.notes.map((/** @type {string} */ one) => `  ${one}`),
    ];
    return [`tap: of ${lines} lines: ${counts.join(", ") || "none"}`, ...more].join("\n");
  }
  return `tap: ${inLine(answer.name)} is ${word === "stop" ? "stopped" : answer.state}`;
}

/**
 * What is asked, by the user.
 * @param {Emitters} emitters @param {InspectedSession} session @param {any} asked
 * @param {import("../../feature-host/installation.mjs").Context} context
 */
async function runRequest(emitters, session, { do: work, ...given }, context) {
  const tools = await import("./tools.mjs");
  const call = { context, emitters, session };
  if (work === "list") return tools.listEmitters(call);
  if (work === "history") return tools.streamHistory(call, given);
  if (work === "streams") return tools.listStreams(call);
  if (work === "test") return tools.setEventFilter(call, { ...given, test: true });
  if (work === "stop") return tools.stopByUser(call, given);
  if (work === "start") return tools.startByUser(call, given);
  if (work?.startsWith("watch"))
    return watches.runWatchRequest(emitters, session, { do: work, ...given });
  throw new RangeError(`expected ${EMIT_USAGE}`);
}

/** @param {string} args typed by the user @returns {object} */
function parseRequest(args) {
  const [, word = "list", rest = ""] = WORDS.exec(args.trim()) ?? [];
  if (word === "list") return { do: "list" };
  if (word === "stop" && rest) return { do: "stop", name: rest };
  if (word === "history" && rest) return { do: "history", channel: rest, limit: HISTORY_LINES };
  const [, name, match] = /^(\S+)\s+(\S[\s\S]*)$/.exec(rest) ?? [];
  if (word === "test" && match) {
    return { do: "test", name, eventFilter: [{ match, outcome: "surface" }] };
  }
  return { do: "help" };
}

/**
 * @param {Emitters} emitters @param {InspectedSession} session @param {string} args
 * @param {import("../../feature-host/installation.mjs").Context} context
 * @returns {Promise<string | object>} for the timeline; an object for the command
 */
export async function emit(emitters, session, args, context) {
  const isCommand = args.startsWith("{");
  const what = /** @type {any} */ (isCommand ? JSON.parse(args) : parseRequest(args));
  try {
    const answer = await runRequest(emitters, session, what, context);
    return isCommand ? { answer } : answerText(answer, what.do);
  } catch (error) {
    const message = errorMessage(error);
    return isCommand ? { error: message } : `tap: ${message}`;
  }
}
