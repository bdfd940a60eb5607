// Results that wait for a target which has moved since: their checks have not seen what they would land on.

/** @typedef {import("./plans.mjs").Plans} Plans */

/** @param {Plans} plans @param {string} planId @returns {boolean} whether any of its leaves is checked before it lands */
export function checksLeaves(plans, planId) {
  const { nodes } = plans.view({ view: "graph", planId });
  return nodes.some(
    (/** @type {any} */ { dependents, postchecks }) => dependents.length === 0 && postchecks,
  );
}

/** @param {string} planId @param {string} target */
export const untestedText = (planId, target) =>
  `"${target}" is not what the waiting result of the plan was made on. To run the checks on both, and land it: ${landAdvice(planId)}`;

/** Of what has landed where the plan ran before. @param {string} planId @param {string} target */
export const elsewhereText = (planId, target) =>
  `What the plan has landed elsewhere is not on "${target}" here. To run its checks here, and land it: ${landAdvice(planId)}`;

/** Of checks that fail when they run again. @param {string} planId @param {string} target @param {string} message */
export const failedText = (planId, target, message) =>
  `${message}, on the merge with "${target}". It has not landed. Mend that on "${target}", then: ${landAdvice(planId)}. Or do the work again: copilot-tap plan retry ${planId} --from-start`;

/** @param {string} planId */
export const landAdvice = (planId) => `copilot-tap plan land ${planId}`;
