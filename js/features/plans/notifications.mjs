// What the user and the model are told of plans.

import { bySessionUse } from "../../lib/inspection.mjs";
import { isInside } from "../../lib/paths.mjs";
import { isAgentWork } from "../../lib/values.mjs";
import { inLine, quoteWord, shortenText, visible } from "../../lib/visible.mjs";
import { formatVariables } from "../../lib/work-consent.mjs";
import { MAX_SHOWN } from "./sandbox-consent.mjs";

/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */
/** @typedef {import("../../feature-host/installation.mjs").Context} Context */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("./plan-manager.mjs").PlanSummary} PlanSummary */

// Spans of plans: a trace for each plan, in it the plan, each attempt of a node and each phase. The ids of plan and
// attempts follow from the plan's id: what goes on after a crash is in the same trace.

/** @typedef {{id: string, facts: Record<string, any>}} PlanIdentity */

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

/** @param {Uint8Array} bytes */
const toHex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text @param {number} digits */
async function deriveHex(text, digits) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toHex(new Uint8Array(bytes)).slice(0, digits);
}

/** @param {PlanIdentity} plan @returns {Promise<string>} 32 hexadecimal digits */
export const deriveTraceId = ({ id, facts }) =>
  deriveHex(`trace ${id} ${facts.repo} ${facts.baseCommit}`, TRACE_DIGITS);
/** @param {string} trace @param {string} node @param {number} attempt */
const deriveAttemptSpanId = (trace, node, attempt) =>
  deriveHex(`${trace} ${node} ${attempt}`, SPAN_DIGITS);
/** @param {string} trace */
const derivePlanSpanId = (trace) => deriveHex(`${trace} plan`, SPAN_DIGITS);

export class Spans {
  #services;

  /** @param {Services} services */
  constructor(services) {
    this.#services = services;
  }

  /** @param {PlanIdentity} plan @param {string} trace @param {Record<string, any>} body with `start` and `end` in Unix ms */
  async #append({ id, facts }, trace, { start, end, status, ...body }) {
    const session = facts.session === "" ? undefined : facts.session;
    const span = {
      ...{ traceId: trace, kind: "internal", status: status === "succeeded" ? "ok" : "error" },
      ...{ startUs: start * 1000, durationUs: Math.max(0, end - start) * 1000, plan: id, ...body },
    };
    const record = { collection: "span", trace, ...(session && { session }), body: span };
    // Where records are off, there are no spans.
    await this.#services.records.append(record).catch(() => {});
  }

  /**
   * A phase begins.
   * @param {PlanIdentity} plan @param {{node: string, attempt: number, phase: string}} of
   * @returns {Promise<{traceparent: string, end: (status: string) => Promise<void>}>} `traceparent` for what it starts
   */
  async startPhase(plan, { node, attempt, phase }) {
    const trace = await deriveTraceId(plan);
    const spanId = toHex(crypto.getRandomValues(new Uint8Array(SPAN_DIGITS / 2)));
    const start = Date.now();
    const end = async (/** @type {string} */ status) =>
      this.#append(plan, trace, {
        ...{ spanId, parentSpanId: await deriveAttemptSpanId(trace, node, attempt), name: phase },
        ...{ start, end: Date.now(), status, node, attempt },
      });
    return { traceparent: `00-${trace}-${spanId}-01`, end };
  }

  /**
   * A phase is over; perhaps its attempt is, too.
   * @param {PlanIdentity} plan @param {Record<string, any>} node its view @param {number} attempt @param {string} phase
   */
  async recordAttempt(plan, { id: node, attempts }, attempt, phase) {
    const { scheduledAt, startedAt = scheduledAt, endedAt, status, phases } = attempts[attempt - 1];
    if (endedAt === undefined || phases.at(-1)?.phase !== phase) return;
    const trace = await deriveTraceId(plan);
    await this.#append(plan, trace, {
      ...{
        spanId: await deriveAttemptSpanId(trace, node, attempt),
        parentSpanId: await derivePlanSpanId(trace),
      },
      ...{ name: `node ${node}`, start: startedAt, end: endedAt, status, node, attempt },
    });
  }

  /** A plan has ended. @param {Record<string, any>} seen its view */
  async recordPlan({ planId, name, facts, createdAt, endedAt, status }) {
    const plan = { id: planId, facts };
    const trace = await deriveTraceId(plan);
    await this.#append(plan, trace, {
      ...{ spanId: await derivePlanSpanId(trace), parentSpanId: "", name: `plan ${name}` },
      ...{ start: createdAt, end: endedAt, status },
    });
  }
}

