// Asks the running gateway over a separate link. Without a gateway, says which process has its port.

import { existsSync } from "node:fs";
import { probePort } from "../lib/port-probe.mjs";
import { MIN_NODE } from "../lib/node-version.mjs";
import { sleep } from "../lib/timers.mjs";
import { EXIT, Failure, NO_GATEWAY_ADVICE, noGateway } from "./exit.mjs";

/** @typedef {import("../lib/port-probe.mjs").PortHolder} PortHolder */
/** @typedef {import("../lib/paths.mjs").GatewayFiles} GatewayFiles */
/** @typedef {import("../link/control.mjs").Control} Control */

/** For a gateway to start on a machine that is busy. */
const START_MS = 15_000;
const POLL_MS = 50;
/** For one that ends to leave its port. */
const LEAVE_MS = 5000;

/** @type {Record<PortHolder, {text: string, advice: string}>} */
export const HOLDERS = {
  ours: { text: "a gateway runs", advice: "" },
  nobody: { text: "no gateway runs", advice: NO_GATEWAY_ADVICE },
  "other-home": {
    text: "the gateway of another COPILOT_HOME or user has the port",
    advice: "--home names a home, TAP_GATEWAY_PORT another port",
  },
  foreign: {
    text: "a program other than tap has the port",
    advice: "stop it, or let TAP_GATEWAY_PORT name another port, here and where you start copilot",
  },
  busy: {
    text: "a gateway that takes no connection just now has the port",
    advice:
      "it has too many connections, or makes room for another gateway: try again in a second. It may be " +
      "that of another COPILOT_HOME: TAP_GATEWAY_PORT names another port",
  },
  silent: {
    text: "what has the port does not answer",
    advice: "try again; if it stays so, end the process that has the port",
  },
};

/** @param {PortHolder} holder @returns {number} the exit code that says so */
export function exitFor(holder) {
  if (holder === "ours") return EXIT.done;
  return holder === "nobody" ? EXIT.noGateway : EXIT.portTaken;
}

/** @param {GatewayFiles} files @throws {Failure} where the gateway of this home does not run */
export async function requireGateway({ port, homeHash }) {
  const holder = await probePort(port, homeHash);
  if (holder === "ours") return;
  const { text, advice } = HOLDERS[holder];
  if (holder === "nobody") throw noGateway(`${text} on port ${port}`);
  throw new Failure(`${text} ${port}`, { advice, code: "PORT_TAKEN", exit: EXIT.portTaken });
}

/**
 * Starts a gateway where none runs. It ends once nothing has needed it for a while.
 * @param {GatewayFiles} files @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Control>} close it
 */
export async function openOrStartGateway(files, env) {
  const { NoGateway, openControl } = await import("../link/control.mjs");
  const open = () =>
    openControl(files).catch((error) => {
      if (error instanceof NoGateway) return undefined;
      throw error;
    });
  const running = await open();
  if (running) return running;
  const holder = await probePort(files.port, files.homeHash);
  if (holder !== "nobody" && holder !== "ours") await requireGateway(files);
  const { findNode } = await import("../lib/node.mjs");
  const { startHost } = await import("../lib/host-process.mjs");
  const node = findNode(env);
  if (!node) throw noGateway(`no gateway runs, and no Node.js of at least ${MIN_NODE} was found`);
  let failure = "";
  startHost(node, files, (reason) => (failure = reason), env);
  const end = performance.now() + START_MS;
  while (performance.now() < end && failure === "") {
    await sleep(POLL_MS);
    const control = await open();
    if (control) return control;
  }
  throw noGateway(`the gateway does not start${failure && `: ${failure}`}; see ${files.logs}`);
}

/**
 * Asks the gateway, then closes the link.
 * @template T @param {GatewayFiles} files @param {(control: Control) => Promise<T>} work @returns {Promise<T>}
 * @throws {Failure} if there is no gateway, or it does not answer
 */
export async function withGateway(files, work) {
  const { NoGateway, openControl } = await import("../link/control.mjs");
  try {
    const control = await openControl(files);
    try {
      return await work(control);
    } finally {
      control.close();
    }
  } catch (error) {
    if (!(error instanceof NoGateway)) throw error;
    await requireGateway(files);
    throw new Failure(`a gateway runs, but cannot be asked: ${error.reason}`, {
      advice: "copilot-tap doctor looks for the cause; it may just have ended: try again",
      code: "NO_ANSWER",
      cause: error,
    });
  }
}

/** A gateway that ends while it is asked. @param {unknown} error */
const hasEnded = (error) =>
  error instanceof Failure && (error.code === "NO_GATEWAY" || error.code === "NO_ANSWER");

/**
 * The same for what lies in the record store. Where no gateway runs, one starts for it, and ends by itself. One
 * that ends while it is asked is replaced, once.
 * @template T @param {GatewayFiles} files @param {NodeJS.ProcessEnv} env
 * @param {(control: Control) => Promise<T>} work begun again with the next gateway @returns {Promise<T>}
 * @throws {Failure} as withGateway; also if no gateway runs and nothing was ever recorded
 */
export async function withRecords(files, env, work) {
  if (!existsSync(files.records)) return withGateway(files, work);
  const holder = () => probePort(files.port, files.homeHash);
  const start = async () => {
    if ((await holder()) === "nobody") (await openOrStartGateway(files, env)).close();
  };
  await start();
  try {
    return await withGateway(files, work);
  } catch (error) {
    if (!hasEnded(error)) throw error;
    const end = performance.now() + LEAVE_MS;
    while ((await holder()) === "ours" && performance.now() < end) await sleep(POLL_MS);
    await start();
    return withGateway(files, work);
  }
}
