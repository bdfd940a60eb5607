// npm run chaos -- [--minutes N] [--seed S]: a real host with many providers and sessions, which are
// killed, stopped, made deaf and cut off by a schedule that the seed decides, on a machine without
// disk, descriptors or a clock to rely on. Every call and every check is in a ledger, and at the end
// no call, process, descriptor or file may be left.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { gatewayFiles } from "../js/lib/paths.mjs";
import { BUSY_MS } from "./chaos/busy.mjs";
import { FRAGMENTS } from "./chaos/fragments.mjs";
import { GATE_MS, Ledger } from "./chaos/ledger.mjs";
import { Machine } from "./chaos/machine.mjs";
import { ProviderMember, SessionMember, signalTo } from "./chaos/members.mjs";
import { Plans } from "./chaos/plans.mjs";
import { clock, Pulse } from "./chaos/pulse.mjs";
import { makeSchedule } from "./chaos/schedule.mjs";
import { HostWatch } from "./chaos/watch.mjs";
import { CommandFailed, printLine } from "./commands.mjs";
import { option } from "./option.mjs";
import { setUp } from "./setup.mjs";
import { findFreePort } from "../test/support/cli.mjs";
import { describeProcess, killAll, processesOf } from "../test/support/processes.mjs";
import { waitFor } from "../test/support/wait.mjs";

const SESSIONS = 4;
const PROVIDERS = 8;
const HANG_MS = 9000;
/** From then on its sessions find that a host hangs, and kill it. */
const HUNG_MS = 6000;
/** It pings every 2 s, and so finds out within them. */
const FOUND_MS = 1900;
const REPORT_MS = 10_000;
/** For the effects of the last steps. */
const AFTERMATH_MS = 3000;
/** For all members to come back, to go, or to replace a host that hangs; also where the machine is busy. */
const PATIENCE_MS = 60_000;
const HOST_MEMORY_MB = 400;
/** The most memory that a host may gain over a run. */
const GROWTH_MB = 40;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {string} home @param {number} port */
function environment(home, port) {
  const { PATH, HOME, LANG, TMPDIR } = process.env;
  const timers = { TAP_GRACE_MS: "1500", TAP_LINGER_MS: "1000", TAP_SHUTDOWN_MS: "1000" };
  const env = { PATH, HOME, LANG, TMPDIR, ...timers, COPILOT_HOME: home };
  return { ...env, TAP_GATE_MS: String(GATE_MS), TAP_GATEWAY_PORT: String(port) };
}

class Chaos {
  ledger = new Ledger();
  pulse = new Pulse();
  /** @type {Record<string, number>} */
  done = {};
  /** The timers that end a fault, by the name of the fault. @type {Map<string, NodeJS.Timeout>} */
  #wrong = new Map();
  /** Problems that were reported. */
  #reported = 0;
  #busyUntil = 0;
  /** Hosts that were stopped at some time. @type {Set<number>} */
  #stopped = new Set();

  constructor() {
    const folder = (name) => mkdtempSync(path.join(os.tmpdir(), `tap-${name}-`));
    this.home = folder("ch");
    this.tools = folder("ct");
    this.machine = new Machine(this.home, this.tools);
    this.plans = new Plans(this.tools, this.ledger.plans);
    this.leave = () => this.machine.dispose();
    process.once("exit", this.leave);
  }

  async start() {
    this.port = await findFreePort();
    const env = { ...environment(this.home, this.port), ...this.machine.start() };
    this.records = path.join(this.home, "tap");
    mkdirSync(this.records, { mode: 0o700 });
    const config = JSON.stringify({ toolGroups: ["records", "plans"] });
    writeFileSync(path.join(this.records, "config.json"), config, { mode: 0o600 });
    const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
    this.plans.start();
    const { repo } = this.plans;
    this.sessions = many(SESSIONS, (i) => new SessionMember(`s${i}`, env, this.ledger, repo));
    this.providers = many(PROVIDERS, (i) => new ProviderMember(`p${i}`, env, this.ledger));
    this.files = gatewayFiles(env);
    this.watch = new HostWatch(this.files.descriptor);
    await this.whole("at the start");
    this.freshMb = this.watch.memoryMb;
  }

