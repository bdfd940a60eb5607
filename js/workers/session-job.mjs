// A job as a session of a server.

import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { sleep } from "../base/patience.mjs";
import { failedAsSaid, promptOf, sessionName } from "./job.mjs";
import { endShellsOf } from "./orphans.mjs";
import { boundsOf, decided, maySession, Run } from "./run.mjs";
import { within } from "./server.mjs";
import { difference, noTotals, sum, totalsOf } from "./usage.mjs";

/** @typedef {import("./job.mjs").Job} Job */
/** @typedef {import("./sdk.mjs").Session} Session */
/** @typedef {import("./server.mjs").Server} Server */

const CREATE_MS = 30_000;
const ASK_MS = 5000;
/** From the request to stop until the server counts as hanging. */
const ABORT_MS = 5000;

/** @param {Job} job @param {any} tool of that job */
const lent = (job, { name, description, parameters, call }) => ({
  name,
  description,
  parameters,
  skipPermission: false,
  handler: (/** @type {unknown} */ args, /** @type {any} */ invocation) =>
    call(args, job.signal ?? invocation?.signal),
});

/** @param {Job} job @param {Server} server @param {import("./environment.mjs").Place & {config: import("./environment.mjs").WorkersConfig}} place */
function configOf(job, server, { home, config }) {
  const output = path.join(server.folder, job.sessionId);
  fs.mkdirSync(output, { recursive: true });
  const state = path.join(home, "session-state", job.sessionId);
  const bounds = boundsOf(job, [output, state]);
  const { model: fallback, ...provider } = config.provider ?? {};
  const model = job.model ?? config.model ?? fallback;
  return {
    clientName: "tap",
    workingDirectory: job.cwd,
    ...(model !== undefined && { model }),
    ...(config.provider && { provider: { type: "openai", ...provider } }),
    ...(job.allowedFolders && { additionalDirectories: job.allowedFolders }),
    tools: (job.tools ?? []).map((tool) => lent(job, tool)),
    largeOutput: { enabled: true, outputDirectory: output },
    enableConfigDiscovery: false,
    enableSessionStore: false,
    remoteSession: "off",
    onPermissionRequest: (/** @type {unknown} */ request) => {
      const why = decided(request, bounds);
      return why === "" ? { kind: "approve-once" } : { kind: "reject", feedback: why };
    },
    hooks: {
      onPreToolUse: async (/** @type {any} */ { toolName, toolArgs }) => {
        const why = await maySession(job, toolName, toolArgs);
        if (why === "") return undefined;
        return { permissionDecision: "deny", permissionDecisionReason: why };
      },
    },
  };
}

/** @param {Session} session */
const totalsNow = async (session) =>
  totalsOf(await within(session.rpc.usage.getMetrics(), ASK_MS, "the session's usage"));

/**
 * Ends the turn. A server that does not answer is ended, with its other jobs.
 * @param {Run} run @param {Session} session @param {Server} server
 */
async function stopped(run, session, server) {
  const until = performance.now() + ABORT_MS;
  const asked = within(session.abort(), ABORT_MS, "an abort").catch(() => {});
  await asked;
  while (!run.progress.over && !run.lost && performance.now() < until) await sleep(25);
  if (!run.progress.over) await server.stop();
}

/**
 * @param {Run} run @param {Job} job @param {Server} server @param {Session} session
 * @param {import("./job.mjs").Totals} before
 */
async function finished(run, job, server, session, before) {
  const totals = run.lost ? undefined : await totalsNow(session).catch(() => undefined);
  const used = run.progress.used;
  const usage = totals ? difference(totals, before) : used;
  const { status } = run.progress.outcome();
  const resumable = status === "interrupted" || status === "rateLimited" || job.keepSession;
  let kept = true;
  if (!run.lost) {
    await within(session.disconnect(), ASK_MS, "the end of a session").catch(() => {});
    if (!resumable) kept = !(await forgotten(server, job.sessionId));
  }
  await endShellsOf(job.sessionId);
  fs.rmSync(path.join(server.folder, job.sessionId), { recursive: true, force: true });
  return run.result({
    usage: { ...usage, sessionMs: 0 },
    totals: totals ?? sum(before, used),
    session: kept ? "kept" : "deleted",
  });
}

/** @param {Server} server @param {string} sessionId @returns {Promise<boolean>} whether it is gone */
export async function forgotten({ client }, sessionId) {
  try {
    await within(client.deleteSession(sessionId), ASK_MS, "the removal of a session");
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {Job} job @param {Server} server @param {Parameters<typeof configOf>[2]} place
 * @param {(event: import("./job.mjs").WorkerEvent) => void} onEvent
 * @returns {Promise<import("./job.mjs").Result>}
 */
export async function runInSession(job, server, place, onEvent) {
  const run = new Run(job, onEvent);
  void server.leaving.then(() => run.lose("the CLI's server has ended"));
  /** @type {Session} */
  let session;
  let before = noTotals();
  try {
    const config = configOf(job, server, place);
    const made = job.resume
      ? server.client.resumeSession(job.sessionId, config)
      : server.client.createSession({
          ...config,
          sessionId: job.sessionId,
          name: sessionName(job),
        });
    session = await within(made, CREATE_MS, "a new session");
    if (job.resume) before = await totalsNow(session);
  } catch (error) {
    if (!run.lost) run.progress.stop(failedAsSaid("SESSION", messageOf(error)));
    return run.result();
  }
  const off = session.on((event) => run.take(event));
  if (!run.progress.stopping) {
    run.progress.begin();
    session.send({ prompt: promptOf(job) }).catch((error) => {
      if (!run.lost) run.progress.stop(failedAsSaid("SESSION", messageOf(error)));
    });
    await run.settled();
    if (run.progress.stopping && !run.lost) await stopped(run, session, server);
  }
  const result = await finished(run, job, server, session, before);
  off();
  return result;
}
