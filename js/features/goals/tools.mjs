// The five tools of goals.

import { shownLine } from "../../base/redact.mjs";
import { shortened } from "../../base/visible.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";
import { indexOf, judge, prohibitedIn } from "./claims.mjs";
import { check, inWords, readEvidence, suppliedProblem } from "./evidence.mjs";
import { factsOf, plain } from "./facts.mjs";
import { end, find, goalsOf, MOST_OPEN, othersIn, record, supply } from "./ledger.mjs";

/** @typedef {import("../../registry/installation.mjs").Context} Context */
/** @typedef {import("./ledger.mjs").Goal} Goal */
/** @typedef {import("./evidence.mjs").Finding} Finding */

/** Bytes of a result as JSON; a feature's result may have a little more. */
const MOST_RESULT = 30_000;
/** Goals that are no longer open, in an answer. */
const MOST_ENDED = 10;

const shown = (/** @type {string} */ text, most = 200) => shortened(shownLine(text), most);

/** @param {Context["services"]} services @param {string} session */
export async function folderOf(services, session) {
  const all = await services.sessions.list();
  return all.find((/** @type {{id: string}} */ { id }) => id === session)?.cwd ?? "";
}

/** @param {Goal[]} goals */
const openOf = (goals) => goals.filter(({ state }) => state === "open");

/** @param {Goal[]} goals @param {string | undefined} id @returns {Goal[]} */
function chosen(goals, id) {
  const open = openOf(goals);
  if (id === undefined) return open;
  const one = goals.find((goal) => goal.id === id);
  if (!one) {
    const names = open.map((goal) => goal.id).join(", ") || "none";
    throw new ToolError("NOT_FOUND", `this session has no goal "${shown(id, 64)}"; open: ${names}`);
  }
  if (one.state === "open") return [one];
  throw new ToolError("NOT_FOUND", `the goal ${id} is ${one.state}`);
}

// ---- setting ---------------------------------------------------------------------------------------

/**
 * @param {Context} context @param {string} session
 * @param {{statement: string, evidence: any[], prohibited?: string[]}} args
 */
export async function setGoal({ services }, session, { statement, evidence, prohibited = [] }) {
  if (plain(statement) === "")
    throw new ToolError("INVALID_ARGUMENTS", "statement: expected words");
  const open = openOf(await goalsOf(services, session));
  const same = open.find((goal) => plain(goal.statement) === plain(statement));
  if (same && same.evidence.length > 0) {
    const why = "its evidence cannot be changed: close it, or set another goal";
    throw new ToolError("INVALID_ARGUMENTS", `the goal ${same.id} has this statement; ${why}`);
  }
  if (!same && open.length >= MOST_OPEN) {
    throw new ToolError("INVALID_ARGUMENTS", `${MOST_OPEN} goals are open: close one before`);
  }
  const cwd = await folderOf(services, session);
  const read = await readEvidence(services, session, evidence);
  const by = same?.by ?? "model";
  const goal = { session, cwd, statement, by, evidence: read, prohibited, amends: same?.id };
  const id = await record(services, goal);
  const needs = read.map((one) => `- ${inWords(one)}`).join("\n");
  const text = `The goal ${id} is set: ${shown(statement)}\nIt can be closed once there is:\n${needs}`;
  return prohibited.length === 0
    ? text
    : `${text}\nNot to be claimed: ${prohibited.map((one) => `"${shown(one)}"`).join(", ")}`;
}

// ---- looking ---------------------------------------------------------------------------------------

/** @param {Goal} goal */
const summaryOf = ({ id, statement, state, by }) => ({
  ...{ goal: id, statement: shown(statement), state, setBy: by },
});

/** @param {Goal} goal @param {Finding[]} findings */
const stateOf = (goal, findings) => ({
  ...summaryOf(goal),
  missing: findings.filter(({ met }) => !met).length,
  evidence: findings.map(({ n: _n, evidence, ...rest }) => ({
    evidence: shown(evidence, 250),
    ...rest,
  })),
  ...(goal.prohibited.length > 0 && { prohibited: goal.prohibited.map((one) => shown(one)) }),
});

