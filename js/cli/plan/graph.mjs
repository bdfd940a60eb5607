// The graph of a plan in text: a layer for each step that nodes are away from the first ones, a line for each node.

import stringWidth from "fast-string-width";
import { inLine, visible } from "../../lib/visible.mjs";
import { bad, faint } from "../../views/output.mjs";
import { cut, cutInside } from "../../views/table.mjs";
import { formatSign, formatState } from "./format.mjs";

/** @typedef {import("../../views/output.mjs").Part} Part */
/** @typedef {import("./format.mjs").Node} Node */

const NARROW_ID = 28;
const SIGNS = 2;

/** @param {Node[]} nodes without cycles @returns {Node[][]} each in the layer after the last of its dependencies */
export function computeLayers(nodes) {
  const waiting = new Map(nodes.map(({ id, dependencies = [] }) => [id, dependencies.length]));
  /** @type {Map<string, Node[]>} */
  const after = new Map();
  for (const node of nodes) {
    for (const id of node.dependencies ?? []) after.set(id, [...(after.get(id) ?? []), node]);
  }
  const layers = [];
  for (let layer = nodes.filter(({ id }) => waiting.get(id) === 0); layer.length > 0;) {
    layers.push(layer);
    /** @type {Node[]} */
    const next = [];
    for (const { id } of layer) {
      for (const node of after.get(id) ?? []) {
        const left = Number(waiting.get(node.id)) - 1;
        waiting.set(node.id, left);
        if (left === 0) next.push(node);
      }
    }
    layer = next;
  }
  return layers;
}

/** @param {number} at @param {number} count */
function formatBranch(at, count) {
  if (count === 1) return "─";
  if (at === 0) return "┬";
  return at === count - 1 ? "└" : "├";
}

/** @param {Node} node @param {number} width of a line */
const formatId = ({ id }, width) => cut(inLine(id), Math.max(NARROW_ID, Math.floor(width / 4)));

/** @param {string} text @param {number} width */
const padText = (text, width) => text + " ".repeat(Math.max(0, width - stringWidth(text)));

/** Why it failed or waits, and what it printed last. @param {Node} node @param {string} indent @param {number} width @returns {Part[][]} */
function detailLines({ status, error = "", line = "" }, indent, width) {
  const room = width - stringWidth(indent);
  const why = cutInside(visible(error), room);
  return [
    ...(why ? [[faint(indent), status === "failed" ? bad(why) : faint(why)]] : []),
    ...(line ? [[faint(`${indent}${cut(visible(line), room)}`)]] : []),
  ];
}

/**
 * @param {Node[]} nodes @param {number} width of a line
 * @returns {Part[][]}
 */
export function graphLines(nodes, width) {
  const layers = computeLayers(nodes);
  const numbers = String(layers.length).length;
  const ids = Math.max(0, ...nodes.map((node) => stringWidth(formatId(node, width))));
  /** @type {(node: Node) => boolean} */
  const hasBefore = ({ dependencies = [] }) => dependencies.length > 0;
  const states = Math.max(0, ...nodes.map((node) => formatState(node).length));
  return layers.flatMap((layer, at) =>
    layer.flatMap((node, place) => {
      const number = place === 0 ? String(at + 1).padStart(numbers) : " ".repeat(numbers);
      const head = `${number} ${formatBranch(place, layer.length)} `;
      const name = `${padText(formatId(node, width), ids)}  ${padText(formatState(node), hasBefore(node) || node.group ? states : 0)}`;
      const room = width - stringWidth(head) - SIGNS - stringWidth(name);
      const group = node.group ? `  [${visible(node.group)}]` : "";
      const before = `${group}${hasBefore(node) ? `  ← ${node.dependencies?.join(", ")}` : ""}`;
      const below = place < layer.length - 1 ? "│" : " ";
      return [
        [
          faint(head),
          formatSign(node.status),
          ` ${name}`,
          faint(room > 8 ? cut(before, room) : ""),
        ],
        ...detailLines(node, `${" ".repeat(numbers)} ${below}   `, width),
      ];
    }),
  );
}

/** @param {string} text in quotes of Mermaid */
const quoteLabel = (text) =>
  `"${text.replace(/[&"<>#`\\]|[\n\r]/g, (one) => `#${one.charCodeAt(0)};`)}"`;

/** https://mermaid.js.org/syntax/flowchart.html @param {Node[]} nodes @returns {string} */
export function formatMermaid(nodes) {
  const places = new Map(nodes.map(({ id }, at) => [id, `n${at}`]));
  const lines = ["flowchart TD"];
  for (const { id, status, sandboxed } of nodes) {
    const label = sandboxed === false ? `${id} (not sandboxed)` : id;
    lines.push(`  ${places.get(id)}[${quoteLabel(label)}]:::${status}`);
  }
  for (const { id, dependencies = [] } of nodes) {
    for (const before of dependencies) lines.push(`  ${places.get(before)} --> ${places.get(id)}`);
  }
  lines.push("  classDef succeeded fill:#d3f9d8", "  classDef failed fill:#ffe3e3");
  lines.push("  classDef running fill:#d0ebff", "  classDef blocked fill:#fff3bf");
  return `${lines.join("\n")}\n`;
}
