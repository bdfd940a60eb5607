// Which features the user may switch, and what the `features` of a config mean.

import { visible } from "../base/visible.mjs";

/** @typedef {import("../features/list.mjs").Feature} Feature */
/** @typedef {import("../projects/user-config.mjs").UserConfig} UserConfig */

/** @param {readonly Feature[]} features */
const idsOf = (features) => features.map(({ descriptor }) => descriptor.id);

/**
 * @param {unknown} id @param {readonly Feature[]} features @param {readonly string[]} others ids that configs name
 * @param {string} [advice] where there is no such feature
 * @throws RangeError where there is no such feature, or it cannot be disabled
 */
export function requireSwitchable(id, features, others, advice = "") {
  const feature = features.find(({ descriptor }) => descriptor.id === id);
  if (feature?.fixed !== undefined) throw new RangeError(`${id} is always on: ${feature.fixed}`);
  if (feature || others.includes(String(id))) return;
  const known = [...new Set([...idsOf(features), ...others])].map((one) => visible(one)).join(", ");
  const what = `there is no feature "${visible(String(id))}"; there are: ${known}`;
  throw new RangeError(advice ? `${what}\n${advice}` : what);
}

/** Without those that cannot be disabled. @param {Record<string, boolean>} enabled by id @param {readonly Feature[]} features */
export function switchable(enabled, features) {
  const fixed = idsOf(features.filter((feature) => feature.fixed !== undefined));
  return Object.fromEntries(Object.entries(enabled).filter(([id]) => !fixed.includes(id)));
}

/**
 * What the user's config switches though it is not there. Whether a project has an entry shows in its session.
 * @param {Pick<UserConfig, "features" | "providers" | "declarative" | "emitters">} config @param {readonly Feature[]} features
 * @returns {string[]} in words
 */
export function unknownSwitches({ features: enabled, ...config }, features) {
  const own = [...config.providers, ...config.declarative, ...config.emitters];
  const known = [...idsOf(features), ...own.map(({ name }) => `user:${name}`)];
  const isUnknown = (/** @type {string} */ id) => !id.startsWith("project:") && !known.includes(id);
  return Object.keys(enabled)
    .filter(isUnknown)
    .map(
      (id) =>
        `features: there is no feature ${visible(id)}; there are ${known.map((one) => visible(one)).join(", ")}`,
    );
}