/** @param {Record<string, any>} seen view of a plan */
export function outcomeText({ status, counts, canceling, landed, notLanded, unlanded }) {
  const parts = Object.entries(counts).map(([word, count]) => `${count} ${word}`);
  const filesText = (
    /** @type {{files: number} | undefined} */ changes,
    /** @type {string} */ how,
  ) =>
    changes?.files ? `, ${changes.files} ${changes.files === 1 ? "file" : "files"} ${how}` : "";
  if (canceling) return `being canceled (${parts.join(", ")}): it ends once what ran has stopped`;
  const lines = filesText(landed, "landed") + filesText(notLanded, "not landed yet");
  return `${status} (${parts.join(", ")})${lines}${unlanded ? `. ${unlanded.message}` : ""}`;
}

/** A line of the timeline. @param {string} kind @param {Record<string, any>} seen view of a plan @param {string} [node] */
export function noticeText(kind, seen, node = "") {
  const texts = /** @type {Record<string, string>} */ ({
    started: `started: ${seen.total} ${seen.total === 1 ? "node" : "nodes"}`,
    failed: `${inLine(node)} failed`,
    "budget-near": "has used 80 % of its budget",
    "budget-spent": "has used its budget, and is paused",
    waiting: `${inLine(node)} waits for a limit of the model`,
    ended: `ended: ${outcomeText(seen)}`,
  });
  return texts[kind];
}

/** Of the notices, those that the model is told, too. */
export const MODEL_NOTICES = ["ended", "failed", "budget-spent"];

/** @param {Record<string, any>} seen view of a plan @param {string} kind @param {string} [node] */
function modelText(seen, kind, node = "") {
  const plan = `Plan ${seen.planId} (${visible(seen.name)})`;
  if (kind === "ended") {
    return `${plan} ended: ${outcomeText(seen)}. get_copilot_plan_status has the rest.`;
  }
  if (kind === "failed") {
    return `${plan}: node ${node} failed; what does not depend on it goes on. get_copilot_node_failure_context says why.`;
  }
  return `${plan} has used its budget and is paused. Ask the user: resume_copilot_plan with a larger budget goes on, cancel_copilot_plan ends it.`;
}

/** @param {Context} context @returns {Promise<InspectedSession[]>} */
async function listOpenSessions({ services }) {
  const all = /** @type {InspectedSession[]} */ (await services.sessions.list());
  return all.filter(({ ending }) => !ending);
}

/**
 * A line for the session that made a plan; else for those of its repository.
 * @param {Context} context @param {string} summary @param {{session?: string, repo: string}} where
 */
export async function emitNearby(context, summary, { session: maker, repo }) {
  const all = await listOpenSessions(context).catch(() => []);
  const own = all.filter(({ id }) => id === maker);
  const near = own.length > 0 ? own : all.filter(({ cwd }) => isInside(cwd, repo));
  for (const { id: session } of near)
    context.events.emit("plans", { summary, session }).catch(() => {});
}

/** Of nodes, in a record. */
const MAX_NOTES = 20;

export class PlanNotifier {
  #context;
  /** One after the other. @type {Promise<unknown>} */
  #recordQueue = Promise.resolve();
  #summaries;
  #describe;
  /** Plans of which a session was told whose process was gone, by plan. @type {Map<string, string>} */
  #doubtful = new Map();
  /** What no session has been shown yet; "": nothing. */
  #damage = "";

  /** @param {Context} context @param {Map<string, PlanSummary>} known @param {(planId: string) => Promise<void>} describe keeps what is known of a plan */
  constructor(context, known, describe) {
    this.#context = context;
    this.#summaries = known;
    this.#describe = describe;
  }

