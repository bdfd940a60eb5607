// Goals as records. Each change of a goal is a record of the collection `goal`, and nothing is kept in memory: what is
// asked for is read from the store. A goal's parts are recorded before the goal itself, so a goal that is there has
// all of its evidence.

import { shortenRedacted, redact, redactLine } from "../../lib/redact.mjs";
import { shortenText } from "../../lib/visible.mjs";
import { ToolError } from "../../../sdk/node/errors.mjs";

/** @typedef {import("../../feature-host/service-access.mjs").Services} Services */

/**
 * @typedef {{n: number, kind: "file", file: string, match?: string, sha256?: string, before: string}} FileEvidence
 *   `before`: the digest when the goal was set; "" where there was no file
 * @typedef {{n: number, kind: "stream", stream: string, match: string}} StreamEvidence
 * @typedef {{n: number, kind: "command", command: string, exitCode: number, match?: string}} CommandEvidence
 * @typedef {FileEvidence | StreamEvidence | CommandEvidence} Evidence
 *
 * @typedef {{id: number, at: number, session?: string, source?: string, body: any}} StoredRecord
 * @typedef {{record: number, at: number, exitCode: number, met: boolean, reason: string, run?: string}} CommandResult
 *
 * @typedef {object} Goal
 * @property {string} id
 * @property {string} session
 * @property {string} cwd where that session works
 * @property {string} statement
 * @property {"model" | "user"} by
 * @property {number} at Unix ms
 * @property {"open" | "closed" | "dropped"} state
 * @property {number} parts how many it was set with
 * @property {Evidence[]} evidence of open goals
 * @property {string[]} prohibited of open goals
 * @property {string} [amends] the goal that it completes
 */

/** Open goals of one session. */
export const MAX_OPEN_GOALS = 10;
/** Of a body as JSON; the store takes 4096. */
const MAX_BODY_BYTES = 3800;
/** Characters of a command whose record would have more. */
const MAX_LONG_COMMAND = 200;
/** Of one session, and of a folder, that are looked at. */
const MAX_GOALS = 1000;
const MAX_OTHERS = 50;

/** @param {string} id of a goal */
export const ledgerStream = (id) => `goal:${id}`;

/** @param {Services} services @param {object} query @returns {Promise<StoredRecord[]>} newest first */
export const queryRecords = async (services, query) =>
  (await services.records.query(query)).records;

const countBytes = (/** @type {string} */ text) => new TextEncoder().encode(text).length;

/** Before anything of it is recorded. @param {object} body @param {string} what */
export function requireRecordable(body, what) {
  const text = JSON.stringify(body);
  if (countBytes(text) > MAX_BODY_BYTES) {
    const most = `${what} may have ${MAX_BODY_BYTES} bytes as JSON`;
    throw new ToolError("INVALID_ARGUMENTS", `${most}, and has ${countBytes(text)}`);
  }
  if (JSON.stringify(redact(body)) === text) return;
  const why = "looks like it has a secret, and tap records no secrets";
  throw new ToolError("INVALID_ARGUMENTS", `${what} ${why}`);
}

/** @param {Services} services @param {string} session @param {object} body */
async function commit(services, session, body) {
  const durable = await services.records.commit({
    collection: "goal",
    session,
    body,
  });
  if (durable) return;
  throw new ToolError("INTERNAL", 'records cannot be written, or the config has "records": false');
}

/** A line of the goal's stream. @param {Services} services @param {string} session @param {string} goal @param {string} text */
export async function note(services, session, goal, text) {
  const body = { stream: ledgerStream(goal), text: shortenText(redactLine(text), 500) };
  await services.records.append({
    collection: "stream_entry",
    session,
    body,
  });
}

/**
 * @param {Services} services
 * @param {{session: string, cwd: string, statement: string, by: "model" | "user", evidence: Evidence[], prohibited: string[], amends?: string}} goal
 * @returns {Promise<string>} its id
 */
export async function recordGoal(services, goal) {
  const { session, cwd, statement, by, evidence, prohibited, amends } = goal;
  const id = `g-${crypto.randomUUID().slice(0, 8)}`;
  const parts = [
    ...evidence.map((one) => ({ goal: id, event: "evidence", ...one })),
    ...prohibited.map((text, n) => ({ goal: id, event: "prohibited", n, text })),
  ];
  const set = {
    ...{ goal: id, event: "set", statement, by, cwd, parts: parts.length },
    ...(amends && { amends }),
  };
  for (const one of parts) requireRecordable(one, `${one.event} ${one.n + 1}`);
  requireRecordable(set, "the statement");
  for (const one of parts) await commit(services, session, one);
  await commit(services, session, set);
  await note(services, session, id, `set by the ${by}: ${statement}`);
  return id;
}

/** @param {Services} services @param {Goal} goal @param {"closed" | "dropped"} event @param {string} text */
export async function endGoal(services, goal, event, text) {
  await commit(services, goal.session, { goal: goal.id, event, text: shortenRedacted(text, 500) });
  await note(services, goal.session, goal.id, text ? `${event}: ${text}` : event);
}

/**
 * @param {Services} services @param {Goal} goal
 * @param {{n: number, command: string, exitCode: number, met: boolean, reason: string}} given
 */
