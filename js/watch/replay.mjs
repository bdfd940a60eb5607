// The texts that a log or a recording would have given the model: the plan, matcher, state and texts of a watcher.

import { loadEntries } from "./entries.mjs";
import { matchFirst } from "./commands.mjs";
import { plan } from "./plan.mjs";
import { WatchState } from "./state.mjs";
import { formatReport } from "./text.mjs";

/** @typedef {{t: number, d?: string, s?: string, step?: string, exit?: number | string | null}} RecordedEvent `t` in ms */
/** @typedef {{cmd: string, cwd?: string, name?: string, events: RecordedEvent[]}} Recording */
/** @typedef {{t: number, step: string, verdict: string, state: string, text: string}} Step `text`: "" without news */

/** Of a log whose tool is found by its output. */
const FIRST_LINES = 50;

/**
 * @param {string} text a recording (JSON lines: a head with `cmd`, then events), or a plain log
 * @returns {Recording} of a log: without a command
 */
export function parseRecording(text) {
  const lines = text.split("\n");
  try {
    const head = JSON.parse(lines[0]);
    if (typeof head?.cmd === "string") {
      const events = lines.slice(1).flatMap((line) => (line.trim() ? [JSON.parse(line)] : []));
      return { ...head, events };
    }
  } catch {
    // It is a log.
  }
  return { cmd: "", events: [{ t: 0, s: "o", d: text }] };
}

/**
 * @param {Recording} recording
 * @param {{addon: typeof import("../lib/addon.js"), tool?: string, own?: import("./entries.mjs").OwnTool[]}} options
 * @returns {{tool: string, steps: Step[]}}
 */
export function replay({ cmd, cwd = "<project>", name, events }, { addon, tool, own }) {
  const isLog = cmd === "";
  const planned = plan(cmd, {
    folder: cwd,
    own,
    tool: tool ?? (isLog ? findByOutput(events, own) : ""),
  });
  // A log may have several cycles, and no exit.
  const matcher = { ...JSON.parse(planned.matcher), ...(isLog && { runsOn: true }) };
  const read = JSON.parse(
    addon.LineSource.replay(JSON.stringify(matcher), JSON.stringify(events), planned.tools),
  );
  const { keepsUnseen } = planned;
  const state = new WatchState({ folder: cwd, now: 0, keepsUnseen });
  const marks = events.filter(({ step }) => step !== undefined);
  /** @type {Step[]} */
  const steps = [];
  for (const { t, closed = [] } of read) {
    const step = marks.findLast((mark) => mark.t < t)?.step ?? "";
    const last = closed.at(-1);
    if (!last) continue;
    for (const cycle of closed) state.close(cycle, planned.runsOn && cycle.closedBy === "exit");
    const report = state.pending;
    const how = { name: name ?? planned.tool, command: cmd, folder: cwd, now: last.to };
    const text = report ? formatReport(report, { ...how, tool: planned.tool }) : "";
    if (report) state.markTold();
    steps.push({ t, step, verdict: last.verdict, state: state.state, text });
  }
  return { tool: planned.tool, steps };
}

/** @param {RecordedEvent[]} events @param {import("./entries.mjs").OwnTool[]} [own] */
function findByOutput(events, own) {
  const { tools } = loadEntries({ own });
  const text = events.find(({ d }) => d !== undefined)?.d ?? "";
  for (const line of text.split("\n", FIRST_LINES)) {
    const entry = matchFirst(line, tools);
    if (entry) return entry.tool;
  }
  return undefined;
}
