// What providers have declared that may deny, check or change actions of the agent: for `rules` and `top`.

import { bad, faint, strong, warning } from "./output.mjs";
import { nameOf, WITHOUT_HOOKS } from "./status-view.mjs";
import { table } from "./table.mjs";
import { firstLine, shortId } from "./wording.mjs";

/** @typedef {import("../base/control.mjs").Inspection} Inspection */
/** @typedef {import("../base/control.mjs").InspectedRule} InspectedRule */
/** @typedef {import("../base/control.mjs").InspectedBinding} InspectedBinding */
/** @typedef {import("../base/control.mjs").InspectedSession} InspectedSession */
/**
 * The declarations of one provider in one session. `hooks`: whether it is in force there.
 * @typedef {{session: string, label: string, hooks: InspectedSession["hooks"], provider: string,
 *   rules: InspectedRule[], context: number, startupContext: number, sections: InspectedBinding["sections"],
 *   held?: true, leftMs?: number}} Declared `held`: its connection was lost; its rules hold for so long
 */

/** @param {Inspection} seen @returns {Declared[]} */
export function declaredIn({ providers, sessions }) {
  return sessions.flatMap(({ id, label, hooks, held = [] }) => [
    ...providers.flatMap((provider) =>
      provider.bindings
        .filter(({ session }) => session === id)
        .map(({ session, rules, context, startupContext, sections }) => ({
          ...{ session, label, hooks, provider: nameOf(provider) },
          ...{ rules, context, startupContext, sections },
        }))
        .filter(
          (one) => one.rules.length + one.sections.length > 0 || one.context || one.startupContext,
        ),
    ),
    ...held.map((gone) => ({
      ...{ session: id, label, hooks, provider: nameOf(gone), rules: gone.rules },
      ...{ context: 0, startupContext: 0, sections: [], held: /** @type {const} */ (true) },
      leftMs: gone.leftMs,
    })),
  ]);
}

/** @param {InspectedRule} rule */
function matchOf({ match }) {
  const parts = Object.entries(match ?? {}).map(([what, value]) => `${what} ${value}`);
  return parts.join(", ") || "every tool";
}

/** @param {InspectedRule} rule */
function effectOf({ action, reason, content, gateId, failOpen }) {
  const says = { deny: reason, context: content, gate: `asks "${gateId}"` }[action] ?? "";
  return firstLine(says) + (failOpen ? " (fail open)" : "");
}

/** @param {Declared} declared @returns {import("./output.mjs").Part[][]} */
export function rowsOf({ provider, rules, context, startupContext, sections, leftMs }) {
  const who = strong(provider);
  const held =
    leftMs === undefined ? "" : ` (connection lost; holds for ${Math.ceil(leftMs / 1000)} s more)`;
  const bytes = (/** @type {number} */ size) => `${size} bytes`;
  return [
    ...rules.map((rule) => [
      who,
      rule.action === "context" ? rule.action : bad(rule.action),
      matchOf(rule),
      effectOf(rule) + held,
    ]),
    ...(context ? [[who, "context", "every prompt", bytes(context)]] : []),
    ...(startupContext ? [[who, "context", "the first prompt", bytes(startupContext)]] : []),
    ...sections.map(({ section, action }) => [who, "section", section, action]),
  ];
}

/** @param {import("./output.mjs").Output} output @param {Declared[]} all */
export function showRules(output, all) {
  if (all.length === 0) {
    return output.say("No provider has rules, contexts or edits of the system message.");
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
    output.say(strong(label || id), faint(` ${shortId(id)}`));
    table(output, columns, its.flatMap(rowsOf), 2);
    if (hooks !== "in-force") {
      output.say("    ", warning(`rules and contexts are not in force: ${WITHOUT_HOOKS[hooks]}`));
    }
  }
}