  /** A line for the user. @param {Record<string, any>} seen view of a plan @param {string} text */
  show(seen, text) {
    const { planId, name, facts } = seen;
    const summary = `plan ${planId} (${visible(name)}): ${text}`;
    void emitNearby(this.#context, summary, facts);
  }

  /** @param {string} why */
  noteSleep(why) {
    const summary = `the machine may go to sleep while plans run: ${visible(why)}`;
    this.#context.events.emit("plans", { summary }).catch(() => {});
  }

  /** Once a session is there. @param {string} file what the damaged journal is called now */
  noteDamage(file) {
    const advice =
      "Their commits are below refs/tap of their repositories; copilot-tap plan clean lists their worktrees";
    const summary = `the journal of plans was damaged, and is ${visible(file)} now: its plans are unknown. ${advice}`;
    this.#damage = summary;
    this.#context.diagnostics.add(summary);
  }

  /** @param {string} why the journal cannot be written; "": it can again @returns {string} what was told */
  notifyTrouble(why) {
    const advice = "Free some space on its disk: they go on by themselves";
    const summary = why
      ? `plans stand still: their journal cannot be written: ${visible(why)}. ${advice}`
      : "plans go on: their journal can be written again";
    this.#context.events.emit("plans", { summary }).catch(() => {});
    return summary;
  }

  /**
   * A record of what has happened.
   * @param {Record<string, any>} seen view of a plan @param {string} event @param {string} [node]
   * @param {{id: string, note?: string}[]} [nodes] all, at its end
   */
  record(seen, event, node, nodes = []) {
    const { planId, name, status, counts, usage, landed, facts } = seen;
    const notes = nodes.flatMap(({ id, note }) => (note ? [{ node: id, note }] : []));
    const body = {
      ...{ event, plan: planId, name, status, ...(node && { node }), counts },
      ...(event === "ended" && { usage, landed, repo: facts.repo }),
      ...(notes.length > 0 && { notes: notes.slice(0, MAX_NOTES) }),
    };
    const session = facts.session === "" ? undefined : facts.session;
    const { append } = this.#context.services.records;
    this.#recordQueue = this.#recordQueue
      .then(() => deriveTraceId({ id: planId, facts }))
      .then((trace) => append({ collection: "plan", trace, session, body }))
      .then(undefined, () => {});
  }

  /** The session that made it; or the one of its folder that was used last. @param {{session?: string, cwd: string, repo: string}} facts @returns {Promise<InspectedSession | undefined>} */
  async #findListener({ session, cwd, repo }) {
    const open = await listOpenSessions(this.#context);
    const own = open.find(({ id }) => id === session);
    if (own) return own;
    const near = open.filter((one) => one.cwd === cwd || one.cwd === repo);
    return near.sort(bySessionUse)[0];
  }

  /** @param {Record<string, any>} seen view of a plan @param {string} kind of TOLD @param {string} [node] */
  async notifyModel(seen, kind, node) {
    const { planId } = seen;
    if (seen.facts.session === "") return; // a person looks on
    const session = await this.#findListener(seen.facts);
    const about = this.#summaries.get(planId)?.about;
    if (about && !session?.linked) {
      about.untold = true;
      await this.#describe(planId);
    }
    if (session === undefined) return;
    // Its process may come back and have the text, or the session ends.
    if (!session.linked) this.#doubtful.set(planId, session.id);
    const text = modelText(seen, kind, node);
    await this.#context.notify.model(text, { level: "info", session: session.id });
  }

  /** A session is there: it hears of what ended while there was none. @param {{id: string, cwd: string}} session */
  async handleSessionStart({ id, cwd }) {
    if (this.#damage !== "") {
      void this.#context.events.emit("plans", { summary: this.#damage }).catch(() => {});
      this.#damage = "";
    }
    const all = /** @type {InspectedSession[]} */ (await this.#context.services.sessions.list());
    for (const [planId, { about }] of this.#summaries) {
      if (!about.untold || (about.cwd !== cwd && about.repo !== cwd)) continue;
      const teller = all.find((one) => one.id === this.#doubtful.get(planId));
      if (teller && !teller.linked && teller.id !== id) continue; // its end is waited for
      about.untold = false;
      this.#doubtful.delete(planId);
      await this.#describe(planId);
      if (teller) continue; // it is back, and has the text
      const text = `Plan ${planId} (${visible(about.name)}) ended while no session was here: ${about.status}. get_copilot_plan_status has the rest.`;
      await this.#context.notify.model(text, { level: "info", session: id });
    }
  }

  /** What it was told last may not have reached anybody. @param {string} id of a session */
  async handleSessionEnd(id) {
    for (const [planId, teller] of this.#doubtful) {
      if (teller !== id) continue;
      this.#doubtful.delete(planId);
      const about = this.#summaries.get(planId)?.about;
      const next =
        about?.untold && (await this.#findListener({ cwd: about.cwd, repo: about.repo }));
      if (next && next.id !== id) await this.handleSessionStart(next);
    }
  }
}

// What the user is asked before the model's plan runs: everything that it starts.

const MAX_LINES = 8;
const MAX_LINE = 120;
/** Of the instructions of one agent. */
const MAX_INSTRUCTION_LINES = 4;
const RUNS = "It runs:";
const INSTRUCTIONS = "Instructions of its agents:";

/** @typedef {{lines: string[], most: number, noun: string}} Block most: of its lines that are shown; noun: a line behind the first */

/** @param {string} text */
const formatLine = (text) => `  ${shortenText(visible(text), MAX_LINE)}`;

/**
 * A program with its own variables, or a tool with its arguments, in full. @param {any} work @returns {string[]}
 */
function listWorkLines(work) {
  if (work.type === "tool") {
    const { tool, args } = work;
    return [`tool ${tool}${args === undefined ? "" : ` ${JSON.stringify(args)}`}`];
  }
  const { executable, args = [], command, env = {} } = work;
  if (typeof work === "string" || command !== undefined) return [command ?? work, ...listEnv(env)];
  return [[executable, ...args].map((word) => quoteWord(String(word))).join(" "), ...listEnv(env)];
}

/** @param {Record<string, unknown>} env */
const listEnv = (env) => Object.entries(env).map(([name, value]) => `  with ${name}=${value}`);

/** @param {string[]} lines */
const countCharacters = (lines) => lines.join("\n").length;

/** @param {any} work */
const toWorkBlock = (work) => ({ lines: listWorkLines(work), most: Infinity, noun: "variable" });

/** @param {any} work of an agent */
const readInstructions = (work) =>
  String(typeof work === "string" ? work.replace(/^@agent ?/, "") : work.instructions);

/**
 * The instructions of a node's agents, and those of a retry that has not begun.
 * @param {any} node @returns {Block[]}
 */
function listInstructionBlocks({ id, prechecks, work, postchecks, retryInstructions }) {
  const texts = [
    { label: id, work },
    { label: `${id} prechecks`, work: prechecks },
    { label: `${id} postchecks`, work: postchecks },
  ]
    .filter((one) => isAgentWork(one.work))
    .map((one) => ({ label: one.label, text: readInstructions(one.work) }));
  if (retryInstructions && texts.length > 0)
    texts.push({ label: `${id} retry`, text: retryInstructions });
  return texts.map(({ label, text }) => {
    const [first = "", ...more] = text.split("\n").filter((line) => line.trim() !== "");
    const lines = [`${label}: ${first}`, ...more.map((line) => `  ${line}`)];
    return { lines, most: MAX_INSTRUCTION_LINES, noun: "line" };
  });
}

/** @param {Block} block @param {number} most lines of it @returns {string[]} */
function formatBlock({ lines, noun }, most) {
  const left = lines.length - most;
  const more = left > 0 ? [`    and ${left} more ${noun}${left === 1 ? "" : "s"}`] : [];
  return [...lines.slice(0, most).map(formatLine), ...more];
}

/**
 * As many blocks as there is room for, with their further lines where these have room, too.
 * @param {Block[]} blocks @param {number} room characters
 * @returns {string[]} what is left out is counted
 */
function formatBlocks(blocks, room) {
  const shown = blocks.slice(0, MAX_LINES).map((block) => formatBlock(block, 1));
  while (shown.length > 0 && countCharacters(shown.flat()) > room) shown.pop();
  for (const at of shown.keys()) {
    const whole = shown.with(at, formatBlock(blocks[at], blocks[at].most));
    if (countCharacters(whole.flat()) <= room) shown[at] = whole[at];
  }
  const left = blocks.length - shown.length;
  return [...shown.flat(), ...(left > 0 ? [`  and ${left} more`] : [])];
}

/** @param {any} paths @param {string} what @returns {string[]} */
const listBrought = (paths, what) =>
  Array.isArray(paths) && paths.length > 0 ? [formatLine(`${what} ${paths.join(", ")}`)] : [];

/** @param {any[]} works @returns {string[]} what agents may do besides */
function listAllowances(works) {
  const tools = works.flatMap((work) => (Array.isArray(work?.tools) ? work.tools : []));
  if (tools.length === 0) return [];
  return [formatLine(`agents may call ${[...new Set(tools)].join(", ")}`)];
}

/** @param {any} budget not checked yet @returns {string} */
function budgetText(budget) {
  const kinds = [
    [budget?.aiCredits, "AI credits"],
    [budget?.tokens, "tokens"],
  ];
  const given = kinds.filter(([amount]) => typeof amount === "number");
  return given.map(([amount, what]) => `${amount} ${what}`).join(" and ") || "nothing";
}

/** @param {{planId: string, name: string, owner: string}} plan @param {string} what "pause" @returns {string} */
export const controlQuestion = ({ planId, name, owner }, what) =>
  `The model asks tap to ${what} the plan ${inLine(name)} (${planId}), which ${owner} made`;

/** @param {{planId: string, name: string}} plan @param {unknown} budget @returns {string} */
export const budgetQuestion = ({ planId, name }, budget) =>
  `The model asks tap to go on with the plan ${inLine(name)} (${planId}) with a budget of ${budgetText(budget)}.`;

/**
 * @param {{name?: unknown, targetBranch?: unknown, env?: any, copy?: unknown, link?: unknown, nodes: any[]}} given a plan,
 *   or nodes for one
 * @param {any[]} programs works that are commands, `setup` included
 * @param {string[]} opened lines of what the plan opens of its sandbox @param {string} [start] of the question
 * @returns {{text: string, top: string[]}} top: lines that a dialog has to show
 */
export function formatPlanQuestion(given, programs, opened, start) {
  const { name, targetBranch, env = {}, copy, link, nodes } = given;
  const works = nodes.flatMap((node) => [node?.prechecks, node?.work, node?.postchecks]);
  const agents = works.filter(isAgentWork).length;
  const tools = works.filter((work) => work?.type === "tool");
  const blocks = [...programs, ...tools].map(toWorkBlock);
  const distinct = [...new Map(blocks.map((one) => [JSON.stringify(one), one])).values()];
  const instructions = nodes.filter(Boolean).flatMap(listInstructionBlocks);
  const what = typeof name === "string" ? `run the plan ${inLine(name)}` : "add to a plan";
  const lands = typeof targetBranch === "string" ? `, onto ${inLine(targetBranch)}` : "";
  const count =
    nodes.length === 1 ? "1 node in a git worktree" : `${nodes.length} nodes in worktrees`;
  const which = agents === 0 ? "" : `, ${agents} with an agent`;
  const folders = [...new Set(nodes.map((node) => node?.cwd).filter(Boolean))];
  const brought = [
    ...[...listBrought(copy, "copies"), ...listBrought(link, "links")],
    ...listBrought(folders, "some of it starts in"),
  ];
  const shared = formatVariables(env);
  const all = shared.length > 0 && distinct.length > 0 ? ["All of it:", ...shared] : shared;
  const rest = [...listAllowances(works), ...brought, ...all];
  const top = [
    `${start ?? `The model asks tap to ${what}`}: ${count}${which}${lands}.`,
    ...(opened.length > 0 ? ["It opens the sandbox of its programs:", ...opened] : []),
  ];
  const room = MAX_SHOWN - countCharacters([...top, RUNS, INSTRUCTIONS, ...rest]);
  const runs = distinct.length > 0 ? [RUNS, ...formatBlocks(distinct, room)] : [];
  const left = room - countCharacters(runs);
  const shown = instructions.length > 0 ? [INSTRUCTIONS, ...formatBlocks(instructions, left)] : [];
  return { text: [...top, ...runs, ...shown, ...rest].join("\n"), top };
}
