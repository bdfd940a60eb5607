// The five tools of goals.

import { ToolError } from "../../../sdk/node/errors.mjs";
import { redactLine } from "../../lib/redact.mjs";
import { shortenText } from "../../lib/visible.mjs";
import { findProhibited, indexFacts, judgeClaim } from "./claims.mjs";
import { checkGoal, commandProblem, formatEvidence, readEvidence } from "./evidence.mjs";
import { collapseSpaces, markStale, readFacts } from "./facts.mjs";
import {
  endGoal,
  listGoals,
  listOtherGoals,
  MAX_OPEN_GOALS,
  queryRecords,
  recordCommandResult,
  recordGoal,
} from "./ledger.mjs";

/** @typedef {import("../../feature-host/installation.mjs").Context} Context */
/** @typedef {import("./ledger.mjs").Goal} Goal */
/** @typedef {import("./evidence.mjs").Finding} Finding */

/** Bytes of a result as JSON; a feature's result may have a little more. */
const MAX_RESULT_BYTES = 30_000;
/** Goals that are no longer open, in an answer. */
const MAX_ENDED = 10;

const clipText = (/** @type {string} */ text, most = 200) => shortenText(redactLine(text), most);

/** @param {Context["services"]} services @param {string} session */
export async function findFolder(services, session) {
  const all = await services.sessions.list();
  return all.find((/** @type {{id: string}} */ { id }) => id === session)?.cwd ?? "";
}

/** @param {Goal[]} goals */
const filterOpen = (goals) => goals.filter(({ state }) => state === "open");

