// A job as a session of a server.

import fs from "node:fs";
import path from "node:path";
import { errorMessage } from "../lib/values.mjs";
import { sleep } from "../lib/timers.mjs";
import { classifyFailure, buildPrompt, sessionName } from "./job.mjs";
import { endJobShells } from "./orphans.mjs";
import { createBounds, decidePermission, checkSessionRules, JobRun } from "./job-run.mjs";
import { withTimeout } from "./server.mjs";
import { difference, noTotals, sum, parseTotals } from "./usage.mjs";

/** @typedef {import("./job.mjs").Job} Job */
/** @typedef {import("./server.mjs").Session} Session */
/** @typedef {import("./server.mjs").Server} Server */

const CREATE_MS = 30_000;
const REQUEST_MS = 5000;
/** From the request to stop until the server counts as hanging. */
const ABORT_MS = 5000;

/** @param {Job} job @param {any} tool of that job */
const toSdkTool = (job, { name, description, parameters, call }) => ({
  name,
  description,
  parameters,
  skipPermission: false,
  handler: (/** @type {unknown} */ args, /** @type {any} */ invocation) =>
    call(args, job.signal ?? invocation?.signal),
});

/** @param {Job} job @param {Server} server @param {import("./environment.mjs").AgentEnvironment & {config: import("./environment.mjs").WorkersConfig}} place */
function createSessionConfig(job, server, { home, config }) {
  const output = path.join(server.folder, job.sessionId);
  fs.mkdirSync(output, { recursive: true });
  const state = path.join(home, "session-state", job.sessionId);
  const bounds = createBounds(job, [output, state]);
  const { model: fallback, ...provider } = config.provider ?? {};
  const model = job.model ?? config.model ?? fallback;
  return {
    clientName: "tap",
    workingDirectory: job.cwd,
    ...(model !== undefined && { model }),
    ...(config.provider && { provider: { type: "openai", ...provider } }),
    ...(job.allowedFolders && { additionalDirectories: job.allowedFolders }),
    tools: (job.tools ?? []).map((tool) => toSdkTool(job, tool)),
    largeOutput: { enabled: true, outputDirectory: output },
    enableConfigDiscovery: false,
    enableSessionStore: false,
    remoteSession: "off",
    onPermissionRequest: (/** @type {unknown} */ request) => {
      const why = decidePermission(request, bounds);
      return why === "" ? { kind: "approve-once" } : { kind: "reject", feedback: why };
    },
    hooks: {
      onPreToolUse: async (/** @type {any} */ { toolName, toolArgs }) => {
        const why = await checkSessionRules(job, toolName, toolArgs);
        if (why === "") return undefined;
        return { permissionDecision: "deny", permissionDecisionReason: why };
      },
    },
  };
}

/** @param {Session} session */
const queryTotals = async (session) =>
  parseTotals(await withTimeout(session.rpc.usage.getMetrics(), REQUEST_MS, "the session's usage"));

/**
 * Ends the turn. A server that does not answer is ended, with its other jobs.
 * @param {JobRun} run @param {Session} session @param {Server} server
 */
async function abortTurn(run, session, server) {
  const until = performance.now() + ABORT_MS;
  const asked = withTimeout(session.abort(), ABORT_MS, "an abort").catch(() => {});
  await asked;
  while (!run.progress.over && !run.isLost && performance.now() < until) await sleep(25);
  if (!run.progress.over) await server.stop();
}

/**
 * @param {JobRun} run @param {Job} job @param {Server} server @param {Session} session
 * @param {import("./job.mjs").Totals} before
 */
async function finishSession(run, job, server, session, before) {
  const totals = run.isLost ? undefined : await queryTotals(session).catch(() => undefined);
  const used = run.progress.used;
  const usage = totals ? difference(totals, before) : used;
  const { status } = run.progress.outcome();
  const resumable = status === "interrupted" || status === "rateLimited" || job.keepSession;
  let kept = true;
  if (!run.isLost) {
    await withTimeout(session.disconnect(), REQUEST_MS, "the end of a session").catch(() => {});
    if (!resumable) kept = !(await deleteSession(server, job.sessionId));
  }
  await endJobShells(job.sessionId);
  fs.rmSync(path.join(server.folder, job.sessionId), { recursive: true, force: true });
  return run.result({
    usage: { ...usage, sessionMs: 0 },
    totals: totals ?? sum(before, used),
    session: kept ? "kept" : "deleted",
  });
}

/** @param {Server} server @param {string} sessionId @returns {Promise<boolean>} whether it is gone */
export async function deleteSession({ client }, sessionId) {
  try {
    await withTimeout(client.deleteSession(sessionId), REQUEST_MS, "the removal of a session");
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {Job} job @param {Server} server @param {Parameters<typeof createSessionConfig>[2]} place
 * @param {(event: import("./job.mjs").WorkerEvent) => void} onEvent
 * @returns {Promise<import("./job.mjs").Result>}
 */
export async function runInSession(job, server, place, onEvent) {
  const run = new JobRun(job, onEvent);
  void server.ending.then(() => run.markLost("the CLI's server has ended"));
  /** @type {Session} */
  let session;
  let before = noTotals();
  try {
    const config = createSessionConfig(job, server, place);
    const made = job.resume
      ? server.client.resumeSession(job.sessionId, config)
      : server.client.createSession({
          ...config,
          sessionId: job.sessionId,
          name: sessionName(job),
        });
    session = await withTimeout(made, CREATE_MS, "a new session");
    if (job.resume) before = await queryTotals(session);
  } catch (error) {
    if (!run.isLost) run.progress.stop(classifyFailure("SESSION", errorMessage(error)));
    return run.result();
  }
  const off = session.on((event) => run.handleEvent(event));
  if (!run.progress.stopping) {
    run.progress.begin();
    session.send({ prompt: buildPrompt(job) }).catch((error) => {
      if (!run.isLost) run.progress.stop(classifyFailure("SESSION", errorMessage(error)));
    });
    await run.waitUntilSettled();
    if (run.progress.stopping && !run.isLost) await abortTurn(run, session, server);
  }
  const result = await finishSession(run, job, server, session, before);
  off();
  return result;
}
