// By what a provider has access, in one word: for tables, and as `trust` in JSON.

/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../link/control.mjs").InspectedProvider} InspectedProvider */

/**
 * `project`: tap has started it, as a tap.config.json says, with a token for one session.
 * @param {Pick<InspectedProvider, "trust" | "onlySession">} provider
 * @returns {"none" | "paired" | "token" | "project" | "builtin" | "internal"}
 */
export function getAccess({ trust, onlySession }) {
  if (trust === "external") return "paired";
  if (trust !== "project") return trust;
  return onlySession === "" ? "token" : "project";
}

/** Absent values are null for programs. @param {string | undefined} text */
const orNull = (text) => text || null;

/** An inspection as programs get it. @param {Inspection} seen */
export const inspectionForPrograms = (seen) => ({
  ...seen,
  sessions: seen.sessions.map((session) => ({
    ...session,
    label: orNull(session.label),
    cwd: orNull(session.cwd),
  })),
  providers: seen.providers.map((provider) => ({
    ...provider,
    id: orNull(provider.id),
    name: orNull(provider.name),
    instance: orNull(provider.instance),
    origin: orNull(provider.origin),
    onlySession: orNull(provider.onlySession),
    trust: getAccess(provider),
  })),
});

/** @param {import("../link/control.mjs").PairedProvider[]} paired */
export const pairedForPrograms = (paired) =>
  paired.map(({ origin, label, ...rest }) => ({
    ...rest,
    origin: orNull(origin),
    label: orNull(label),
  }));