/** @param {Goal[]} goals @param {string | undefined} id @returns {Goal[]} */
function selectGoals(goals, id) {
  const open = filterOpen(goals);
  if (id === undefined) return open;
  const one = goals.find((goal) => goal.id === id);
  if (!one) {
    const names = open.map((goal) => goal.id).join(", ") || "none";
    throw new ToolError(
      "NOT_FOUND",
      `this session has no goal "${clipText(id, 64)}"; open: ${names}`,
    );
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
  if (collapseSpaces(statement) === "")
    throw new ToolError("INVALID_ARGUMENTS", "statement: expected words");
  const open = filterOpen(await listGoals(services, session));
  const same = open.find((goal) => collapseSpaces(goal.statement) === collapseSpaces(statement));
  if (same && same.evidence.length > 0) {
    const why = "its evidence cannot be changed: close it, or set another goal";
    throw new ToolError("INVALID_ARGUMENTS", `the goal ${same.id} has this statement; ${why}`);
  }
  if (!same && open.length >= MAX_OPEN_GOALS) {
    throw new ToolError("INVALID_ARGUMENTS", `${MAX_OPEN_GOALS} goals are open: close one before`);
  }
  const cwd = await findFolder(services, session);
  const read = await readEvidence(services, session, evidence);
  const by = same?.by ?? "model";
  const goal = { session, cwd, statement, by, evidence: read, prohibited, amends: same?.id };
  const id = await recordGoal(services, goal);
  const needs = read.map((one) => `- ${formatEvidence(one)}`).join("\n");
  const text = `The goal ${id} is set: ${clipText(statement)}\nIt can be closed once there is:\n${needs}`;
  return prohibited.length === 0
    ? text
    : `${text}\nNot to be claimed: ${prohibited.map((one) => `"${clipText(one)}"`).join(", ")}`;
}

// ---- looking ---------------------------------------------------------------------------------------

/** @param {Goal} goal */
const toSummary = ({ id, statement, state, by }) => ({
  ...{ goal: id, statement: clipText(statement), state, setBy: by },
});

/** @param {Goal} goal @param {Finding[]} findings */
const toStatus = (goal, findings) => ({
  ...toSummary(goal),
  missing: findings.filter(({ met }) => !met).length,
  evidence: findings.map(({ n: _n, evidence, ...rest }) => ({
    evidence: clipText(evidence, 250),
    ...rest,
  })),
  ...(goal.prohibited.length > 0 && { prohibited: goal.prohibited.map((one) => clipText(one)) }),
});

/** @param {object} answer */
const fits = (answer) => Buffer.byteLength(JSON.stringify(answer)) <= MAX_RESULT_BYTES;

/**
 * An answer that fits: without what is met, then without details, and then with statements alone.
 * @template {{evidence: {met: boolean}[], prohibited?: string[]}} T @template {{evidence: string[]}} O
 * @param {T[]} goals @param {{ofOtherSessions?: O[]} & Record<string, unknown>} [more]
 */
function truncateResult(goals, more = {}) {
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
  const all = await listGoals(services, session);
  const states = [];
  for (const one of selectGoals(all, goal))
    states.push(toStatus(one, await checkGoal(services, one)));
  const ended = all.filter(({ state }) => state !== "open").slice(0, MAX_ENDED);
  const cwd = await findFolder(services, session);
  const others = goal === undefined && cwd ? await listOtherGoals(services, session, cwd) : [];
  return truncateResult(states, {
    ...(goal === undefined && ended.length > 0 && { ended: ended.map(toSummary) }),
    ...(others.length > 0 && {
      ofOtherSessions: others.map((one) => ({
        ...toSummary(one),
        evidence: one.evidence.map((needed) => clipText(formatEvidence(needed), 100)),
      })),
      note: "Goals of other sessions in this folder are not taken over: set them again if they are yours now.",
    }),
  });
}

// ---- checking --------------------------------------------------------------------------------------

/** @typedef {{command: string, exitCode: number, output: string}} GivenCommand */

/** Records what the model says of its commands. @param {Context["services"]} services @param {Goal} goal @param {GivenCommand[]} commands */
async function recordCommands(services, goal, commands) {
  const used = new Set();
  for (const one of goal.evidence) {
    if (one.kind !== "command") continue;
    const given = commands.findLast(
      ({ command }) => collapseSpaces(command) === collapseSpaces(one.command),
    );
    if (!given) continue;
    used.add(given.command);
    const reason = await commandProblem(one, given);
    const { command, exitCode } = given;
    await recordCommandResult(services, goal, {
      n: one.n,
      command,
      exitCode,
      met: reason === "",
      reason,
    });
  }
  return used;
}

/** @param {Context} context @param {string} session @param {{goal?: string, commands?: GivenCommand[]}} args */
export async function verifyGoals({ services }, session, { goal, commands = [] }) {
  const states = [];
  const used = new Set();
  for (const one of selectGoals(await listGoals(services, session), goal)) {
    for (const command of await recordCommands(services, one, commands)) used.add(command);
    states.push(toStatus(one, await checkGoal(services, one)));
  }
  const unused = commands.filter(({ command }) => !used.has(command));
  return truncateResult(states, {
    ...(states.length === 0 && { note: "No goal is open in this session." }),
    ...(unused.length > 0 && { notAskedFor: unused.map(({ command }) => clipText(command, 100)) }),
  });
}

// ---- closing ---------------------------------------------------------------------------------------

/** The prohibited texts that the last audit of the session has met. @param {Context["services"]} services @param {Goal} goal */
async function findProhibitedClaims(services, { session, at, prohibited }) {
  if (prohibited.length === 0) return [];
  const query = { collection: "claim", where: { session }, since: at, limit: 50 };
  const claims = await queryRecords(services, query);
  const last = claims.filter(({ body }) => body.audit === claims[0]?.body.audit);
  return [...new Set(last.flatMap(({ body }) => findProhibited(String(body.claim), prohibited)))];
}

/**
 * What keeps it open, in words.
 * @param {Context["services"]} services @param {Goal} goal @param {string} [summary]
 * @returns {Promise<{missing: string[], findings: Finding[]}>}
 */
export async function findObstacles(services, goal, summary = "") {
  const findings = await checkGoal(services, goal);
  const missing = findings
    .filter(({ met }) => !met)
    .map(({ evidence, reason }) => `${clipText(evidence, 250)}: ${clipText(reason ?? "", 200)}`);
  for (const text of findProhibited(summary, goal.prohibited)) {
    missing.push(`the summary claims "${clipText(text)}", which is prohibited`);
  }
  for (const text of await findProhibitedClaims(services, goal)) {
    missing.push(`the last audit had the prohibited claim "${clipText(text)}": audit without it`);
  }
  return { missing, findings };
}

/** @param {Context} context @param {string} session @param {{goal?: string, summary?: string}} args */
export async function closeGoal({ services }, session, { goal, summary }) {
  const open = selectGoals(await listGoals(services, session), goal);
  if (open.length === 0) throw new ToolError("NOT_FOUND", "this session has no open goal");
  if (open.length > 1) {
    const names = open.map(({ id }) => id).join(", ");
    throw new ToolError("INVALID_ARGUMENTS", `several goals are open: name one of ${names}`);
  }
  const [one] = open;
  const { missing, findings } = await findObstacles(services, one, summary);
  if (missing.length > 0) {
    const list = missing.map((text) => `\n- ${text}`).join("");
    return `The goal ${one.id} stays open: ${clipText(one.statement)}\nIt lacks:${list}`;
  }
  await endGoal(services, one, "closed", summary ?? "");
  const lines = findings.map(
    ({ evidence, source, head, clean }) =>
      `- ${clipText(evidence, 250)}: ${source}${head ? ` on ${head.slice(0, 12)}${clean ? "" : " with changes"}` : ""}`,
  );
  return `The goal ${one.id} is closed: ${clipText(one.statement)}\n${lines.join("\n")}`;
}

// ---- claims ----------------------------------------------------------------------------------------

/** Many claims take turns with whatever else this process does. */
const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** @param {Context} context @param {string} session @param {{claims: string[]}} args */
export async function auditClaims({ services }, session, { claims }) {
  const open = filterOpen(await listGoals(services, session));
  const index = indexFacts(await markStale(services, session, await readFacts(services, session)));
  const audit = crypto.randomUUID();
  /** @type {{claim: string, verdict: string, reason?: string, records?: number[], prohibited?: string[]}[]} */
  const judged = [];
  for (const [at, claim] of claims.entries()) {
    const { verdict, reason, records } = judgeClaim(claim, index);
    const prohibited = [
      ...new Set(open.flatMap((goal) => findProhibited(claim, goal.prohibited))),
    ].slice(0, 3);
    const body = { audit, claim, verdict, reason: clipText(reason), records: records.slice(0, 20) };
    const given = { collection: "claim", session, body };
    if (at === claims.length - 1) await services.records.commit(given);
    else await services.records.append(given);
    judged.push({
      ...{ claim: clipText(claim, 120), verdict, reason: clipText(reason, 160) },
      ...(records.length > 0 && { records: records.slice(0, 20) }),
      ...(prohibited.length > 0 && { prohibited: prohibited.map((text) => clipText(text, 60)) }),
    });
    await nextTurn();
  }
  const count = (/** @type {string} */ verdict) =>
    judged.filter((one) => one.verdict === verdict).length;
  const counts = { contradicted: count("contradicted"), unsupported: count("unsupported") };
  const answer = { supported: count("supported"), ...counts, claims: judged };
  if (fits(answer)) return answer;
  const short = judged.map(({ claim, verdict }) => ({ claim: clipText(claim, 60), verdict }));
  return { ...answer, claims: short };
}

// The gate of goals: what it says while evidence is missing. It can only deny.

/** Of a reason. */
const MAX_REASON = 2000;

/**
 * @param {import("../../feature-host/installation.mjs").Context} context @param {string} session
 * @returns {Promise<true | string>} a text: why not
 */
export async function checkOpenGoals({ services }, session) {
  const open = (await listGoals(services, session)).filter(({ state }) => state === "open");
  const lacking = [];
  for (const goal of open) {
    const { missing } = await findObstacles(services, goal);
    if (missing.length === 0) continue;
    const statement = shortenText(redactLine(goal.statement), 100);
    lacking.push(`the goal ${goal.id} (${statement}) lacks ${missing.join("; ")}`);
  }
  if (lacking.length === 0) return true;
  return shortenText(`${lacking.join(". ")}. Call tap_verify_goal_output for details`, MAX_REASON);
}
