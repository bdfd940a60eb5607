// Looks at the process of a gateway that does not answer: whether it is at work, and whether it may be
// killed. Which process that is, the kernel says of the link; what the gateway says of itself (in its
// descriptor, in its welcome) is for people only.

import process from "node:process";
import { isSameProcess, readProcessorTime, readStartTime } from "../lib/process-identity.mjs";

const NO_PEER =
  "the system does not say which process it is (it may run in a container, where its number means another process than here)";
const NO_START = "the system does not say when that process started";
const ANOTHER = "that number means another process by now";

export class GatewayWatchdog {
  /** @type {import("../lib/process-identity.mjs").Identity | undefined} */
  #process;
  /** Why it cannot be killed. */
  #doubt = NO_PEER;
  /** Of the last look. */
  #processorTime = "";
  /** When this silence began. */
  #since = -Infinity;
  #hasReportedBusy = false;
  #silenceFactor;
  #onBusy;

  /**
   * @param {number} patience how many times the usual silence it is given; the port ends it at `link-busy-ms`
   * @param {(pid: number, silentMs: number) => void} onBusy once per silence: it is given longer, since it is at work
   */
  constructor(patience, onBusy) {
    this.#silenceFactor = patience;
    this.#onBusy = onBusy;
  }

  /** The link is up. @param {number} pid who the kernel says holds its other end; 0: it does not say */
  attach(pid) {
    if (pid <= 0 || pid === process.pid) return;
    const start = readStartTime(pid);
    // On Windows nothing says it; there, a pid is not given to another while its pipe is open.
    this.#doubt = start === "" && process.platform !== "win32" ? NO_START : "";
    this.#process = { pid, start };
    this.#processorTime = readProcessorTime(pid);
  }

  /**
   * It has not answered a ping.
   * @param {number} silentMs @param {number} mostMs what a gateway is given that is not at work
   * @returns {boolean} whether it is to be given longer
   */
  shouldWait(silentMs, mostMs) {
    const since = performance.now() - silentMs;
    const isFirstLook = Math.abs(since - this.#since) > mostMs / 4;
    this.#since = since;
    if (isFirstLook) this.#hasReportedBusy = false;
    const before = this.#processorTime;
    this.#processorTime = this.#isVerified() ? readProcessorTime(this.#pid) : "";
    // That it worked before it fell silent says nothing: it takes two looks.
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
   * @returns {{pid: number, why: string}} `why` it was left alone; "" where it is killed, or gone
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
