// The panels of `copilot-tap top` for connections: sessions, providers, and their rules.

import { connectedProviders, describeSilence } from "../../lib/inspection.mjs";
import { getAccess } from "../access.mjs";
import { bad, good, strong, warning } from "../output.mjs";
import { listDeclarations, listRuleRows } from "../rules-view.mjs";
import * as status from "../status-view.mjs";
import { duration, firstLine, latency, perSecond, shortId } from "../wording.mjs";
import { listDetails, short, toText, withoutSecrets } from "./panel.mjs";

/** @typedef {import("./panel.mjs").Panel} Panel */
/** @typedef {import("./panel.mjs").Row} Row */
/** @typedef {import("../../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../../link/control.mjs").InspectedSession} InspectedSession */
/** @typedef {import("../../link/control.mjs").InspectedProvider} InspectedProvider */
/** @typedef {import("../../link/control.mjs").InspectedTool} InspectedTool */

const HOOKS = { "in-force": "in force", pending: "asked", denied: "denied", unavailable: "none" };

// ---- sessions --------------------------------------------------------------------------------------

/** @param {InspectedSession["groups"]} [groups] */
const groupsText = (groups = []) =>
  groups.map(({ name, on, tools }) => `${name}: ${on ? "on" : "off"}, ${tools} tools`).join("\n");

/** @param {Inspection} seen @param {InspectedSession} session @returns {Row} */
function sessionRow(seen, session) {
  const { id, label, hooks, hooksWanted, callsInFlight } = session;
  const state = hooksWanted ? HOOKS[hooks] : "";
  return {
    key: id,
    cells: [
      short(label) || shortId(id),
      shortId(id),
      status.sessionState(session),
      String(status.toolCount(seen, id)),
      String(callsInFlight),
      hooksWanted && hooks !== "in-force" ? warning(state) : state,
    ],
    details: () =>
      listDetails([
        ["id", id],
        ["label", label],
        ["folder", session.cwd],
        ["process of the CLI", session.cliPid],
        ["tools change", session.mode === "reload" ? "by a reload of the extensions" : "live"],
        ["tools in force", session.settled ? "yes" : "not yet"],
        ["rules", hooksWanted ? HOOKS[hooks] : "no provider has any"],
        ["tool groups", groupsText(session.groups)],
        ["to note", status.remarksOn(session).join("\n")],
      ]),
  };
}

/** @type {Panel} */
export const sessions = {
  id: "sessions",
  title: "Sessions",
  columns: [
    { title: "label", flexible: true },
    { title: "id" },
    { title: "state" },
    { title: "tools", right: true },
    { title: "running", right: true },
    { title: "rules" },
  ],
  rows: ({ gateway }) =>
    gateway
      ? gateway.sessions
          .toSorted((a, b) => b.inUse - a.inUse)
          .map((session) => sessionRow(gateway, session))
      : [],
  remarks: ({ gateway }) => (gateway?.sessions ?? []).flatMap(status.remarksOn),
  empty: "No session.",
};

// ---- providers -------------------------------------------------------------------------------------

/** @param {InspectedProvider} provider @returns {import("../output.mjs").Part} */
function providerState(provider) {
  const silence = describeSilence(provider);
  if (silence) return bad(silence);
  if (provider.name === "") return warning("no hello");
  if (provider.bindings.length === 0) return warning("unbound");
  return provider.callsInFlight > 0 ? good("busy") : "idle";
}

/** @param {InspectedTool[]} tools of the same provider */
const sums = (tools) => ({
  calls: tools.reduce((sum, tool) => sum + tool.calls, 0),
  failed: tools.reduce((sum, tool) => sum + tool.failed, 0),
  p95Ms: Math.max(0, ...tools.map(({ p95Ms }) => p95Ms)),
});

