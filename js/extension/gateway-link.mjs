// A session's link to the detached gateway: finds it, starts it, notices when it has ended or hangs,
// and reconnects. The runtime handles the messages.

import { sleep } from "../lib/timers.mjs";
import { readDescriptor } from "../lib/host-files.mjs";
import { startHost } from "../lib/host-process.mjs";
import { probePort } from "../lib/port-probe.mjs";
import { LinkConnection, LinkEnded } from "../link/client.mjs";
import { findNode } from "../lib/node.mjs";
import { MIN_NODE } from "../lib/node-version.mjs";
import { version } from "../lib/paths.mjs";
import { isNewer } from "../lib/versions.mjs";
import { GatewayWatchdog } from "./gateway-watchdog.mjs";

/** @typedef {import("../link/client.mjs").GatewayEvent} GatewayEvent */

const RETRY_MS = [20, 40, 80, 150, 250];
/** A started host has this long to answer, before a second is started. */
const HOST_START_MS = 5000;
/** The same while its process runs and has no port: on a busy machine it is slow, also to end with a reason. */
const SLOW_HOST_START_MS = 30_000;
/** A gateway that is starting or ending may hold the port this long without a link. */
const PASSING_MS = 10_000;
/** @type {import("../lib/port-probe.mjs").PortHolder[]} */
const PASSING = ["ours", "busy"];
/** Retry interval while only the user can help. */
const PATIENT_RETRY_MS = 5000;
/** For `drain` to be sent. */
const DRAIN_SENT_MS = 6000;
/** The port and files of a killed process are usually free at once. */
const FREEING_MS = 5000;
/** A gateway listens before it replaces the descriptor of its predecessor. */
const DESCRIPTOR_MS = 2000;
/** Time for a different session to start the newer gateway that requested the drain. */
const YIELD_MS = 3000;

/**
 * @typedef {object} LinkOptions
 * @property {import("../lib/paths.mjs").GatewayFiles} files
 * @property {() => object} register the fields of the `register` message
 * @property {(event: GatewayEvent) => void} onEvent every message but `welcome`
 * @property {(welcome: GatewayEvent) => void} onWelcome a gateway serves the session
 * @property {() => void} onLost the gateway no longer serves it
 * @property {(text: string) => void} onTrouble a line for the user, once per kind of trouble
 * @property {import("../lib/log.mjs").Log} log
 */

const NO_NODE = `no Node.js of at least ${MIN_NODE} was found, so no gateway starts; install Node.js, or set TAP_NODE to its path and restart the CLI`;
const ANOTHER_PORT = "set TAP_GATEWAY_PORT to a free port and restart the CLI";
/**
 * The user's message about the program that holds the port.
 * @type {Record<Exclude<import("../lib/port-probe.mjs").PortHolder, "nobody">, (files:
 *   import("../lib/paths.mjs").GatewayFiles) => string>}
 */
const OBSTACLES = {
  ours: ({ port, descriptor }) =>
    `port ${port} answers as the tap gateway of this COPILOT_HOME, but ${descriptor} leads to no gateway; stop the program that has the port, or ${ANOTHER_PORT}`,
  busy: ({ port }) =>
    `port ${port} is that of a tap gateway which takes no more connections; end providers that are not needed, or ${ANOTHER_PORT}`,
  "other-home": ({ port }) =>
    `port ${port} is taken by the tap gateway of a different COPILOT_HOME; set TAP_GATEWAY_PORT to a different port for either of them`,
  // A hung host of this home was killed or reported before, so this is a foreign program.
  silent: ({ port }) =>
    `port ${port} is taken by a program that does not answer; stop it, or ${ANOTHER_PORT}`,
  foreign: ({ port }) =>
    `port ${port} is taken by a different program, so no provider can connect; stop it, or ${ANOTHER_PORT}`,
};

export class GatewayLink {
  #options;
  /** @type {LinkConnection | undefined} the link that serves the session */
  #link;
  #stopped = false;
  #connecting = false;
  /** @type {Set<string>} */
  #reported = new Set();
  /** Why no gateway can run, if only the user can help. */
  #obstacle = "";
  /** The host that was started last, until a gateway serves the session. @type {import("node:child_process").ChildProcess | undefined} */
  #host;
  /** Why the last started gateway failed. */
  #failure = "";
  #hasRequestedDrain = false;
  #yieldUntil = 0;
  /**
   * Multiple of the usual time limit for silence, at most `link-busy-ms`: if several gateways
   * hang in a row, the machine may be slow.
   */
  #silenceFactor = 1;
  /** A gateway was killed: until this time its port may still answer. */
  #freeingUntil = 0;
  /** Why a gateway that does not answer was not killed. */
  #killRefusal = "";
  /** The holder of the port at the last check, and since when. @type {{by?: string, since: number}} */
  #holder = { since: 0 };
  /** The last refused secret, and since when it is refused. */
  #refusedSecret = { secret: "", since: 0 };

  /** @param {LinkOptions} options */
  constructor(options) {
    this.#options = options;
  }