  /** Every session reaches every provider. @param {string} when */
  async whole(when) {
    let missing = 0;
    const complete = async () => {
      const before = this.ledger.counts.answered;
      for (const session of this.sessions) {
        for (const { name } of this.providers) session.call(name, "echo");
      }
      await waitFor(() => this.ledger.unsettled.length === 0, { timeoutMs: PATIENCE_MS });
      missing = SESSIONS * PROVIDERS - (this.ledger.counts.answered - before);
      return missing === 0;
    };
    const what = () => `${when}: ${missing} of ${SESSIONS * PROVIDERS} calls are not answered`;
    await waitFor(complete, { timeoutMs: PATIENCE_MS, intervalMs: 250, what });
  }

  /** @param {import("./chaos/schedule.mjs").Step} step */
  perform(step) {
    const { session, provider, mode, verdict, ms, count } = step;
    const by = this.sessions[session];
    const of = this.providers[provider];
    const { machine } = this;
    const { host } = this.watch;
    /** @type {Record<string, () => unknown>} */
    const kinds = {
      call: () => by.call(of.name, mode),
      burst: () => {
        for (let i = 0; i < count; ++i) by.call(of.name, "echo");
      },
      cancel: () => by.send({ do: "cancel", id: this.ledger.anyOpen(by) }),
      query: () => by.query(),
      plan: () => by.plan((number) => this.plans.plan(number)),
      check: () => by.check(verdict),
      killProvider: () => of.kill(),
      stopProvider: () => of.stop(ms),
      deafProvider: () => of.send({ do: "deaf", ms }),
      killSession: () => by.kill(),
      stopSession: () => by.stop(ms),
      reloadSession: () => by.reload(),
      halfOpen: () => this.halfOpen(FRAGMENTS[count % FRAGMENTS.length], ms),
      rawStorm: () => this.storm(count, ms),
      reconnectStorm: () => this.providers.forEach((member) => member.send({ do: "reconnect" })),
      stopHost: () => host && this.stopHost(host, ms),
      hangHost: () => host && this.hang(host, by, of),
      busyHost: () => host && this.busy(host, by, of),
      hangUnlinked: () => host && this.hangUnlinked(host),
      killHost: () => host && signalTo(host, "SIGKILL"),
      killFeatures: () => this.watch.features.forEach((pid) => signalTo(pid, "SIGKILL")),
      stopFeatures: () => this.watch.features.forEach((pid) => this.stopFeatures(pid, ms)),
      fullDisk: () => {
        machine.fillDisk(host);
        this.putRight("disk", ms, () => machine.freeDisk(host));
      },
      noDescriptors: () => {
        if (!host) return;
        machine.exhaustDescriptors(host);
        this.storm(count, ms);
        this.putRight(`descriptors ${host}`, ms, () => machine.restoreDescriptors(host));
      },
      clockJump: () => machine.setClock((count - 20) * 3600),
    };
    kinds[step.kind]();
    this.done[step.kind] = (this.done[step.kind] ?? 0) + 1;
  }

