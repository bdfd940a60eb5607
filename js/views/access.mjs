// How a provider has got access, as a word: for tables, and as `trust` in JSON.

/** @typedef {import("../link/control.mjs").Inspection} Inspection */
/** @typedef {import("../link/control.mjs").InspectedProvider} InspectedProvider */

/**
 * `project`: started by tap from a tap.config.json, with a token for a single session.
 * @param {Pick<InspectedProvider, "trust" | "onlySession">} provider
 * @returns {"none" | "paired" | "token" | "project" | "builtin" | "internal"}
 */
export function getAccess({ trust, onlySession }) {
  if (trust === "external") return "paired";
  if (trust !== "project") return trust;
  return onlySession === "" ? "token" : "project";
}

/** Null for missing values in JSON. @param {string | undefined} text */
const orNull = (text) => text || null;

/** An inspection as JSON for programs. @param {Inspection} seen */
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