/** @param {object} answer */
const fits = (answer) => Buffer.byteLength(JSON.stringify(answer)) <= MOST_RESULT;

/**
 * An answer that fits: without what is met, then without details, and then with statements alone.
 * @template {{evidence: {met: boolean}[], prohibited?: string[]}} T @template {{evidence: string[]}} O
 * @param {T[]} goals @param {{ofOtherSessions?: O[]} & Record<string, unknown>} [more]
 */
function bounded(goals, more = {}) {
  const leftOut = "ask for one goal";
  const others = more.ofOtherSessions?.map(({ evidence: _left, ...one }) => one);
  const steps = [
    { goals, ...more },
    {
      goals: goals.map((one) => ({ ...one, evidence: one.evidence.filter(({ met }) => !met) })),
      ...more,
    },
    { goals: goals.map(({ evidence: _left, ...one }) => ({ ...one, leftOut })), ...more },
  ];
  const least = {
    goals: goals.map(({ evidence: _left, prohibited: _also, ...one }) => ({ ...one, leftOut })),
    ...{ ...more, ...(others && { ofOtherSessions: others }) },
  };
  return steps.find(fits) ?? least;
}

/** @param {Context} context @param {string} session @param {{goal?: string}} args */
export async function goalStatus({ services }, session, { goal }) {
  const all = await goalsOf(services, session);
  const states = [];
  for (const one of chosen(all, goal)) states.push(stateOf(one, await check(services, one)));
  const ended = all.filter(({ state }) => state !== "open").slice(0, MOST_ENDED);
  const cwd = await folderOf(services, session);
  const others = goal === undefined && cwd ? await othersIn(services, session, cwd) : [];
  return bounded(states, {
    ...(goal === undefined && ended.length > 0 && { ended: ended.map(summaryOf) }),
    ...(others.length > 0 && {
      ofOtherSessions: others.map((one) => ({
        ...summaryOf(one),
        evidence: one.evidence.map((needed) => shown(inWords(needed), 100)),
      })),
      note: "Goals of other sessions in this folder are not taken over: set them again if they are yours now.",
    }),
  });
}

// ---- checking --------------------------------------------------------------------------------------

/** @typedef {{command: string, exitCode: number, output: string}} GivenCommand */

/** Records what the model says of its commands. @param {Context["services"]} services @param {Goal} goal @param {GivenCommand[]} commands */
async function takeCommands(services, goal, commands) {
  const used = new Set();
  for (const one of goal.evidence) {
    if (one.kind !== "command") continue;
    const given = commands.findLast(({ command }) => plain(command) === plain(one.command));
    if (!given) continue;
    used.add(given.command);
    const reason = await suppliedProblem(one, given);
    const { command, exitCode } = given;
    await supply(services, goal, { n: one.n, command, exitCode, met: reason === "", reason });
  }
  return used;
}

/** @param {Context} context @param {string} session @param {{goal?: string, commands?: GivenCommand[]}} args */
export async function verifyGoals({ services }, session, { goal, commands = [] }) {
  const states = [];
  const used = new Set();
  for (const one of chosen(await goalsOf(services, session), goal)) {
    for (const command of await takeCommands(services, one, commands)) used.add(command);
    states.push(stateOf(one, await check(services, one)));
  }
  const unused = commands.filter(({ command }) => !used.has(command));
  return bounded(states, {
    ...(states.length === 0 && { note: "No goal is open in this session." }),
    ...(unused.length > 0 && { notAskedFor: unused.map(({ command }) => shown(command, 100)) }),
  });
}

// ---- closing ---------------------------------------------------------------------------------------

