// `status`: whether a gateway runs, and what it is doing.

import path from "node:path";
import { askPort } from "../../base/host-process.mjs";
import { consentFile, list } from "../../projects/consent.mjs";
import { inspectionForPrograms } from "../access.mjs";
import { loadProjectConfig } from "../../projects/project-config.mjs";
import { asFailure } from "../failure.mjs";
import { exitFor, HOLDERS, withGateway } from "../gateway.mjs";
import { filesOf } from "../given.mjs";
import { pause, untilInterrupted } from "../interruption.mjs";
import { faint, Output, strong, warning } from "../output.mjs";
import { showInspection } from "../status-view.mjs";

/** @typedef {import("../given.mjs").Given & {watch: boolean, limits: boolean}} StatusGiven */
/** @typedef {import("../../base/paths.mjs").GatewayFiles} GatewayFiles */
/** @typedef {Awaited<ReturnType<typeof look>>} Seen */

const LOOK_MS = 1000;

/**
 * `changed`: what the file says now has not been allowed.
 * @param {GatewayFiles} files @returns {{path: string, at: string, changed: boolean}[]} one for each file
 */
function allowedConfigs(files) {
  const grants = list(consentFile(files));
  const latest = new Map(grants.map(({ path: file, at }) => [file, at]));
  return [...latest].map(([file, at]) => {
    const digest = loadProjectConfig(path.dirname(file), path.basename(file))?.digest;
    const changed = !grants.some((grant) => grant.path === file && grant.digest === digest);
    return { path: file, at, changed };
  });
}

/** @param {GatewayFiles} files */
async function look(files) {
  const { port, home, logs } = files;
  const allowed = allowedConfigs(files);
  const about = { port, home, logs, allowed };
  try {
    const gateway = await withGateway(files, (control) => control.inspect());
    return { ...about, holder: /** @type {const} */ ("ours"), gateway };
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
  } else if (holder === "ours") {
    output.say(warning(found.error.message));
    output.say(`  ${found.error.advice}`);
  } else {
    const { text, advice } = HOLDERS[holder];
    output.say(`port ${port}: `, strong(text));
    output.say(`  ${advice}`);
  }
  if (allowed.length > 0) {
    output.say();
    output.say(strong("Allowed configs"));
  }
  for (const { path: file, at, changed } of allowed) {
    const since = changed ? warning("(changed since; allow it again)") : faint(`(since ${at})`);
    output.say(`  ${file} `, since);
  }
  output.say();
  output.say(faint("home "), home);
  output.say(faint("logs "), logs);
}

/** @param {Seen} seen */
const exitOf = (seen) =>
  "gateway" in seen || seen.holder !== "ours" ? exitFor(seen.holder) : seen.exit;

/** What programs get: limits are many, and seldom what is looked for. @param {Seen} seen @param {boolean} limits */
function asJson(seen, limits) {
  if ("exit" in seen) return { ...seen, exit: undefined };
  const gateway = inspectionForPrograms(seen.gateway);
  return { ...seen, gateway: limits ? gateway : { ...gateway, limits: undefined } };
}

/** @param {Output} output @param {GatewayFiles} files @param {{limits?: boolean}} [options] of what programs get */
export async function showStatus(output, files, { limits = false } = {}) {
  const seen = await look(files);
  output.result(asJson(seen, limits), () => show(output, seen));
  return seen;
}

/** @param {StatusGiven} given */
async function run(given) {
  const output = new Output(given);
  const files = filesOf(given);
  if (!given.watch) {
    process.exitCode = exitOf(await showStatus(output, files, given));
    return;
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
  builder: (parser) =>
    parser
      .usage(
        "$0 status\n\n" +
          "Shows the gateway with its sessions and providers, their rules, the tools that were called, how " +
          "often and how fast, recent failures, and which configs are allowed. Without a gateway it says who " +
          "has its port.",
      )
      .option("watch", {
        alias: "w",
        describe: "look again every second, until Ctrl-C",
        type: "boolean",
        default: false,
      })
      .option("limits", {
        describe: "with --json: the limits in force, too",
        type: "boolean",
        default: false,
      })
      .example("$0 status", "at a glance")
      .example("$0 status --watch", "while something is going on")
      .example("$0 status --json", "for a script"),
  handler: run,
};
