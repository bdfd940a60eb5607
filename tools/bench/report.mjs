// The table of a run: every figure as median (min to max), and the target beyond it.

import { latencies, metrics, targets } from "./cases.mjs";
import { floodNames } from "./emitters.mjs";
import { lineSets } from "./lines.mjs";
import { spread } from "./statistics.mjs";

/** @typedef {Record<string, Record<string, Record<string, number[]>>>} All case → rival → metric → values */

/** The metrics of a case that the table shows. @type {Record<string, import("./cases.mjs").Metric[]>} */
const shown = {
  ...Object.fromEntries(latencies.map(({ name }) => [name, ["p50", "p99"]])),
  "64 in flight": ["perSecond", "cpuPer100k", "loopPerCall", "p99"],
  records: ["loopPerCall", "storePerCall"],
  "1 MB": ["mbPerSecond", "cpuPerMb"],
  "4.5 MB": ["mbPerSecond", "cpuPerMb"],
  "16 providers": ["p50", "p99", "perSecond"],
  "50 providers": ["p50", "p99", "perSecond"],
  storm: ["ms", "syncs"],
  "50 rules": ["p50", "p99"],
  "tool groups": ["ms", "privateBytes"],
  "hello to tool": ["ms"],
  "a tool is added": ["instructions", "linkBytes"],
  "a provider leaves": ["instructions", "linkBytes"],
  "a provider comes": ["instructions", "linkBytes"],
  ...Object.fromEntries(lineSets.map((name) => [name, ["mbPerCpuSecond"]])),
  ...Object.fromEntries(floodNames.map((name) => [name, ["p50", "p99", "linesPerSecond"]])),
  "cost of lines": ["p99"],
  "an idle emitter": ["privateBytes"],
  memory: ["bytes", "privateBytes"],
  "reading a plan": ["ms"],
  "a step of a plan": ["us"],
  "journal of plans": ["entriesPerSecond"],
  "ready to started": ["ms"],
  "200 programs": ["ms"],
  "100 nodes in worktrees": ["ms"],
  "memory of a plan": ["bytes"],
};

/** @param {All} all @param {[string, string, string]} place @returns {import("./statistics.mjs").Spread} */
const at = (all, [name, rival, metric]) => spread(all[name][rival][metric]);

/** @param {All} all */
export function judge(all) {
  return targets.map(({ title, value, than, factor, atLeast }) => {
    const reached = at(all, value).median / (than ? at(all, than).median : 1);
    const met = atLeast ? reached >= factor : reached <= factor;
    const rival = than ? `${than[1]} ${than[2] === value[2] ? "" : than[2]}`.trim() : "";
    const scale = than ? 1 : metrics[value[2]].scale;
    const wanted = `${atLeast ? "≥" : "≤"} ${factor * scale}`;
    return { title, wanted, than: rival, reached: reached * scale, met };
  });
}

/** The measurements that a run should have and lacks. @param {All} all @returns {string[]} */
export function gaps(all) {
  return Object.entries(shown).flatMap(([name, columns]) => {
    const rivals = Object.entries(all[name] ?? {});
    if (rivals.length === 0) return [name];
    return rivals
      .filter(([, of]) => {
        const values = columns.flatMap((metric) => of[metric] ?? []);
        return values.length === 0 || !values.every(Number.isFinite);
      })
      .map(([rival]) => `${name} of ${rival}`);
  });
}

/** @param {number} value */
const short = (value) => (value >= 1000 ? value.toFixed(0) : value.toFixed(2));

/** @param {string[][]} rows @returns {string} a table in Markdown */
export function markdown([head, ...rows]) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

/** @param {All} all @param {string} name */
function caseTable(all, name) {
  const columns = shown[name];
  const rows = Object.entries(all[name]).map(([rival, of]) => [
    rival,
    ...columns.map((metric) => {
      if (!of[metric]) return "";
      const { scale, digits } = metrics[metric];
      const { median, min, max } = spread(of[metric]);
      const [middle, low, high] = [median, min, max].map((value) =>
        (value * scale).toFixed(digits),
      );
      return of[metric].length > 1 ? `${middle} (${low} to ${high})` : middle;
    }),
  ]);
  const head = [name, ...columns.map((metric) => `${metric}, ${metrics[metric].unit}`)];
  return markdown([head, ...rows]);
}

/** @param {ReturnType<typeof judge>} verdicts */
export function targetTable(verdicts) {
  const rows = verdicts.map(({ title, wanted, than, reached, met }) => [
    title,
    than ? `${wanted} × ${than}` : wanted,
    short(reached),
    met ? "reached" : "missed",
  ]);
  return markdown([["target", "wanted", "measured", ""], ...rows]);
}

/** @param {All} all @param {ReturnType<typeof judge>} verdicts */
export function table(all, verdicts) {
  const cases = Object.keys(shown).filter((name) => all[name]);
  return [...cases.map((name) => caseTable(all, name)), targetTable(verdicts)].join("\n\n");
}
