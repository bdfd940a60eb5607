// The plots of a run, as SVG: bars for the medians, whiskers for the lowest and highest round.

import { spread } from "../statistics.mjs";
import { COLORS, draw, forEach, fromZero } from "./chart.mjs";

/** @typedef {import("../report.mjs").All} All */

/** @param {string} rival */
const family = (rival) =>
  rival.startsWith("tap") ? "tap" : rival.startsWith("js") ? "js" : "other";

/**
 * @param {All} all @param {string} name @param {string} metric @param {string} title
 * @param {string[]} rivals
 */
async function bars(all, name, metric, title, rivals) {
  const values = rivals.map((rival) => ({
    rival,
    color: COLORS[family(rival)],
    ...spread(all[name][rival][metric]),
  }));
  const bar = {
    y: { scale: "y", field: "rival" },
    height: { scale: "y", band: 1 },
    x: { scale: "x", value: 0 },
    x2: { scale: "x", field: "median" },
    fill: { field: "color" },
  };
  const whisker = {
    y: { scale: "y", field: "rival", band: 0.5 },
    x: { scale: "x", field: "min" },
    x2: { scale: "x", field: "max" },
    stroke: { value: "#222" },
    strokeWidth: { value: 1.5 },
  };
  return draw(title, {
    width: 460,
    height: values.length * 26,
    data: [{ name: "rivals", values }],
    scales: [
      { name: "y", type: "band", domain: rivals, range: "height", padding: 0.25 },
      fromZero("x", "rivals", "max", "width"),
    ],
    axes: [
      { orient: "left", scale: "y", ticks: false, domain: false, labelFontSize: 12 },
      { orient: "bottom", scale: "x", grid: true, tickCount: 6 },
    ],
    marks: [
      { type: "rect", from: { data: "rivals" }, encode: { enter: bar } },
      { type: "rule", from: { data: "rivals" }, encode: { enter: whisker } },
    ],
  });
}

/**
 * The cost of a change of a tool, by the number of tools.
 * @param {All} all @param {string} metric @param {string} title @param {number} unit
 */
async function scaling(all, metric, title, unit) {
  const names = ["a provider comes", "a tool is added", "a provider leaves"];
  const values = names.flatMap((change) =>
    Object.entries(all[change]).map(([tools, of]) => ({
      change,
      tools: Number.parseInt(tools, 10),
      value: spread(of[metric]).median / unit,
    })),
  );
  const at = {
    x: { scale: "x", field: "tools" },
    y: { scale: "y", field: "value" },
  };
  const color = { scale: "color", field: "change" };
  const line = { ...at, stroke: color, strokeWidth: { value: 2 } };
  const point = { ...at, fill: color, size: { value: 40 } };
  return draw(title, {
    width: 460,
    height: 200,
    data: [{ name: "counts", values }],
    scales: [
      { name: "x", domain: { data: "counts", field: "tools" }, range: "width", zero: true },
      fromZero("y", "counts", "value", "height"),
      { name: "color", type: "ordinal", domain: names, range: Object.values(COLORS) },
    ],
    axes: [
      { orient: "left", scale: "y", grid: true, tickCount: 5 },
      { orient: "bottom", scale: "x", title: "tools that are there already", tickCount: 6 },
    ],
    legends: [{ stroke: "color", symbolType: "stroke", orient: "right" }],
    marks: forEach("counts", "change", [
      { type: "line", from: { data: "series" }, encode: { enter: line } },
      { type: "symbol", from: { data: "series" }, encode: { enter: point } },
    ]),
  });
}

const gateways = ["tap embedded", "js embedded", "tap detached", "js detached"];

/** @param {All} all @returns {Promise<Record<string, string>>} file name → SVG */
export async function plots(all) {
  const reference = ["floor", "floor, relayed", "tcp from node", "ws echo"];
  return {
    "latency.svg": await bars(
      all,
      "latency, two cores",
      "p50",
      "One call at a time, on two cores: p50 in µs, less is better",
      [...reference, ...gateways],
    ),
    "throughput.svg": await bars(
      all,
      "64 in flight",
      "perSecond",
      "64 calls in flight: calls per second, more is better",
      gateways,
    ),
    "cpu.svg": await bars(
      all,
      "64 in flight",
      "cpuPer100k",
      "64 calls in flight: CPU seconds of the gateway per 100,000 calls",
      gateways,
    ),
    "providers.svg": await bars(
      all,
      "50 providers",
      "p99",
      "50 providers at once: p99 in µs, less is better",
      gateways,
    ),
    "scale.svg": await scaling(
      all,
      "instructions",
      "One change of tools: thousands of instructions for each session",
      1000,
    ),
    "large.svg": await bars(
      all,
      "1 MB",
      "mbPerSecond",
      "Results of 1 MB: MB per second, more is better",
      gateways,
    ),
  };
}
