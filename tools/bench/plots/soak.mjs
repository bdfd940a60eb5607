// Memory over a soak, as SVG: for each process a line for its resident memory and a line for its private memory.

import { COLORS, draw, forEach, fromZero } from "./chart.mjs";

/** @typedef {import("../memory.mjs").Memory} Memory */
/** @typedef {{calls: number, host: Memory, extension: Memory}} Sample */

const MB = 1048576;
/** @type {{name: string, color: string, dash: number[], of: (sample: Sample) => number}[]} */
const lines = [
  {
    name: "extension, resident",
    color: COLORS.js,
    dash: [],
    of: ({ extension }) => extension.bytes,
  },
  {
    name: "extension, private",
    color: COLORS.js,
    dash: [4, 3],
    of: ({ extension }) => extension.privateBytes,
  },
  { name: "gateway, resident", color: COLORS.tap, dash: [], of: ({ host }) => host.bytes },
  {
    name: "gateway, private",
    color: COLORS.tap,
    dash: [4, 3],
    of: ({ host }) => host.privateBytes,
  },
];

/** @param {Sample[]} samples @param {string} title @returns {Promise<string>} */
export function soakPlot(samples, title) {
  const values = lines.flatMap(({ name, of }) =>
    samples.map((sample) => ({ name, calls: sample.calls / 1e6, mb: of(sample) / MB })),
  );
  const names = lines.map(({ name }) => name);
  const scaled = (/** @type {string} */ scale, /** @type {string} */ field) => ({ scale, field });
  return draw(title, {
    width: 520,
    height: 240,
    data: [{ name: "memory", values }],
    scales: [
      { name: "x", domain: { data: "memory", field: "calls" }, range: "width", zero: true },
      fromZero("y", "memory", "mb", "height"),
      { name: "color", type: "ordinal", domain: names, range: lines.map(({ color }) => color) },
      { name: "dash", type: "ordinal", domain: names, range: lines.map(({ dash }) => dash) },
    ],
    axes: [
      { orient: "bottom", scale: "x", title: "million calls", tickCount: 10 },
      { orient: "left", scale: "y", title: "MB", grid: true, tickCount: 6 },
    ],
    legends: [{ stroke: "color", strokeDash: "dash", symbolType: "stroke", symbolSize: 400 }],
    marks: forEach("memory", "name", [
      {
        type: "line",
        from: { data: "series" },
        encode: {
          enter: {
            x: scaled("x", "calls"),
            y: scaled("y", "mb"),
            stroke: scaled("color", "name"),
            strokeDash: scaled("dash", "name"),
            strokeWidth: { value: 1.5 },
          },
        },
      },
    ]),
  });
}
