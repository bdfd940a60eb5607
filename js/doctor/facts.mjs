// Gathers all facts that the checks use: the installation, the running processes, and the selected session
// and tool. The whole takes at most ten seconds.

import fs from "node:fs";
import path from "node:path";
import { consentFile, isAllowed, listEntries } from "../config/consent.mjs";
import { userConfigFile } from "../config/file.mjs";
import { loadProjectConfig } from "../config/load.mjs";
import { readUserConfig } from "../config/user-config.mjs";
import { isOurFile } from "../lib/host-files.mjs";
import { bySessionUse } from "../lib/inspection.mjs";
import { copilotHome, gatewayFiles, isInside } from "../lib/paths.mjs";
import { errorMessage } from "../lib/values.mjs";
import { providerLogFile } from "../process/log.mjs";
import { GOOD_RUN_MS, runProgram } from "../process/run.mjs";
import { probeSandbox } from "../process/sandbox-probe.mjs";
import { readTail, withTimeout } from "./bounded-io.mjs";
import { gatewayFacts } from "./gateway-facts.mjs";
import * as installed from "./installation-facts.mjs";

/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../link/control.mjs").InspectedSession} InspectedSession */

// The state of plans: git, and a report of the feature host if it runs. Facts only; the checks judge them.

const GIT_MS = 3000;
const ASK_MS = 3000;

/**
 * @typedef {object} PlanHealth
 * @property {number} plans
 * @property {string} trouble why all plans have stopped; ""
 * @property {{planId: string, name: string, why: "landing" | "budget" | "pause" | "limit", waitsUntil?: number}[]}
 *   waiting
 * @property {{repo: string, worktrees: number, bytes: number, complete?: boolean, orphans: number, trouble?: string}[]}
 *   repositories
 * @property {{cli: string, sdk: string}} [cli] reported by a session
 */

/** @param {NodeJS.ProcessEnv} env */
export async function gitFacts(env) {
  const answer = await runProgram("git", ["--version"], { env, ms: GIT_MS });
  const [, version] = /git version (\d+\.\d+(?:\.\d+)?)/.exec(answer.stdout) ?? [];
  return { version, late: answer.why === "late", error: answer.error?.message };
}

/** @param {import("../lib/paths.mjs").GatewayFiles} files @returns {Promise<PlanHealth | undefined>} */
async function requestPlanHealth(files) {
  const { openControl } = await import("../link/control.mjs"); // with the addon, which may be missing
  const control = await openControl(files);
  try {
    const asked = { name: "tap-plan", arguments: '{"do":"health"}', cwd: path.resolve(files.home) };
    const limits = { ...asked, patienceMs: ASK_MS };
    const { text } = await control.request("features.command", limits, { timeoutMs: ASK_MS });
    return JSON.parse(text).answer;
  } finally {
    control.close();
  }
}

/**
 * Does not start a feature host. Without a running one, or without plans, there is no report.
 * @param {import("../lib/paths.mjs").GatewayFiles} files @param {import("../lib/inspection.mjs").HostParts | undefined}
 *   parts
 * @returns {Promise<PlanHealth | undefined>}
 */
export async function planFacts(files, parts) {
  if (parts?.featureHost.pid === undefined) return undefined;
  if (!fs.existsSync(path.join(files.home, "tap", "plans.sqlite"))) return undefined;
  return withTimeout(
    requestPlanHealth(files).catch(() => undefined),
    ASK_MS,
    undefined,
  );
}

/** @typedef {Awaited<ReturnType<typeof gatherFacts>>} Facts */

const LOG_BYTES = 32 * 1024;

/** @param {NodeJS.ProcessEnv} env */
function resolveFiles(env) {
  try {
    return { files: gatewayFiles(env), portTrouble: "" };
  } catch (error) {
    const files = gatewayFiles({ ...env, TAP_GATEWAY_PORT: undefined });
    return { files, portTrouble: errorMessage(error) };
  }
}