/** The prohibited texts that the last audit of the session has met. @param {Context["services"]} services @param {Goal} goal */
async function claimedBefore(services, { session, at, prohibited }) {
  if (prohibited.length === 0) return [];
  const query = { collection: "claim", where: { session }, since: at, limit: 50 };
  const claims = await find(services, query);
  const last = claims.filter(({ body }) => body.audit === claims[0]?.body.audit);
  return [...new Set(last.flatMap(({ body }) => prohibitedIn(String(body.claim), prohibited)))];
}

/**
 * What keeps it open, in words.
 * @param {Context["services"]} services @param {Goal} goal @param {string} [summary]
 * @returns {Promise<{missing: string[], findings: Finding[]}>}
 */
export async function obstaclesOf(services, goal, summary = "") {
  const findings = await check(services, goal);
  const missing = findings
    .filter(({ met }) => !met)
    .map(({ evidence, reason }) => `${shown(evidence, 250)}: ${shown(reason ?? "", 200)}`);
  for (const text of prohibitedIn(summary, goal.prohibited)) {
    missing.push(`the summary claims "${shown(text)}", which is prohibited`);
  }
  for (const text of await claimedBefore(services, goal)) {
    missing.push(`the last audit had the prohibited claim "${shown(text)}": audit without it`);
  }
  return { missing, findings };
}

/** @param {Context} context @param {string} session @param {{goal?: string, summary?: string}} args */
export async function closeGoal({ services }, session, { goal, summary }) {
  const open = chosen(await goalsOf(services, session), goal);
  if (open.length === 0) throw new ToolError("NOT_FOUND", "this session has no open goal");
  if (open.length > 1) {
    const names = open.map(({ id }) => id).join(", ");
    throw new ToolError("INVALID_ARGUMENTS", `several goals are open: name one of ${names}`);
  }
  const [one] = open;
  const { missing, findings } = await obstaclesOf(services, one, summary);
  if (missing.length > 0) {
    const list = missing.map((text) => `\n- ${text}`).join("");
    return `The goal ${one.id} stays open: ${shown(one.statement)}\nIt lacks:${list}`;
  }
  await end(services, one, "closed", summary ?? "");
  const lines = findings.map(({ evidence, source }) => `- ${shown(evidence, 250)}: ${source}`);
  return `The goal ${one.id} is closed: ${shown(one.statement)}\n${lines.join("\n")}`;
}

// ---- claims ----------------------------------------------------------------------------------------

/** Many claims take turns with whatever else this process does. */
const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** @param {Context} context @param {string} session @param {{claims: string[]}} args */
export async function auditClaims({ services }, session, { claims }) {
  const open = openOf(await goalsOf(services, session));
  const index = indexOf(await factsOf(services, session));
  const audit = crypto.randomUUID();
  /** @type {{claim: string, verdict: string, reason?: string, records?: number[], prohibited?: string[]}[]} */
  const judged = [];
  for (const [at, claim] of claims.entries()) {
    const { verdict, reason, records } = judge(claim, index);
    const prohibited = [
      ...new Set(open.flatMap((goal) => prohibitedIn(claim, goal.prohibited))),
    ].slice(0, 3);
    const body = { audit, claim, verdict, reason: shown(reason), records: records.slice(0, 20) };
    const given = { collection: "claim", session, body };
    if (at === claims.length - 1) await services.records.commit(given);
    else await services.records.append(given);
    judged.push({
      ...{ claim: shown(claim, 120), verdict, reason: shown(reason, 160) },
      ...(records.length > 0 && { records: records.slice(0, 20) }),
      ...(prohibited.length > 0 && { prohibited: prohibited.map((text) => shown(text, 60)) }),
    });
    await nextTurn();
  }
  const count = (/** @type {string} */ verdict) =>
    judged.filter((one) => one.verdict === verdict).length;
  const counts = { contradicted: count("contradicted"), unsupported: count("unsupported") };
  const answer = { supported: count("supported"), ...counts, claims: judged };
  if (fits(answer)) return answer;
  const short = judged.map(({ claim, verdict }) => ({ claim: shown(claim, 60), verdict }));
  return { ...answer, claims: short };
}
