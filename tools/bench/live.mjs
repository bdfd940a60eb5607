// How long it takes until the real CLI has a tool: from before its provider connects to the moment in
// which the CLI has answered that the session's tools are replaced, as the extension's log has it.

import { setTimeout as sleep } from "node:timers/promises";
import { callTool, say } from "../../test/support/model.mjs";
import { startTap } from "../../test/support/tap.mjs";
import { waitFor } from "../../test/support/wait.mjs";

/** The gateway gathers changes within 250 ms of a swap (live-gather-ms): a round begins after that. */
const QUIET_MS = 400;
const IN_FORCE = /^(\S+) info revision \d+: \d+ provider tools$/gm;

/** @param {import("../../test/support/tap.mjs").TapRig} rig @returns {Promise<number[]>} the time of each synchronisation */
async function synchronisations(rig) {
  const log = await rig.log("extension.log");
  return [...log.matchAll(IN_FORCE)].map(([, time]) => Date.parse(time));
}

/** @param {import("../../test/support/tap.mjs").TapRig} rig @param {number} index @returns {Promise<number>} milliseconds */
async function once(rig, index) {
  const before = (await synchronisations(rig)).length;
  const wait = (/** @type {number} */ count) =>
    waitFor(async () => (await synchronisations(rig))[count], {
      intervalMs: 5,
      what: "the CLI's answer",
    });
  const startedAt = Date.now();
  const handler = () => "done";
  const provider = await rig.provide({ [`live_${index}`]: { handler } }, { name: "live" });
  const ms = (await wait(before)) - startedAt;
  await provider.close("measured");
  await wait(before + 1);
  await sleep(QUIET_MS);
  return ms;
}

/** @param {number} rounds @returns {Promise<number[]>} milliseconds of each round */
export async function helloToTool(rounds) {
  /** @type {(() => unknown)[]} */
  const cleanUp = [];
  const t = /** @type {any} */ ({
    after: (/** @type {() => unknown} */ work) => cleanUp.push(work),
  });
  /** @type {number[]} */
  const taken = [];
  try {
    const rig = await startTap(t, async ({ index }) => {
      if (index === 0) return callTool("tap_status"); // all of the session's first tools are there
      for (let i = 0; i < rounds; ++i) taken.push(await once(rig, i));
      return say("measured");
    });
    await rig.run();
    return taken;
  } finally {
    for (const work of cleanUp.reverse()) await work();
  }
}
