// A plan, or a log, followed to its end: a line for each change.

import { inLine, visible } from "../../base/visible.mjs";
import { bad, faint } from "../../views/output.mjs";
import { cut } from "../../views/table.mjs";
import { clock } from "../../views/wording.mjs";
import { EXIT, Failure } from "../failure.mjs";
import { pause } from "../interruption.mjs";
import { notesOf, pauseOf, signOf, stateOf, statusOf, widthOf } from "./look.mjs";

/** @typedef {import("../../views/output.mjs").Output} Output */
/** @typedef {import("./asking.mjs").Ask} Ask */
/** @typedef {import("./look.mjs").Plan} Plan */
/** @typedef {import("./look.mjs").Node} Node */

const WAIT_MS = 5000;
/** Between two looks; of a plan with many nodes a look is work. */
const LEAST_MS = 100;
const NODES_PER_MS = 10;
const LOG_MS = 300;
const MOST_FAILED = 5;
const LAST_LINES = 5;
const MOST_TAIL = 2048;
/** In the order in which changes of one look are told: a cause before what follows from it. */
const TOLD = ["succeeded", "failed", "canceled", "blocked", "running"];
const OVER = ["succeeded", "failed", "blocked", "canceled"];

/**
 * Looks until the plan has ended, or nothing of it goes on before it is resumed.
 * @param {Ask} ask @param {string} planId @param {(plan: Plan) => void} see @param {AbortSignal} ending
 * @param {{lines?: boolean, until?: (plan: Plan) => boolean}} [how] `lines`: with what each running node printed last;
 *   `until`: it is enough
 * @returns {Promise<Plan | undefined>} the last look; undefined: it was interrupted
 */
export async function followPlan(ask, planId, see, ending, how = {}) {
  const { lines = false, until = () => false } = how;
  let seen = -1;
  const aborted = new Promise((resolve) =>
    ending.addEventListener("abort", () => resolve(undefined), { once: true }),
  );
  while (!ending.aborted) {
    const look = ask({ do: "follow", planId, seen, waitMs: lines ? 1000 : WAIT_MS, lines });
    look.catch(() => {}); // where it was interrupted meanwhile
    const plan = /** @type {Plan | undefined} */ (await Promise.race([look, aborted]));
    if (plan === undefined) return undefined;
    seen = plan.changes;
    see(plan);
    if (plan.endedAt !== undefined || until(plan)) return plan;
    if (pauseOf(plan) && !plan.counts.running && !plan.counts.scheduled && !lines) return plan;
    await pause(Math.max(LEAST_MS, plan.nodes.length / NODES_PER_MS), ending);
  }
  return undefined;
}

/** Tells each change of a node once. @param {Output} output @returns {(plan: Plan) => void} */
export function changeTeller(output) {
  /** By node: what was told last. @type {Map<string, string>} */
  const told = new Map();
  return ({ nodes }) => {
    const place = (/** @type {Node} */ { status }) => TOLD.indexOf(status);
    for (const node of nodes.toSorted((a, b) => place(a) - place(b))) {
      const { id, status, attempt = 0, error } = node;
      const state = `${status} ${attempt}`;
      if (!TOLD.includes(status) || told.get(id) === state) continue;
      told.set(id, state);
      const at = Date.now();
      output.item({ at: new Date(at).toISOString(), node: id, ...node }, () => {
        const why = error ? [": ", status === "failed" ? bad(error) : error] : [];
        output.say(
          faint(clock(at)),
          " ",
          signOf(status),
          ` ${inLine(id)}  ${stateOf(node)}`,
          ...why,
        );
      });
    }
  };
}

