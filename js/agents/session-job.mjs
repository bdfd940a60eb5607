// A job as a session of a server.

import fs from "node:fs";
import path from "node:path";
import { errorMessage } from "../lib/values.mjs";
import { sleep } from "../lib/timers.mjs";
import { openWays } from "../process/host-proxy.mjs";
import { FileGate } from "./file-gate.mjs";
import { classifyFailure, buildPrompt, sessionName, toOutcome } from "./job.mjs";
import { endJobShells } from "./orphans.mjs";
import { checkSessionRules, createUnstartedResult, JobRun } from "./job-run.mjs";
import { describeRequest, findRefusal } from "./permissions.mjs";
import {
  closeWall,
  formatWallNotice,
  hasForeignInstructions,
  openWall,
  toSandboxConfig,
} from "./sandbox.mjs";
import { withTimeout } from "./server.mjs";
import { difference, noTotals, parseTotals } from "./usage.mjs";

/** @typedef {import("./job.mjs").Job} Job */
/** @typedef {import("./server.mjs").Session} Session */
/** @typedef {import("./server.mjs").Server} Server */
/** @typedef {import("./sandbox.mjs").Wall} Wall */
/** @typedef {import("./environment.mjs").AgentEnvironment & {config: import("./environment.mjs").WorkersConfig}} Place */

const CREATE_MS = 30_000;
const REQUEST_MS = 5000;
/** The server gets this long to end the turn; then it counts as hanging. */
const ABORT_MS = 5000;
/** Time within which the end of a server is noticed. */
const NOTICE_MS = 1000;
const SERVER_ENDED = "the CLI's server has ended";
const BROKEN =
  "the CLI's sandbox does not hold here, so no agent runs. `copilot-tap sandbox` names the missing parts";

/** @param {Job} job @param {any} tool of that job */
const toSdkTool = (job, { name, description, parameters, call }) => ({
  name,
  description,
  parameters,
  skipPermission: false,
  handler: (/** @type {unknown} */ args, /** @type {any} */ invocation) =>
    call(args, job.signal ?? invocation?.signal),
});

/**
 * The differences between sessions with and without a wall.
 * @typedef {{decide: (request: any) => string | Promise<string>, enterTool: (tool: string) => string | Promise<string>,
 *   handleEvent: (event: any) => void, config: object}} Boundary
 */

/** @param {Job} job */
const listLentTools = (job) => (job.tools ?? []).map(({ name }) => name);

/** @param {Job} job @returns {Boundary} */
function createOpenBoundary(job) {
  const bounds = { hosts: job.allowedUrls ?? [], tools: listLentTools(job) };
  const folders = job.allowedFolders && { additionalDirectories: job.allowedFolders };
  return {
    decide: (request) => findRefusal(request, bounds),
    enterTool: () => "",
    handleEvent: () => {},
    config: { workingDirectory: job.cwd, ...folders },
  };
}

/** @param {Job} job @param {Wall} wall @param {string[]} more the CLI's own folders for this session @returns {Boundary} */
function createWalledBoundary(job, wall, more) {
  const { cwd, hosts } = wall.policy;
  const bounds = {
    hosts: hosts === "*" ? ["*"] : hosts,
    tools: listLentTools(job),
    files: { cwd, folders: [wall.temporary, ...more], shared: [...wall.own, path.dirname(cwd)] },
  };
  const gate = new FileGate(cwd);
  return {
    decide: async (request) => {
      const why = findRefusal(request, bounds, gate.findKind(request?.toolCallId));
      if (why === "" && request.kind === "shell") await gate.enterCommand(request.toolCallId);
      return why;
    },
    enterTool: (tool) => gate.enterTool(tool),
    handleEvent: (event) => gate.handleEvent(event),
    config: {
      workingDirectory: cwd,
      additionalDirectories: [...wall.own, wall.temporary],
      sandboxConfig: toSandboxConfig(wall),
      systemMessage: { mode: "append", content: formatWallNotice(wall) },
      skipCustomInstructions: hasForeignInstructions(cwd),
    },
  };
}

/** @param {Job} job @param {Server} server */
const outputFolder = (job, server) => path.join(server.folder, job.sessionId);

