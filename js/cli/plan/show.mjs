// `copilot-tap plan list`, `show` and `diff`.

import stringWidth from "fast-string-width";
import { inLine, plainLines, visible } from "../../lib/visible.mjs";
import { bad, faint, good, strong, styled } from "../../views/output.mjs";
import { table } from "../../views/table.mjs";
import { clock, formatCount, duration } from "../../views/wording.mjs";
import { graphLines } from "./graph.mjs";
import {
  listNotes,
  formatSign,
  formatState,
  formatStatus,
  usageText,
  getLineWidth,
} from "./format.mjs";

/** @typedef {import("../../views/output.mjs").Output} Output */
/** @typedef {import("./format.mjs").Plan} Plan */

/** Of a node's error in the graph: it is cut there if it is longer than the rest of the line. */
const MAX_INDENT = 12;

/** @param {Output} output @param {any[]} plans */
export function showList(output, plans) {
  if (plans.length === 0) return output.print("There is no plan. copilot-tap plan run begins one.");
  const columns = [
    { title: "id" },
    { title: "status" },
    { title: "nodes", right: true },
    { title: "changed" },
    { title: "name", flexible: true },
    { title: "repository", flexible: true },
  ];
  const rows = plans.map(({ planId, status, total, changedAt, name = "", repo = "" }) => [
    ...[planId, formatStatus(status), String(total ?? "")],
    ...[clock(changedAt), name, repo],
  ]);
  table(output, columns, rows);
}

/** @param {Record<string, any>} times @param {number} now */
const tookText = ({ startedAt, endedAt }, now) =>
  startedAt === undefined ? "" : duration(Math.max(0, (endedAt ?? now) - startedAt));

/** @param {Output} output @param {string} name @param {string} value */
function field(output, name, value) {
  if (value === "") return;
  if (!value.includes("\n")) return output.print(faint(`${name.padEnd(11)} `), value);
  output.print(faint(name));
  output.printText(value.trimEnd(), "  ");
}

/** @param {Output} output @param {string} label @param {{files: number, insertions: number, deletions: number}} changes */
function showChanges(output, label, { files, insertions, deletions }) {
  if (files > 0)
    field(output, label, `${formatCount(files, "file")}, +${insertions} -${deletions}`);
}

const MAX_REFUSED_NODES = 10;

/** @param {Plan} plan @returns {string} how often something was refused, by node */
function refusalsText({ planId, nodes }) {
  const all = nodes.flatMap(({ id, refusals }) => (refusals ? [`${inLine(id)} ${refusals}`] : []));
  if (all.length === 0) return "";
  const more = all.length > MAX_REFUSED_NODES ? `, and ${all.length - MAX_REFUSED_NODES} more` : "";
  const some = all.slice(0, MAX_REFUSED_NODES).join(", ");
  return `${some}${more}; copilot-tap plan show ${planId}/<node> lists the last ones`;
}

/** @param {Output} output @param {Plan} plan */
export function showPlan(output, plan) {
  const { planId, name, status, counts, nodes, repo, baseBranch, targetBranch, usage } = plan;
  output.print(formatSign(status), " ", strong(planId), ` ${name}: `, formatStatus(status));
  const all = Object.entries(counts).map(([word, count]) => `${count} ${word}`);
  field(output, "nodes", all.join(", "));
  field(output, "repository", repo);
  field(output, "branches", `${baseBranch}${targetBranch ? ` → ${targetBranch}` : ""}`);
  field(output, "time", tookText(plan, Date.now()));
  field(output, "usage", usageText(usage));
  field(output, "refused", refusalsText(plan));
  const both = { landed: plan.landed, "not landed": plan.notLanded };
  for (const [label, changes] of Object.entries(both))
    if (changes) showChanges(output, label, changes);
  for (const note of listNotes(plan)) output.print(styled("yellow", note));
  output.print("");
  const width = getLineWidth(output);
  for (const line of graphLines(nodes, width)) output.print(...line);
  // Errors that have no room there.
  const long = nodes.filter(
    (one) => one.status === "failed" && stringWidth(visible(one.error ?? "")) >= width - MAX_INDENT,
  );
  for (const { id, error = "" } of long) {
    output.print("");
    output.print(`${inLine(id)}:`);
    output.printText(plainLines(error).trimEnd(), "  ");
  }
}

