// Tools of providers in a plan: one that does the work of a phase, and those that are lent to an agent.

import { TOOLS_OF_TAP } from "../../base/status-tool.mjs";
import { shownLine } from "../../base/redact.mjs";
import { visible } from "../../base/visible.mjs";
import { TOOLS } from "./parameters.mjs";
import { lastLinesOf, PhaseFailed } from "./phase-ends.mjs";

/** In a text of `args`: the worktree of the node. */
const WORKTREE = "${worktree}"; // eslint-disable-line no-template-curly-in-string
const MOST_SUMMARY = 4000;

/** @typedef {import("./node-run.mjs").NodeRun} NodeRun */
/** @typedef {import("../../feature-host/provider-tools.mjs").ProviderTool} ProviderTool */

/** @param {any} value of JSON @param {string} worktree @returns {any} */
function filled(value, worktree) {
  if (typeof value === "string") return value.replaceAll(WORKTREE, () => worktree);
  if (Array.isArray(value)) return value.map((one) => filled(one, worktree));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, one]) => [name, filled(one, worktree)]);
  return Object.fromEntries(fields);
}

/** In whose name tools are called. @param {NodeRun} run @returns {Promise<string>} */
async function sessionOf(run) {
  const session = await run.findSession();
  if (session !== undefined) return session;
  const text = "No session is open whose providers could do it. Open one, and retry the node.";
  throw new PhaseFailed("NO_SESSION", text);
}

/**
 * A tool does the work of a phase: what it answers is the phase's log.
 * @param {NodeRun} run @param {{tool: string, args?: object}} work @param {string} phase @param {number} timeoutMs
 */
export async function toolWork(run, { tool, args = {} }, phase, timeoutMs) {
  const own = ownTools([tool]);
  if (own) throw new PhaseFailed("UNKNOWN_TOOL", own);
  const given = filled(args, run.worktree.path);
  await run.requirePermission({ tool, args: given });
  const session = await sessionOf(run);
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([run.signal, late]);
  const { ok, text, code } = await run.services.tools.call({ session, tool, args: given, signal });
  const name = run.logName(phase);
  await run.services.plans.writeLog({ plan: run.plan.id, name, text: `${text}\n` });
  if (ok) return { log: name, summary: shownLine(text).slice(0, MOST_SUMMARY) };
  const detail = { log: name, lastLines: lastLinesOf(text) };
  if (late.aborted) {
    const why = `The tool ${tool} was ended after ${timeoutMs / 1000} s. A longer \`timeout\` gives it more.`;
    throw new PhaseFailed("TIMEOUT", why, detail);
  }
  throw new PhaseFailed("TOOL", `The tool ${tool} failed (${code}): ${text}`, detail);
}

/** @param {string} name */
const isOwn = (name) => TOOLS_OF_TAP.has(name) || Object.hasOwn(TOOLS, name);

/** @param {string[]} names @returns {string} which of them are tap's own; "": none */
export function ownTools(names) {
  const own = names.filter(isOwn);
  return own.length === 0 ? "" : `${own.join(", ")}: tap's own tools can neither work nor be lent`;
}

/** @param {ProviderTool[]} there @param {string[]} names @returns {string} which of them are missing; "": none */
export function missingTools(there, names) {
  const own = ownTools(names);
  if (own) return own;
  const known = there.map(({ name }) => name).filter((name) => !isOwn(name));
  const missing = [...new Set(names)].filter((name) => !known.includes(name)).map(visible);
  if (missing.length === 0) return "";
  const which = known.length > 0 ? known.slice(0, 20).map(visible).join(", ") : "none";
  return `no provider of the session has ${missing.slice(0, 10).join(", ")}; there are: ${which}`;
}

/** @param {NodeRun} run @param {string[]} names @returns {Promise<import("../../workers/job.mjs").LentTool[]>} */
export async function lentTools(run, names) {
  if (names.length === 0) return [];
  const session = await sessionOf(run);
  const there = /** @type {ProviderTool[]} */ (await run.services.tools.list({ session }));
  const missing = missingTools(there, names);
  if (missing) throw new PhaseFailed("UNKNOWN_TOOL", `tools: ${missing}`);
  return there
    .filter(({ name }) => names.includes(name))
    .map(({ name, description, parameters }) => ({
      ...{ name, description, parameters },
      call: async (args, signal = run.signal) => {
        const asked = { session: await sessionOf(run), tool: name, args, signal };
        const { ok, text } = await run.services.tools.call(asked);
        if (ok) return text;
        throw new Error(text);
      },
    }));
}
