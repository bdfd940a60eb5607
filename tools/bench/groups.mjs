// The first tool group of a gateway: tap_tools starts the feature host, waits until its features are installed, and
// answers once the session has the tools. The session's side is played, so that a swap takes no time. A further group
// finds all of that there.

import { readFileSync } from "node:fs";
import { readMemory } from "./memory.mjs";
import { Subject } from "./processes.mjs";

/** The time that a new host needs to settle. */
const SETTLED_MS = 700;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number} host @returns {number} the pid of its feature host */
export function findFeatureHost(host) {
  const children = readFileSync(`/proc/${host}/task/${host}/children`, "utf8").trim().split(" ");
  const isIt = (/** @type {string} */ pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("feature-host/main.mjs");
  return Number(children.find(isIt));
}

/**
 * Each round has a gateway of its own. @param {number} rounds @param {number} bare private bytes of an idle Node.js
 * @returns {Promise<Record<string, Record<string, number[]>>>}
 */
export async function groups(rounds, bare) {
  const first = { ms: /** @type {number[]} */ ([]), privateBytes: /** @type {number[]} */ ([]) };
  const further = { ms: /** @type {number[]} */ ([]) };
  for (let round = 0; round < rounds; ++round) {
    const subject = await Subject.start("tap detached");
    first.ms.push((await subject.ask("group", { name: "records" })).ms);
    await pause(SETTLED_MS);
    const { privateBytes } = readMemory(findFeatureHost(subject.gatewayPid));
    first.privateBytes.push(privateBytes - bare);
    further.ms.push((await subject.ask("group", { name: "emitters" })).ms);
    await subject.close();
  }
  return { "the first": first, "a further group": further };
}
