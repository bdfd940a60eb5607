// Serves tap_status to every session, by a provider in the gateway's process.

import { provider } from "../../sdk/node/provider.mjs";
import { STATUS_TOOL } from "../base/status-tool.mjs";
import { inProcess } from "./in-process.mjs";

/** @param {import("../base/addon.js").Gateway} gateway @param {import("../base/log.mjs").Log} log */
export function serveStatus(gateway, log) {
  const { name, ...options } = STATUS_TOOL;
  const tap = provider("tap", { session: "all", transport: inProcess(gateway) });
  const failed = (/** @type {Error} */ { message }) => log("error", `${name}: ${message}`);
  tap.on("error", failed);
  void tap.tool(name, options, (_args, { session }) => gateway.status(session));
  tap.connect().catch(failed);
}
