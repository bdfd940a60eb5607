// `uninstall`: takes back what `install` did.

import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "../../install/target.mjs";
import { uninstall } from "../../install/uninstall.mjs";
import { getGatewayFiles } from "../options.mjs";
import { resolveTarget, TARGET } from "../installation.mjs";
import { Output } from "../../views/output.mjs";
import { isAlive } from "../../lib/process-liveness.mjs";
import { visible } from "../../lib/visible.mjs";

/** For a gateway to end. */
const WAIT_MS = 100;
const MAX_WAITS = 100;

/** Of tap's own providers: no other may have such a name. */
const OWN = /^tap-/i;

/** The gateway makes a folder for each provider, also for those of tap's features. @param {string} home */
function removeOwnFolders(home) {
  const folder = path.join(home, "providers");
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  const own = names.filter((name) => OWN.test(name)).map((name) => path.join(folder, name));
  for (const place of [...own, folder]) {
    try {
      fs.rmdirSync(place);
    } catch {
      // It is not there, or something is in it.
    }
  }
}

/** The files of the user's own providers are not tap's to remove. @param {string} home @returns {string[]} folders */
function listProviderFolders(home) {
  const folder = path.join(home, "providers");
  if (!fs.existsSync(folder)) return [];
  return fs.readdirSync(folder).map((name) => path.join(folder, name));
}

/**
 * One that no session uses waits for the next one: it is ended, and its files can go.
 * @param {import("../../lib/paths.mjs").GatewayFiles} files
 */
async function endIdleGateway(files) {
  const { openControl } = await import("../../link/control.mjs");
  const control = await openControl(files).catch(() => undefined);
  const stopped = await control?.request("host.stop", {}).catch(() => undefined); // a session uses it
  control?.close();
  for (let waits = 0; stopped && isAlive(stopped.pid) && waits < MAX_WAITS; waits += 1) {
    await sleep(WAIT_MS);
  }
}

/** @param {import("../installation.mjs").InstallCommandOptions & {purge?: boolean}} given */
async function run(given) {
  const output = new Output(given);
  const target = resolveTarget(given);
  const { folder, scope } = target;
  const files = getGatewayFiles(given);
  const { logs, home } = files;
  const ofUser = scope === "user";
  if (ofUser && inspect(target).state === "installed") await endIdleGateway(files);
  const data = ofUser ? [logs, path.join(home, "tap")] : [];
  const done = uninstall(target, { purge: given.purge, data });
  if (ofUser && !done.gatewayRuns) removeOwnFolders(home);
  const left = ofUser ? listProviderFolders(home) : [];
  output.result({ folder, scope, ...done, providerFolders: left }, () => {
    const { version, wasInstalled, gatewayRuns, restored, inUse, kept } = done;
    const name = version === null ? "tap" : `tap ${version}`;
    if (wasInstalled) output.print(`${name} is uninstalled from ${folder}`);
    else
      output.print(`${name} was uninstalled already; what was left of it in ${folder} is removed`);
    if (gatewayRuns) {
      output.print("A session is open: it keeps tap's tools until it ends.");
      output.print("The gateway removes its own files after the last session.");
    }
    if (restored) output.print("The extension.mjs that was there before is there again.");
    for (const release of inUse) {
      output.print(`kept (in use): ${release}; run uninstall again later`);
    }
    for (const file of kept) {
      const how = given.purge ? "run uninstall --purge again later" : "--purge removes it";
      output.print(`kept: ${file} (${how})`);
    }
    for (const one of left)
      output.print(`kept: ${visible(one)}, the folder of a provider (remove it yourself)`);
  });
}

/** @type {import("../options.mjs").Command} */
export default {
  command: "uninstall [folder]",
  describe: "remove what install has put there",
  usages: ["uninstall [--local [folder]]"],
  about:
    "Removes the installed tap, and ends a gateway that no session uses. Keeps records, plans, logs and what you have " +
    "allowed, and says where they are.",
  positionals: TARGET.positionals,
  options: {
    ...TARGET.options,
    purge: {
      describe:
        "also remove what you have allowed, records, plans, your config of tap, and the logs",
      type: "boolean",
    },
  },
  examples: [["$0 uninstall --purge", "nothing of tap is left"]],
  handler: run,
};
