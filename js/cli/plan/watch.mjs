// `copilot-tap plan watch`: a plan on the whole screen, until q.

import stringWidth from "fast-string-width";
import { inLine, visible } from "../../lib/visible.mjs";
import { bad, faint, strong } from "../../views/output.mjs";
import { cut, cutInside } from "../../views/table.mjs";
import { duration } from "../../views/wording.mjs";
import { pause, runInterruptible } from "../exit.mjs";
import { paintLines, Screen } from "../top/screen.mjs";
import { followPlan } from "./follow.mjs";
import { listNotes, formatSign, formatState, formatStatus, usageText } from "./format.mjs";

/** @typedef {import("../../views/output.mjs").Part} Part */
/** @typedef {import("../../views/top/frame.mjs").Size} Size */
/** @typedef {import("./format.mjs").Plan} Plan */
/** @typedef {import("./format.mjs").Node} Node */

/** Columns where the terminal is narrow: of an id, and of "running (work, attempt 2)". */
const NARROW_ID = 24;
const NARROW_STATE = 25;
const INDENT = "    ";
/** Between two looks at a plan that has ended. */
const AGAIN_MS = 1000;
/** Of the lines for nodes, those that may say what failed nodes printed last. */
const DETAILS = 1 / 3;

/** @param {string} text @param {number} width exactly so wide */
function fitText(text, width) {
  const short = cut(text, width);
  return short + " ".repeat(Math.max(0, width - stringWidth(short)));
}

/** @param {Plan} plan @param {number} width @returns {Part[]} */
function formatBar({ counts, total }, width) {
  const done = counts.succeeded ?? 0;
  const text = ` ${done} of ${total}`;
  const room = Math.max(0, Math.min(width - text.length, 50));
  const wrong = (counts.failed ?? 0) + (counts.blocked ?? 0) + (counts.canceled ?? 0);
  const [good, others] = [done, done + wrong].map((count) => Math.floor((count * room) / total));
  return [
    { style: "green", text: "━".repeat(good) },
    { style: "red", text: "━".repeat(others - good) },
    faint("─".repeat(room - others)),
    text,
  ];
}

/** @param {Node} node @param {{ids: number, states: number}} widths @param {number} width @returns {Part[]} */
function nodeLine(node, { ids, states }, width) {
  const { id, status, error, line = "" } = node;
  const room = width - ids - states - 6;
  const name = fitText(inLine(id), ids);
  const state = cut(formatState(node), states);
  const said = error === undefined ? cut(visible(line), room) : cutInside(visible(error), room);
  if (room < 1 || said === "") return [formatSign(status), ` ${name}  ${state}`];
  const paint = status === "failed" ? bad : faint;
  return [formatSign(status), ` ${name}  ${fitText(state, states)}  `, paint(said)];
}

/**
 * The nodes from the `first` on, with what failed ones printed last as far as there is room.
 * @param {Node[]} nodes @param {number} first @param {Size} size of what is left for them
 * @returns {{lines: Part[][], shown: number}}
 */
function nodeLines(nodes, first, { columns, rows }) {
  const seen = nodes.slice(first, first + rows);
  const widest = (/** @type {number[]} */ widths) => Math.max(0, ...widths);
  const ids = widest(seen.map(({ id }) => stringWidth(inLine(id))));
  const states = widest(seen.map((node) => formatState(node).length));
  const idWidth = Math.min(
    ids,
    Math.max(Math.min(NARROW_ID, Math.floor(columns / 3)), Math.floor(columns / 4)),
  );
  const most = Math.min(Math.max(NARROW_STATE, Math.floor(columns / 5)), columns - idWidth - 4);
  const widths = { ids: idWidth, states: Math.min(states, most) };
  // On the last page all nodes have a place.
  const free = rows - (nodes.length - first);
  let details = free < 0 ? Math.floor(rows * DETAILS) : free;
  let shown = 0;
  /** @type {Part[][]} */
  const lines = [];
  for (const node of seen) {
    if (lines.length === rows) break;
    lines.push(nodeLine(node, widths, columns));
    shown += 1;
    if (!node.line || node.status !== "failed" || details < 1 || lines.length === rows) continue;
    lines.push([faint(INDENT + cut(visible(node.line), columns - INDENT.length))]);
    details -= 1;
  }
  return { lines, shown };
}