  get connected() {
    return this.#link !== undefined;
  }

  /** Why no gateway can run, if only the user can help; otherwise "". */
  get obstacle() {
    return this.#obstacle;
  }

  start() {
    if (!this.#connecting && !this.#link) void this.#connect();
  }

  /**
   * Ends the link for good, and settles pending calls.
   * @param {string} why
   */
  stop(why) {
    this.#stopped = true;
    this.#link?.close(why);
    this.#link = undefined;
  }

  /** Sends a message, if there is a link. @param {object} message */
  send(message) {
    this.#link?.send(message);
  }

  /**
   * @param {string} tool @param {unknown} args @param {number | undefined} timeoutMs
   * @param {(outcome: import("../lib/addon.js").CallOutcome) => void} settle is called once
   * @param {import("../link/pending-calls.mjs").CallOrigin} [origin]
   * @returns {number} the call's id; 0 if it has already failed
   */
  call(tool, args, timeoutMs, settle, origin) {
    if (this.#link) return this.#link.call(tool, args, timeoutMs, settle, origin);
    settle(this.#noGateway());
    return 0;
  }

  /** @returns {import("../lib/addon.js").CallFailure} with the obstacle, if only the user can help */
  #noGateway() {
    const text = this.#obstacle
      ? `The call failed with DISCONNECTED: ${this.#obstacle}. Tell the user.`
      : "The call failed with DISCONNECTED: the tap gateway is not running at the moment; it is being started again. Try again in a few seconds.";
    return { code: "DISCONNECTED", text };
  }

  /** @param {number} id @param {string} reason */
  cancel(id, reason) {
    this.#link?.cancel(id, reason);
  }

  async #connect() {
    this.#connecting = true;
    /** @type {number | undefined} time of the last start */
    let startedAt;
    for (let round = 0; !this.#stopped; ++round) {
      const welcome = await this.#tryLink();
      if (welcome) break;
      const patience = await this.#makeHost(startedAt);
      if (patience === "started") startedAt = performance.now();
      await sleep(patience === "wait" ? PATIENT_RETRY_MS : (RETRY_MS[round] ?? 250));
    }
    this.#connecting = false;
  }

  /** A single attempt. @returns {Promise<boolean>} whether the link is up */
  async #tryLink() {
    const descriptor = readDescriptor(this.#options.files.descriptor);
    const gateway = descriptor?.link;
    if (gateway === undefined) return false;
    const secret = descriptor?.secret ?? "";
    let pid = descriptor?.pid;
    const watch = new GatewayWatchdog(this.#silenceFactor, (busy, ms) => this.#onBusy(busy, ms));
    const link = new LinkConnection({
      onQuiet: (silentMs, mostMs) => watch.shouldWait(silentMs, mostMs),
      onEvent: (event) => {
        if (event.type !== "welcome") return this.#onEvent(event, descriptor);
        pid = event.pid;
        this.#link = link;
        this.#onWelcome(event, secret);
      },
      onClosed: (reason, silent) => {
        if (silent) this.#killHung(watch, pid);
        this.#onClosed(link, reason);
      },
    });
    try {
      await link.connect(gateway);
      watch.attach(link.peerPid());
      await link.register(this.#options.register(), secret);
      return true;
    } catch (error) {
      if (error instanceof LinkEnded) return false;
      throw error;
    }
  }

  /** @param {GatewayEvent} welcome @param {string} secret */
  #onWelcome(welcome, secret) {
    this.#options.log("info", `linked to gateway ${welcome.version}, pid ${welcome.pid}`);
    this.#reported.clear();
    this.#obstacle = "";
    this.#killRefusal = "";
    this.#host = undefined;
    this.#failure = "";
    this.#silenceFactor = 1;
    this.#holder = { since: 0 };
    this.#options.onWelcome(welcome);
    if (isNewer(version, welcome.version)) {
      this.#options.log("info", `asking gateway ${welcome.version} to make room for ${version}`);
      this.#hasRequestedDrain = true;
      this.send({ type: "drain", secret, version });
    } else if (isNewer(welcome.version, version)) {
      this.#report(
        `the gateway is tap ${welcome.version}, this session still runs ${version}; /clear or restart the CLI to bring it up to date`,
      );
    }
  }

  /**
   * @param {GatewayEvent} event
   * @param {import("../lib/host-files.mjs").Descriptor | undefined} descriptor
   */
  #onEvent(event, descriptor) {
    // The link will end, and #onClosed handles that.
    if (event.type === "draining") {
      if (!this.#hasRequestedDrain) this.#yieldUntil = performance.now() + YIELD_MS;
      this.#hasRequestedDrain = false;
      return;
    }
    if (event.type !== "refused") return this.#options.onEvent(event);
    this.#options.log("warning", `refused by the gateway: ${event.code} ${event.message}`);
    if (event.code === "REPLACED") {
      this.#stopped = true; // a different process serves this session now
    } else if (
      event.code === "LINK_VERSION" &&
      descriptor &&
      isNewer(version, descriptor.version)
    ) {
      this.#requestDrain(descriptor);
    } else if (event.code !== "SECRET" || this.#isWrong(descriptor?.secret ?? "")) {
      this.#report(event.message);
    }
  }

  /** Whether a refused secret is wrong, and not just that of the former gateway. @param {string} secret */
  #isWrong(secret) {
    const now = performance.now();
    if (this.#refusedSecret.secret !== secret) this.#refusedSecret = { secret, since: now };
    return now - this.#refusedSecret.since >= DESCRIPTOR_MS;
  }

  /**
   * A gateway with an older link version has closed the link. `drain` is the only message that every version
   * reads, and is sent on a separate link.
   * @param {import("../lib/host-files.mjs").Descriptor} descriptor
   */
  #requestDrain(descriptor) {
    const { secret, link } = descriptor;
    const asking = new LinkConnection({});
    asking.connect(link).then(
      () => asking.send({ type: "drain", secret, version }),
      () => {}, // it has ended already
    );
    setTimeout(() => asking.close("asked to drain"), DRAIN_SENT_MS).unref();
  }

