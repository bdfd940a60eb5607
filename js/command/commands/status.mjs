// `status`: whether a gateway runs, and what it is doing.

import { readDescriptor } from "../../base/host-files.mjs";
import { askPort } from "../../host/host-process.mjs";
import { consentFile, list } from "../../projects/consent.mjs";
import { exitFor, HOLDERS } from "../gateway-port.mjs";
import { filesOf } from "../given.mjs";
import { Output } from "../output.mjs";

/** @param {import("../given.mjs").Given} given */
async function run(given) {
  const output = new Output(given);
  const files = filesOf(given);
  const holder = await askPort(files.port, files.homeHash);
  const descriptor = holder === "ours" ? readDescriptor(files.descriptor) : undefined;
  const gateway = descriptor && { version: descriptor.version, pid: descriptor.pid };
  const allowed = list(consentFile(files)).map(({ path, at }) => ({ path, at }));
  const { port, home, logs } = files;
  output.result({ port, holder, gateway, home, logs, allowed }, () => {
    const detail = gateway ? ` (version ${gateway.version}, pid ${gateway.pid})` : "";
    const { text, advice } = HOLDERS[holder];
    output.say(`port ${port}: ${text}${detail}`);
    if (advice) output.say(`  ${advice}`);
    output.say(`home: ${home}`);
    output.say(`logs: ${logs}`);
    output.say(allowed.length === 0 ? "allowed configs: none" : "allowed configs:");
    for (const grant of allowed) output.say(`  ${grant.path} (since ${grant.at})`);
  });
  process.exitCode = exitFor(holder);
}

/** @type {import("../given.mjs").Command} */
export default {
  command: "status",
  describe: "show what runs, and what is allowed",
  builder: (yargs) =>
    yargs
      .usage("$0 status\n\nShows whether a gateway runs, and what is allowed.")
      .example("$0 status", "at a glance")
      .example("$0 status --json", "for a script"),
  handler: run,
};
