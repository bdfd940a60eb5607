// The slash commands of the host. Their code is loaded with the first command.

import { visible } from "../lib/visible.mjs";
import { SLASH } from "../lib/slash-commands.mjs";

/**
 * @typedef {object} CommandContext
 * @property {import("../lib/addon.js").Gateway} gateway
 * @property {import("../lib/paths.mjs").GatewayFiles} files
 * @property {{id: string, cwd: string}} session the session of the command
 * @property {NodeJS.ProcessEnv} env of this process
 * @property {Pick<import("./features.mjs").HostFeatures, "command" | "reports" | "hostState"
 *   | "requireSwitchable" | "apply">} features
 * @property {import("./shutdown.mjs").Hold[]} holds
 * @property {import("./records.mjs").RecordsState} records
 *
 * @typedef {(context: CommandContext, args: string) => Promise<string>} RunCommand the text for the timeline
 * @typedef {import("../lib/slash-commands.mjs").SlashCommand & {run: RunCommand}} HostCommand
 */

/** @type {RunCommand} */
async function status({ gateway, files, features, holds, records }) {
  const { showHost } = await import("../views/features-view.mjs");
  const { showStore } = await import("../views/records-view.mjs");
  const { showInspection, showPlace } = await import("../views/status-view.mjs");
  const { timelineText } = await import("../views/output.mjs");
  const { listAllowedConfigs } = await import("../config/entries.mjs");
  const seen = JSON.parse(gateway.inspect());
  return timelineText((output) => {
    showInspection(output, seen);
    showHost(output, features.hostState(), holds);
    showStore(output, records);
    showPlace(output, { home: files.home, logs: files.logs, allowed: listAllowedConfigs(files) });
  });
}

/** @type {RunCommand} */
async function doctor({ session, env }, args) {
  const { readDoctorReport } = await import("./doctor-report.mjs");
  return readDoctorReport(session, /^[a-zA-Z0-9_][\w-]*$/.exec(args.trim())?.[0], env);
}

const FEATURES_USAGE = "/tap-features, or /tap-features enable <id>, or /tap-features disable <id>";

/** With the user's authority, as `copilot-tap features`. @param {CommandContext} context @param {string[]} words */
async function runFeatureSwitch({ features: all, files, session }, [action, id, ...rest]) {
  if (!["enable", "disable"].includes(action) || id === undefined || rest.length > 0) {
    return `tap: expected ${FEATURES_USAGE}`;
  }
  const { switchFeature } = await import("./requests.mjs");
  const request = { id, cwd: session.cwd };
  const file = await switchFeature(all, files, request, action === "enable");
  return `tap: ${visible(id)} is ${action === "enable" ? "on" : "disabled"}, as ${file} says`;
}

/** @type {RunCommand} */
async function features(context, args) {
  if (args.trim() !== "") return runFeatureSwitch(context, args.trim().split(/\s+/));
  const { showFeatures } = await import("../views/features-view.mjs");
  const { timelineText } = await import("../views/output.mjs");
  const seen = { features: context.features.reports(), host: context.features.hostState() };
  return timelineText((output) => showFeatures(output, seen));
}

/** @type {HostCommand[]} */
export const HOST_COMMANDS = [
  { ...SLASH.status, run: status },
  { ...SLASH.doctor, run: doctor },
  { ...SLASH.features, run: features },
];

/**
 * Never rejects: the text has the reason of a failure.
 * @param {HostCommand[]} commands @param {CommandContext} context
 * @param {{name: string, arguments: string}} typed
 * @returns {Promise<string>}
 */
export async function runCommand(commands, context, { name, arguments: args }) {
  const command = commands.find((candidate) => candidate.name === name);
  const ofFeature = command ? undefined : context.features.command(name);
  try {
    if (ofFeature) return await ofFeature({ args, session: context.session });
    if (!command) return `tap: there is no command "${visible(name)}"`;
    return await command.run(context, args);
  } catch (error) {
    return `tap: ${error instanceof Error ? error.message : String(error)}`;
  }
}