  /** @param {LinkConnection} link @param {string} reason */
  #onClosed(link, reason) {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#options.log("warning", `the link ended: ${reason}`);
    this.#options.onLost();
    this.start();
  }

  /** @param {number} pid @param {number} silentMs */
  #onBusy(pid, silentMs) {
    const text = `the gateway, pid ${pid}, is busy: it has not answered for ${Math.round(silentMs / 1000)} s, and uses processor time`;
    this.#options.log("warning", text);
    this.#report(`${text}; if it stays so, it is replaced`);
  }

  /**
   * A hung host keeps the port, so no gateway can replace it while it lives.
   * @param {GatewayWatchdog} watch @param {number | undefined} claimed the pid that it claims
   */
  #killHung(watch, claimed) {
    const { pid, why } = watch.kill();
    if (why === "") {
      this.#options.log("warning", `the gateway, pid ${pid}, does not answer: killing it`);
      this.#killRefusal = "";
      this.#freeingUntil = performance.now() + FREEING_MS;
      this.#silenceFactor *= 2;
      return;
    }
    this.#killRefusal = `the gateway does not answer, and was not killed: ${why}. It claims to be pid ${claimed}; end that process where it runs, or ${ANOTHER_PORT}`;
    this.#options.log("warning", this.#killRefusal);
  }

  /**
   * Starts a host if needed.
   * @param {number | undefined} startedAt time of the last start
   * @returns {Promise<"started" | "soon" | "wait">}
   */
  async #makeHost(startedAt) {
    const { files } = this.#options;
    const now = performance.now();
    if (startedAt !== undefined && now - startedAt < HOST_START_MS) return "soon";
    if (now < this.#yieldUntil) return "soon";
    const holder = await probePort(files.port, files.homeHash);
    if (this.#stopped) return "soon"; // it was stopped meanwhile
    if (holder !== this.#holder.by) this.#holder = { by: holder, since: now };
    if (holder === "nobody") return this.#startNextHost(startedAt, now);
    if (now < this.#freeingUntil) return "soon";
    if (holder === "silent" && this.#killRefusal) return this.#reportObstacle(this.#killRefusal);
    if (PASSING.includes(holder) && performance.now() - this.#holder.since < PASSING_MS)
      return "soon";
    return this.#reportObstacle(OBSTACLES[holder](files));
  }

  /** @param {number | undefined} startedAt of the last host @param {number} now */
  #startNextHost(startedAt, now) {
    const isSlow = startedAt !== undefined && now - startedAt < SLOW_HOST_START_MS;
    if (isSlow && this.#isHostRunning) return "soon";
    if (startedAt === undefined) this.#obstacle = "";
    else this.#reportStartFailure(this.#failure);
    return this.#startHost();
  }

  /** @param {string} why "": unknown */
  #reportStartFailure(why) {
    this.#failure = why;
    const reason = why && `: ${why.replace(/\.$/, "")}`;
    this.#reportObstacle(
      `the gateway does not start${reason}; ${this.#options.files.logs} has its logs`,
    );
  }

  /** @param {string} text @returns {"wait"} */
  #reportObstacle(text) {
    this.#obstacle = text;
    this.#report(text);
    return "wait";
  }

  /** @returns {"started" | "wait"} */
  #startHost() {
    const { files, log } = this.#options;
    const node = findNode();
    if (!node) return this.#reportObstacle(NO_NODE);
    log("info", `starting a gateway on ${node}`);
    const host = startHost(node, files, (reason) => {
      if (this.#host === host && !this.#stopped) this.#reportStartFailure(reason);
    });
    this.#host = host;
    return "started";
  }

  get #isHostRunning() {
    const { pid, exitCode, signalCode } = this.#host ?? {};
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Reports each text once until the next link. @param {string} text */
  #report(text) {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.#options.onTrouble(`tap: ${text}`);
  }
}
