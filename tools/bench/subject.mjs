// The process of a rival and its caller. The bench orders its measurements, each after its predecessor.

import { readdirSync, readFileSync } from "node:fs";
import { waitFor } from "../../test/support/wait.mjs";
import { readMemory } from "./memory.mjs";
import { rivals } from "./rivals.mjs";
import { percentile } from "./statistics.mjs";

const rival = await rivals[process.argv[2]]();

/** CPU time of the gateway's process, and of it that of its loop's thread, in microseconds. */
function gatewayCpu() {
  const folder = `/proc/${rival.gatewayPid}/task`;
  const ofThread = (/** @type {string | number} */ id) => {
    const [nanoseconds] = readFileSync(`${folder}/${id}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1000;
  };
  const loop = ofThread(rival.gatewayPid);
  if (rival.gatewayPid !== process.pid) {
    return { all: readdirSync(folder).reduce((sum, id) => sum + ofThread(id), 0), loop };
  }
  const { user, system } = process.cpuUsage();
  return { all: user + system, loop };
}

/** An error in a result ends the run. @param {any} result @param {number} bytes */
function check(result, bytes) {
  if (result?.resultType === "failure") throw new Error(result.textResultForLlm);
  const size = result?.textResultForLlm?.length;
  // Escapes are gone, and whole lines were sent.
  if (bytes < 256 || rival.speaks !== "tools" || size > bytes * 0.9) return;
  throw new Error(`expected ${bytes} bytes, got ${JSON.stringify(result).slice(0, 200)}`);
}

/**
 * Calls, so many at once, and their times. The time of a single call ends when its promise
 * settles.
 * @param {{calls: number, inFlight: number, providers?: number, bytes?: number}} load
 */
async function load({ calls, inFlight, providers = 1, bytes = 64 }) {
  const times = new Float64Array(calls);
  let next = 0;
  const work = async (/** @type {number} */ worker) => {
    const tool = `bench${worker % providers}_0`;
    while (next < calls) {
      const call = next++;
      const startedAt = performance.now();
      const result = await rival.call(tool, { city: "Oslo", bytes });
      times[call] = (performance.now() - startedAt) * 1000;
      check(result, bytes);
    }
  };
  const cpuBefore = gatewayCpu();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: inFlight }, (_, worker) => work(worker)));
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuAfter = gatewayCpu();
  const cpu = cpuAfter.all - cpuBefore.all;
  times.sort();
  return {
    p50: percentile(times, 50),
    p99: percentile(times, 99),
    perSecond: calls / seconds,
    cpuPer100k: (cpu / calls) * 0.1, // in seconds
    loopPerCall: (cpuAfter.loop - cpuBefore.loop) / calls,
    mbPerSecond: (calls * bytes) / 1048576 / seconds,
    cpuPerMb: cpu / 1000 / ((calls * bytes) / 1048576), // in milliseconds
  };
}

/** A tool use of the CLI that no rule is about. @param {{calls: number}} options */
async function hooks({ calls }) {
  await waitFor(() => rival.hooksInForce(), { what: "hooks in force" });
  const times = new Float64Array(calls);
  for (let i = 0; i < calls; ++i) {
    const startedAt = performance.now();
    await rival.preToolUse({ toolName: "bash", toolArgs: { command: "git status --short" } });
    times[i] = (performance.now() - startedAt) * 1000;
  }
  times.sort();
  return { p50: percentile(times, 50), p99: percentile(times, 99) };
}

/** @param {{count: number}} options @returns {Promise<{syncs: number}>} how often they have changed in all */
async function tools({ count }) {
  await waitFor(() => rival.toolCount() === count, {
    intervalMs: 5,
    timeoutMs: 20_000,
    what: () => `${count} tools; there are ${rival.toolCount()}`,
  });
  return { syncs: rival.syncCount() };
}

/** Adds the tools of a group to the session, as the model does. @param {{name: string}} options */
async function group({ name }) {
  await waitFor(() => rival.has("tap_tools"), { intervalMs: 5, what: "tap_tools" });
  const startedAt = performance.now();
  const result = await rival.call("tap_tools", { group: name });
  if (result.resultType !== "success") throw new Error(JSON.stringify(result));
  return { ms: performance.now() - startedAt };
}

/** A call of a tool of tap's own. @param {{name: string, args?: object}} options */
async function tool({ name, args = {} }) {
  const result = await rival.call(name, args);
  if (result.resultType !== "success") throw new Error(JSON.stringify(result).slice(0, 500));
  return JSON.parse(result.textResultForLlm);
}

/** @type {Record<string, (options: any) => unknown>} */
const requests = {
  load,
  hooks,
  tools,
  group,
  tool,
  memory: () => readMemory(rival.gatewayPid),
  close: () => rival.close(),
};

process.on("message", async (/** @type {any} */ { id, request, options }) => {
  try {
    process.send?.({ id, value: await requests[request](options) });
  } catch (error) {
    process.send?.({ id, error: String(error instanceof Error ? error.stack : error) });
  }
});
// It ends with the bench, which may fail.
process.once("disconnect", () => {
  rival.close();
  setTimeout(() => process.exit(), 500).unref();
});
const { port, token, speaks, gatewayPid } = rival;
process.send?.({ id: 0, value: { port, token, speaks, gatewayPid } });