/**
 * The selected session: the agent's own, otherwise a session in this folder, otherwise the session last in use.
 * @param {InspectedSession[]} sessions @param {NodeJS.ProcessEnv} env @param {string} cwd
 */
function chooseSession(sessions, env, cwd) {
  const lastUsed = (/** @type {InspectedSession[]} */ some) => [...some].sort(bySessionUse)[0];
  const own = sessions.find(({ id }) => id === env.COPILOT_AGENT_SESSION_ID);
  const here = sessions.filter((session) => isInside(cwd, session.cwd));
  return own ?? lastUsed(here) ?? lastUsed(sessions);
}

/**
 * The last note of a provider in its log. A provider that was restarted recently does not count as healthy yet.
 * @param {string} logs @param {string} name
 */
function readLastNote(logs, name) {
  const file = providerLogFile(logs, name);
  const notes = [...readTail(file, LOG_BYTES).matchAll(/^(\S+) tap (.*)$/gm)];
  const [, at, note] = notes.at(-1) ?? ["", "", ""];
  const before = notes.at(-2)?.[2] ?? "";
  const young = note.startsWith("started") && Date.now() - Date.parse(at) < GOOD_RUN_MS;
  return { name, file, note: young && before.startsWith("restart ") ? before : note };
}

/** @param {import("../lib/paths.mjs").GatewayFiles} files @param {string} cwd */
function projectFacts(files, cwd) {
  const config = loadProjectConfig(cwd);
  if (!config) return undefined;
  const { file, result } = config;
  return {
    file,
    problems: result.ok ? [] : result.problems.map(({ text }) => text),
    providers: result.ok ? result.providers.map(({ name }) => readLastNote(files.logs, name)) : [],
    allowed:
      result.ok &&
      listEntries(result).every((entry) => isAllowed(consentFile(files), config.file, entry)),
  };
}

/** @param {import("../lib/paths.mjs").GatewayFiles} files */
async function userConfigFacts(files) {
  const file = userConfigFile(files);
  const { problems } = await readUserConfig(files);
  return { file, problems, unsafe: problems.length > 0 && !isOurFile(file) };
}

/** @param {installed.Copy[]} copies @param {NodeJS.ProcessEnv} env */
async function programFacts(copies, env) {
  const node = await installed.nodeFacts(env);
  const usable = node.version ? node.file : undefined;
  return { node, addon: await installed.addonFacts(copies, usable, env) };
}

/** Limits whose variables have invalid values. @param {NodeJS.ProcessEnv} env */
async function ignoredLimits(env) {
  const limits = await import("../lib/limits.mjs").then(
    ({ readLimits: limitsIn }) => limitsIn(env),
    () => [], // a different check reports that
  );
  return limits.flatMap(({ wrong, ...limit }) =>
    wrong === undefined ? [] : [{ ...limit, wrong }],
  );
}

/** @param {{env: NodeJS.ProcessEnv, cwd: string, tool?: string}} where */
export async function gatherFacts({ env, cwd, tool }) {
  const { files, portTrouble } = resolveFiles(env);
  const home = copilotHome(env);
  const extension = installed.extensionFacts(home, cwd);
  const { copies } = extension;
  const [{ node, addon }, cli, gateway, ignored, git, sandbox] = await Promise.all([
    programFacts(copies, env),
    installed.cliFacts(env),
    gatewayFacts(files, env),
    ignoredLimits(env),
    gitFacts(env),
    probeSandbox({ env, again: true }),
  ]);
  const session = chooseSession(gateway.inspection?.sessions ?? [], env, cwd);
  return {
    env,
    tool,
    files,
    portTrouble,
    home: installed.homeFacts(files),
    node,
    extension,
    addon,
    ignored,
    cli,
    settings: installed.settingsFacts(home),
    start: installed.startFacts(home, copies),
    ...gateway,
    git,
    sandbox,
    plans: await planFacts(files, gateway.parts),
    userConfig: await userConfigFacts(files),
    session,
    /** Whether an extension process serves it, which proves the earlier parts. */
    linked: session?.linked ?? false,
    project: projectFacts(files, session?.cwd || cwd),
  };
}