/** @param {Plan} plan @param {Size} size @param {number} now @returns {Part[][]} */
function headLines(plan, { columns }, now) {
  const { planId, name, status, counts, startedAt, endedAt } = plan;
  const time =
    startedAt === undefined ? "" : `  ${duration(Math.max(0, (endedAt ?? now) - startedAt))}`;
  const room = Math.max(0, columns - planId.length - status.length - time.length - 3);
  const all = Object.entries(counts).map(([word, count]) => `${count} ${word}`);
  const usage = usageText(plan.usage);
  return [
    [strong(planId), ` ${cut(visible(name), room)}  `, formatStatus(status), time],
    formatBar(plan, columns),
    [faint(cut([all.join(", "), usage].filter(Boolean).join("; "), columns))],
    ...listNotes(plan).map((note) => [
      { style: /** @type {const} */ ("yellow"), text: cut(visible(note), columns) },
    ]),
    [""],
  ];
}

/** @param {Plan | undefined} plan */
const quitText = (plan) => (plan?.endedAt === undefined ? "q quit; the plan goes on" : "q quit");

/** How far one can go down, so that the last lines are full. @param {Plan | undefined} plan @param {Size} size */
export function maxScrollOffset(plan, size) {
  const head = plan ? headLines(plan, size, 0).length : 0;
  return Math.max(0, (plan?.nodes.length ?? 0) - (size.rows - 1 - head));
}

/**
 * @param {Plan | undefined} plan undefined: nothing has been seen yet @param {Size} size @param {number} now
 * @param {number} [first] of the nodes: those before it have been scrolled away
 * @returns {Part[][]} exactly size.rows lines, none wider than size.columns
 */
export function watchFrame(plan, { columns, rows }, now, first = 0) {
  const lines = plan ? headLines(plan, { columns, rows }, now).slice(0, rows - 1) : [];
  const left = { columns, rows: rows - 1 - lines.length };
  const { lines: body, shown } = nodeLines(plan?.nodes ?? [], first, left);
  lines.push(...body);
  while (lines.length < rows - 1) lines.push([""]);
  const count = plan?.nodes.length ?? 0;
  const where = shown < count ? `${first + 1}–${first + shown} of ${count} nodes, ↑↓ more; ` : "";
  return [...lines, [faint(cut(`${where}${quitText(plan)}`, columns))]];
}

/** By key, in nodes or pages. @type {Record<string, (rows: number) => number>} */
const SCROLLS = {
  up: () => -1,
  down: () => 1,
  k: () => -1,
  j: () => 1,
  pageup: (rows) => -(rows - 8),
  pagedown: (rows) => rows - 8,
  home: () => -Infinity,
  end: () => Infinity,
};

/**
 * Looks at a plan that has ended until it goes on, which starts no gateway.
 * @param {import("./client.mjs").SendRequest} ask @param {string} planId @param {Plan | undefined} seen
 * @param {AbortSignal} ending
 */
async function waitForChange(ask, planId, seen, ending) {
  const poll = () => ask({ do: "follow", planId }, { starting: false }).catch(() => seen);
  for (let plan = seen; plan?.status === seen?.status && plan?.endedAt === seen?.endedAt;) {
    await pause(AGAIN_MS, ending);
    if (ending.aborted) return;
    plan = await poll();
  }
}

/** @param {import("./client.mjs").SendRequest} ask @param {string} planId */
export async function watch(ask, planId) {
  const quit = new AbortController();
  /** @type {Plan | undefined} */
  let seen;
  let first = 0;
  const draw = () => {
    const { size } = screen;
    first = Math.min(Math.max(0, first), maxScrollOffset(seen, size));
    screen.show(paintLines(watchFrame(seen, size, Date.now(), first)));
  };
  const screen = new Screen({
    input: process.stdin,
    output: process.stdout,
    onKey: ({ name, ctrl }) => {
      if (name === "q" || (ctrl && name === "c")) return quit.abort();
      const scroll = SCROLLS[name ?? ""];
      if (!scroll) return;
      first += scroll(screen.size.rows);
      draw();
    },
    onResize: draw,
    onEnd: () => quit.abort(),
  });
  await runInterruptible(async (interrupted) => {
    const ending = AbortSignal.any([interrupted, quit.signal]);
    ending.addEventListener("abort", () => screen.close());
    screen.open();
    draw();
    const see = (/** @type {Plan} */ plan) => {
      seen = plan;
      draw();
    };
    try {
      // What it came to stays until the user has read it; somebody may retry it meanwhile.
      while (await followPlan(ask, planId, see, ending, { lines: true })) {
        await waitForChange(ask, planId, seen, ending);
      }
    } finally {
      screen.close();
    }
  });
}