/** @param {JobRun} run @param {Job} job @param {Server} server @param {Place} place @param {Boundary} boundary */
function createSessionConfig(run, job, server, { config }, boundary) {
  const { model: fallback, ...provider } = config.provider ?? {};
  const model = job.model ?? config.model ?? fallback;
  return {
    clientName: "tap",
    ...boundary.config,
    ...(model !== undefined && { model }),
    ...(config.provider && { provider: { type: "openai", ...provider } }),
    tools: (job.tools ?? []).map((tool) => toSdkTool(job, tool)),
    largeOutput: { enabled: true, outputDirectory: outputFolder(job, server) },
    enableConfigDiscovery: false,
    // Of the worktree, where any program of a plan may have put them: a hook can allow what tap refuses, and the CLI
    // runs git outside of the sandbox.
    enableFileHooks: false,
    enableHostGitOperations: false,
    enableSessionStore: false,
    remoteSession: "off",
    onPermissionRequest: async (/** @type {unknown} */ request) => {
      const why = await boundary.decide(request);
      if (why === "") return { kind: "approve-once" };
      run.refusePermission(describeRequest(request ?? {}), why);
      return { kind: "reject", feedback: why };
    },
    hooks: {
      onPreToolUse: async (/** @type {any} */ { toolName, toolArgs }) => {
        const why =
          (await checkSessionRules(job, toolName, toolArgs)) ||
          (await boundary.enterTool(toolName));
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
 * Ends the turn. Stops a server that does not answer, with its other jobs.
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
  fs.rmSync(outputFolder(job, server), { recursive: true, force: true });
  return run.result({
    usage: { ...usage, sessionMs: 0 },
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
 * @param {Job} job @param {Server} server @param {Place} place @param {string} packageFolder of the CLI
 * @param {(event: import("./job.mjs").WorkerEvent) => void} onEvent
 * @returns {Promise<import("./job.mjs").Result>}
 */
export async function runInSession(job, server, place, packageFolder, onEvent) {
  const output = outputFolder(job, server);
  fs.mkdirSync(output, { recursive: true });
  if (job.policy?.sandbox !== "on")
    return runSession(new JobRun(job, onEvent), job, server, place, undefined);
  const broken = await server.probeSandbox(packageFolder);
  if (broken) {
    const isLost = await Promise.race([server.ending.then(() => true), sleep(NOTICE_MS)]);
    const why = isLost
      ? toOutcome("SERVER_LOST", SERVER_ENDED)
      : toOutcome("SANDBOX_BROKEN", `${BROKEN}: ${broken}`);
    return createUnstartedResult(job, why);
  }
  /** @type {JobRun | undefined} */
  let run;
  const onRefused = (/** @type {string} */ host) =>
    run?.refusePermission({ kind: "host", target: host }, `the sandbox: no way to ${host}`);
  const opened = await openWays(job.policy.hosts, { onRefused });
  const session = { sessionId: job.sessionId, output, packageFolder, env: server.env };
  /** @type {Wall | undefined} */
  let wall;
  try {
    wall = openWall(server.folder, job.policy, { ...session, ways: opened?.ways });
    if (!wall)
      return createUnstartedResult(job, toOutcome("INVALID", "a different job has its worktree"));
    run = new JobRun(job, onEvent);
    return await runSession(run, job, server, place, wall);
  } finally {
    if (wall) await closeWall(server.folder, wall);
    await opened?.close();
  }
}

/** The CLI does not store a session without a turn, so it is created again. @param {Job} job @param {Server} server @param {object} config @returns {Promise<Session>} */
async function openSession(job, { client }, config) {
  const { sessionId, resume } = job;
  const create = () => client.createSession({ ...config, sessionId, name: sessionName(job) });
  if (!resume) return create();
  return client.resumeSession(sessionId, config).catch((error) => {
    if (/session not found/i.test(errorMessage(error))) return create();
    throw error;
  });
}

/**
 * @param {JobRun} run @param {Job} job @param {Server} server @param {Place} place @param {Wall | undefined} wall
 * @returns {Promise<import("./job.mjs").Result>}
 */
async function runSession(run, job, server, place, wall) {
  const state = path.join(place.home, "session-state", job.sessionId);
  const more = [outputFolder(job, server), state];
  const boundary = wall ? createWalledBoundary(job, wall, more) : createOpenBoundary(job);
  void server.ending.then(() => run.markLost(SERVER_ENDED));
  /** @type {Session} */
  let session;
  let before = noTotals();
  try {
    const config = createSessionConfig(run, job, server, place, boundary);
    const made = openSession(job, server, config);
    session = await withTimeout(made, CREATE_MS, "a new session");
    if (job.resume) before = await queryTotals(session);
  } catch (error) {
    if (!run.isLost) run.progress.stop(classifyFailure("SESSION", errorMessage(error)));
    return run.result();
  }
  const off = session.on((event) => {
    boundary.handleEvent(event);
    run.handleEvent(event);
  });
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
