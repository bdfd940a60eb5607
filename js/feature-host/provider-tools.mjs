// Tools of providers, for features: the tools of a session, and calls of them. Each call has a separate link,
// whose end cancels it. tap's own tools are left out, those of MCP servers are not.

import { connectedProviders } from "../lib/inspection.mjs";
import { Control } from "../link/control.mjs";

/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {{name: string, provider: string, description: string, parameters: object}} ProviderTool */
/**
 * @typedef {object} ToolCall
 * @property {string} session its id; "": the session with the tool that was last in use
 * @property {string} tool @property {object} args
 * @property {AbortSignal} signal cancels it
 *
 * @typedef {{ok: boolean, text: string, code?: string}} ToolOutcome hostile text
 */

const NO_PARAMETERS = { type: "object", properties: {} };

/** @param {Inspection} seen @param {string} session "": any @returns {ProviderTool[]} a single tool for each name */
export function listTools({ providers }, session) {
  /** @type {Map<string, ProviderTool>} */
  const found = new Map();
  for (const { name: provider, bindings } of connectedProviders({ providers })) {
    for (const binding of bindings) {
      if (session !== "" && binding.session !== session) continue;
      for (const { name, description = "", parameters = NO_PARAMETERS } of binding.tools) {
        if (binding.refused.includes(name) || found.has(name)) continue;
        found.set(name, { name, provider, description, parameters });
      }
    }
  }
  return [...found.values()];
}

/** @param {import("../lib/addon.js").CallOutcome} outcome @returns {ToolOutcome} */
function toToolOutcome(outcome) {
  if (typeof outcome === "string") return { ok: true, text: outcome };
  if ("code" in outcome) return { ok: false, ...outcome };
  const { text, mimeType } = outcome;
  const note = `(an attachment of the type ${mimeType} is left out)`;
  return { ok: true, text: text ? `${text}\n${note}` : note };
}

/**
 * @param {{link: string, token: string}} where the gateway's link, and the token of its features
 * @param {ToolCall} call
 * @returns {Promise<ToolOutcome>} rejects if the gateway does not answer
 */
export async function callTool({ link, token }, { session, tool, args, signal }) {
  signal.throwIfAborted();
  const control = await Control.open({ link, secret: token });
  try {
    return toToolOutcome(await control.call({ tool, args, session, signal }));
  } finally {
    control.close();
  }
}
