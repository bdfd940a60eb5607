// `status`: whether a gateway runs, and what it is doing.

import { existsSync } from "node:fs";
import { requestHostParts } from "../../lib/inspection.mjs";
import { probePort } from "../../lib/port-probe.mjs";
import { consentFile } from "../../config/file.mjs";
import { inspectionForPrograms } from "../../views/access.mjs";
import { toFailure, pause, runInterruptible } from "../exit.mjs";
import { exitFor, HOLDERS, withGateway } from "../gateway.mjs";
import { getEnvironment, getGatewayFiles } from "../options.mjs";
import { Output, strong, warning } from "../../views/output.mjs";

/** @typedef {import("../options.mjs").CommandOptions & {watch: boolean, limits: boolean}} StatusOptions */
/** @typedef {import("../../lib/paths.mjs").GatewayFiles} GatewayFiles */
/** @typedef {Awaited<ReturnType<typeof readStatus>>} StatusSnapshot */
/** @typedef {Awaited<ReturnType<typeof loadViews>>} Views */

const POLL_MS = 1000;

/** @param {GatewayFiles} files @param {NodeJS.ProcessEnv} env */
async function readStatus(files, env) {
  const { probeSandbox } = await import("../../process/sandbox-probe.mjs");
  const probed = probeSandbox({ env }); // meanwhile the rest loads, and the gateway answers
  const found = await readGateway(files);
  return { ...found, sandbox: await probed };
}

/** @param {GatewayFiles} files */
async function readGateway(files) {
  const { port, home, logs } = files;
  const allowed = existsSync(consentFile(files))
    ? (await import("../../config/entries.mjs")).listAllowedConfigs(files)
    : [];
  const about = { port, home, logs, allowed };
  try {
    const seen = await withGateway(files, async (control) => {
      const gateway = await control.inspect();
      const { features = [], ...parts } = (await requestHostParts(control)) ?? {};
      const programs = features.filter(({ sandbox }) => sandbox !== undefined);
      const sandboxes = programs.map(({ id, sandbox }) => ({ id, sandbox }));
      return { gateway, ...parts, ...(sandboxes.length > 0 && { sandboxes }) };
    });
    return { ...about, holder: /** @type {const} */ ("ours"), ...seen };
  } catch (error) {
    const { code, message, advice, exit } = toFailure(error);
    const holder = await probePort(port, files.homeHash);
    return { ...about, holder, error: { code, message, advice }, exit };
  }
}

const loadViews = async () => ({
  ...(await import("../../views/features-view.mjs")),
  ...(await import("../../views/records-view.mjs")),
  ...(await import("../../views/status-view.mjs")),
});

/** @param {Output} output @param {Views} views @param {StatusSnapshot} seen */
function show(output, views, { port, holder, home, logs, allowed, sandbox, ...found }) {
  if ("gateway" in found) {
    views.showInspection(output, found.gateway);
    if (found.sandboxes) views.showSandboxes(output, found.sandboxes);
    if (found.featureHost) views.showHost(output, found.featureHost, found.holds ?? []);
    if (found.records) views.showStore(output, found.records);
  } else if (holder === "ours") {
    output.print(warning(found.error.message));
    output.print(`  ${found.error.advice}`);
  } else {
    const { text, advice } = HOLDERS[holder];
    output.print(`port ${port}: `, strong(text));
    output.print(`  ${advice}`);
  }
  views.showPlace(output, { home, logs, allowed, sandbox });
}

/** @param {StatusSnapshot} seen */
const getExitCode = (seen) =>
  "gateway" in seen || seen.holder !== "ours" ? exitFor(seen.holder) : seen.exit;

/** The output for programs; with the limits only on request. @param {StatusSnapshot} seen @param {boolean} limits */
function toJson(seen, limits) {
  if ("exit" in seen) return { ...seen, exit: undefined };
  const gateway = inspectionForPrograms(seen.gateway);
  return { ...seen, gateway: limits ? gateway : { ...gateway, limits: undefined } };
}

/** @param {StatusOptions} given */
async function run(given) {
  const output = new Output(given);
  const files = getGatewayFiles(given);
  const env = getEnvironment(given);
  const read = () => Promise.all([readStatus(files, env), loadViews()]);
  if (!given.watch) {
    const [seen, views] = await read();
    output.result(toJson(seen, given.limits), () => show(output, views, seen));
    return getExitCode(seen);
  }
  await runInterruptible(async (ending) => {
    for (; !ending.aborted; await pause(POLL_MS, ending)) {
      const [seen, views] = await read();
      output.item(toJson(seen, given.limits), () => output.screen(() => show(output, views, seen)));
    }
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "status",
  describe: "show what runs, and what is allowed",
  about:
    "Shows the gateway with its sessions and providers, their rules, the tools that were called, how " +
    "often and how fast, recent failures, the feature host, holds, the record store, which configs are " +
    "allowed, and whether plans have a sandbox. If no gateway runs, it says which program " +
    "has the port.",
  options: {
    watch: { short: "w", describe: "look again every second, until Ctrl-C", type: "boolean" },
    limits: { describe: "with --json: the limits in force, too", type: "boolean" },
  },
  examples: [
    ["$0 status", "at a glance"],
    ["$0 status --watch", "while something is going on"],
    ["$0 status --json", "for a script"],
  ],
  handler: run,
};