/** @param {Output} output @param {Plan} plan */
function tellEnd(output, plan) {
  const { nodes: _nodes, changes: _changes, ...rest } = plan;
  output.item(rest, () => {
    output.say(
      signOf(plan.status),
      ` plan ${plan.planId}: `,
      statusOf(plan.status),
      ` ${plan.summary.replace(/^\S+ /, "")}`,
    );
    const isSaid = (/** @type {string} */ note) => plan.summary.includes(note);
    for (const note of notesOf(plan).filter((one) => !isSaid(one))) output.say(note);
    const { planId, counts } = plan;
    if (counts.failed) {
      output.say(
        `copilot-tap plan show ${planId} shows it, plan retry ${planId} tries again what failed`,
      );
    }
  });
}

/** What those that failed printed last. @param {Ask} ask @param {Output} output @param {Plan} plan */
export async function tellFailures(ask, output, { planId, nodes }) {
  if (output.json) return; // `error` and `plan logs` have it
  const failed = nodes.filter(({ status }) => status === "failed");
  for (const { id, phase, error = "" } of failed.slice(0, MOST_FAILED)) {
    const { text } = await ask({ do: "logs", planId, nodeId: id, phase, most: MOST_TAIL });
    if (text.trim() === error) continue; // no program has printed it
    const lines = text.split(/\r?\n/).filter((/** @type {string} */ line) => line.trim() !== "");
    if (lines.length === 0) continue;
    output.say(`${inLine(id)} printed last:`);
    for (const line of lines.slice(-LAST_LINES)) {
      const shown = visible(line.replaceAll("\t", "    "));
      output.say("  ", cut(shown, widthOf(output) - 2));
    }
    output.say("  ", faint(`all of it: copilot-tap plan logs ${planId}/${id}`));
  }
}

/**
 * @param {Ask} ask @param {string} planId @param {Output} output @param {AbortSignal} ending
 * @returns {Promise<number>} the exit code
 */
export async function followToEnd(ask, planId, output, ending) {
  const plan = await followPlan(ask, planId, changeTeller(output), ending);
  if (plan === undefined) {
    throw new Failure(`plan ${planId} goes on`, {
      advice: `copilot-tap plan watch ${planId} shows it, copilot-tap plan cancel ${planId} ends it`,
      code: "INTERRUPTED",
      exit: EXIT.interrupted,
    });
  }
  await tellFailures(ask, output, plan);
  tellEnd(output, plan);
  return plan.status === "succeeded" ? EXIT.done : EXIT.notDone;
}

/** @param {Output} output @param {any} log */
function tellLog(output, { text, ...rest }) {
  if (text === "") return;
  output.item({ ...rest, text }, () => output.sayAll(text.replace(/\r?\n$/, "")));
}

/**
 * The end of a log; with `follow` what comes, of one phase after the other where none is named.
 * @param {Ask} ask @param {{planId: string, nodeId?: string, phase?: string, attempt?: number}} of @param {Output} output
 */
export async function showLog(ask, of, output) {
  const { logs: _logs, ...log } = await ask({ do: of.phase ? "logs" : "log", ...of });
  output.result(log, () => {
    tellLog(output, log);
    if (log.text === "") output.say(faint(`${of.phase ?? "the node"} has printed nothing`));
  });
}

/** @param {Ask} ask @param {{planId: string, nodeId?: string, phase?: string}} of @param {Output} output @param {AbortSignal} ending */
export async function followLog(ask, of, output, ending) {
  const place = /** @type {{phase?: string, attempt?: number, from?: number}} */ ({ ...of });
  while (!ending.aborted) {
    const { logs, ...log } = await ask({ do: "logs", ...of, ...place });
    tellLog(output, log);
    const isDrained = log.next >= log.size || log.text === "";
    const at = logs.findIndex(
      (/** @type {any} */ one) => one.attempt === log.attempt && one.phase === log.phase,
    );
    const next = of.phase ? undefined : logs[at + 1];
    const isEnded = logs[at]?.ended ?? OVER.includes(log.status);
    Object.assign(place, { phase: log.phase, attempt: log.attempt, from: log.next });
    if (!isDrained) continue;
    if (isEnded && next) Object.assign(place, { ...next, from: 0 });
    else if (isEnded && (of.phase || OVER.includes(log.status))) return;
    else await pause(LOG_MS, ending);
  }
}
