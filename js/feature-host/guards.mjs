// The deny rules and gates of a session as stored in a plan, and which of them cover a use of a tool after that session
// has ended.

import path from "node:path";
import { addon } from "../lib/addon.mjs";

/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../link/control.mjs").InspectedRule} InspectedRule */
/** @typedef {{provider: string, rules: InspectedRule[]}} Guards */
/** `session`: an open session of the folder with the provider. @typedef {{provider: string, action: string, reason?: string, session?: string}} Guard */

/** @param {Inspection} seen @param {{session: string}} of @returns {Guards[]} */
export function listGuards({ providers, sessions }, { session }) {
  const bound = providers.flatMap(({ name, bindings }) =>
    bindings.filter((binding) => binding.session === session).map(({ rules }) => ({ name, rules })),
  );
  const held = sessions.find(({ id }) => id === session)?.held ?? [];
  return [...bound, ...held]
    .map(({ name, rules }) => ({
      provider: name,
      rules: rules.filter(({ action, failOpen }) => action !== "context" && !failOpen),
    }))
    .filter(({ rules }) => rules.length > 0);
}

/**
 * @param {Inspection} seen
 * @param {{guards: Guards[], tool: string, args: object, folder: string}} use `folder`: of the plan
 * @returns {Guard[]}
 */
export function findGuards({ providers, sessions }, { guards, tool, args, folder }) {
  const text = JSON.stringify(args);
  const isThere = (/** @type {string} */ cwd) =>
    cwd === folder || cwd.startsWith(folder + path.sep);
  const open = new Set(
    sessions.filter(({ ending, cwd }) => !ending && isThere(cwd)).map(({ id }) => id),
  );
  const findSession = (/** @type {string} */ name) =>
    providers
      .filter((provider) => provider.name === name)
      .flatMap(({ bindings }) => bindings.map(({ session }) => session))
      .find((id) => open.has(id));
  return guards.flatMap(({ provider, rules }) =>
    rules
      .filter((rule) => {
        // The provider of the tool is no longer known.
        const owner = tool === "bash" ? "" : (rule.match?.provider ?? "");
        return new addon.HookGuards(JSON.stringify([rule])).covers(tool, owner, text, folder);
      })
      .map(({ action, reason }) => {
        const session = findSession(provider);
        return {
          ...{ provider, action },
          ...(reason && { reason }),
          ...(session !== undefined && { session }),
        };
      }),
  );
}
