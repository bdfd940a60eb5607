// Resolves the text with which a user names a session or a provider: an id, a label or a name, or the
// beginning of one that no other has. And how ids are shown: by their beginning, which can be typed again.

import { Failure } from "./exit.mjs";

/** @typedef {import("../link/control.mjs").Control} Control */

/** @typedef {{id: string, label: string}} Candidate */

/** How many characters of an id are shown. */
export const SHORT_ID = 8;
/** How many of those that were not meant are listed. */
const MAX_LISTED = 20;

/** @param {string} id @param {boolean} [full] */
export const formatId = (id, full = false) => (full ? id : id.slice(0, SHORT_ID));

/** @param {Candidate[]} some */
const formatCandidates = (some) => [
  ...some
    .slice(0, MAX_LISTED)
    .map(({ id, label }) => `  ${id === label ? id : `${formatId(id)}  ${label}`}`),
  ...(some.length > MAX_LISTED ? [`  and ${some.length - MAX_LISTED} more`] : []),
];

/**
 * The first kind of match that finds anything counts, so a whole id or label is never ambiguous because
 * of a longer one.
 * @template {Candidate} T @param {T[]} candidates @param {string} given @returns {T[]}
 */
function findMatches(candidates, given) {
  const small = given.toLowerCase();
  const kinds = [
    (/** @type {T} */ { id }) => id === given,
    (/** @type {T} */ { label }) => label === given,
    (/** @type {T} */ { id, label }) =>
      given !== "" && (id.startsWith(given) || label.toLowerCase().startsWith(small)),
  ];
  for (const fits of kinds) {
    const found = candidates.filter(fits);
    if (found.length > 0) return found;
  }
  return [];
}

/**
 * The one that is meant.
 * @template {Candidate} T
 * @param {T[]} candidates @param {string} given
 * @param {{what: string, code: string, none: string}} about `what` they are, the `code` of the failure,
 * and the advice if there are no candidates
 * @returns {T}
 * @throws {Failure} where it is unknown or ambiguous
 */
function requireOne(candidates, given, { what, code, none }) {
  const found = findMatches(candidates, given);
  if (found.length === 1) return found[0];
  if (found.length > 1) {
    throw new Failure(`"${given}" means ${found.length} ${what}s`, {
      advice: ["give more of the one that you mean:", ...formatCandidates(found)].join("\n"),
      code: "AMBIGUOUS",
    });
  }
  const advice =
    candidates.length === 0
      ? none
      : [`known ${what}s:`, ...formatCandidates(candidates)].join("\n");
  throw new Failure(`unknown ${what} "${given}"`, { advice, code });
}

/**
 * @template {Candidate} T @param {T[]} sessions @param {string} given
 * @returns {T}
 */
export const findSession = (sessions, given) =>
  requireOne(sessions, given, {
    what: "session",
    code: "INVALID_SESSION",
    none: "no session is connected; start copilot",
  });

/** @param {Iterable<string>} names */
const toCandidates = (names) => [...new Set(names)].map((name) => ({ id: name, label: name }));

/** @param {Iterable<string>} names of providers @param {string} given @param {string} none advice if there are no providers */
export const findProvider = (names, given, none) =>
  requireOne(toCandidates(names), given, { what: "provider", code: "NOT_FOUND", none }).id;

/**
 * The same for a provider that may still come: a name that nobody has stays as it is.
 * @param {Iterable<string>} names @param {string} given
 */
export function providerToCome(names, given) {
  const found = findMatches(toCandidates(names), given);
  return found.length === 0 ? given : findProvider(names, given, "");
}

/**
 * The id of the session that an option names.
 * @template {string | undefined} T @param {Control} control @param {T} given @returns {Promise<T>}
 */
export async function resolveSessionId(control, given) {
  if (given === undefined) return given;
  const { sessions } = await control.inspect();
  return /** @type {T} */ (findSession(sessions, given).id);
}