/** @param {number} ms of a phase */
const timeText = (ms) => (ms < 1000 ? `${ms} ms` : duration(ms));

/** @param {Output} output @param {any} attempt */
function showAttempt(output, { attempt, status, startedAt, endedAt, phases, error, commit }) {
  const took = tookText({ startedAt, endedAt }, Date.now());
  const what = [took, commit ? `commit ${commit.slice(0, 10)}` : ""].filter(Boolean).join(", ");
  output.print(
    `attempt ${attempt} `,
    formatSign(status),
    " ",
    formatStatus(status),
    faint(what && `  ${what}`),
  );
  for (const phase of phases) {
    const time = phase.endedAt ? timeText(phase.endedAt - phase.startedAt) : phase.status;
    output.print("  ", formatSign(phase.status), ` ${phase.phase.padEnd(11)}`, faint(time));
  }
  const lines = error ? error.message.trimEnd().split(/\r?\n/) : [];
  for (const line of lines) output.print("  ", bad(line));
}

/** A command line, or what an agent is to do. @param {any} work */
const workText = (work) =>
  work.type === "agent"
    ? `agent: ${work.instructions}`
    : (work.command ?? work.tool ?? [work.executable, ...(work.args ?? [])].join(" "));

/** @param {{files: number, insertions: number, deletions: number}} work */
const changesText = ({ files, insertions, deletions }) =>
  `${formatCount(files, "file")}, +${insertions} -${deletions}`;

/**
 * Below each what it has started.
 * @param {Output} output @param {{pid: number, parent: number, name: string}[]} all
 * @param {number} [of] a process; else those that none of them has started
 */
function showProcesses(output, all, of, inset = "  ") {
  const pids = new Set(all.map(({ pid }) => pid));
  const some = all.filter(({ parent }) => (of === undefined ? !pids.has(parent) : parent === of));
  for (const { pid, name } of some) {
    output.print(`${inset}${pid} ${name}`);
    showProcesses(output, all, pid, `${inset}  `);
  }
}

/** @param {any} node @returns {string} which others change the same files */
const overlapText = ({ id, overlaps = [] }) =>
  overlaps
    .map(
      (/** @type {any} */ { node, other, files }) =>
        `${files.join(", ")} with ${inLine(node === id ? other : node)}`,
    )
    .join("; ");

/** What is known of a node, by name; "" is left out. @param {any} node @returns {[string, string][]} */
function listFacts({ evidence, tested, workSummary: own, aggregatedWorkSummary: all, ...node }) {
  const commits = [node.baseCommit, node.completedCommit].filter(Boolean);
  return [
    ["note", node.note ?? ""],
    ["worktree", node.worktreePath ?? ""],
    ["kept", node.kept ? `${node.kept.ref}: copilot-tap plan restore ${node.kept.of}` : ""],
    ["session", node.sessionId ?? ""],
    ["commits", commits.join("..")],
    ["changes", own.files > 0 ? changesText(own) : ""],
    ["in all", all && all.files > own.files ? changesText(all) : ""],
    ["tested", tested ? `tree ${tested.tree.slice(0, 10)} with ${tested.command}` : ""],
    ["usage", usageText(node.metrics)],
    ["last line", node.lastLine ?? ""],
    ["overlaps", overlapText(node)],
    ["evidence", evidence?.summary ?? ""],
  ];
}

/** A field of a node, as an edit has it. @param {any} value */
const valueText = (value) =>
  typeof value === "string" ? value : value?.type ? workText(value) : JSON.stringify(value ?? null);

/** @param {Output} output @param {{at: number, changes: Record<string, any>, before?: Record<string, any>}[]} [edits] */
function showEdits(output, edits = []) {
  for (const { at, changes, before = {} } of edits) {
    output.print(faint(`edited ${clock(at)}`));
    for (const [name, value] of Object.entries(changes)) {
      const [now, was] = [value, before[name]].map(valueText);
      if (!/\n./.test(now + was)) {
        output.print(`  ${inLine(name)}: ${now.trimEnd()}`, faint(`  was ${was.trimEnd()}`));
        continue;
      }
      output.print(`  ${inLine(name)}:`);
      output.printText(now.trimEnd(), "    ");
      output.print(faint("  was:"));
      output.printText(was.trimEnd(), "    ");
    }
  }
}

