// The detached gateway host: a process per port and user, started by the first extension process without a gateway.
// It ends when there was no session for the grace time.

import { GatewayHost } from "./gateway-host.mjs";
import { openLog } from "../lib/log.mjs";
import { gatewayFiles } from "../lib/paths.mjs";
import { useRelease } from "../lib/release-use.mjs";

/** Time to send close frames and the last messages. */
const FAREWELL_MS = 1500;
/** A provider is killed after 3 s. The total wait is limited to this. */
const MAX_EXIT_MS = 6000;

const files = gatewayFiles();
const log = openLog(files.logs, "host.log");
let isLeaving = false;
useRelease();

const onExit = (/** @type {string} */ reason) => {
  log("info", `leaving: ${reason}`);
  leave(reason.includes("newer"), 0);
};
const host = await GatewayHost.create(files, log, onExit);

/** @param {boolean} restarting @param {number} code */
function leave(restarting, code) {
  if (isLeaving) return;
  isLeaving = true;
  setTimeout(() => process.exit(code), MAX_EXIT_MS);
  const farewell = new Promise((resolve) => setTimeout(resolve, FAREWELL_MS));
  void Promise.all([host.close(restarting), farewell]).then(() => {
    log.end();
    process.exit(code);
  });
}

process.on("uncaughtException", (error) => {
  log("error", `uncaught: ${error.stack ?? error.message}`);
  leave(false, 1);
});
process.on("SIGHUP", () => {}); // a closed terminal must not end the gateway
process.on("SIGTERM", () => leave(false, 0));
process.on("SIGINT", () => leave(false, 0));

try {
  host.start();
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  // A different gateway was elected; the process that started this host will find it.
  if (code === "EADDRINUSE") log("info", `not elected: ${message}`);
  else {
    log("error", `cannot start: ${message}`);
    // The process that started this host reads it there (host-process.mjs).
    process.stderr.write(`tap: ${message}\n`);
  }
  void host.close(false);
  log.end();
  process.exitCode = code === "EADDRINUSE" ? 0 : 1;
  setTimeout(() => process.exit(), FAREWELL_MS).unref();
}
