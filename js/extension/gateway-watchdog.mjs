// Watches the process of a gateway that does not answer: whether it is working, and whether it may be
// killed. The kernel identifies the process by the link. The gateway's own claims (in its descriptor and its welcome)
// are only for people.

import process from "node:process";
import { isSameProcess, readProcessorTime, readStartTime } from "../lib/process-identity.mjs";

const NO_PEER =
  "the system does not identify the process (it may run in a container, where its pid belongs to a different process)";
const NO_START = "the system does not report when that process started";
const ANOTHER = "that pid belongs to a different process by now";

export class GatewayWatchdog {
  /** @type {import("../lib/process-identity.mjs").Identity | undefined} */
  #process;
  /** Why it cannot be killed. */
  #doubt = NO_PEER;
  /** At the last check. */
  #processorTime = "";
  /** Start of this silence. */
  #since = -Infinity;
  #hasReportedBusy = false;
  #silenceFactor;
  #onBusy;

  /**
   * @param {number} patience multiple of the usual time limit; the port ends it at `link-busy-ms`
   * @param {(pid: number, silentMs: number) => void} onBusy called once per silence, when it gets more time because it
   *   is working
   */
  constructor(patience, onBusy) {
    this.#silenceFactor = patience;
    this.#onBusy = onBusy;
  }

  /** The link is up. @param {number} pid the process at its other end, as the kernel reports it; 0: unknown */
  attach(pid) {
    if (pid <= 0 || pid === process.pid) return;
    const start = readStartTime(pid);
    // Windows reports no start time, but does not reuse a pid while its pipe is open.
    this.#doubt = start === "" && process.platform !== "win32" ? NO_START : "";
    this.#process = { pid, start };
    this.#processorTime = readProcessorTime(pid);
  }

  /**
   * The gateway has not answered a ping.
   * @param {number} silentMs @param {number} mostMs the limit for a gateway that is not working
   * @returns {boolean} whether to wait longer
   */
  shouldWait(silentMs, mostMs) {
    const since = performance.now() - silentMs;
    const isFirstLook = Math.abs(since - this.#since) > mostMs / 4;
    this.#since = since;
    if (isFirstLook) this.#hasReportedBusy = false;
    const before = this.#processorTime;
    this.#processorTime = this.#isVerified() ? readProcessorTime(this.#pid) : "";
    // Work before the silence proves no progress, so two checks are needed.
    const atWork = !isFirstLook && this.#processorTime !== "" && this.#processorTime !== before;
    if (atWork && silentMs >= mostMs && !this.#hasReportedBusy) {
      this.#hasReportedBusy = true;
      this.#onBusy(this.#pid, silentMs);
    }
    return atWork || isFirstLook || silentMs < this.#silenceFactor * mostMs;
  }

  get #pid() {
    return this.#process?.pid ?? 0;
  }

  #isVerified() {
    if (this.#doubt !== "" || process.platform === "win32") return this.#doubt === "";
    return this.#process !== undefined && isSameProcess(this.#process);
  }

  /**
   * Kills it, if it is known to be the process at the other end of the link.
   * @returns {{pid: number, why: string}} `why` it was not killed; "" if it was killed, or has ended
   */
  kill() {
    const pid = this.#pid;
    if (this.#doubt !== "") return { pid, why: this.#doubt };
    if (!this.#isVerified()) return { pid, why: readStartTime(pid) === "" ? "" : ANOTHER };
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code !== "ESRCH") return { pid, why: `the system refused: ${code}` };
    }
    return { pid, why: "" };
  }
}
