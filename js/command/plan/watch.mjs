// `copilot-tap plan watch`: a plan on the whole screen, until q.

import stringWidth from "string-width";
import { inLine, visible } from "../../base/visible.mjs";
import { bad, faint, strong } from "../../views/output.mjs";
import { cut } from "../../views/table.mjs";
import { counted, duration } from "../../views/wording.mjs";
import { untilInterrupted } from "../interruption.mjs";
import { painted } from "../top/painted.mjs";
import { Screen } from "../top/screen.mjs";
import { followPlan } from "./follow.mjs";
import { notesOf, signOf, stateOf, statusOf, usageText } from "./look.mjs";

/** @typedef {import("../../views/output.mjs").Part} Part */
/** @typedef {import("../../views/top/frame.mjs").Size} Size */
/** @typedef {import("./look.mjs").Plan} Plan */
/** @typedef {import("./look.mjs").Node} Node */

const WIDEST_ID = 24;
const WIDEST_STATE = 22;

/** @param {string} text @param {number} width exactly so wide */
function fitted(text, width) {
  const short = cut(text, width);
  return short + " ".repeat(Math.max(0, width - stringWidth(short)));
}

/** @param {Plan} plan @param {number} width @returns {Part[]} */
function barOf({ counts, total }, width) {
  const room = Math.max(10, Math.min(width - 12, 50));
  const done = counts.succeeded ?? 0;
  const wrong = (counts.failed ?? 0) + (counts.blocked ?? 0) + (counts.canceled ?? 0);
  const [good, others] = [done, done + wrong].map((count) => Math.floor((count * room) / total));
  return [
    { style: "green", text: "━".repeat(good) },
    { style: "red", text: "━".repeat(others - good) },
    faint("─".repeat(room - others)),
    ` ${done} of ${total}`,
  ];
}

/** @param {Node} node @param {number} ids @param {number} width @returns {Part[]} */
function nodeLine(node, ids, width) {
  const state = fitted(stateOf(node), WIDEST_STATE);
  const room = width - ids - WIDEST_STATE - 6;
  const said = node.error ?? node.line ?? "";
  const text = room > 0 ? cut(visible(said), room) : "";
  const name = fitted(inLine(node.id), ids);
  return [signOf(node.status), ` ${name}  ${state}  `, node.error ? bad(text) : faint(text)];
}

/**
 * @param {Plan | undefined} plan undefined: nothing has been seen yet @param {Size} size @param {number} now
 * @returns {Part[][]} exactly size.rows lines, none wider than size.columns
 */
export function watchFrame(plan, { columns, rows }, now) {
  /** @type {Part[][]} */
  const lines = [];
  const fill = () => {
    while (lines.length < rows - 1) lines.push([""]);
    return [...lines.slice(0, rows - 1), [faint(cut("q quit; the plan goes on", columns))]];
  };
  if (!plan) return fill();
  const { planId, name, status, counts, nodes, startedAt, endedAt } = plan;
  const time =
    startedAt === undefined ? "" : `  ${duration(Math.max(0, (endedAt ?? now) - startedAt))}`;
  const room = Math.max(0, columns - planId.length - status.length - time.length - 5);
  lines.push([strong(planId), ` ${cut(visible(name), room)}  `, statusOf(status), time]);
  lines.push(barOf(plan, columns));
  const all = Object.entries(counts).map(([word, count]) => `${count} ${word}`);
  const usage = usageText(plan.usage);
  lines.push([faint(cut([all.join(", "), usage].filter(Boolean).join("; "), columns))]);
  for (const note of notesOf(plan)) {
    lines.push([{ style: "yellow", text: cut(visible(note), columns) }]);
  }
  lines.push([""]);
  const left = rows - lines.length - 1;
  const shown = nodes.slice(0, nodes.length > left ? Math.max(0, left - 1) : left);
  const ids = Math.min(WIDEST_ID, Math.max(0, ...shown.map(({ id }) => stringWidth(inLine(id)))));
  for (const node of shown) lines.push(nodeLine(node, ids, columns));
  if (shown.length < nodes.length) {
    lines.push([faint(`and ${counted(nodes.length - shown.length, "more node")}`)]);
  }
  return fill();
}

/** @param {import("./asking.mjs").Ask} ask @param {string} planId */
export async function watch(ask, planId) {
  const quit = new AbortController();
  /** @type {Plan | undefined} */
  let seen;
  const draw = () => screen.show(painted(watchFrame(seen, screen.size, Date.now())));
  const screen = new Screen({
    input: process.stdin,
    output: process.stdout,
    onKey: ({ name, ctrl }) => {
      if (name === "q" || (ctrl && name === "c")) quit.abort();
    },
    onResize: draw,
    onEnd: () => quit.abort(),
  });
  await untilInterrupted(async (interrupted) => {
    const ending = AbortSignal.any([interrupted, quit.signal]);
    const ended = new Promise((resolve) => ending.addEventListener("abort", resolve));
    ending.addEventListener("abort", () => screen.close());
    screen.open();
    draw();
    const see = (/** @type {Plan} */ plan) => {
      seen = plan;
      draw();
    };
    try {
      const last = await followPlan(ask, planId, see, ending, { lines: true });
      // What it came to stays until the user has read it.
      if (last) await ended;
    } finally {
      screen.close();
    }
  });
}
