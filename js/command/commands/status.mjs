// `status`: whether a gateway runs, and what it is doing.

import { hostParts } from "../../base/host-parts.mjs";
import { askPort } from "../../base/host-process.mjs";
import { allowedConfigs } from "../../projects/allowed-configs.mjs";
import { inspectionForPrograms } from "../../views/access.mjs";
import { asFailure } from "../failure.mjs";
import { exitFor, HOLDERS, withGateway } from "../gateway.mjs";
import { filesOf } from "../given.mjs";
import { pause, untilInterrupted } from "../interruption.mjs";
import { Output, strong, warning } from "../../views/output.mjs";
import { showHost } from "../../views/features-view.mjs";
import { showStore } from "../../views/records-view.mjs";
import { showInspection, showPlace } from "../../views/status-view.mjs";

/** @typedef {import("../given.mjs").Given & {watch: boolean, limits: boolean}} StatusGiven */
/** @typedef {import("../../base/paths.mjs").GatewayFiles} GatewayFiles */
/** @typedef {Awaited<ReturnType<typeof look>>} Seen */

const LOOK_MS = 1000;

/** @param {GatewayFiles} files */
async function look(files) {
  const { port, home, logs } = files;
  const allowed = allowedConfigs(files);
  const about = { port, home, logs, allowed };
  try {
    const seen = await withGateway(files, async (control) => {
      const gateway = await control.inspect();
      const { features: _, ...parts } = (await hostParts(control)) ?? {};
      return { gateway, ...parts };
    });
    return { ...about, holder: /** @type {const} */ ("ours"), ...seen };
  } catch (error) {
    const { code, message, advice, exit } = asFailure(error);
    const holder = await askPort(port, files.homeHash);
    return { ...about, holder, error: { code, message, advice }, exit };
  }
}

/** @param {Output} output @param {Seen} seen */
function show(output, { port, holder, home, logs, allowed, ...found }) {
  if ("gateway" in found) {
    showInspection(output, found.gateway);
    if (found.featureHost) showHost(output, found.featureHost, found.holds ?? []);
    if (found.records) showStore(output, found.records);
  } else if (holder === "ours") {
    output.say(warning(found.error.message));
    output.say(`  ${found.error.advice}`);
  } else {
    const { text, advice } = HOLDERS[holder];
    output.say(`port ${port}: `, strong(text));
    output.say(`  ${advice}`);
  }
  showPlace(output, { home, logs, allowed });
}

/** @param {Seen} seen */
const exitOf = (seen) =>
  "gateway" in seen || seen.holder !== "ours" ? exitFor(seen.holder) : seen.exit;

/** The output for programs; with the limits only on request. @param {Seen} seen @param {boolean} limits */
function asJson(seen, limits) {
  if ("exit" in seen) return { ...seen, exit: undefined };
  const gateway = inspectionForPrograms(seen.gateway);
  return { ...seen, gateway: limits ? gateway : { ...gateway, limits: undefined } };
}

/** @param {StatusGiven} given */
async function run(given) {
  const output = new Output(given);
  const files = filesOf(given);
  if (!given.watch) {
    const seen = await look(files);
    output.result(asJson(seen, given.limits), () => show(output, seen));
    return exitOf(seen);
  }
  await untilInterrupted(async (ending) => {
    for (; !ending.aborted; await pause(LOOK_MS, ending)) {
      const seen = await look(files);
      output.item(asJson(seen, given.limits), () => output.screen(() => show(output, seen)));
    }
  });
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "status",
  describe: "show what runs, and what is allowed",
  about:
    "Shows the gateway with its sessions and providers, their rules, the tools that were called, how " +
    "often and how fast, recent failures, the feature host, holds, the record store, and which configs are " +
    "allowed. If no gateway runs, it says which program " +
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