/** @param {InspectedTool} tool */
const toolLine = ({ tool, calls, failed, cancelled, perSecond: rate, p50Ms, p95Ms, p99Ms }) =>
  `${tool}: ${calls} calls, ${failed} failed, ${cancelled} cancelled, ${perSecond(rate)} a second, ` +
  `p50 ${latency(p50Ms)}, p95 ${latency(p95Ms)}, p99 ${latency(p99Ms)}`;

/** @param {Inspection} seen @param {InspectedProvider} provider @param {Map<string, string>} labels @returns {Row} */
function providerRow(seen, provider, labels) {
  // Instances share their name, and so their numbers.
  const own = seen.tools.filter((tool) => tool.provider === provider.name);
  const { calls, failed, p95Ms } = sums(own);
  const [first] = provider.bindings;
  const offered = (first?.tools ?? []).map(
    ({ name, description = "" }) => `${name}: ${firstLine(description)}`,
  );
  const failures = seen.failures
    .filter((failure) => failure.provider === provider.name)
    .toReversed();
  return {
    key: String(provider.connection),
    cells: [
      strong(short(status.formatName(provider))),
      short(status.formatWhere(provider, labels)),
      providerState(provider),
      String(status.countTools(provider)),
      String(provider.callsInFlight),
      String(calls),
      failed > 0 ? bad(failed) : "0",
      calls > 0 ? latency(p95Ms) : "",
    ],
    details: () =>
      listDetails([
        ["name", status.formatName(provider)],
        ["id", provider.id],
        ["connection", provider.connection],
        ["access", provider.origin ?? getAccess(provider)],
        [
          "sessions",
          provider.bindings.map(({ session }) => labels.get(session) || session).join("\n"),
        ],
        ["rules", toText(status.formatRules(provider))],
        ["tools", offered.join("\n")],
        ["calls", own.map(toolLine).join("\n")],
        [
          "last failures",
          failures
            .map(
              ({ at, tool, code, message }) =>
                `${duration(seen.now - at)} ago, ${tool}: ${code}: ${withoutSecrets(message)}`,
            )
            .join("\n"),
        ],
        [
          "refused by the CLI",
          [...new Set(provider.bindings.flatMap((binding) => binding.refused))].join(", "),
        ],
      ]),
  };
}

/** @type {Panel} */
export const providers = {
  id: "providers",
  title: "Providers",
  columns: [
    { title: "name", flexible: true },
    { title: "session", flexible: true },
    { title: "state" },
    { title: "tools", right: true },
    { title: "running", right: true },
    { title: "calls", right: true },
    { title: "failed", right: true },
    { title: "p95", right: true },
  ],
  rows: ({ gateway }) => {
    if (!gateway) return [];
    const labels = new Map(gateway.sessions.map(({ id, label }) => [id, label]));
    return connectedProviders(gateway).map((provider) => providerRow(gateway, provider, labels));
  },
  empty: "No provider yet. To write a provider: copilot-tap new node die",
};

// ---- rules -----------------------------------------------------------------------------------------

/** @type {Panel} */
export const rules = {
  id: "rules",
  title: "Rules",
  columns: [
    { title: "session", flexible: true },
    { title: "provider", flexible: true },
    { title: "action" },
    { title: "matches", flexible: true },
    { title: "effect", flexible: true },
  ],
  rows: ({ gateway }) =>
    (gateway ? listDeclarations(gateway) : []).flatMap((declared) =>
      listRuleRows(declared).map((cells, at) => {
        const texts = cells.map((part) => (typeof part === "string" ? part : part.text));
        const [who, action, matches, effect] = texts;
        return {
          key: `${declared.session} ${who} ${at}`,
          cells: [
            short(declared.label) || shortId(declared.session),
            ...cells.map((part) => (typeof part === "string" ? short(part) : part)),
          ],
          details: () =>
            listDetails([
              ["session", `${declared.label} ${declared.session}`],
              ["in force", HOOKS[declared.hooks]],
              ["provider", who],
              ["action", action],
              ["matches", matches],
              ["effect", effect],
            ]),
        };
      }),
    ),
  empty: "No provider has rules, contexts or edits of the system message.",
};
