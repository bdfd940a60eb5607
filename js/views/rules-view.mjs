// Declarations of providers that may deny, check or change actions of the agent: for `rules` and `top`.

import { bad, faint, strong, warning } from "./output.mjs";
import { formatName, WITHOUT_HOOKS } from "./status-view.mjs";
import { table } from "./table.mjs";
import { firstLine, shortId } from "./wording.mjs";

/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../link/control.mjs").InspectedRule} InspectedRule */
/** @typedef {import("../link/control.mjs").InspectedBinding} InspectedBinding */
/** @typedef {import("../link/control.mjs").InspectedSession} InspectedSession */
/**
 * The declarations of a provider in a session. `hooks`: whether it is in force there.
 * @typedef {{session: string, label: string, hooks: InspectedSession["hooks"], provider: string,
 *   rules: InspectedRule[], context: number, startupContext: number, sections: InspectedBinding["sections"],
 *   held?: true, leftMs?: number}} Declaration `held`: its connection was lost; its rules hold for this time
 */

/** @param {Inspection} seen @returns {Declaration[]} */
export function listDeclarations({ providers, sessions }) {
  return sessions.flatMap(({ id, label, hooks, held = [] }) => [
    ...providers.flatMap((provider) =>
      provider.bindings
        .filter(({ session }) => session === id)
        .map(({ session, rules, context, startupContext, sections }) => ({
          ...{ session, label, hooks, provider: formatName(provider) },
          ...{ rules, context, startupContext, sections },
        }))
        .filter(
          (declared) =>
            declared.rules.length + declared.sections.length > 0 ||
            declared.context ||
            declared.startupContext,
        ),
    ),
    ...held.map((gone) => ({
      ...{ session: id, label, hooks, provider: formatName(gone), rules: gone.rules },
      ...{ context: 0, startupContext: 0, sections: [], held: /** @type {const} */ (true) },
      leftMs: gone.leftMs,
    })),
  ]);
}

/** @param {InspectedRule} rule */
function formatMatch({ match }) {
  const parts = Object.entries(match ?? {}).map(([field, value]) =>
    typeof value === "string" ? `${field} ${value}` : `${field} ${value.path} ${value.pattern}`,
  );
  return parts.join(", ") || "every tool";
}

/** @param {InspectedRule} rule */
function formatEffect({ action, reason, content, gateId, failOpen }) {
  const says = { deny: reason, context: content, gate: `asks "${gateId}"` }[action] ?? "";
  return firstLine(says) + (failOpen ? " (fail open)" : "");
}

/** @param {Declaration} declared @returns {import("./output.mjs").Part[][]} */
export function listRuleRows({ provider, rules, context, startupContext, sections, leftMs }) {
  const who = strong(provider);
  const held =
    leftMs === undefined ? "" : ` (connection lost; holds for ${Math.ceil(leftMs / 1000)} s more)`;
  const bytes = (/** @type {number} */ size) => `${size} bytes`;
  return [
    ...rules.map((rule) => [
      who,
      rule.action === "context" ? rule.action : bad(rule.action),
      formatMatch(rule),
      formatEffect(rule) + held,
    ]),
    ...(context ? [[who, "context", "every prompt", bytes(context)]] : []),
    ...(startupContext ? [[who, "context", "the first prompt", bytes(startupContext)]] : []),
    ...sections.map(({ section, action }) => [who, "section", section, action]),
  ];
}

/** @param {import("./output.mjs").Output} output @param {Declaration[]} all */
export function showRules(output, all) {
  if (all.length === 0) {
    return output.print("No provider has rules, contexts or edits of the system message.");
  }
  const columns = [
    { title: "provider", flexible: true },
    { title: "action" },
    { title: "matches", flexible: true },
    { title: "effect", flexible: true },
  ];
  for (const id of new Set(all.map(({ session }) => session))) {
    const its = all.filter(({ session }) => session === id);
    const [{ label, hooks }] = its;
    output.print(strong(label || id), faint(` ${shortId(id)}`));
    table(output, columns, its.flatMap(listRuleRows), 2);
    if (hooks !== "in-force") {
      output.print("    ", warning(`rules and contexts are not in force: ${WITHOUT_HOOKS[hooks]}`));
    }
  }
}