  /** Ends a fault later, and once if the fault comes twice. @param {string} fault @param {number} ms @param {() => void} action */
  putRight(fault, ms, action) {
    clearTimeout(this.#wrong.get(fault));
    this.#wrong.set(fault, setTimeout(action, ms));
  }

  /** @param {number} pid @param {number} ms */
  stopHost(pid, ms) {
    this.#stopped.add(pid);
    signalTo(pid, "SIGSTOP");
    setTimeout(() => this.watch.isHost(pid) && signalTo(pid, "SIGCONT"), ms);
  }

  /** @param {number} pid @param {number} ms */
  stopFeatures(pid, ms) {
    signalTo(pid, "SIGSTOP");
    setTimeout(() => this.watch.isFeatureHost(pid) && signalTo(pid, "SIGCONT"), ms);
  }

  /**
   * It hangs while a session calls and calls, and no session runs in the time in which the gateway is
   * found hung and the calls' deadlines pass: they have to see to all of that at once.
   * @param {number} pid @param {SessionMember} session @param {ProviderMember} provider
   */
  hang(pid, session, provider) {
    this.stopHost(pid, HANG_MS);
    const calls = setInterval(() => session.call(provider.name, "echo"), 20);
    setTimeout(() => clearInterval(calls), 2500);
    const all = new Set([session, ...this.sessions]);
    setTimeout(() => all.forEach((member) => member.stop(FOUND_MS)), HUNG_MS);
  }

  /**
   * It works for long and answers no peer meanwhile: no session may take it for hung. Not twice in a row: members that
   * wait for an answer would find it lost.
   * @param {number} pid @param {SessionMember} session @param {ProviderMember} provider
   */
  busy(pid, session, provider) {
    if (clock() < this.#busyUntil) return;
    this.#busyUntil = clock() + 2 * BUSY_MS;
    signalTo(pid, "SIGUSR2");
    session.call(provider.name, "echo");
    setTimeout(() => {
      const log = path.join(this.files.logs, "extension.log");
      const text = existsSync(log) ? readFileSync(log, "utf8") : "";
      if (!this.#stopped.has(pid) && text.includes(`pid ${pid}, does not answer: killing it`)) {
        this.ledger.problems.push(`host ${pid} was killed while it was busy`);
      }
    }, BUSY_MS + 1000);
  }

  /**
   * It hangs for good while no session is linked: the next session has to find that out.
   * @param {number} pid
   */
  hangUnlinked(pid) {
    this.#stopped.add(pid);
    signalTo(pid, "SIGSTOP");
    for (const session of this.sessions) session.kill();
    setTimeout(() => {
      if (this.watch.isStopped(pid)) this.ledger.problems.push(`host ${pid} hangs for good`);
    }, PATIENCE_MS);
  }

  /** @param {number} count @param {number} ms */
  storm(count, ms) {
    for (let i = 0; i < count; ++i) this.halfOpen(FRAGMENTS[i % FRAGMENTS.length], ms / 10);
  }

  /** A connection that sends this and then stays silent. @param {string} bytes @param {number} ms */
  halfOpen(bytes, ms) {
    const socket = net.connect({ port: this.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.write(Buffer.from(bytes, "latin1"));
    setTimeout(() => socket.destroy(), ms);
  }

  /** @param {import("./chaos/schedule.mjs").Step[]} steps */
  async run(steps) {
    const startedAt = performance.now();
    let reportAt = REPORT_MS;
    for (const step of steps) {
      const now = performance.now() - startedAt;
      if (step.at > now) await pause(step.at - now);
      this.perform(step);
      if (step.at < reportAt) continue;
      reportAt += REPORT_MS;
      this.ledger.reportOverdue();
      this.progress(step.at);
    }
  }

  /** @param {number} at */
  progress(at) {
    const { calls, answered, failed, checks, lost } = this.ledger.counts;
    const memory = Math.round(this.watch.memoryMb);
    printLine(
      `   ${Math.round(at / 1000)} s: ${calls} calls, ${answered} answered, ${failed} failed, ${checks} checks, ` +
        `${lost} lost with their session; the host has ${memory} MB; ${this.ledger.problems.length} problems`,
    );
    for (const problem of this.ledger.problems.slice(this.#reported, this.#reported + 10)) {
      printLine(`      ${problem}`);
    }
    this.#reported = this.ledger.problems.length;
  }

  /** All is quiet: every call has its outcome, and everything works again. */
  async settle() {
    await pause(AFTERMATH_MS);
    this.machine.setClock(0);
    const open = () => JSON.stringify(this.ledger.unsettled.slice(0, 5), ["id", "kind", "mode"]);
    await waitFor(() => this.ledger.unsettled.length === 0, {
      timeoutMs: PATIENCE_MS,
      what: () => `an outcome of ${this.ledger.unsettled.length}: ${open()}`,
    });
    await this.whole("after it all");
    // A host that was killed too often in a row is started once more, and takes up the existing state.
    const { host } = this.watch;
    if (host) signalTo(host, "SIGKILL");
    await this.whole("after the last kill");
    await this.plans.settle(this.sessions);
  }

  /** All members leave; the host ends by itself. @returns {Promise<string[]>} the problems */
  async end() {
    const plans = await this.plans.problems(this.ledger.counts.plans);
    const descriptors = await this.watch.descriptorsWithin(SESSIONS + PROVIDERS);
    const grown = this.watch.memoryMb - this.freshMb;
    await Promise.all([...this.sessions, ...this.providers].map((member) => member.end()));
    const left = async () => (await processesOf(this.home)).map(describeProcess);
    const gone = waitFor(async () => (await left()).length === 0, { timeoutMs: PATIENCE_MS });
    const processes = await gone.then(() => [], left);
    const files = readdirSync(this.files.folder, { recursive: true })
      .map(String)
      .filter((file) => file !== ".run");
    const damaged = readdirSync(this.records).filter((file) => file.includes("corrupt"));
    const { calls, answered, absent, lost, recordAnswers } = this.ledger.counts;
    const asked = calls - absent - lost;
    return [
      ...this.ledger.problems,
      ...plans,
      ...(answered * 3 < asked ? [`only ${answered} of ${asked} calls were answered`] : []),
      ...(recordAnswers === 0 ? ["no query of records was answered"] : []),
      ...damaged.map((file) => `records were damaged: ${file}`),
      ...descriptors,
      ...this.watch.featureHostsLeft.map((pid) => `a feature host is left: ${pid}`),
      ...processes.map((text) => `a process is left: ${text}`),
      ...files.map((file) => `a file is left: ${file}`),
      ...(this.watch.mostMb > HOST_MEMORY_MB ? [`the host took ${this.watch.mostMb} MB`] : []),
      ...(grown > GROWTH_MB ? [`the host has ${grown} MB more than a new host`] : []),
    ];
  }

  async dispose() {
    this.watch?.close();
    this.pulse.stop();
    for (const member of [...(this.sessions ?? []), ...(this.providers ?? [])]) member.last();
    await killAll(this.home);
    this.machine.dispose();
    process.off("exit", this.leave);
    for (const folder of [this.home, this.tools]) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    }
  }

  report() {
    const { counts, codes, pushes, slowestMs, deliveryMs: hearingMs, mostMs } = this.ledger;
    const late = Math.max(...this.sessions.map(({ lateMs }) => lateMs));
    const round = (ms) => `${Math.round(ms)} ms`;
    printLine(`   done to them: ${JSON.stringify(this.done)}; the disk is ${this.machine.disk}`);
    printLine(`   outcomes: ${JSON.stringify(counts)}, failures: ${JSON.stringify(codes)}`);
    printLine(`   pushes that were answered: ${pushes}`);
    const { plans } = this;
    printLine(
      `   plans: ${JSON.stringify(plans.counts)}; retried since ${JSON.stringify(plans.reasons)}`,
    );
    printLine(
      `   while its process ran, a call took ${round(slowestMs.call)}, a check ${round(slowestMs.check)} at most`,
    );
    printLine(
      `   a session's process did not run for up to ${round(late)}, the process of chaos for up to ${round(this.pulse.most)}`,
    );
    printLine(
      `   so an order was heard after up to ${round(hearingMs)}, and settled after up to ${round(mostMs)}`,
    );
    printLine(
      `   hosts: ${this.watch.hosts.size}, feature hosts: ${this.watch.featureHosts.size}, from ${Math.round(this.freshMb)} to ${Math.round(this.watch.mostMb)} MB`,
    );
  }
}

/** @param {number} seed @param {number} minutes */
export async function chaos(seed, minutes) {
  const options = { seed, durationMs: minutes * 60_000, sessions: SESSIONS, providers: PROVIDERS };
  const steps = makeSchedule(options);
  printLine(`   seed ${seed}: ${steps.length} steps in ${minutes} min`);
  const run = new Chaos();
  try {
    await run.start();
    await run.run(steps);
    await run.settle();
    const problems = await run.end();
    run.report();
    for (const problem of problems.slice(0, 50)) printLine(`   ${problem}`);
    const detail = `seed ${seed}, ${run.ledger.counts.calls} calls, ${problems.length} problems`;
    return { ok: problems.length === 0, detail };
  } catch (error) {
    run.report();
    printLine(`   ${error instanceof Error ? error.message : error}`);
    for (const problem of run.ledger.problems.slice(0, 50)) printLine(`   ${problem}`);
    return { ok: false, detail: `seed ${seed}` };
  } finally {
    await run.dispose();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await setUp({ for: "chaos" });
    const { ok, detail } = await chaos(option("seed", Date.now() % 100_000), option("minutes", 1));
    printLine(`${ok ? "PASSED" : "FAILED"}: ${detail}`);
    process.exitCode = ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    printLine(error.message);
    process.exitCode = 1;
  }
}