export async function recordCommandResult(services, goal, given) {
  const { n, exitCode, met, reason } = given;
  const what = { goal: goal.id, event: "supplied", n, exitCode, met, reason };
  await commit(services, goal.session, what);
  const said = met ? "as required" : reason;
  await note(
    services,
    goal.session,
    goal.id,
    `the model says that ${given.command} ended with ${exitCode}: ${said}`,
  );
}

/**
 * A command of the CLI's shell that has ended, and what it is to the open goals that name it.
 * @param {Services} services @param {string} session
 * @param {{command: string, exitCode?: number} & import("../../feature-host/workspace.mjs").Tree} about
 * @param {{goal: Goal, n: number, met: boolean, reason: string}[]} results
 */
export async function recordCommandRun(services, session, about, results) {
  const run = crypto.randomUUID().slice(0, 8);
  const whole = { event: "command", run, ...about };
  const isLong = countBytes(JSON.stringify(whole)) > MAX_BODY_BYTES;
  const { command, exitCode, head } = about;
  await commit(services, session, {
    ...whole,
    ...(isLong && { command: shortenText(command, MAX_LONG_COMMAND) }),
  });
  const ended = exitCode === undefined ? "unknown exit code" : `exit code ${exitCode}`;
  const where = head ? ` on ${head.slice(0, 12)}${about.clean ? "" : " with changes"}` : "";
  for (const { goal, n, met, reason } of results) {
    await commit(services, session, { goal: goal.id, event: "ran", n, run, exitCode, met, reason });
    const came = met ? "as required" : reason;
    await note(services, session, goal.id, `${command}: ${ended}${where}: ${came}`);
  }
}

/**
 * What has last come of a command: of its run, or as the model says.
 * @param {Services} services @param {Goal} goal @param {number} n @param {"ran" | "supplied"} event
 * @returns {Promise<CommandResult | undefined>}
 */
export async function findCommandResult(services, goal, n, event) {
  const where = { goal: goal.id, event, n };
  const [last] = await queryRecords(services, { collection: "goal", where, limit: 1 });
  if (!last) return undefined;
  const { exitCode, met, reason, run } = last.body;
  return { record: last.id, at: last.at, exitCode, met, reason, run };
}

/** @param {Services} services @param {StoredRecord} set @param {Goal["state"]} state @returns {Promise<Goal>} */
async function loadGoal(services, set, state) {
  const { goal, statement, by, cwd, parts, amends } = set.body;
  const readParts = async (/** @type {string} */ event) => {
    if (state !== "open" || parts === 0) return [];
    const where = { goal, event };
    const found = await queryRecords(services, { collection: "goal", where, limit: 40 });
    return found.map(({ body }) => body).sort((a, b) => a.n - b.n);
  };
  const evidence = (await readParts("evidence")).map(({ goal: _id, event: _event, ...one }) => one);
  const prohibited = (await readParts("prohibited")).map(({ text }) => text);
  return {
    ...{ id: goal, session: set.session ?? "", cwd, statement, by, at: set.at, state },
    ...{ parts, evidence, prohibited, amends },
  };
}

/**
 * @param {Services} services @param {object} where such as `{session}` or `{cwd}` @param {number} [limit]
 * @returns {Promise<{set: StoredRecord, state: Goal["state"]}[]>} newest first; without those that another completes
 */
async function readGoalStates(services, where, limit = MAX_GOALS) {
  const all = { collection: "goal", limit: MAX_GOALS };
  const sets = await queryRecords(services, { ...all, where: { ...where, event: "set" }, limit });
  const ids = new Set(sets.map(({ body }) => body.goal));
  const ends = new Map();
  const sessions = [...new Set(sets.map(({ session }) => session))];
  for (const session of sessions) {
    for (const event of ["closed", "dropped"]) {
      const found = await queryRecords(services, { ...all, where: { session, event } });
      for (const { body } of found) if (ids.has(body.goal)) ends.set(body.goal, event);
    }
  }
  const amended = new Set(sets.map(({ body }) => body.amends));
  return sets
    .filter(({ body }) => !amended.has(body.goal))
    .map((set) => ({ set, state: ends.get(set.body.goal) ?? "open" }));
}

/** @param {Services} services @param {string} session */
export const hasOpenGoal = async (services, session) =>
  (await readGoalStates(services, { session })).some(({ state }) => state === "open");

/** @param {Services} services @param {string} session @returns {Promise<Goal[]>} newest first */
export async function listGoals(services, session) {
  const states = await readGoalStates(services, { session });
  return Promise.all(states.map(({ set, state }) => loadGoal(services, set, state)));
}

/** Open goals of other sessions in the same folder. @param {Services} services @param {string} session @param {string} cwd @returns {Promise<Goal[]>} */
export async function listOtherGoals(services, session, cwd) {
  const states = await readGoalStates(services, { cwd }, MAX_OTHERS);
  const open = states.filter(({ set, state }) => state === "open" && set.session !== session);
  return Promise.all(
    open.slice(0, MAX_OPEN_GOALS).map(({ set, state }) => loadGoal(services, set, state)),
  );
}
