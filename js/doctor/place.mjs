// All facts that the checks use, gathered once: the installation, the running processes, and which session
// and which tool are meant. Nothing here takes longer than its part of ten seconds.

import path from "node:path";
import { messageOf } from "../base/errors.mjs";
import { isOurFile } from "../base/host-files.mjs";
import { bySessionUse } from "../base/inspection.mjs";
import { copilotHome, gatewayFiles } from "../base/paths.mjs";
import { consentFile, entriesOf, isAllowed } from "../projects/consent.mjs";
import { loadProjectConfig } from "../projects/config.mjs";
import { userConfigFile } from "../projects/config-file.mjs";
import { readUserConfig } from "../projects/user-config.mjs";
import { providerLogFile } from "../process/log.mjs";
import { GOOD_RUN_MS } from "../process/good-run.mjs";
import { tailOf } from "./bounded.mjs";
import { gatewayFacts } from "./gateway.mjs";
import * as installed from "./installation.mjs";
import { gitFacts, planFacts } from "./plans.mjs";

/** @typedef {import("../base/control.mjs").Inspection} Inspection */
/** @typedef {import("../base/control.mjs").InspectedSession} InspectedSession */
/** @typedef {Awaited<ReturnType<typeof lookAround>>} Place */

const LOG_BYTES = 32 * 1024;

/** @param {NodeJS.ProcessEnv} env */
function filesOf(env) {
  try {
    return { files: gatewayFiles(env), portTrouble: "" };
  } catch (error) {
    const files = gatewayFiles({ ...env, TAP_GATEWAY_PORT: undefined });
    return { files, portTrouble: messageOf(error) };
  }
}

/** Whether `folder` is `inner` or has it. @param {string} folder @param {string} inner */
function contains(folder, inner) {
  const way = path.relative(folder, inner);
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/**
 * The session that is meant: the agent's own, else the one in this folder, else the one last in use.
 * @param {InspectedSession[]} sessions @param {NodeJS.ProcessEnv} env @param {string} cwd
 */
function sessionMeant(sessions, env, cwd) {
  const lastUsed = (/** @type {InspectedSession[]} */ some) => [...some].sort(bySessionUse)[0];
  const own = sessions.find(({ id }) => id === env.COPILOT_AGENT_SESSION_ID);
  const here = sessions.filter((session) => contains(session.cwd, cwd));
  return own ?? lastUsed(here) ?? lastUsed(sessions);
}

/**
 * The fate of a provider that a config names, from its log. A provider that was restarted recently does not
 * count as well yet.
 * @param {string} logs @param {string} name
 */
function lastNote(logs, name) {
  const file = providerLogFile(logs, name);
  const notes = [...tailOf(file, LOG_BYTES).matchAll(/^(\S+) tap (.*)$/gm)];
  const [, at, note] = notes.at(-1) ?? ["", "", ""];
  const before = notes.at(-2)?.[2] ?? "";
  const young = note.startsWith("started") && Date.now() - Date.parse(at) < GOOD_RUN_MS;
  return { name, file, note: young && before.startsWith("restart ") ? before : note };
}

/** @param {import("../base/paths.mjs").GatewayFiles} files @param {string} cwd */
function projectFacts(files, cwd) {
  const config = loadProjectConfig(cwd);
  if (!config) return undefined;
  const { file, result } = config;
  return {
    file,
    problems: result.ok ? [] : result.problems.map(({ text }) => text),
    providers: result.ok ? result.providers.map(({ name }) => lastNote(files.logs, name)) : [],
    allowed:
      result.ok && entriesOf(result).every((entry) => isAllowed(consentFile(files), config, entry)),
  };
}

/** @param {import("../base/paths.mjs").GatewayFiles} files */
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

/** Limits whose variables say no number that can be meant. @param {NodeJS.ProcessEnv} env */
async function ignoredLimits(env) {
  const limits = await import("../base/limits.mjs").then(
    ({ limitsIn }) => limitsIn(env),
    () => [], // which is found by another check
  );
  return limits.flatMap(({ wrong, ...limit }) =>
    wrong === undefined ? [] : [{ ...limit, wrong }],
  );
}

/** @param {{env: NodeJS.ProcessEnv, cwd: string, tool?: string}} where */
export async function lookAround({ env, cwd, tool }) {
  const { files, portTrouble } = filesOf(env);
  const home = copilotHome(env);
  const extension = installed.extensionFacts(home, cwd);
  const { copies } = extension;
  const [{ node, addon }, cli, gateway, ignored, git] = await Promise.all([
    programFacts(copies, env),
    installed.cliFacts(env),
    gatewayFacts(files, env),
    ignoredLimits(env),
    gitFacts(env),
  ]);
  const session = sessionMeant(gateway.inspection?.sessions ?? [], env, cwd);
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
    plans: await planFacts(files, gateway.parts),
    userConfig: await userConfigFacts(files),
    session,
    /** Whether an extension process speaks for it: all that comes before must be well. */
    linked: session?.linked ?? false,
    project: projectFacts(files, session?.cwd || cwd),
  };
}
