// The common part of all plots: they are SVG, and look alike.

import * as vega from "vega";

/** @typedef {import("vega").Spec} Spec */

export const COLORS = { tap: "#2f6f9f", js: "#c9a227", other: "#9a9a9a" };

/** @param {string} title @param {Spec} spec @returns {Promise<string>} */
export function draw(title, spec) {
  const frame = { padding: 8, background: "white" };
  const heading = { text: title, anchor: /** @type {const} */ ("start"), fontSize: 13 };
  const view = new vega.View(vega.parse({ ...frame, title: heading, ...spec }), {
    renderer: "none",
  });
  return view.toSVG();
}

/**
 * From zero to a round number.
 * @param {string} name @param {string} data @param {string} field @param {"width" | "height"} range
 * @returns {import("vega").Scale}
 */
export const fromZero = (name, data, field, range) => ({
  name,
  domain: { data, field },
  range,
  zero: true,
  nice: true,
});

/**
 * The marks once for each value of a field.
 * @param {string} data @param {string} groupby @param {import("vega").Mark[]} marks
 * @returns {import("vega").Mark[]}
 */
export const forEach = (data, groupby, marks) => [
  { type: "group", from: { facet: { name: "series", data, groupby } }, marks },
];
