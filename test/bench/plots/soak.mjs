// Memory over a soak, as SVG: a line for what is resident and one for what is private, of each process.

import * as vega from "vega";

/** @typedef {import("./memory.mjs").Memory} Memory */
/** @typedef {{calls: number, host: Memory, extension: Memory}} Sample */

const MB = 1048576;
/** @type {{name: string, color: string, dash: number[], of: (sample: Sample) => number}[]} */
const lines = [
  {
    name: "extension, resident",
    color: "#c9a227",
    dash: [],
    of: ({ extension }) => extension.bytes,
  },
  {
    name: "extension, private",
    color: "#c9a227",
    dash: [4, 3],
    of: ({ extension }) => extension.privateBytes,
  },
  { name: "gateway, resident", color: "#2f6f9f", dash: [], of: ({ host }) => host.bytes },
  {
    name: "gateway, private",
    color: "#2f6f9f",
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
  /** @type {import("vega").Spec} */
  const spec = {
    width: 520,
    height: 240,
    padding: 8,
    background: "white",
    title: { text: title, anchor: "start", fontSize: 13 },
    data: [{ name: "memory", values }],
    scales: [
      { name: "x", domain: { data: "memory", field: "calls" }, range: "width", zero: true },
      {
        name: "y",
        domain: { data: "memory", field: "mb" },
        range: "height",
        zero: true,
        nice: true,
      },
      { name: "color", type: "ordinal", domain: names, range: lines.map(({ color }) => color) },
      { name: "dash", type: "ordinal", domain: names, range: lines.map(({ dash }) => dash) },
    ],
    axes: [
      { orient: "bottom", scale: "x", title: "million calls", tickCount: 10 },
      { orient: "left", scale: "y", title: "MB", grid: true, tickCount: 6 },
    ],
    legends: [{ stroke: "color", strokeDash: "dash", symbolType: "stroke", symbolSize: 400 }],
    marks: [
      {
        type: "group",
        from: { facet: { name: "series", data: "memory", groupby: "name" } },
        marks: [
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
        ],
      },
    ],
  };
  return new vega.View(vega.parse(spec), { renderer: "none" }).toSVG();
}
