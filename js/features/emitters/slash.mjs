// /tap-loop and /tap-watch: the user's own way to emitters. The model cannot type them.

import { durationText } from "../../base/emitter-duration.mjs";
import { readEmitter } from "../../base/emitter-spec.mjs";
import { inLine, shortened, visible } from "../../base/visible.mjs";

/** @typedef {import("./manager.mjs").Emitters} Emitters */
/** @typedef {import("../../base/control.mjs").InspectedSession} InspectedSession */

const LOOP_USAGE =
  "/tap-loop <interval or idle> <prompt>, such as /tap-loop 5m look for review comments; /tap-loop stop <name>";
const WATCH_USAGE = "/tap-watch <command>, such as /tap-watch npm test; /tap-watch stop <name>";
const WORDS = /^(\S+)(?:\s+([\s\S]*))?$/;

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} name */
function freeName(emitters, session, name) {
  const isTaken = (/** @type {string} */ one) => {
    const there = emitters.find(session, one);
    return there !== undefined && there.state !== "ended";
  };
  if (!isTaken(name)) return name;
  let number = 2;
  while (isTaken(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {"loop" | "watch"} word @param {string} usage */
function overview(emitters, session, word, usage) {
  const kind = word === "loop" ? "prompt" : "command";
  const lines = emitters
    .of(session)
    .filter(({ spec }) => spec.kind === kind)
    .map(({ spec, state, runs }) => {
      const what = shortened(visible(spec.prompt ?? spec.command ?? ""), 80);
      return `  ${inLine(spec.name)}: ${state}, ${runs} ${runs === 1 ? "run" : "runs"}: ${what}`;
    });
  return lines.length === 0 ? `tap: ${usage}` : `tap:\n${lines.join("\n")}\n${usage}`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} name @param {string} usage */
async function stopped(emitters, session, name, usage) {
  const emitter = emitters.find(session, name.trim());
  if (!emitter) return `tap: no emitter ${visible(name)} is here; ${usage}`;
  await emitters.end(emitter, "by the user");
  return `tap: ${inLine(emitter.spec.name)} is stopped`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} args @returns {Promise<string>} for the timeline */
export async function loop(emitters, session, args) {
  const [, first = "", rest = ""] = WORDS.exec(args.trim()) ?? [];
  if (first === "") return overview(emitters, session, "loop", LOOP_USAGE);
  if (first === "stop" && rest !== "") return stopped(emitters, session, rest, LOOP_USAGE);
  if (rest === "") return `tap: expected ${LOOP_USAGE}`;
  const name = freeName(emitters, session, "loop");
  const given = { name, prompt: rest, every: first, managedBy: "userOwned" };
  const read = readEmitter(given, { origin: "tool", hand: "user" });
  if (read.ok === false) return `tap: ${read.problems[0].text}; ${LOOP_USAGE}`;
  await emitters.start(read.spec, session);
  const { every, maxRuns } = read.spec;
  const when = every === undefined ? "when the session is idle" : `every ${durationText(every)}`;
  return `tap: ${name} runs ${when}, at most ${maxRuns} times. /tap-loop stop ${name} ends it`;
}

/** @param {Emitters} emitters @param {InspectedSession} session @param {string} args @returns {Promise<string>} for the timeline */
export async function watch(emitters, session, args) {
  const command = args.trim();
  if (command === "") return overview(emitters, session, "watch", WATCH_USAGE);
  const [, name] = /^stop\s+(\S+)$/.exec(command) ?? [];
  if (name && emitters.find(session, name)) {
    return stopped(emitters, session, name, WATCH_USAGE);
  }
  const free = freeName(emitters, session, "watch");
  const given = { name: free, command, maxRuns: 1, includeStderr: true, managedBy: "userOwned" };
  const read = readEmitter(given, { origin: "tool", hand: "user" });
  if (read.ok === false) return `tap: ${read.problems[0].text}; ${WATCH_USAGE}`;
  await emitters.start(read.spec, session, { watched: true });
  return `tap: ${free} runs; the agent is told when it ends. /tap-watch stop ${free} ends it`;
}
