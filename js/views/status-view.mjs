// The output of `status` for an inspection, in 80 columns.

import { boundProviders, connectedProviders, describeSilence } from "../lib/inspection.mjs";
import { inLine } from "../lib/visible.mjs";
import { getAccess } from "./access.mjs";
import { bad, faint, good, strong, warning } from "./output.mjs";
import { table } from "./table.mjs";
import { formatCount, duration, firstLine, latency, perSecond } from "./wording.mjs";

/** @typedef {import("./output.mjs").Output} Output */
/** @typedef {import("./output.mjs").Part} Part */
/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../link/control.mjs").InspectedProvider} InspectedProvider */
/** @typedef {import("../link/control.mjs").InspectedBinding} InspectedBinding */

const INDENT = 2;
const MAX_TOOLS = 15;
const MAX_FAILURES = 5;

/** @param {Output} output @param {string} title */
function heading(output, title) {
  output.print();
  output.print(strong(title));
}

/** @param {Output} output @param {string} text a problem, shown below its row */
const remark = (output, text) => output.print(" ".repeat(INDENT * 2), warning(text));

// ---- sessions --------------------------------------------------------------------------------------

/** @param {InspectedSession} session @returns {Part} */
export function sessionState({ ending, linked, activity }) {
  if (ending) return warning("ending");
  if (!linked) return warning("away");
  return activity === "busy" ? good("busy") : faint("idle");
}

/** Why rules and contexts of a session are not in force. */
export const WITHOUT_HOOKS = {
  pending: "the CLI is asking whether tap may use hooks",
  denied: "hooks are denied",
  unavailable: "hooks are unavailable",
};

/** @param {InspectedSession} session @returns {string[]} */
export function remarksOn({ label, linked, mode, settled, syncFailure, hooksWanted, hooks, held }) {
  return [
    ...(linked ? [] : [`${label}: its extension is being replaced, or has ended`]),
    ...(mode === "reload" ? [`${label}: its tools change by a reload of its extensions`] : []),
    ...(settled ? [] : [`${label}: its tools are not in force yet`]),
    ...(syncFailure ? [`${label}: ${firstLine(syncFailure)}`] : []),
    ...(hooksWanted && hooks !== "in-force"
      ? [`${label}: its rules are not in force: ${WITHOUT_HOOKS[hooks]}`]
      : []),
    ...(held ?? []).map(
      (lost) =>
        `${label}: the rules of ${formatName(lost)} hold for ${Math.ceil(lost.leftMs / 1000)} s more: its connection was lost`,
    ),
  ];
}

/** How many tools of providers a session has. @param {Inspection} seen @param {string} id */
export function toolCount(seen, id) {
  const bound = boundProviders(seen, id);
  return new Set(bound.flatMap(({ binding }) => binding.tools.map(({ name }) => name))).size;
}

/** @param {Output} output @param {Inspection} seen */
function showSessions(output, seen) {
  const { sessions } = seen;
  if (sessions.length === 0) return;
  heading(output, "Sessions (most recent first)");
  const inOrder = sessions.toSorted((a, b) => b.inUse - a.inUse);
  const columns = [
    { title: "id" },
    { title: "label", flexible: true },
    { title: "state" },
    { title: "tools", right: true },
    { title: "running", right: true },
  ];
  const rows = inOrder.map((session) => [
    session.id,
    session.label,
    sessionState(session),
    String(toolCount(seen, session.id)),
    String(session.callsInFlight),
  ]);
  table(output, columns, rows, INDENT);
  for (const text of inOrder.flatMap(remarksOn)) remark(output, text);
}

// ---- providers -------------------------------------------------------------------------------------

/** @param {{name: string, instance: string}} provider @returns {string} */
export const formatName = ({ name, instance }) =>
  (name ? inLine(name) : "(before hello)") + (instance ? `/${inLine(instance)}` : "");

/** @param {InspectedProvider} provider @param {Map<string, string>} labels of sessions */
export function formatWhere({ all, bindings }, labels) {
  if (bindings.length === 0) return "none";
  if (all || bindings.length > 1) return formatCount(bindings.length, "session");
  const [{ session }] = bindings;
  return labels.get(session) ?? session;
}

/** The provider's declarations that may deny, check or change actions. @param {InspectedProvider} provider */
export function formatRules({ bindings }) {
  const most = (/** @type {(binding: InspectedBinding) => number} */ count) =>
    Math.max(0, ...bindings.map(count));
  const rules = (/** @type {string} */ action) =>
    most((binding) => binding.rules.filter((rule) => rule.action === action).length);
  const notes = rules("context") + most((own) => (own.context || own.startupContext ? 1 : 0));
  const parts = /** @type {const} */ ([
    [rules("gate"), "gate"],
    [rules("deny"), "deny"],
    [notes, "note"],
    [most(({ sections }) => sections.length), "section"],
  ]);
  return parts
    .filter(([count]) => count > 0)
    .map(([count, kind]) => (kind === "deny" ? `${count} deny` : formatCount(count, kind)))
    .join(", ");
}

/** The maximum over its sessions, which is the same for all of an instance. @param {InspectedProvider} provider */
export const countTools = ({ bindings }) =>
  Math.max(0, ...bindings.map(({ tools }) => tools.length));

/** Providers that keep the model waiting. @param {Output} output @param {InspectedProvider[]} shown */
function showDelays(output, shown) {
  for (const provider of shown) {
    const silence = describeSilence(provider);
    if (silence) remark(output, `${formatName(provider)}: ${silence}`);
  }
}

