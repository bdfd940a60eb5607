// A plan, or a log, followed to its end: a line for each change.

import { selectFailureLines } from "../../lib/failure-lines.mjs";
import { inLine, plainLines, visible } from "../../lib/visible.mjs";
import { bad, faint } from "../../views/output.mjs";
import { cut } from "../../views/table.mjs";
import { clock } from "../../views/wording.mjs";
import { EXIT, Failure, pause } from "../exit.mjs";
import {
  listNotes,
  formatPause,
  formatSign,
  formatState,
  formatStatus,
  getLineWidth,
} from "./format.mjs";

/** @typedef {import("../../views/output.mjs").Output} Output */
/** @typedef {import("./client.mjs").SendRequest} SendRequest */
/** @typedef {import("./format.mjs").Plan} Plan */
/** @typedef {import("./format.mjs").Node} Node */

const WAIT_MS = 5000;
/** Between two looks; of a plan with many nodes a look is work. */
const MIN_PAUSE_MS = 100;
const NODES_PER_MS = 10;
const LOG_MS = 300;
const MAX_SHOWN_FAILURES = 5;
const LAST_LINES = 20;
const MAX_TAIL = 16_384;
/** In the order in which changes of one look are told: a cause before what follows from it. */
const REPORTED_STATUSES = ["succeeded", "failed", "canceled", "blocked", "running"];
const FINAL_STATUSES = ["succeeded", "failed", "blocked", "canceled"];

/**
 * Looks until the plan has ended, or nothing of it goes on before it is resumed.
 * @param {SendRequest} ask @param {string} planId @param {(plan: Plan) => void} see @param {AbortSignal} ending
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
    if (formatPause(plan) && !plan.counts.running && !plan.counts.scheduled && !lines) return plan;
    await pause(Math.max(MIN_PAUSE_MS, plan.nodes.length / NODES_PER_MS), ending);
  }
  return undefined;
}

/** Tells each change of a node once. @param {Output} output @returns {(plan: Plan) => void} */
export function createChangePrinter(output) {
  /** By node: what was told last. @type {Map<string, string>} */
  const told = new Map();
  return ({ nodes }) => {
    const place = (/** @type {Node} */ { status }) => REPORTED_STATUSES.indexOf(status);
    for (const node of nodes.toSorted((a, b) => place(a) - place(b))) {
      const { id, status, attempt = 0, error } = node;
      const state = `${status} ${attempt}`;
      if (!REPORTED_STATUSES.includes(status) || told.get(id) === state) continue;
      told.set(id, state);
      const at = Date.now();
      output.item({ at: new Date(at).toISOString(), node: id, ...node }, () => {
        const why = error ? [": ", status === "failed" ? bad(error) : error] : [];
        output.print(
          faint(clock(at)),
          " ",
          formatSign(status),
          ` ${inLine(id)}  ${formatState(node)}`,
          ...why,
        );
      });
    }
  };
}

/** @param {Output} output @param {Plan} plan */
function printEnd(output, plan) {
  const { nodes: _nodes, changes: _changes, ...rest } = plan;
  output.item(rest, () => {
    output.print(
      formatSign(plan.status),
      ` plan ${plan.planId}: `,
      formatStatus(plan.status),
      ` ${plan.summary.replace(/^\S+ /, "")}`,
    );
    const isSaid = (/** @type {string} */ note) => plan.summary.includes(note);
    for (const note of listNotes(plan).filter((one) => !isSaid(one))) output.print(note);
    const { planId, counts } = plan;
    if (counts.failed) {
      output.print(
        `copilot-tap plan show ${planId} shows it, plan retry ${planId} tries again what failed`,
      );
    }
  });
}

/** What those that failed printed last. @param {SendRequest} ask @param {Output} output @param {Plan} plan */
export async function printFailures(ask, output, { planId, nodes }) {
  if (output.json) return; // `error` and `plan logs` have it
  const failed = nodes.filter(({ status }) => status === "failed");
  for (const { id, phase, error = "" } of failed.slice(0, MAX_SHOWN_FAILURES)) {
    const { text } = await ask({ do: "logs", planId, nodeId: id, phase, most: MAX_TAIL });
    if (text.trim() === error) continue; // no program has printed it
    const lines = plainLines(text)
      .split(/\r?\n/)
      .filter((/** @type {string} */ line) => line.trim() !== "");
    if (lines.length === 0) continue;
    output.print(`${inLine(id)} printed last:`);
    for (const line of selectFailureLines(lines, LAST_LINES)) {
      const shown = visible(line.replaceAll("\t", "    "));
      output.print("  ", cut(shown, getLineWidth(output) - 2));
    }
    output.print("  ", faint(`all of it: copilot-tap plan logs ${planId}/${id}`));
  }
}

/**
 * @param {SendRequest} ask @param {string} planId @param {Output} output @param {AbortSignal} ending
 * @returns {Promise<number>} the exit code
 */
export async function followToEnd(ask, planId, output, ending) {
  const plan = await followPlan(ask, planId, createChangePrinter(output), ending);
  if (plan === undefined) {
    throw new Failure(`plan ${planId} goes on`, {
      advice: `copilot-tap plan watch ${planId} shows it, copilot-tap plan cancel ${planId} ends it`,
      code: "INTERRUPTED",
      exit: EXIT.interrupted,
    });
  }
  await printFailures(ask, output, plan);
  printEnd(output, plan);
  return plan.status === "succeeded" ? EXIT.done : EXIT.notDone;
}

/** @param {Output} output @param {any} log */
function printLog(output, { text, ...rest }) {
  if (text === "") return;
  output.item({ ...rest, text }, () => output.printText(plainLines(text).replace(/\r?\n$/, "")));
}

/**
 * The end of a log; with `follow` what comes, of one phase after the other where none is named.
 * @param {SendRequest} ask @param {{planId: string, nodeId?: string, phase?: string, attempt?: number}} of @param {Output} output
 */
export async function showLog(ask, of, output) {
  const { logs: _logs, ...log } = await ask({ do: of.phase ? "logs" : "log", ...of });
  output.result(log, () => {
    printLog(output, log);
    if (log.text === "") output.print(faint(`${of.phase ?? "the node"} has printed nothing`));
  });
}

/** @param {SendRequest} ask @param {{planId: string, nodeId?: string, phase?: string}} of @param {Output} output @param {AbortSignal} ending */
export async function followLog(ask, of, output, ending) {
  const place = /** @type {{phase?: string, attempt?: number, from?: number}} */ ({ ...of });
  while (!ending.aborted) {
    const { logs, ...log } = await ask({ do: "logs", ...of, ...place });
    printLog(output, log);
    const isDrained = log.next >= log.size || log.text === "";
    const at = logs.findIndex(
      (/** @type {any} */ one) => one.attempt === log.attempt && one.phase === log.phase,
    );
    const next = of.phase ? undefined : logs[at + 1];
    const isEnded = logs[at]?.ended ?? FINAL_STATUSES.includes(log.status);
    Object.assign(place, { phase: log.phase, attempt: log.attempt, from: log.next });
    if (!isDrained) continue;
    if (isEnded && next) Object.assign(place, { ...next, from: 0 });
    else if (isEnded && (of.phase || FINAL_STATUSES.includes(log.status))) return;
    else await pause(LOG_MS, ending);
  }
}
