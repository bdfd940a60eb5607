// Views of features: for the command's output, and for a session's timeline.

import { clock, duration } from "./wording.mjs";
import { faint, good, strong, warning } from "./output.mjs";

/** @typedef {import("./output.mjs").Output} Output */
/** @typedef {import("../feature-host/report.mjs").Report} Report */
/** @typedef {import("../gateway-host/feature-host-process.mjs").FeatureHostState} FeatureHostState */

/** @param {Report} report */
function contributions({ tools, hooks, commands, channels, tasks }) {
  const parts = /** @type {const} */ ([
    ["tools", tools],
    ["hooks", hooks],
    ["commands", commands.map((name) => `/${name}`)],
    ["channels", channels],
    ["tasks", tasks],
  ]);
  return parts.flatMap(([kind, names]) =>
    names.length > 0 ? [`${kind}: ${names.join(", ")}`] : [],
  );
}

/** For a program whose entry has a sandbox. @param {Output} output @param {string} before @param {Pick<Report, "sandbox">} report */
function showSandbox(output, before, { sandbox }) {
  if (sandbox === undefined) return;
  output.print(before, sandbox === "on" ? faint("sandboxed") : warning("not sandboxed"));
}

/** For a status. @param {Output} output @param {Pick<Report, "id" | "sandbox">[]} all */
export function showSandboxes(output, all) {
  for (const report of all) showSandbox(output, `${report.id}: `, report);
}

/** @param {Output} output @param {Report} report */
export function showReport(output, report) {
  const { id, enabled, runtime, granted, denied, skipped, diagnostics } = report;
  output.print(strong(id), ` ${runtime}, `, enabled ? good("on") : warning("disabled"));
  for (const line of contributions(report)) output.print(`  ${line}`);
  showSandbox(output, "  ", report);
  if (granted.length > 0) output.print(`  granted: ${granted.join(", ")}`);
  for (const { capability, reason } of denied) {
    output.print("  ", warning(`not granted: ${capability} (${reason})`));
  }
  for (const { what, reason } of skipped)
    output.print("  ", warning(`skipped: ${what}: ${reason}`));
  for (const { at, text } of diagnostics) output.print(`  ${at} `, warning(text));
}

const MB = 1024 * 1024;

/** @param {FeatureHostState} host @param {number} now @returns {string} */
export function hostLine({ state, pid, restarts = 0, startedAt = 0, rss }, now = Date.now()) {
  if (state === "idle") return "the feature host does not run: it was not needed yet";
  const parts = [
    state,
    ...(pid === undefined
      ? []
      : [`pid ${pid}`, `since ${clock(startedAt, now)}`, `up ${duration(now - startedAt)}`]),
    ...(restarts > 0 ? [`restarted ${restarts === 1 ? "once" : `${restarts} times`}`] : []),
    ...(rss === undefined ? [] : [`${Math.round(rss / MB)} MB`]),
  ];
  return `feature host: ${parts.join(", ")}`;
}

/**
 * For a status.
 * @param {Output} output @param {FeatureHostState} host
 * @param {import("../gateway-host/shutdown.mjs").Hold[]} holds work that keeps both hosts without a session
 */
export function showHost(output, host, holds) {
  output.print();
  output.print(hostLine(host));
  if (host.trouble) output.print("  ", warning(host.trouble));
  for (const { what, feature, at } of holds) {
    output.print(`  held by ${feature}: ${what}`, faint(`  since ${clock(Date.parse(at))}`));
  }
}

/** @param {Output} output @param {{features: Report[], host: FeatureHostState}} seen */
export function showFeatures(output, { features, host }) {
  for (const report of features) showReport(output, report);
  output.print();
  output.print(faint(hostLine(host)));
  if (host.trouble) output.print("  ", warning(host.trouble));
}