/** @param {Output} output @param {Inspection} seen */
function showProviders(output, seen) {
  const { sessions } = seen;
  const shown = connectedProviders(seen);
  if (shown.length === 0) {
    output.print();
    output.print("No provider yet. To write a provider: ", strong("copilot-tap new node die"));
    return;
  }
  heading(output, "Providers");
  const labels = new Map(sessions.map(({ id, label }) => [id, label]));
  const columns = [
    { title: "name", flexible: true },
    { title: "session", flexible: true },
    { title: "access" },
    { title: "tools", right: true },
    { title: "running", right: true },
    { title: "rules", flexible: true },
  ];
  const rows = shown.map((provider) => [
    strong(formatName(provider)),
    formatWhere(provider, labels),
    provider.origin ?? getAccess(provider),
    String(countTools(provider)),
    String(provider.callsInFlight),
    warning(formatRules(provider)),
  ]);
  table(output, columns, rows, INDENT);
  showDelays(output, shown);
  for (const provider of shown) {
    const refused = [...new Set(provider.bindings.flatMap((binding) => binding.refused))];
    if (refused.length === 0) continue;
    remark(output, `${formatName(provider)}: the CLI does not take its ${refused.join(", ")}`);
  }
}

// ---- calls -----------------------------------------------------------------------------------------

/** @param {Output} output @param {import("../link/control.mjs").InspectedTool[]} tools */
function showCancelled(output, tools) {
  for (const { tool, calls, cancelled } of tools.filter((row) => row.cancelled > 0)) {
    remark(output, `${tool}: ${cancelled} of ${formatCount(calls, "call")} cancelled`);
  }
}

/** @param {Output} output @param {Inspection} seen */
function showTools(output, { tools }) {
  if (tools.length === 0) return;
  heading(output, "Calls");
  const columns = [
    { title: "tool", flexible: true },
    { title: "provider", flexible: true },
    { title: "calls", right: true },
    { title: "failed", right: true },
    { title: "per s", right: true },
    { title: "p50", right: true },
    { title: "p95", right: true },
    { title: "p99", right: true },
  ];
  const most = tools.toSorted((a, b) => b.calls - a.calls).slice(0, MAX_TOOLS);
  const rows = most.map((tool) => [
    strong(tool.tool),
    tool.provider,
    String(tool.calls),
    tool.failed > 0 ? bad(tool.failed) : "0",
    perSecond(tool.perSecond),
    latency(tool.p50Ms),
    latency(tool.p95Ms),
    latency(tool.p99Ms),
  ]);
  table(output, columns, rows, INDENT);
  showCancelled(output, most);
  const more = tools.length - rows.length;
  if (more > 0) output.print(" ".repeat(INDENT), faint(`and ${more} more: --json has all`));
}

/** Without the provider and the code, which have their own columns. @param {import("../link/control.mjs").FailedCall} failure */
function formatReason({ code, message }) {
  const line = firstLine(message);
  const at = line.indexOf(`${code}: `);
  return at < 0 ? line : line.slice(at + code.length + 2);
}

/** @param {Output} output @param {Inspection} seen */
function showFailures(output, { failures, now }) {
  if (failures.length === 0) return;
  heading(output, "Recent failures");
  const columns = [
    { title: "ago", right: true },
    { title: "tool", flexible: true },
    { title: "code" },
    { title: "message", flexible: true },
  ];
  const rows = failures
    .slice(-MAX_FAILURES)
    .toReversed()
    .map((failure) => [
      duration(now - failure.at),
      strong(failure.tool),
      bad(failure.code),
      formatReason(failure),
    ]);
  table(output, columns, rows, INDENT);
}

/** @param {Output} output @param {Inspection} seen */
export function showInspection(output, seen) {
  const inFlight = seen.providers.reduce((sum, { callsInFlight }) => sum + callsInFlight, 0);
  const up = duration(seen.now - seen.startedAt);
  output.print(
    strong(`gateway ${seen.version}`),
    `, pid ${seen.pid}, port ${seen.port}, up ${up}, ${formatCount(inFlight, "call")} running`,
  );
  if (seen.node) output.print(" ".repeat(INDENT), faint(`on Node.js ${seen.node}`));
  if (seen.draining) remark(output, "it makes room for a newer gateway");
  showSessions(output, seen);
  showProviders(output, seen);
  showTools(output, seen);
  showFailures(output, seen);
}

/** The sandbox in a few words. @param {import("../process/sandbox-probe.mjs").SandboxState} probe */
export const formatSandbox = (probe) =>
  probe.state === "ok"
    ? `bubblewrap ${probe.version}`.trimEnd()
    : `not available (${probe.reason.replaceAll("-", " ")})`;

/**
 * The gateway's files, the consent of the user, and the sandbox of plans.
 * @param {Output} output
 * @param {{home: string, logs: string, allowed: import("../config/entries.mjs").AllowedConfig[],
 *   sandbox?: import("../process/sandbox-probe.mjs").SandboxState}} place sandbox: if it was probed
 */
export function showPlace(output, { home, logs, allowed, sandbox }) {
  if (allowed.length > 0) {
    output.print();
    output.print(strong("Allowed configs"));
  }
  for (const { path: file, at, changed, gone } of allowed) {
    const since = gone
      ? faint("(the file no longer exists)")
      : changed
        ? warning("(changed since; allow it again)")
        : faint(`(since ${at})`);
    output.print(`  ${file} `, since);
  }
  output.print();
  if (sandbox) {
    const more = sandbox.state === "ok" ? "" : "  copilot-tap sandbox has details";
    output.print(`sandbox: ${formatSandbox(sandbox)}`, faint(more));
  }
  output.print(faint("home "), home);
  output.print(faint("logs "), logs);
}
