// Tools of providers in a plan: one that does the work of a phase, and those that are lent to an agent.

import { BUILTIN_TOOL_NAMES } from "../../lib/status-tool.mjs";
import { redactLine } from "../../lib/redact.mjs";
import { truncateText, visible } from "../../lib/visible.mjs";
import { TOOLS } from "./tool-schemas.mjs";
import { formatLastLines, PhaseFailed } from "./errors.mjs";

/** @typedef {import("./node-runner.mjs").NodeRun} NodeRun */
/** @typedef {import("../../feature-host/provider-tools.mjs").ProviderTool} ProviderTool */

/** In a text of `args`: the worktree of the node. */
const WORKTREE = "${worktree}"; // eslint-disable-line no-template-curly-in-string
const MAX_SUMMARY = 4000;

/** @param {any} value of JSON @param {string} worktree @returns {any} */
function substituteWorktree(value, worktree) {
  if (typeof value === "string") return value.replaceAll(WORKTREE, () => worktree);
  if (Array.isArray(value)) return value.map((one) => substituteWorktree(one, worktree));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, one]) => [
    name,
    substituteWorktree(one, worktree),
  ]);
  return Object.fromEntries(fields);
}

/** In whose name tools are called. @param {NodeRun} run @returns {Promise<string>} */
async function requireSession(run) {
  const session = await run.findSession();
  if (session !== undefined) return session;
  const text = "No session is open whose providers could do it. Open one, and retry the node.";
  throw new PhaseFailed("NO_SESSION", text);
}

/**
 * What the rules see of a program: its command, and the variables that the plan gives to it.
 * @param {string} command @param {Record<string, unknown>} env @returns {{tool: string, args: {command: string, env?: object}}}
 */
export const toShellUse = (command, env) => ({
  tool: "bash",
  args: { command, ...(Object.keys(env).length > 0 && { env }) },
});

/**
 * A tool does the work of a phase: what it answers is the phase's log.
 * @param {NodeRun} run @param {{tool: string, args?: object}} work @param {string} folder in which it is to work
 */
export async function runTool(run, { tool, args = {} }, folder) {
  const { phase, timeoutMs } = run.effect;
  const own = formatOwnTools([tool]);
  if (own) throw new PhaseFailed("UNKNOWN_TOOL", own);
  const given = substituteWorktree(args, folder);
  await run.requirePermission({ tool, args: given });
  const session = await requireSession(run);
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([run.signal, late]);
  const { ok, text, code } = await run.services.tools.call({ session, tool, args: given, signal });
  const name = run.logName(phase);
  await run.services.plans.writeLog({ plan: run.plan.id, name, text: `${text}\n` });
  if (ok) return { log: name, summary: truncateText(redactLine(text), MAX_SUMMARY) };
  const detail = { log: name, lastLines: formatLastLines(text) };
  if (late.aborted) {
    const why = `The tool ${tool} was ended after ${timeoutMs / 1000} s. A longer \`timeout\` gives it more.`;
    throw new PhaseFailed("TIMEOUT", why, detail);
  }
  throw new PhaseFailed("TOOL", `The tool ${tool} failed (${code}): ${text}`, detail);
}

/** @param {string} name */
const isOwn = (name) => BUILTIN_TOOL_NAMES.has(name) || Object.hasOwn(TOOLS, name);

/** @param {string[]} names @returns {string} which of them are tap's own; "": none */
export function formatOwnTools(names) {
  const own = names.filter(isOwn);
  return own.length === 0 ? "" : `${own.join(", ")}: tap's own tools can neither work nor be lent`;
}

/** @param {ProviderTool[]} there @param {string[]} names @returns {string} which of them are missing; "": none */
export function formatMissingTools(there, names) {
  const own = formatOwnTools(names);
  if (own) return own;
  const known = there.map(({ name }) => name).filter((name) => !isOwn(name));
  const missing = [...new Set(names)].filter((name) => !known.includes(name)).map(visible);
  if (missing.length === 0) return "";
  const which = known.length > 0 ? known.slice(0, 20).map(visible).join(", ") : "none";
  return `no provider of the session has ${missing.slice(0, 10).join(", ")}; there are: ${which}`;
}

/** @param {NodeRun} run @param {string[]} names @returns {Promise<import("../../agents/job.mjs").JobTool[]>} */
export async function provideTools(run, names) {
  if (names.length === 0) return [];
  const session = await requireSession(run);
  const there = /** @type {ProviderTool[]} */ (await run.services.tools.list({ session }));
  const missing = formatMissingTools(there, names);
  if (missing) throw new PhaseFailed("UNKNOWN_TOOL", `tools: ${missing}`);
  return there
    .filter(({ name }) => names.includes(name))
    .map(({ name, description, parameters }) => ({
      ...{ name, description, parameters },
      call: async (args, signal = run.signal) => {
        const asked = { session: await requireSession(run), tool: name, args, signal };
        const { ok, text } = await run.services.tools.call(asked);
        if (ok) return text;
        throw new Error(text);
      },
    }));
}