/** What its programs may reach, by name; "": left out. @param {any} [policy] a host of an older tap has none @returns {[string, string][]} */
function listPolicy({ sandbox, writable = [], readable = [], hosts = [], caches = [] } = {}) {
  const isOpened = [writable, readable, hosts, caches].some(({ length }) => length > 0);
  if (sandbox === "off") return [["sandbox", "not sandboxed"]];
  return [
    ["sandbox", isOpened ? sandbox : ""],
    ["may write", writable.join(", ")],
    ["may read", readable.join(", ")],
    ["may reach", hosts === "*" ? "any host" : hosts.join(", ")],
    ["caches", caches.join(", ")],
  ];
}

const MAX_SHOWN_REFUSALS = 5;

/** @param {Output} output @param {any} node */
function showRefusals(output, { refusals, lastRefusals = [] }) {
  if (!refusals) return;
  const some = lastRefusals.slice(-MAX_SHOWN_REFUSALS);
  output.print(`refused ${refusals}`, faint(refusals > some.length ? ", the last ones:" : ""));
  for (const { attempt, phase, at, kind, target, call } of some) {
    const where = faint(`${clock(at)} attempt ${attempt}, ${phase}: `);
    output.print("  ", where, `${kind} ${target}`, faint(call ? `  (call ${call})` : ""));
  }
}

/** @param {any} config of a node */
const settingsText = ({ expectsNoChanges, timeout, retry }) =>
  [
    ...(expectsNoChanges ? ["expects no changes"] : []),
    ...(timeout ? [`each phase may take ${duration(timeout * 1000)}`] : []),
    ...(retry ? [`${formatCount(retry.max, "more attempt")} from the ${retry.from}`] : []),
  ].join(", ");

/** @param {any} node @returns {string} until when, or for what; "": it does not wait */
const waitText = ({ waitsFor = "", notBefore }) =>
  notBefore === undefined ? waitsFor : `until ${clock(notBefore)}`;

/** Of a node whose agent did not succeed. @param {Output} output @param {{byHand?: string}} node */
function showCommand(output, { byHand }) {
  if (byHand) output.printText(`to open the agent's session:\n${byHand}`);
}

/** @param {Output} output @param {any} node */
export function showNode(output, node) {
  const { id, name, config, evidence, processes = [] } = node;
  output.print(
    formatSign(node.status),
    " ",
    strong(inLine(id)),
    `${name === id ? "" : ` ${name}`}: ${formatState(node)}`,
  );
  field(output, "group", node.group ?? "");
  field(output, "waits", waitText(node));
  field(output, "depends on", node.dependencies.join(", "));
  for (const phase of ["prechecks", "work", "postchecks"]) {
    if (config[phase]) field(output, phase, workText(config[phase]));
  }
  field(output, "set", settingsText(config));
  for (const [label, text] of listPolicy(node.policy)) field(output, label, text);
  for (const [label, text] of listFacts(node)) field(output, label, text);
  for (const finding of evidence?.findings ?? []) {
    output.print("  ", typeof finding === "string" ? finding : JSON.stringify(finding));
  }
  showRefusals(output, node);
  showEdits(output, node.edited);
  if (node.workSummary.text) output.printText(node.workSummary.text, "  ");
  if (processes.length > 0) output.print("processes");
  showProcesses(output, processes);
  for (const attempt of node.attempts) showAttempt(output, attempt);
  showCommand(output, node);
}

/** @param {string} line */
function diffLine(line) {
  if (/^(diff|index|\+\+\+|---|rename|similarity|new file|deleted file)/.test(line)) {
    return strong(line);
  }
  if (line.startsWith("@@")) return styled("cyan", line);
  if (line.startsWith("+")) return good(line);
  return line.startsWith("-") ? bad(line) : line;
}

/** @param {Output} output @param {{planId: string, diffs: any[]}} answer */
export function showDiff(output, { planId, diffs }) {
  if (diffs.length === 0) output.print(`No node of plan ${planId} has a commit yet.`);
  for (const { nodeId, from, to, text, cut } of diffs) {
    output.print(
      faint(
        `# ${inLine(nodeId)}: git diff ${from.slice(0, 10)} ${to.slice(0, 10) || "(not committed)"}`,
      ),
    );
    for (const line of text.trimEnd().split("\n")) {
      output.print(diffLine(line.replaceAll("\t", "    ")));
    }
    if (cut) output.print(faint("# the rest is left out"));
  }
}
